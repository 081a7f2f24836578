"""Log loss of probabilities on the eight IDA sets, where they are at hand: calibrated, logistic and automatic models.

python benchmarks/calibration.py [--splits 3] [--auto]

Without --auto: the calibrated least-squares classifier, KernelLogisticCV, and scikit-learn's calibration of an SVC.
With --auto: AutoClassifier and four peers with their defaults, for 100, 200 and all training rows of each split.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import AutoClassifier, KernelLogisticCV, KernelRidgeClassifierCV
from mercer.text import text_table

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
SETS = ("banana", "breast_cancer", "diabetis", "flare_solar", "ringnorm", "thyroid", "titanic", "waveform")


def splits(name: str, count: int) -> list[tuple[np.ndarray, ...]]:
    """Training rows, their labels, test rows and their labels, of the first splits of a set."""
    with np.load(DATA / f"ida_{name}.npz", allow_pickle=False) as held:
        X, y = held["X"].astype(float), held["y"]
        train = held["train_idx" if "train_idx" in held else "train_idx_drawn"][:count]
        tests = held["test_idx"][:count] if "test_idx" in held else [np.setdiff1d(np.arange(len(y)), t) for t in train]
    return [(X[a], y[a], X[b], y[b]) for a, b in zip(train, tests, strict=True)]


def judge(
    model: object, old: np.ndarray, labels: np.ndarray, new: np.ndarray, truth: np.ndarray
) -> tuple[float, float]:
    """Log loss and share of wrong labels on the test rows."""
    model.fit(old, labels)
    return log_loss(truth, model.predict_proba(new), labels=model.classes_), float(np.mean(model.predict(new) != truth))


def searches() -> dict[str, object]:
    return {
        "calibrated": make_pipeline(StandardScaler(), KernelRidgeClassifierCV(fit_intercept=True)),
        "logistic": make_pipeline(StandardScaler(), KernelLogisticCV(fit_intercept=True)),
        "SVC, calibrated": CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC())),
    }


def automatic() -> dict[str, object]:
    from catboost import CatBoostClassifier

    return {
        "AutoClassifier": AutoClassifier(),
        "CatBoost": CatBoostClassifier(verbose=0, allow_writing_files=False, thread_count=1),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
        "random forest": RandomForestClassifier(random_state=0),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    }


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--splits", type=int, default=3)
    asked.add_argument("--auto", action="store_true")
    asked = asked.parse_args()
    if not DATA.is_dir():
        print(f"The data sets are not at {DATA}.")
        return
    warnings.simplefilter("ignore")
    make, table = automatic if asked.auto else searches, []
    for name in SETS:
        for rows in (100, 200, None) if asked.auto else (None,):
            found: dict[str, list[tuple[float, float]]] = {}
            shares = []
            for all_rows, all_labels, new, truth in splits(name, asked.splits):
                old, labels = all_rows[:rows], all_labels[:rows]
                p = np.bincount(np.unique(labels, return_inverse=True)[1]) / len(labels)
                each = -np.log(p[np.searchsorted(np.unique(labels), truth)])
                shares.append((each.mean(), each.std() / np.sqrt(len(each))))
                for title, model in make().items():
                    found.setdefault(title, []).append(judge(model, old, labels, new, truth))
            means = {title: np.mean(values, axis=0) for title, values in found.items()}
            losses = [float(mean[0]) for mean in means.values()]
            errors = [100 * float(mean[1]) for mean in means.values()]
            ratio = losses[0] / min(losses[1:])
            table.append([name, rows or "all", *losses, float(np.mean(shares, axis=0)[0]), ratio, *errors[:2]])
    header = ["set", "rows", *make(), "class shares", "ours / best", "error %", "second %"]
    print(text_table(header, table))


if __name__ == "__main__":
    main()
