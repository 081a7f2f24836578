"""Time against n for leave-one-out, k-fold and nested cross-validation, with scikit-learn beside.

`python benchmarks/growth.py --write` puts the table and the picture where the documentation takes them from.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, cross_val_score

from mercer import KernelRidgeCV, nested_cross_validate
from mercer.kernels import Gaussian
from mercer.text import text_table
from selection import SCORE, problem

SIZES = (250, 500, 1000, 2000, 4000)
WIDTHS, ALPHAS, FOLDS = (2.0, 4.0), (0.01, 0.1, 1.0), 5
PATIENCE = {"leave-one-out": 500, "5-fold": 4000, "nested 5 x 5-fold": 2000}  # rows up to which the peer is waited for
HERE = Path(__file__).resolve().parent.parent / "docs"


def peer(work: str, X, y) -> float:
    grid = {"gamma": [0.5 / width**2 for width in WIDTHS], "alpha": list(ALPHAS)}
    cv = LeaveOneOut() if work == "leave-one-out" else KFold(FOLDS)
    search = GridSearchCV(SklearnKernelRidge(kernel="rbf"), grid, cv=cv, scoring=SCORE)
    if work.startswith("nested"):
        return float(cross_val_score(search, X, y, cv=KFold(FOLDS), scoring=SCORE).mean())
    return float(search.fit(X, y).best_score_)


def ours(work: str, X, y) -> float:
    search = KernelRidgeCV([Gaussian(w) for w in WIDTHS], ALPHAS, cv=None if work == "leave-one-out" else FOLDS)
    if work.startswith("nested"):
        return nested_cross_validate(search, X, y, cv=FOLDS, inner=FOLDS).mean
    return search.fit(X, y).best_score_


def seconds(run, work: str, X, y, turns: int) -> tuple[float, float]:
    """Best time of several turns, and the score that was found."""
    best, score = float("inf"), float("nan")
    for _ in range(turns):
        start = time.perf_counter()
        score = run(work, X, y)
        best = min(best, time.perf_counter() - start)
    return best, score


def measured() -> dict[str, dict[str, list[float | None]]]:
    found: dict[str, dict[str, list[float | None]]] = {}
    for work, most in PATIENCE.items():
        found[work] = {"mercer": [], "scikit-learn": []}
        for n in SIZES:
            X, y = problem(n)
            mine, score = seconds(ours, work, X, y, turns=3 if n <= 1000 else 2)
            theirs = None
            if n <= most:
                theirs, other = seconds(peer, work, X, y, turns=1)
                assert np.isclose(score, other, rtol=1e-8), (work, n, score, other)
            found[work]["mercer"].append(mine)
            found[work]["scikit-learn"].append(theirs)
    return found


def table(found: dict[str, dict[str, list[float | None]]]) -> str:
    def cell(value: float | None) -> str:
        return "" if value is None else f"{value:.3g}"

    rows = []
    for work, both in found.items():
        for i, n in enumerate(SIZES):
            mine, theirs = both["mercer"][i], both["scikit-learn"][i]
            ratio = "" if mine is None or theirs is None else f"{theirs / mine:.0f} x"
            rows.append([work, n, cell(mine), cell(theirs), ratio])
    return text_table(["selection by", "n", "mercer (s)", "scikit-learn (s)", "ratio"], rows)


def picture(found: dict[str, dict[str, list[float | None]]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(11, 3.6), sharey=True, layout="constrained")
    for ax, (work, both) in zip(axes, found.items(), strict=True):
        styles = {"mercer": ("#0072B2", "o", "-"), "scikit-learn": ("#D55E00", "s", "--")}
        for name, values in both.items():
            colour, marker, line = styles[name]
            kept = [(n, v) for n, v in zip(SIZES, values, strict=True) if v is not None]
            ax.plot(*zip(*kept, strict=True), color=colour, marker=marker, linestyle=line, label=name)
        ax.set(xscale="log", yscale="log", title=work, xlabel="rows")
        ax.set_xticks(SIZES, [str(n) for n in SIZES])
        ax.minorticks_off()
        ax.grid(visible=True, which="major", color="0.9")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("seconds, two cores")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    warnings.filterwarnings("ignore", message="The winner of")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/_static/growth.{json,txt,png}")
    found = measured()
    print(table(found))
    if parser.parse_args().write:
        folder = HERE / "_static"
        (folder / "growth.json").write_text(json.dumps({"sizes": SIZES, **found}, indent=1) + "\n", encoding="ascii")
        (folder / "growth.txt").write_text(table(found) + "\n", encoding="ascii")
        picture(found, folder / "growth.png")


if __name__ == "__main__":
    main()
