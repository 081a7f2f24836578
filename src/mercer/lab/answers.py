"""What the page is told: fits, errors, spectra and surfaces; all of it is the library's arithmetic."""

from __future__ import annotations

import base64
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.data.rows import Array, Estimator, XLike
from mercer.errors import InputError, MercerWarning, refuse
from mercer.estimators import (
    KernelLogistic,
    KernelRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
)
from mercer.inference.influence import influence
from mercer.kernels import Kernel
from mercer.lab.questions import Answer, Question, read_kernel, read_points
from mercer.runtime import threads
from mercer.solvers.newton import Task

ALPHAS = np.geomspace(1e-8, 1e3, 23)
WIDTHS = np.geomspace(1 / 16, 16.0, 13)  # times the widths of the kernel
_CONFIDENCE = 0.9
_LEVELS = (0.05, 0.5, 0.95)  # of quantiles
_MOST_DRAWS = 50


def answer(what: str, asked: dict[str, Any]) -> Answer:
    """The answer to a question; one that is not there is a `KeyError`."""
    with threads(1), quiet, np.errstate(all="ignore"):  # so few points need no more threads
        return ANSWERS[what](asked)


class Quiet:
    """No warnings of the library while any thread is inside: the page shows what they say.

    The filters of warnings belong to all threads, so the first to come sets them and the last to go sets them back.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._before = threading.Lock(), 0, warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = warnings.catch_warnings(action="ignore", category=MercerWarning)
                self._before.__enter__()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._before.__exit__(None, None, None)


quiet = Quiet()


def fit(asked: dict[str, Any]) -> Answer:
    """Predictions with a band, errors in the sample and left out, degrees of freedom, and what each point changes."""
    question = Question(asked)
    if question.loss != "squared":
        return _fit_loss(question)
    if question.labels:
        return _fit_labels(question)
    model, at = _ridge(question), question.at
    told = _left_out(question, model) | {"training": _root(question.y - model.predict(question.X)), "curve": []}
    if len(at):
        told["curve"] = model.predict(at)
        told["lower"], told["upper"] = model.predict_interval(at, _CONFIDENCE)
    return told


def _fit_labels(question: Question) -> Answer:
    model, at = _ridge(question), question.at
    search = KernelRidgeClassifierCV([question.kernel], [question.alpha], fit_intercept=question.intercept)
    search.fit(question.X, question.y)
    return _left_out(question, model) | {
        "training": float(np.mean(search.predict(question.X) != question.y)),
        "left_out": 1.0 - float(search.best_score_),
        "error_without": None,
        "curve": search.predict_proba(at)[:, 1] if len(at) else [],
        "decision": model.predict(at) if len(at) else [],
    }


def _fit_loss(question: Question) -> Answer:
    """Predictions, outer quantiles and mean losses; what only squared errors have is None."""
    model, labels, at = fitted_model(question), question.labels, question.at
    y, loss = np.maximum(question.y, 0.0) if labels else question.y, model.losses_[0]

    def columns(rows: XLike) -> Array:
        values = model.decision_function(rows) if labels else model.predict(rows)
        return np.reshape(values, (len(rows), -1)).T

    inside = zip(model.losses_, columns(question.X), strict=True)
    told = dict.fromkeys(("left_out", "residuals", "leverage", "error_without", "degrees", "digits")) | {
        "training": float(np.mean([each.rows(y, f[:, None]) for each, f in inside])),
        "converged": model.converged_,
        "curve": [],
    }
    if question.loss != "quantile":
        task = Task(question.kernel(question.X), y, np.ones(len(y)), loss, question.intercept)
        left = np.vstack(task.minimize(question.alpha).leave_out(list(np.arange(len(y))[:, None]))[0])
        told |= {"left_out": float(np.mean(loss.rows(y, left))), "residuals": None if labels else y - left[:, 0]}
    if len(at):
        curves = columns(at)
        told["curve"] = loss.mean(curves[len(curves) // 2])
        told |= {"decision": curves[0]} if labels else {}
        told |= {"lower": curves[0], "upper": curves[-1]} if len(curves) > 1 else {}
    return told


def estimator_of(question: Question) -> tuple[type[Estimator], dict[str, object]]:
    """The estimator of the loss, and its parameters beside alpha, kernel and intercept."""
    if question.loss == "squared":
        return KernelRidgeClassifier if question.labels else KernelRidge, {}
    if question.loss == "logistic":
        return KernelLogistic, {}
    return KernelRegressor, {"loss": question.loss} | ({"quantiles": _LEVELS} if question.loss == "quantile" else {})


def fitted_model(question: Question) -> Estimator:
    """The model of the sliders."""
    kind, settings = estimator_of(question)
    model = kind(question.alpha, kernel=question.kernel, fit_intercept=question.intercept, **settings)
    return model.fit(question.X, question.y)


def _left_out(question: Question, model: KernelRidge) -> Answer:
    """Leave-one-out error and residuals, and what each point changes where the system is far enough from singular."""
    told = {"degrees": float(model.effective_dof_), "digits": float(model.route_.digits)}
    try:
        found = influence(model)
    except InputError:
        search = KernelRidgeCV([question.kernel], [question.alpha], fit_intercept=question.intercept)
        residuals = question.y - search.fit(question.X, question.y).cv_predictions_[0]
        return told | {"left_out": _root(residuals), "residuals": residuals, "leverage": None, "error_without": None}
    names = {"left_out": "error", "residuals": "residual", "leverage": "leverage", "error_without": "error_without"}
    return told | {name: getattr(found, attribute) for name, attribute in names.items()}


def without(asked: dict[str, Any]) -> Answer:
    """Predictions of the model without one point, from the factor of all."""
    question, row = Question(asked), asked.get("row")
    n = len(question.y)
    if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < n:
        raise InputError(f"row must be the number of a point, from 0 to {n - 1}.")
    return {"curve": _ridge(question).without(row).predict(question.at) if len(question.at) else []}


def overview(asked: dict[str, Any]) -> Answer:
    """Error against alpha for this kernel, the eigenvalues of the kernel matrix, and the matrix as an image."""
    question = Question(asked)
    K = question.kernel(question.X)
    keys = [] if question.words else [*question.X.T[::-1], *([question.y] if question.labels else [])]
    order = np.lexsort(keys) if keys else np.arange(len(K))
    return {
        "alphas": ALPHAS,
        "errors": errors_of(question, [question.kernel])[1][0],
        "eigenvalues": np.linalg.eigvalsh((K + K.T) / 2)[::-1],
        "gram": _image(K[np.ix_(order, order)]),
    }


def surface(asked: dict[str, Any]) -> Answer:
    """Left-out errors for every alpha and widths around those of the kernel."""
    question = Question(asked)
    kernels = around(question.kernel)
    refuse(len(kernels) == 1, "This kernel has no width, so there is no surface of errors.")
    return {"factors": WIDTHS, "alphas": ALPHAS, "errors": errors_of(question, kernels)[1]}


def draws(asked: dict[str, Any]) -> Answer:
    """Curves of the same points with several sets of targets, from one factor."""
    question, Y = Question(asked), asked.get("draws")
    if not isinstance(Y, list) or not 1 <= len(Y) <= _MOST_DRAWS:
        raise InputError(f"draws must be at most {_MOST_DRAWS} lists of targets.")
    targets = [read_points({"x": asked["points"]["x"], "y": each})[1] for each in Y]
    if not len(question.at):
        return {"curves": [[] for _ in targets]}
    return {"curves": _ridge(question, np.column_stack(targets)).predict(question.at).T}


def kernel(asked: dict[str, Any]) -> Answer:
    """Whether a text is a kernel, and whether it is a Mercer kernel and why."""
    found = read_kernel(asked.get("kernel"))
    certificate = found.certificate()
    return {"text": repr(found), "valid": certificate.valid, "because": str(certificate).splitlines()}


ANSWERS: dict[str, Callable[[dict[str, Any]], Answer]] = {
    each.__name__: each for each in (fit, without, overview, surface, draws, kernel)
}


def wider(kernel: Kernel, by: float) -> Kernel:
    """The kernel with all its widths multiplied."""
    widths = {name: value for name, value in kernel.get_params().items() if name.split("__")[-1] == "width"}
    return kernel.set_params(**{name: (np.asarray(value) * by).tolist() for name, value in widths.items()})


def _ridge(question: Question, Y: Array | None = None) -> KernelRidge:
    model = KernelRidge(question.alpha, kernel=question.kernel, fit_intercept=question.intercept)
    return model.fit(question.X, question.y if Y is None else Y)


def around(kernel: Kernel) -> list[Kernel]:
    """The kernel with other widths; itself alone if it has none."""
    kernels = [wider(kernel, float(by)) for by in WIDTHS]
    return kernels if kernels[0] != kernel else [kernel]


def errors_of(question: Question, kernels: list[Kernel]) -> tuple[Estimator, Array]:
    """A fitted search over kernels and all alphas of the page, and the left-out error of each (kernels x alphas)."""
    kind = KernelRidgeClassifierCV if question.labels else KernelRidgeCV
    search = kind(kernels, ALPHAS, fit_intercept=question.intercept).fit(question.X, question.y)
    scores = np.reshape(search.cv_results_["mean_test_score"], (len(search.kernels_), len(search.alphas_)))
    return search, as_error(scores, question)


def as_error(scores: float | Array, question: Question) -> Array:
    """Shares of wrong labels from accuracies, or root mean squared errors from negative mean squared ones."""
    return np.asarray(1.0 - scores if question.labels else np.sqrt(-scores))


def _root(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _image(K: Array) -> Answer:
    """The matrix as bytes between its smallest and its largest entry."""
    low, high = float(K.min()), float(K.max())
    levels = np.round(255 * (K - low) / (high - low if high > low else 1.0)).astype(np.uint8)
    return {"size": len(K), "low": low, "high": high, "bytes": base64.b64encode(levels.tobytes()).decode()}


def plain(told: object) -> object:
    """Numbers and lists as JSON has them; numbers that are not finite are null."""
    if isinstance(told, dict):
        return {name: plain(value) for name, value in told.items()}
    if isinstance(told, np.ndarray):
        finite = told.dtype.kind != "f" or bool(np.isfinite(told).all())
        return told.tolist() if finite else plain(told.tolist())
    if isinstance(told, list | tuple):
        return [plain(value) for value in told]
    return None if isinstance(told, float) and not np.isfinite(told) else told
