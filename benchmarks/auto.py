"""Defaults on the standard splits: AutoRegressor and AutoClassifier beside the peers that are installed.

The figures of the prototype and of the peers that are not run here are those of PEERS.md. `--evaluate` asks each model
what it says about itself: the error of the outer loop over the test error, and the share of test targets inside the
intervals. `--time` compares the time of a fit with GPyTorch's exact GP, where that can be imported.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import AutoClassifier, AutoRegressor
from mercer.text import text_table

DATA = Path(__file__).parents[2] / "shared" / "data"
# splits, and the prototype's error
REGRESSION = {
    "boston": (5, 2.36),
    "concrete": (5, 3.86),
    "energy": (5, 0.291),
    "airfoil": (5, 0.849),
    "kin8nm": (2, 0.0696),
}
# the prototype's error in per cent; none of the sets nobody looked at while the calibration was made
CLASSIFICATION = {
    "banana": 11.06, "ringnorm": 1.65, "breast_cancer": 27.3, "titanic": 22.1, "waveform": 10.0,
    "diabetis": None, "flare_solar": None, "thyroid": None,
}  # fmt: skip
# splits that the prototype ran, where it did not run all of them
RAN = {"concrete": 2, "airfoil": 1, "kin8nm": 1}
METHODS = ("residuals", "jackknife+", "cv+", "gaussian")
GRID = {"svc__C": 10.0 ** np.arange(-1, 4), "svc__gamma": 10.0 ** np.arange(-3, 2)}


def splits(name: str, count: int):
    stored = np.load(DATA / f"{name}.npz", allow_pickle=False)
    X, y = stored["X"], stored["y"]
    for s in range(count):
        if "train_idx" in stored.files:
            yield X, y, stored["train_idx"][s], stored["test_idx"][s]
            continue
        if "train_idx_drawn" in stored.files:
            train = stored["train_idx_drawn"][s]
            yield X, y, train, np.setdiff1d(np.arange(len(y)), train)
            continue
        test = stored["test_idx"][s] if "test_idx" in stored.files else np.flatnonzero(stored["fold"] == s)
        yield X, y, np.setdiff1d(np.arange(len(y)), test), test


def rmse(predicted: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((predicted - y) ** 2)))


def timed(work) -> tuple[float, object]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def regression(name: str, count: int, prototype: float) -> list[object]:
    errors, out, peers, took = [], [], [], []
    for X, y, train, test in splits(name, count):
        seconds, model = timed(lambda X=X, y=y, train=train: AutoRegressor().fit(X[train], y[train]))
        took.append(seconds)
        errors.append(rmse(model.predict(X[test]), y[test]))
        out.append(model.error_)
        peer = HistGradientBoostingRegressor(random_state=0).fit(X[train], y[train])
        peers.append(rmse(peer.predict(X[test]), y[test]))
        print(f"  {name}: {errors[-1]:.4g} ({took[-1]:.1f} s)", flush=True)
    ran = RAN.get(name, count)
    error = np.std(errors, ddof=1) / np.sqrt(count) if count > 1 else np.nan
    return [
        name,
        count,
        f"{np.mean(errors):.4g} +- {error:.2g}",
        f"{np.mean(errors[:ran]):.4g} [{ran}]",
        f"{prototype} [{ran}]",
        f"{np.mean(peers):.4g}",
        f"{np.mean(out) / np.mean(errors):.2f}",
        f"{np.mean(took):.1f}",
    ]


def intervals(name: str, count: int) -> list[list[object]]:
    """Share of test targets inside the 90 % intervals, and their mean width, by method."""
    found = {method: [] for method in METHODS}
    for X, y, train, test in splits(name, count):
        model = AutoRegressor().fit(X[train], y[train])
        for method in METHODS:
            cover = model.coverage(X[test], y[test], method=method)
            found[method].append((100 * cover.share, cover.width, model.error_))
            print(f"  {name}, {method}: {cover}", flush=True)
    rows = []
    for method, each in found.items():
        share, width, error = np.mean(each, axis=0)
        rows.append([name, method, f"{share:.1f} %", f"{width / error:.2f}"])
    return rows


def honesty(name: str, count: int, folds: int) -> list[object]:
    """What `evaluate` says of the training part against what the test part shows; and all splits taken together."""
    pairs, inside, said = [], [], []
    for X, y, train, test in splits(name, count):
        model = AutoRegressor().fit(X[train], y[train])
        result = model.evaluate(X[train], y[train], folds=folds)
        pairs.append((result.error, rmse(model.predict(X[test]), y[test])))
        inside.append(100 * float(model.coverage(X[test], y[test])))
        said.append(100 * result.coverage)
        words = f"{pairs[-1][0]:.4g} said, {pairs[-1][1]:.4g} found, {inside[-1]:.1f} % inside, {said[-1]:.1f} % said"
        print(f"  {name}: {words}", flush=True)
    both = np.array(pairs)
    together = np.sqrt(np.mean(both**2, axis=0))
    numbers = np.mean(both[:, 0] / both[:, 1]), together[0] / together[1], np.mean(inside), np.mean(said)
    return [name, count, *(f"{each:.3g}" for each in numbers)]


def classification(name: str, prototype: float | None, count: int = 5) -> list[object]:
    errors, losses, peers, took = [], [], [], []
    for X, y, train, test in splits(f"ida_{name}", count):
        seconds, model = timed(lambda X=X, y=y, train=train: AutoClassifier().fit(X[train], y[train]))
        took.append(seconds)
        errors.append(100 * float(np.mean(model.predict(X[test]) != y[test])))
        search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=5).fit(X[train], y[train])
        calibrated = CalibratedClassifierCV(search.best_estimator_).fit(X[train], y[train])
        boosted = HistGradientBoostingClassifier(random_state=0).fit(X[train], y[train])
        losses.append([log_loss(y[test], each.predict_proba(X[test])) for each in (model, calibrated, boosted)])
        peers.append([100 * float(np.mean(each.predict(X[test]) != y[test])) for each in (calibrated, boosted)])
        print(f"  {name}: {errors[-1]:.4g} %, log loss {losses[-1][0]:.4f}, SVC {losses[-1][1]:.4f}", flush=True)
    error = np.std(errors, ddof=1) / np.sqrt(count)
    ours, svc, boosting = np.mean(losses, axis=0)
    difference = np.subtract(*np.transpose(losses)[:2])
    give = np.std(difference, ddof=1) / np.sqrt(count)
    return [
        name, f"{np.mean(errors):.4g} +- {error:.2g}", prototype, *(f"{each:.4g}" for each in np.mean(peers, axis=0)),
        f"{ours:.4f}", f"{svc:.4f}", f"{boosting:.4f}", f"{difference.mean():+.4f} +- {give:.2g}",
        f"{np.mean(took):.1f}",
    ]  # fmt: skip


def exact_gp(X: np.ndarray, y: np.ndarray, steps: int = 150) -> float:
    """Seconds of GPyTorch's exact GP, ARD Matern 5/2, by Adam; NaN where it is not installed."""
    try:
        import gpytorch
        import torch
    except ImportError:
        return float("nan")

    class Model(gpytorch.models.ExactGP):
        def __init__(self, X, y, likelihood):
            super().__init__(X, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=X.shape[1]))

        def forward(self, X):
            return gpytorch.distributions.MultivariateNormal(self.mean(X), self.kernel(X))

    Z = torch.tensor((X - X.mean(axis=0)) / X.std(axis=0))
    t = torch.tensor((y - y.mean()) / y.std())
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Model(Z, t, likelihood).double().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    start = time.process_time()
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -objective(model(Z), t)
        loss.backward()
        optimizer.step()
    return time.process_time() - start


def fit_time(name: str) -> list[object]:
    """Processor seconds, so that a busy machine does not tell on either."""
    X, y, train, _ = next(splits(name, 1))
    start = time.process_time()
    AutoRegressor().fit(X[train], y[train])
    ours, theirs = time.process_time() - start, exact_gp(X[train], y[train])
    return [name, len(train), f"{ours:.1f}", f"{theirs:.1f}", f"{ours / theirs:.2f}"]


def report(heads: list[str], rows: list[list[object]]) -> None:
    if rows:
        print(text_table(heads, rows), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", help="names of sets; all by default")
    parser.add_argument("--splits", type=int, help="of each set at most")
    parser.add_argument("--folds", type=int, default=10, help="of the outer loop")
    for name in ("evaluate", "intervals", "time"):
        parser.add_argument(f"--{name}", action="store_true")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    if not DATA.exists():
        print(f"{DATA} is not there.")
        return
    chosen = [name for name in (*REGRESSION, *CLASSIFICATION) if not asked.sets or name in asked.sets]
    numbers = {name: min(REGRESSION[name][0], asked.splits or 5) for name in chosen if name in REGRESSION}
    if asked.evaluate:
        heads = ["set", "splits", "evaluate / test", "together", "% inside", "% said"]
        report(heads, [honesty(name, count, asked.folds) for name, count in numbers.items()])
    elif asked.intervals:
        heads = ["set", "method", "inside", "width / out-of-fold error"]
        report(heads, [row for name, count in numbers.items() for row in intervals(name, count)])
    elif asked.time:
        heads = ["processor seconds", "rows", "AutoRegressor", "exact GP, 150 steps", "ratio"]
        report(heads, [fit_time(name) for name in numbers])
    else:
        heads = ["test RMSE", "splits", "AutoRegressor", "same as", "prototype", "HistGB", "out-of-fold / test", "s"]
        report(heads, [regression(name, count, REGRESSION[name][1]) for name, count in numbers.items()])
        heads = [
            "test error %", "AutoClassifier", "prototype", "SVC", "HistGB",
            "log loss", "SVC, calibrated", "HistGB", "ours - SVC's", "s",
        ]  # fmt: skip
        each = {name: CLASSIFICATION[name] for name in chosen if name in CLASSIFICATION}
        report(heads, [classification(name, how, asked.splits or 5) for name, how in each.items()])


if __name__ == "__main__":
    main()
