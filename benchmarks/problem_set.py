"""The lab course's problem set on real data: molecules of QM7 and the sets of the IDA benchmark.

QM7 (errors are mean absolute errors in kcal/mol): width and alpha by 5-fold cross-validation of 2500 training
molecules, widths from quantiles of their distances; error against training size with these; over- and underfitting.
IDA: width and alpha by repeated 5-fold cross-validation of each training set; test errors and averaged ROC curves.

    python benchmarks/problem_set.py            prints the tables
    python benchmarks/problem_set.py --write    and writes them, and the figures, to docs/_static

Data are the packed copies in ../shared/data, or the published files: --qm7 qm7.mat, --ida FOLDER [FOLDER ...]
"""

import argparse
import csv
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics import auc, roc_curve

from mercer import KernelRidge, KernelRidgeClassifierCV, KernelRidgeCV
from mercer.course import IdaSet, IdaSplit, Qm7, cv, krr, load_ida, load_qm7, mean_absolute_error, zero_one_loss
from mercer.displays import look
from mercer.errors import EdgeOfGridWarning
from mercer.kernels import Gaussian, Laplacian
from mercer.text import text_table

DATA = Path(__file__).parents[2] / "shared" / "data"
PAGES = Path(__file__).parents[1] / "docs" / "_static"
SETS = ("banana", "breast_cancer", "diabetis", "flare_solar", "ringnorm", "thyroid", "titanic", "waveform")
SPLITS, DRAWS = 10, 3
SIZES, CHOOSING, FITTING = (100, 300, 1000, 2500, 5000), 2500, 1000
QUANTILES = (0.01, 0.1, 0.5, 0.9)
ALPHAS = np.geomspace(1e-10, 1e-1, 10).tolist()
PENALTIES = np.geomspace(1e-4, 1e3, 15).tolist()  # alphas of the IDA sets, which are noisier
QUIET = {"random_state": 0, "verbose": 0}
SHARES = np.linspace(0.0, 1.0, 201)  # of false positives, where ROC curves are averaged


# -- data ------------------------------------------------------------------------------------------------


def packed_molecules() -> Qm7:
    stored = np.load(DATA / "qm7.npz", allow_pickle=False)
    upper, matrices = np.triu_indices(23), np.zeros((len(stored["y"]), 23, 23))
    matrices[:, upper[0], upper[1]] = matrices[:, upper[1], upper[0]] = stored["X"]
    folds = np.argsort(stored["fold_drawn"], kind="stable").reshape(5, -1)
    return Qm7(matrices, stored["y"].astype(float), folds)


def packed_set(name: str) -> IdaSet:
    """The first splits of a set."""
    stored = np.load(DATA / f"ida_{name}.npz", allow_pickle=False)
    X, y = stored["X"].astype(float), stored["y"].astype(int)
    splits = []
    for i, train in enumerate(stored["train_idx" if "train_idx" in stored else "train_idx_drawn"][:SPLITS]):
        test = np.setdiff1d(np.arange(len(y)), train)
        splits.append(IdaSplit(i + 1, X[train], y[train], X[test], y[test]))
    return IdaSet(name if "train_idx" in stored else f"{name} (drawn)", tuple(splits))


def widths(X, metric: str) -> list[float]:
    """Quantiles of the distances of distinct rows, at most 1000 of them, and multiples of the largest."""
    distances = pdist(X[:1000], metric)
    found = np.quantile(distances[distances > 0], QUANTILES).tolist()
    return [*found, *(times * found[-1] for times in (4, 16, 64))]


# -- molecules -------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Model:
    """A kernel on a description of the molecules, and what was found with it."""

    name: str
    X: np.ndarray
    metric: str
    tried: list = field(default_factory=list)  # width, alpha, cross-validation error, its standard deviation
    curve: list = field(default_factory=list)  # test errors of each draw, for each training size
    test_error: float = 0.0  # standard error of the last mean, over test molecules

    @property
    def best(self):
        return min(self.tried, key=lambda found: found[2])

    def method(self, width: float, alpha: float):
        """The width is one of distances; that of the course is per dimension."""
        if self.metric == "cityblock":
            return KernelRidge(alpha, kernel=Laplacian(width))
        return krr("gaussian", width / self.X.shape[1] ** 0.5, alpha)

    def choose(self, train, y) -> None:
        X, y = self.X[train], y[train] - y[train].mean()
        for width in widths(X, self.metric):
            if self.metric == "cityblock":  # krr has no Laplacian
                how = {"cv": 5, "scoring": "neg_mean_absolute_error", "random_state": 0}
                search = KernelRidgeCV([Laplacian(width)], ALPHAS, **how).fit(X, y)
                results, at = search.cv_results_, int(np.argmin(search.cv_results_["rank_test_score"]))
                found = [search.alpha_, -search.best_score_, results["std_test_score"][at]]
            else:
                grid = {"regularization": ALPHAS}
                best = cv(X, y, self.method(width, 1.0), grid, 5, 1, mean_absolute_error, **QUIET)
                found = [best.regularization, best.cvloss, best.cvloss_std]
            self.tried.append([width, *found])

    def guesses(self, y, train, test, width: float, alpha: float):
        """Training rows and test rows, each with their predictions."""
        middle = y[train].mean()
        model = self.method(width, alpha).fit(self.X[train], y[train] - middle)
        return [(rows, model.predict(self.X[rows]) + middle) for rows in (train, test)]


def molecules(data: Qm7):
    """Three models, chosen and tested; over- and underfitting of one of them."""
    y, test = data.energies, data.folds[0]
    pools = [np.random.default_rng(i).permutation(data.folds[1:].ravel()) for i in range(DRAWS)]
    rows = data.sorted_rows()
    models = [
        Model("Gaussian, eigenvalues", data.eigenvalues(), "euclidean"),
        Model("Gaussian, sorted matrix", rows, "euclidean"),
        Model("Laplacian, sorted matrix", rows, "cityblock"),
    ]
    for model in models:
        model.choose(pools[0][:CHOOSING], y)
        width, alpha = model.best[:2]
        for n in SIZES:
            found = [np.abs(model.guesses(y, pool[:n], test, width, alpha)[1][1] - y[test]) for pool in pools]
            model.curve.append([each.mean() for each in found])
        model.test_error = np.mean(found, axis=0).std(ddof=1) / len(test) ** 0.5
        print(f"{model.name}: {model.best}, {np.mean(model.curve, axis=1).round(2)}", flush=True)
    baseline = mean_absolute_error(y[test], np.full(len(test), y[pools[0]].mean()))
    return models, baseline, fits(models[1], y, pools[0][:FITTING], test)


def fits(model: Model, y, train, test):
    """Training and test error against width and against alpha, and the predictions of three settings."""

    def both(width, alpha):
        return [mean_absolute_error(y[part], guess) for part, guess in model.guesses(y, train, test, width, alpha)]

    width, alpha = model.best[:2]
    by_width = [(each, *both(each, alpha)) for each in np.geomspace(width / 300, 30 * width, 16)]
    by_alpha = [(each, *both(width, each)) for each in np.geomspace(1e-13, 1e1, 15)]
    settings = {"underfitting": (width, 1.0), "chosen": (width, alpha), "overfitting": (width / 100, alpha)}
    pictures = {
        name: (setting, [(y[part], guess) for part, guess in model.guesses(y, train, test, *setting)])
        for name, setting in settings.items()
    }
    return by_width, by_alpha, pictures


# -- the IDA benchmark -----------------------------------------------------------------------------------


def scaled(split: IdaSplit):
    """Rows in units of the standard deviations of the training rows, from their means."""
    middle, spread = split.X_train.mean(axis=0), split.X_train.std(axis=0)
    spread[spread == 0] = 1.0
    return (split.X_train - middle) / spread, (split.X_test - middle) / spread


def classified(data: IdaSet):
    """Test error, area under the ROC curve and ROC curve of every split, for each model.

    krr has no intercept, so the third model is the library's own.
    """
    found = {"linear": [], "Gaussian": [], "with intercept": []}
    for split in data.splits:
        X, T = scaled(split)
        tried, root = widths(X, "euclidean"), X.shape[1] ** 0.5
        grids = [  # a polynomial of degree 1 is x'z + 1
            {"kernel": ["polynomial"], "kernelparameter": [1], "regularization": PENALTIES},
            {"kernel": ["gaussian"], "kernelparameter": [each / root for each in tried], "regularization": PENALTIES},
        ]
        how = {"nfolds": 5, "nrepetitions": 5, "loss_function": zero_one_loss, **QUIET}
        decisions = [cv(X, split.y_train, krr, grid, **how).predict(T) for grid in grids]
        search = KernelRidgeClassifierCV(
            [Gaussian(each) for each in tried], PENALTIES, cv=5, repeats=5, fit_intercept=True, random_state=0
        )
        decisions.append(search.fit(X, split.y_train).decision_function(T))
        for results, decision in zip(found.values(), decisions, strict=True):
            false, true, _ = roc_curve(split.y_test, decision)
            error = 100 * zero_one_loss(split.y_test, np.where(decision >= 0, 1, -1))
            results.append((error, auc(false, true), np.interp(SHARES, false, true)))
    return found


# -- tables ----------------------------------------------------------------------------------------------


def spread(values, digits: int) -> str:
    return f"{np.mean(values):.{digits}f} \u00b1 {np.std(values, ddof=1):.{digits}f}"


def tables(models, baseline, pictures, sets):
    chosen = [
        [model.name, f"{width:.0f}", f"{alpha:.0e}", f"{error:.1f} \u00b1 {deviation:.1f}"]
        for model in models
        for width, alpha, error, deviation in [model.best]
    ]
    sizes = [[str(n), *(spread(model.curve[i], 1) for model in models)] for i, n in enumerate(SIZES)]
    sizes.append(["standard error of the last row", *(f"{model.test_error:.1f}" for model in models)])
    sizes.append(["baseline (predicting the mean)", *[f"{baseline:.0f}"] * len(models)])
    settings = [
        [name, f"{width:.0f}", f"{alpha:.0e}", *(f"{mean_absolute_error(*part):.1f}" for part in parts)]
        for name, ((width, alpha), parts) in pictures.items()
    ]
    ida = []
    for data, found in sets:
        split, (errors, areas) = data.splits[0], ([[each[i] for each in found[k]] for k in found] for i in (0, 1))
        counts = [split.X_train.shape[1], f"{len(split.y_train)} / {len(split.y_test)}"]
        ida.append([data.name, *counts, *(spread(e, 1) for e in errors), *(spread(a, 3) for a in areas)])
    return {
        "chosen": [["model", "width", "alpha", "5-fold error (kcal/mol)"], *chosen],
        "sizes": [["training molecules", *(model.name for model in models)], *sizes],
        "fits": [["setting", "width", "alpha", "training error", "test error"], *settings],
        "ida": [
            [
                "set",
                "columns",
                "train / test",
                *(f"error (%), {name}" for name in found),
                *(f"area, {name}" for name in found),
            ],
            *ida,
        ],
    }


# -- figures ---------------------------------------------------------------------------------------------


def settle(ax, **words) -> None:
    ax.set(**words)
    ax.grid(visible=True, which="major", color="0.9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def numbered(axis, values) -> None:
    axis.set_ticks(values, [f"{value:g}" for value in values])
    axis.minorticks_off()


def draw_sizes(models):
    figure, (left, right) = look.pyplot().subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    for model, colour, marker, line in zip(models, look.COLOURS, look.MARKERS, look.STYLES, strict=False):
        style = {"color": colour, "marker": marker, "linestyle": line, "markersize": 5, "label": model.name}
        left.errorbar(SIZES, np.mean(model.curve, axis=1), np.std(model.curve, axis=1, ddof=1), capsize=2, **style)
        scale = model.tried[QUANTILES.index(0.5)][0]
        right.plot([found[0] / scale for found in model.tried], [found[2] for found in model.tried], **style)
    settle(left, xscale="log", yscale="log", xlabel="training molecules", ylabel="test error (kcal/mol)")
    settle(right, xscale="log", yscale="log", xlabel="width / median distance", ylabel="5-fold error (kcal/mol)")
    numbered(left.xaxis, SIZES)
    numbered(left.yaxis, (5, 10, 20, 50))
    numbered(right.xaxis, (0.3, 1, 3, 10, 30, 100))
    numbered(right.yaxis, (7, 10, 15, 20))
    left.legend(frameon=False)
    return figure


def draw_fits(by_width, by_alpha, pictures):
    figure = look.pyplot().figure(figsize=(9.5, 6.4), layout="constrained")
    axes = figure.subplot_mosaic("AAABBB;CCDDEE")
    for place, found, label in (("A", by_width, "width"), ("B", by_alpha, "alpha")):
        at, training, test = zip(*found, strict=True)
        axes[place].plot(at, training, "--s", color=look.BLUE, markersize=4, label="training")
        axes[place].plot(at, test, "-o", color=look.VERMILION, markersize=4, label="test")
        settle(axes[place], xscale="log", xlabel=label, ylabel="error (kcal/mol)", ylim=(0, 200))
        axes[place].legend(frameon=False)
    for place, (name, (_, (training, test))) in zip("CDE", pictures.items(), strict=True):
        ax = axes[place]
        ax.plot(*test, "o", color=look.VERMILION, markersize=2, alpha=0.4, label="test", rasterized=True)
        ax.plot(*training, "s", color=look.BLUE, markersize=2, alpha=0.4, label="training", rasterized=True)
        ax.axline((-1500, -1500), slope=1, color=look.BLACK, linewidth=0.8)
        limits = {"xlim": (-2250, -500), "ylim": (-2250, -500), "aspect": "equal"}
        settle(ax, xlabel="energy (kcal/mol)", title=name, **limits)
        ax.set_xticks([-2000, -1500, -1000])
        ax.set_yticks([-2000, -1500, -1000])
    axes["C"].set_ylabel("predicted (kcal/mol)")
    axes["C"].legend(frameon=False, markerscale=2, loc="upper left")
    return figure


def draw_curves(sets):
    rows = -(-len(sets) // 4)
    shape = {"figsize": (9.5, 2.6 * rows), "sharex": True, "sharey": True, "layout": "constrained", "squeeze": False}
    figure, axes = look.pyplot().subplots(rows, min(4, len(sets)), **shape)
    for ax, (data, found) in zip(axes.flat, sets, strict=False):
        for (name, results), colour, line in zip(found.items(), (look.VERMILION, look.BLUE), ("--", "-"), strict=False):
            curves = np.array([curve for _, _, curve in results])
            middle, deviation = curves.mean(axis=0), curves.std(axis=0, ddof=1)
            ax.plot(SHARES, middle, color=colour, linestyle=line, label=name)
            ax.fill_between(SHARES, middle - deviation, middle + deviation, color=colour, alpha=look.BAND, linewidth=0)
        ax.plot([0, 1], [0, 1], color=look.GREY, linewidth=0.8)
        settle(ax, title=data.name, xlim=(0, 1), ylim=(0, 1.01), aspect="equal")
    axes.flat[0].legend(frameon=False, loc="lower right")
    figure.supxlabel("share of false positives", fontsize="medium")
    figure.supylabel("share of true positives", fontsize="medium")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write docs/_static/problem_set_*.{csv,png}")
    parser.add_argument("--qm7", type=Path, help="the published qm7.mat")
    parser.add_argument("--ida", type=Path, nargs="+", default=(), help="folders of IDA sets")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", category=EdgeOfGridWarning)  # alphas below 1e-4 are alike to the Laplacian
    begin = time.process_time()
    models, baseline, (by_width, by_alpha, pictures) = molecules(
        load_qm7(given.qm7) if given.qm7 else packed_molecules()
    )
    sets = [(data, classified(data)) for data in ([load_ida(each) for each in given.ida] or map(packed_set, SETS))]
    found = tables(models, baseline, pictures, sets)
    for header, *rows in found.values():
        print(text_table(header, rows), end="\n\n")
    print(f"{time.process_time() - begin:.0f} s of processor time")
    if given.write:
        import matplotlib as mpl

        mpl.use("Agg")
        figures = {
            "sizes": draw_sizes(models),
            "fits": draw_fits(by_width, by_alpha, pictures),
            "roc": draw_curves(sets),
        }
        for name, figure in figures.items():
            figure.savefig(PAGES / f"problem_set_{name}.png", dpi=110)
        for name, table in found.items():
            with (PAGES / f"problem_set_{name}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(table)


if __name__ == "__main__":
    main()
