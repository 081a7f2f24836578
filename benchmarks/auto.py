"""AutoRegressor and AutoClassifier beside CatBoost and LightGBM at their defaults, on the public tables.

For each set, number of training rows and draw: test error (root mean squared error; share of wrong labels), log loss,
processor seconds of the fit, own error estimate over test error, coverage of the 90 % intervals. Draws are the same for
all models. One table per number of rows: means over draws, and paired ratios to CatBoost. `pip install --group bench`
has the peers.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

DATA = Path(__file__).parents[2] / "shared" / "data"
REGRESSION = (
    "airfoil", "boston", "california", "concrete", "diamonds", "elevators", "energy", "kin8nm", "kin40k", "pumadyn32nm",
)  # fmt: skip
CLASSIFICATION = (
    "banana", "breast_cancer", "diabetis", "flare_solar", "ringnorm", "thyroid", "titanic", "waveform",
)  # fmt: skip
_TEST = 4000  # rows at most


def draw(name: str, n: int, seed: int):
    """Training and test rows; None where the set has too few rows (a tenth must be left for the test)."""
    stored = np.load(DATA / f"{name if name in REGRESSION else 'ida_' + name}.npz", allow_pickle=False)
    X, y = stored["X"].astype(float), stored["y"]
    if n > 0.93 * len(y):
        return None
    order = np.random.default_rng([seed, len(y)]).permutation(len(y))
    train, test = order[:n], order[n : n + _TEST]
    return X[train], y[train], X[test], y[test]


def peers(threads: int, *, classes: bool):
    from catboost import CatBoostClassifier, CatBoostRegressor
    from lightgbm import LGBMClassifier, LGBMRegressor

    from mercer import AutoClassifier, AutoRegressor

    quiet = {"verbose": 0, "random_seed": 0, "allow_writing_files": False, "thread_count": threads}
    light = {"verbose": -1, "random_state": 0, "n_jobs": threads}
    if classes:
        return AutoClassifier(), CatBoostClassifier(**quiet), LGBMClassifier(**light)
    return AutoRegressor(), CatBoostRegressor(**quiet), LGBMRegressor(**light)


def measured(model, X, y, T, u, *, classes: bool) -> list[float]:
    """Error, log loss, processor seconds, own error over test error, coverage."""
    from sklearn.metrics import log_loss

    begin = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - begin
    own = getattr(model, "error_", np.nan)
    if classes:
        error = float(np.mean(np.ravel(model.predict(T)) != u))
        return [error, log_loss(u, model.predict_proba(T)), seconds, own / max(error, 1e-12), np.nan]
    error = float(np.sqrt(np.mean((model.predict(T) - u) ** 2)))
    inside = float(model.coverage(T, u)) if hasattr(model, "coverage") else np.nan
    return [error, np.nan, seconds, own / error, inside]


def run(name: str, n: int, draws: int, threads: int) -> np.ndarray | None:
    """draws x models x numbers."""
    classes, found = name in CLASSIFICATION, []
    for seed in range(draws):
        parts = draw(name, n, seed)
        if parts is None:
            return None
        found.append([measured(model, *parts, classes=classes) for model in peers(threads, classes=classes)])
    return np.array(found)


def line(name: str, found: np.ndarray) -> list[str]:
    """One row of the table."""
    ours, cat, light = found[:, 0], found[:, 1], found[:, 2]
    difference = ours[:, 0] - cat[:, 0]
    give = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
    mean = [each[:, 0].mean() for each in (ours, cat, light)]
    losses = [f"{each[:, 1].mean():.3f}" for each in (ours, cat)] if name in CLASSIFICATION else ["", ""]
    coverage = "" if name in CLASSIFICATION else f"{100 * ours[:, 4].mean():.0f}"
    return [
        name, *(f"{each:.4g}" for each in mean), f"{difference.mean():+.2g} +- {give:.1g}", *losses,
        f"{np.median(ours[:, 2] / cat[:, 2]):.1f}", f"{np.exp(np.log(ours[:, 3]).mean()):.2f}", coverage,
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="names of sets; all by default")
    parser.add_argument("--rows", type=int, nargs="*", default=[200, 1000, 2000, 5000])
    parser.add_argument("--draws", type=int, default=10, help="3 at most beyond 2000 rows")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    if not DATA.exists():
        print(f"{DATA} is not there.")
        return
    if os.environ.get("OMP_NUM_THREADS") != str(asked.threads):  # BLAS reads it when it is loaded
        every = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MERCER_THREADS"), str(asked.threads))
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | every)
    from mercer.text import text_table

    warnings.filterwarnings("ignore")
    heads = [
        "error", "mercer", "CatBoost", "LightGBM", "mercer - CatBoost", "log loss", "CatBoost", "time / CatBoost",
        "own / test", "% inside",
    ]  # fmt: skip
    for n in asked.rows:
        lines, ratios, seconds, own = [], [], [], []
        for name in [each for each in (*REGRESSION, *CLASSIFICATION) if not asked.sets or each in asked.sets]:
            found = run(name, n, asked.draws if n <= 2000 else min(asked.draws, 3), asked.threads)
            if found is None:
                continue
            lines.append(line(name, found))
            seconds.append(np.median(found[:, 0, 2] / found[:, 1, 2]))
            if name in REGRESSION:
                ratios.append(np.log(found[:, 0, 0] / found[:, 1, 0]).mean())
                own.append(np.log(found[:, 0, 3]).mean())
            print(f"  n = {n}, {'  '.join(lines[-1])}", file=sys.stderr, flush=True)
        print(f"\n{n} rows, {asked.threads} thread(s)\n{text_table(heads, lines)}")
        print(
            f"error over CatBoost's, geometric mean of regression sets: {np.exp(np.mean(ratios)):.3f}; "
            f"processor time, median of sets: {np.median(seconds):.1f}; own error over test error, geometric mean: "
            f"{np.exp(np.mean(own)):.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
