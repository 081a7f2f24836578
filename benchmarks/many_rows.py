"""Many rows: mercer, CatBoost, HistGradientBoosting, and Nystroem + Ridge in one run; errors and processor time.

python benchmarks/many_rows.py                                  # all tables, 2000 to all rows
python benchmarks/many_rows.py --tables kin40k --rows 8000      # some
python benchmarks/many_rows.py --million                        # a generated table of a million rows, LocalRidge alone
python benchmarks/many_rows.py --folder /tmp/cells              # ten million rows, read in blocks, cells in this folder
python benchmarks/many_rows.py --curve                          # 500 to 200 000 rows; writes docs/_static/many_rows.*
python benchmarks/many_rows.py --picture                        # a partition with a halo; writes docs/_static/cells.png
"""

import argparse
import json
import resource
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import AutoRegressor, LocalRidge, LocalRidgeCV
from mercer.kernels import Matern
from mercer.local.partition import Partition
from mercer.text import text_table

PAGES = Path(__file__).parents[1] / "docs" / "_static"
DATA = Path(__file__).parents[2] / "shared" / "data"
TABLES = ("california", "kin40k", "diamonds", "elevators", "kin8nm", "pumadyn32nm")
ROWS = (2000, 8000, 20_000, 35_000, 10**9)
KERNEL = Matern([0.3, 0.4, 0.5, 1.5, 1.5, 9.0, 9.0, 3.0], nu=1.5)  # of the generated table
TEST, LARGEST = 5000, 10  # rows that are predicted, as in benchmarks/streaming.py; residuals that are left out


def table(name: str) -> tuple[np.ndarray, ...]:
    """Rows to learn from and rows to predict, columns scaled."""
    stored = np.load(DATA / f"{name}.npz", allow_pickle=False)
    X, y = stored["X"].astype(np.float64), stored["y"].astype(np.float64).ravel()
    scale = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    order = np.random.default_rng(0).permutation(len(X))
    test = min(TEST, len(X) // 4)
    return X[order[test:]], y[order[test:]], X[order[:test]], y[order[:test]]


def generated(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Eight columns: waves of two, a step in one, a product of two, a category of five levels; noise 0.2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 1.0, size=(n, 8))
    X[:, 7] = rng.integers(0, 5, size=n)
    y = np.sin(9.0 * X[:, 0]) * np.cos(7.0 * X[:, 1]) + (X[:, 2] > 0.6) + 2.0 * X[:, 3] * X[:, 4] + 0.3 * X[:, 7]
    return X, y + 0.2 * rng.normal(size=n)


def peers() -> dict:
    """What is compared; CatBoost first, whose time and error are the units."""
    found = {}
    try:
        from catboost import CatBoostRegressor

        found["CatBoost"] = CatBoostRegressor(verbose=0, thread_count=2, random_seed=0, allow_writing_files=False)
    except ModuleNotFoundError:
        print("CatBoost is not installed: make bench installs it.")
    features = Nystroem(n_components=1000, random_state=0)
    found["HistGradientBoosting"] = HistGradientBoostingRegressor(random_state=0)
    found["Nystroem + Ridge"] = make_pipeline(StandardScaler(), features, RidgeCV(np.geomspace(1e-6, 1e2, 9)))
    return found | {"AutoRegressor": AutoRegressor(), "LocalRidgeCV": LocalRidgeCV()}


def root_mean_square(residuals: np.ndarray, without: int = 0) -> float:
    sizes = np.sort(np.abs(residuals))
    return float(np.sqrt(np.mean(sizes[: len(sizes) - without] ** 2)))


def compare(names: list[str], rows: list[int]) -> None:
    """Errors over the standard deviation of the rows predicted, and processor seconds."""
    found, ratios = [], []
    for name in names:
        X, y, new, truth = table(name)
        for n in sorted({min(count, len(X)) for count in rows}):
            errors = {}
            for who, model in peers().items():
                begin = time.process_time()
                fitted = model.fit(X[:n], y[:n])
                took = time.process_time() - begin
                errors[who] = root_mean_square(fitted.predict(new) - truth) / truth.std(), took
                own = getattr(fitted, "error_", None)
                if who == "LocalRidgeCV":
                    own = root_mean_square(fitted.residuals_)
                    trimmed = [root_mean_square(r, LARGEST) for r in (fitted.residuals_, fitted.predict(new) - truth)]
                    print(
                        f"{name}, {n} rows: leave-one-out over test error without the {LARGEST} largest of both: "
                        f"{trimmed[0] / trimmed[1]:.3f}; with them {own / truth.std() / errors[who][0]:.3f}; 90 % "
                        f"intervals hold {100 * float(fitted.coverage(new, truth)):.1f} %",
                        flush=True,
                    )
                peer = errors.get("CatBoost", errors[who])
                found.append([name, n, who, errors[who][0], errors[who][0] / peer[0], took, took / peer[1],
                              "" if own is None else f"{own / truth.std():.4g}"])  # fmt: skip
                if who == "AutoRegressor":
                    ratios.append(errors[who][0] / peer[0])
    header = ["table", "rows", "model", "error", "of CatBoost's", "processor (s)", "of CatBoost's", "own estimate"]
    print(text_table(header, found))
    print(f"AutoRegressor, geometric mean of errors over CatBoost's: {np.exp(np.mean(np.log(ratios))):.3f}")


def million() -> None:
    """LocalRidge on a million generated rows: time, memory, and growth from a hundred thousand."""
    new, truth = generated(20_000, 1)
    for n in (100_000, 1_000_000):
        X, y = generated(n, 0)
        begin, burned = time.perf_counter(), time.process_time()
        model = LocalRidge(0.3, kernel=KERNEL).fit(X, y)
        took, burned = time.perf_counter() - begin, time.process_time() - burned
        error = root_mean_square(model.predict(new) - truth)
        begin = time.perf_counter()
        model.predict(X[:100_000])
        rate = 100_000 / (time.perf_counter() - begin)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        print(
            f"{n} rows: {took:.0f} s, {burned:.0f} s of the processors, peak {peak:.2f} GB; leave-one-out error "
            f"{model.loo_error_:.4f}, on new rows {error:.4f}; {rate:.3g} predictions a second",
            flush=True,
        )


def out_of_core(folder: str, n: int = 10_000_000, block: int = 50_000) -> None:
    """LocalRidge on rows that are made when they are read: time, memory, and the error on new rows."""

    def rows():
        for start in range(0, n, block):
            yield generated(block, start + 2)

    begin, burned = time.perf_counter(), time.process_time()
    model = LocalRidge(0.3, kernel=KERNEL, core_rows=256, folder=folder, verbose=2).fit(rows, None)
    took, burned = time.perf_counter() - begin, time.process_time() - burned
    new, truth = generated(20_000, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(
        f"{n} rows in {model.partition_.cells} cells: {took:.0f} s, {burned:.0f} s of the processors, peak {peak:.2f} "
        f"GB; leave-one-out error {model.loo_error_:.4f}, on new rows "
        f"{root_mean_square(model.predict(new) - truth):.4f}",
        flush=True,
    )


CURVE = (500, 1000, 2000, 4500, 5500, 10_000, 20_000, 35_000, 48_940, 100_000, 200_000)
COLOURS = {"kin40k": "#0b6e99", "diamonds": "#c44e00", "generated": "#4d7c0f"}


def curve() -> None:
    """Error and processor time of AutoRegressor and CatBoost against the number of rows."""
    found: dict = {name: [] for name in COLOURS}
    for name, points in found.items():
        X, y, new, truth = (*generated(CURVE[-1], 0), *generated(TEST, 1)) if name == "generated" else table(name)
        for n in (count for count in CURVE if count <= len(X)):
            both = []
            for who in ("CatBoost", "AutoRegressor"):
                begin = time.process_time()
                model = peers()[who].fit(X[:n], y[:n])
                took = time.process_time() - begin
                both.append((root_mean_square(model.predict(new) - truth) / truth.std(), took))
            points.append((n, both))
            ratios = both[1][0] / both[0][0], both[1][1] / both[0][1]
            print(f"{name}, {n} rows: error {both[1][0]:.4f}, {ratios[0]:.3f} of CatBoost's; processor time "
                  f"{both[1][1]:.1f} s, {ratios[1]:.1f} times CatBoost's", flush=True)  # fmt: skip
    (PAGES / "many_rows.json").write_text(json.dumps(found, indent=1) + "\n", encoding="ascii")
    draw_curve(found)


def draw_curve(found: dict) -> None:
    """The curve as a picture."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for place, (axis, words) in enumerate(zip(axes, ("error / standard deviation", "processor seconds"), strict=True)):
        for name, points in found.items():
            rows = [n for n, _ in points]
            axis.loglog(rows, [both[0][place] for _, both in points], "--", color=COLOURS[name], lw=1.2)
            axis.loglog(rows, [both[1][place] for _, both in points], "o-", color=COLOURS[name], ms=3.5, label=name)
        axis.set(xlabel="rows", ylabel=words)
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks([0.1, 0.2, 0.4, 0.6], ["0.1", "0.2", "0.4", "0.6"])
    axes[0].minorticks_off()
    axes[0].plot([], [], "o-", color="0.4", ms=3.5, label="AutoRegressor")
    axes[0].plot([], [], "--", color="0.4", label="CatBoost")
    axes[0].legend(frameon=False, fontsize=9)
    figure.savefig(PAGES / "many_rows.png", dpi=160)


def picture() -> None:
    """Cores of a table of two columns, and one of them with its halo."""
    from matplotlib import pyplot as plt
    from matplotlib.patches import Rectangle

    rng = np.random.default_rng(3)
    angle, reach = rng.uniform(0.0, 2.0 * np.pi, 3000), rng.normal(1.0, 0.28, 3000)
    X = np.column_stack([reach * np.cos(angle), 0.7 * reach * np.sin(angle)])
    partition, cell = Partition.of(X, core_rows=94), 13
    system = partition.system(cell, rows=400)
    figure, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
    axis.scatter(*X.T, s=4, color="0.75", lw=0)
    for low, high in zip(partition.low, partition.high, strict=True):
        axis.add_patch(Rectangle(low, *(high - low), fill=False, edgecolor="0.55", lw=0.6))
    core = partition.core(cell)
    halo = np.setdiff1d(system, core)
    axis.scatter(*X[halo].T, s=9, color="#e8a13a", lw=0, label=f"halo, {len(halo)} rows")
    axis.scatter(*X[core].T, s=9, color="#0b6e99", lw=0, label=f"core, {len(core)} rows")
    axis.legend(frameon=False, loc="upper right", title="the system of one cell", fontsize=9)
    axis.set_axis_off()
    axis.set_aspect("equal")
    figure.savefig(PAGES / "cells.png", dpi=160)


def main() -> None:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=TABLES)
    parser.add_argument("--rows", nargs="*", type=int, default=list(ROWS))
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--folder", help="an empty directory")
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--picture", action="store_true")
    asked = parser.parse_args()
    if asked.million:
        million()
    elif asked.folder:
        out_of_core(asked.folder)
    elif asked.curve:
        curve()
    elif asked.picture:
        picture()
    elif DATA.exists():
        compare(asked.tables, asked.rows)
    else:
        print(f"{DATA} is not there.")


if __name__ == "__main__":
    main()
