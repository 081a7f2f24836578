"""Defaults on the standard splits: AutoRegressor and AutoClassifier beside the peers that are installed.

The figures of the prototype and of the peers that are not run here are those of PEERS.md.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss

from mercer import AutoClassifier, AutoRegressor
from mercer.tables import text_table

DATA = Path(__file__).parents[2] / "shared" / "data"
REGRESSION = {
    "boston": (5, 2.36),
    "concrete": (5, 3.86),
    "energy": (5, 0.291),
    "airfoil": (5, 0.849),
    "kin8nm": (2, 0.0696),
}
CLASSIFICATION = {"banana": 11.06, "ringnorm": 1.65, "breast_cancer": 27.3, "titanic": 22.1, "waveform": 10.0}
# splits that the prototype ran, where it did not run all of them
RAN = {"concrete": 2, "airfoil": 1, "kin8nm": 1}


def splits(name: str, count: int):
    stored = np.load(DATA / f"{name}.npz", allow_pickle=False)
    X, y = stored["X"], stored["y"]
    for s in range(count):
        if "train_idx" in stored.files:
            yield X, y, stored["train_idx"][s], stored["test_idx"][s]
            continue
        test = stored["test_idx"][s] if "test_idx" in stored.files else np.flatnonzero(stored["fold"] == s)
        yield X, y, np.setdiff1d(np.arange(len(y)), test), test


def regression(name: str, count: int, prototype: float) -> list[object]:
    errors, out, covered, peers, took = [], [], [], [], []
    for X, y, train, test in splits(name, count):
        start = time.perf_counter()
        model = AutoRegressor().fit(X[train], y[train])
        took.append(time.perf_counter() - start)
        errors.append(rmse(model.predict(X[test]), y[test]))
        out.append(model.error_)
        covered.append(float(model.coverage(X[test], y[test])))
        peer = HistGradientBoostingRegressor(random_state=0).fit(X[train], y[train])
        peers.append(rmse(peer.predict(X[test]), y[test]))
        print(f"  {name}: {errors[-1]:.4g} ({took[-1]:.1f} s)", flush=True)
    ran = RAN.get(name, count)
    error = np.std(errors, ddof=1) / np.sqrt(count)
    return [
        name,
        count,
        f"{np.mean(errors):.4g} +- {error:.2g}",
        f"{np.mean(errors[:ran]):.4g} [{ran}]",
        f"{prototype} [{ran}]",
        f"{np.mean(peers):.4g}",
        f"{np.mean(out) / np.mean(errors):.2f}",
        f"{100 * np.mean(covered):.0f} %",
        f"{np.mean(took):.1f}",
    ]


def rmse(predicted: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((predicted - y) ** 2)))


def classification(name: str, prototype: float, count: int = 5) -> list[object]:
    errors, losses, peers, took = [], [], [], []
    for X, y, train, test in splits(f"ida_{name}", count):
        start = time.perf_counter()
        model = AutoClassifier().fit(X[train], y[train])
        took.append(time.perf_counter() - start)
        errors.append(100 * float(np.mean(model.predict(X[test]) != y[test])))
        losses.append(log_loss(y[test], model.predict_proba(X[test]), labels=model.classes_))
        peer = HistGradientBoostingClassifier(random_state=0).fit(X[train], y[train])
        peers.append(100 * float(np.mean(peer.predict(X[test]) != y[test])))
        print(f"  {name}: {errors[-1]:.4g} ({took[-1]:.1f} s)", flush=True)
    error = np.std(errors, ddof=1) / np.sqrt(count)
    return [
        name, f"{np.mean(errors):.4g} +- {error:.2g}", prototype, f"{np.mean(peers):.3g}", f"{np.mean(losses):.4f}",
        f"{np.mean(took):.1f}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", help="names of sets; all by default")
    chosen = parser.parse_args().sets
    warnings.filterwarnings("ignore")
    if not DATA.exists():
        print(f"{DATA} is not there.")
        return
    heads = [
        "test RMSE",
        "splits",
        "AutoRegressor",
        "same as",
        "prototype",
        "HistGB",
        "out-of-fold / test",
        "90 %",
        "s",
    ]
    rows = [regression(name, *how) for name, how in REGRESSION.items() if not chosen or name in chosen]
    print(text_table(heads, rows) if rows else "")
    rows = [classification(name, how) for name, how in CLASSIFICATION.items() if not chosen or name in chosen]
    print(text_table(["test error %", "AutoClassifier", "prototype", "HistGB", "log loss", "s"], rows) if rows else "")


if __name__ == "__main__":
    main()
