"""Log loss of calibrated probabilities against CalibratedClassifierCV, on the IDA sets where they are at hand."""

import warnings
from pathlib import Path

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import KernelRidgeClassifier, KernelRidgeClassifierCV
from mercer.text import text_table

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
SETS = ("banana", "ringnorm", "breast_cancer", "titanic", "waveform")
SPLITS = 5


def losses(name: str) -> list[float]:
    """Mean over splits: ours, CalibratedClassifierCV around the same model, and around an SVC."""
    with np.load(DATA / f"ida_{name}.npz", allow_pickle=False) as held:
        X, y, train, test = held["X"], held["y"], held["train_idx"], held["test_idx"]
    found = []
    for s in range(SPLITS):
        scale = StandardScaler().fit(X[train[s]])
        old, new = scale.transform(X[train[s]]), scale.transform(X[test[s]])
        labels, truth = y[train[s]], y[test[s]]
        ours = KernelRidgeClassifierCV(fit_intercept=True).fit(old, labels)
        same = KernelRidgeClassifier(ours.alpha_, kernel=ours.best_kernel_, fit_intercept=True)
        peers = (CalibratedClassifierCV(same), CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC())))
        models = (ours, *(peer.fit(old, labels) for peer in peers))
        found.append([log_loss(truth, model.predict_proba(new)) for model in models])
    return np.mean(found, axis=0).tolist()


def main() -> None:
    if not DATA.is_dir():
        print(f"The data sets are not at {DATA}.")
        return
    warnings.filterwarnings("ignore", message="The winner of")
    header = ["log loss, first 5 splits", "mercer", "CalibratedClassifierCV, same model", "around SVC"]
    print(text_table(header, [[name, *losses(name)] for name in SETS]))


if __name__ == "__main__":
    main()
