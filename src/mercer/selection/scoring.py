"""Scores of held-out predictions, by scikit-learn's conventions and sign: larger is better.

The few metrics that nearly everyone uses are computed here; any other scikit-learn name or scorer is run
on a stub that returns held-out predictions; a plain function is a loss, lower is better.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.data.checks import sizes
from mercer.data.rows import Array, Estimator, ScoringLike, XLike, YLike
from mercer.errors import InputError, MercerWarning, nearest, refuse_if, sentence, warn
from mercer.selection.removals import Removals, label_targets

# Squared errors below the first have no digits left, above the second they overflow.
_LEAST, _MOST = 1e-150, 1e150


def means(losses: Array, removals: Removals) -> Array:
    """Mean of each test set, for each column."""
    sums = np.add.reduceat(losses, removals.starts, axis=0)
    return np.asarray(sums / removals.counts[:, None])


def mse(y: Array, p: Array, removals: Removals) -> Array:
    """Minus the mean squared error; errors whose squares a float64 cannot hold are refused."""
    errors = y - p
    largest = np.nanmax(np.abs(errors), axis=0, initial=0.0)
    bad = ((largest > 0) & (largest < _LEAST)) | ((largest > _MOST) & (largest < np.inf))
    if bad.any():
        way_out = "Rescale y, or use scoring='neg_mean_absolute_error'."
        must_be = "between 1e-150 and 1e150, so that squares are finite and non-zero"
        raise InputError(sentence("The largest absolute residual", must_be, f"{largest[bad][0]:.3g}", way_out))
    return -means(errors**2, removals)


def rmse(y: Array, p: Array, removals: Removals) -> Array:
    """Minus the root of the mean squared error."""
    errors = y - p
    size = sizes(errors)
    return -size * np.sqrt(means((errors / size) ** 2, removals))


def mae(y: Array, p: Array, removals: Removals) -> Array:
    """Minus the mean absolute error."""
    return -means(np.abs(y - p), removals)


def max_error(y: Array, p: Array, removals: Removals) -> Array:
    """Minus the largest absolute error."""
    return -np.asarray(np.maximum.reduceat(np.abs(y - p), removals.starts, axis=0))


def r2(y: Array, p: Array, removals: Removals) -> Array:
    """1 - rest / total; 0 or 1 where y does not vary, as scikit-learn has it."""
    size = sizes(y)
    y, p = y / size, p / size
    rest, centre = means((y - p) ** 2, removals), np.repeat(means(y, removals), removals.counts, axis=0)
    total = means((y - centre) ** 2, removals)
    # constant targets may differ from their own mean by rounding
    starts = removals.starts
    varies = np.maximum.reduceat(y, starts, axis=0) > np.minimum.reduceat(y, starts, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(varies & (total > 0), 1.0 - rest / total, np.where(rest > 0, 0.0, 1.0))


def accuracy(y: Array, p: Array, removals: Removals) -> Array:
    """Share of labels that are right."""
    return means((y == p).astype(np.float64), removals)


MEANS_OF_ROWS = (mse, mae, accuracy)  # the score of a set is the mean of those of its rows
QUICK: dict[str, Callable[[Array, Array, Removals], Array]] = {
    "neg_mean_squared_error": mse,
    "neg_root_mean_squared_error": rmse,
    "neg_mean_absolute_error": mae,
    "max_error": max_error,
    "neg_max_error": max_error,
    "r2": r2,
    "accuracy": accuracy,
}


_LARGER = "Use folds of at least 2 rows, or another scoring, such as 'neg_mean_squared_error'."
_STRATIFY = "Use fewer or stratified folds, so that every training part has all classes."
# Functions of sklearn.metrics that are shares of the variance of y, which one row has not.
_OF_VARIANCE = {
    "r2_score", "explained_variance_score", "d2_absolute_error_score", "d2_pinball_score", "d2_tweedie_score",
}  # fmt: skip
# Functions of sklearn.metrics that are means over rows. All others are pooled where every test set is one row.
_MEANS = {
    "accuracy_score", "brier_score_loss", "hamming_loss", "hinge_loss", "log_loss", "mean_absolute_error",
    "mean_absolute_percentage_error", "mean_gamma_deviance", "mean_pinball_loss", "mean_poisson_deviance",
    "mean_squared_error", "mean_squared_log_error", "mean_tweedie_deviance", "top_k_accuracy_score", "zero_one_loss",
}  # fmt: skip


@dataclass(frozen=True)
class Classes:
    """Labels behind the targets of a classifier."""

    labels: Array
    numbers: Array

    def targets(self) -> Array:
        """-1 and +1 for two classes, one column; one-hot columns for more."""
        return label_targets(self.numbers, len(self.labels))

    def counts(self, weights: Array | None = None) -> Array:
        """Rows of each class, or the sum of their weights."""
        return np.bincount(self.numbers, weights, minlength=len(self.labels))

    def present(self, removals: Removals, weights: Array | None = None) -> Array:
        """For each removal, which classes are left to train on, with a row that has weight."""
        used = np.ones(len(self.numbers), dtype=np.intp) if weights is None else (weights > 0).astype(np.intp)
        gone = [np.bincount(self.numbers[rows], used[rows], len(self.labels)) for rows in removals.sets]
        return np.asarray(self.counts(used) - np.array(gone) > 0)

    def decide(self, values: Array, present: Array) -> Array:
        """Class numbers from decision values; classes that were not trained on are never chosen."""
        if values.shape[1] == 1:
            return np.where(present.all(axis=1), values[:, 0] > 0, present[:, 1]).astype(np.intp)
        return np.asarray(np.where(present, values, -np.inf).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Truth:
    """What held-out predictions are held against.

    Attributes
    ----------
    y : ndarray of shape (n,) or (n, t)
        As given: numbers, or labels for a classifier.
    removals : Removals
        The test sets.
    classes : Classes or None
        Of a classifier.
    fits : Removals or None
        What was left out for each prediction, where several fits are scored as one test set.
    centre : ndarray of shape (t,) or float
        What held-out values lack of predictions (`Problem.centre`).
    weights : ndarray of shape (n,) or None
        Sample weights, for scorers that ask for them.
    """

    y: Array
    removals: Removals
    classes: Classes | None = None
    fits: Removals | None = None
    centre: Array | float = 0.0
    weights: Array | None = None

    @cached_property
    def present(self) -> Array | None:
        """For each tested row, which classes its model was trained on."""
        fits = self.removals if self.fits is None else self.fits
        known = None if self.classes is None else self.classes.present(fits, self.weights)
        return None if known is None else np.repeat(known, fits.counts, axis=0)

    @cached_property
    def untrainable(self) -> Array:
        """For each test set, whether a model that predicts its rows had a single class to train on."""
        if self.present is None:
            return np.zeros(len(self.removals), dtype=bool)
        return np.asarray(np.minimum.reduceat(self.present.sum(axis=1), self.removals.starts) < 2)

    def outcome(self, values: Array) -> Array:
        """What `predict` of the held-out models would have said."""
        values = values + self.centre
        if self.classes is not None and self.present is not None:
            return np.asarray(self.classes.labels[self.classes.decide(values, self.present)])
        return values[:, 0] if self.y.ndim == 1 else values


@dataclass(frozen=True)
class Scoring:
    """One way to score, by scikit-learn's sign.

    Attributes
    ----------
    name : str
        What it is called in tables.
    quick : callable or None
        Scores of all test sets at once, one column per target.
    loss : callable or None
        A user's loss of (y_true, y_pred).
    scorer : object or None
        A scikit-learn scorer.
    pooled : bool
        Whether the score is no mean over rows, so that test sets are scored together where each of them is one row.
    needs_many : bool
        Whether the score of one row has no meaning; a test set of one row among larger ones scores NaN.
    weighted : bool
        Whether the scorer asked for sample weights (`set_score_request`).
    """

    name: str
    quick: Callable[[Array, Array, Removals], Array] | None = None
    loss: Callable[[Array, Array], object] | None = None
    scorer: Any = None
    pooled: bool = False
    needs_many: bool = False
    weighted: bool = False

    def pools(self, counts: Array) -> bool:
        """Whether test sets of these many rows are scored as one."""
        return self.pooled and bool((counts == 1).all())

    def by_split(
        self, truth: Truth, values: Array, *, per_target: bool = False, failures: list[str] | None = None
    ) -> Array:
        """The score of every test set; with `per_target` a column for each target.

        Test sets of one row that have no score, and those whose model had a single class to train on, get NaN. With
        `failures` a test set that the score refuses gets NaN, too, and the reasons are put there; otherwise a warning
        tells them.
        """
        y, outcome = truth.y[truth.removals.rows], truth.outcome(values)
        if self.quick is not None:
            labels = self.quick is accuracy or truth.classes is not None
            y, p = self._columns(y, outcome if labels else values)
            # of differences alone, which have the more digits the nearer both sides are to zero
            table = self.quick(y if labels else y - truth.centre, p, truth.removals)
            table = table if per_target else table.mean(axis=1)
        else:
            columns = [(y, outcome, values)]
            if per_target and y.ndim == 2:
                columns = [(y[:, j], outcome[:, j], values[:, j : j + 1]) for j in range(y.shape[1])]
            table = np.stack([self._loop(*column, truth, failures) for column in columns], axis=1)
            table = table if per_target else table[:, 0]
        single = (truth.removals.counts == 1) & self.needs_many
        for missing, reason, way_out in (
            (single, f"{self.name} is not defined for a test set of one row", _LARGER),
            (truth.untrainable, "the training rows of a split have a single class", _STRATIFY),
        ):
            if missing.any():
                table[missing] = np.nan
                if failures is not None:
                    failures += [reason] * int(missing.sum())
                else:
                    warn(f"Some scores are NaN: {reason}. {way_out}", MercerWarning)
        return table

    def score_rows(self, y: Array, outcome: Array) -> float:
        """The score of one set of rows, for metrics that need nothing but predictions."""
        if self.needs_many and len(y) == 1:
            warn(f"Some scores are NaN: {self.name} is not defined for a test set of one row. {_LARGER}", MercerWarning)
            return float("nan")
        if self.quick is None:
            return self._one(y, outcome, outcome.reshape(len(y), -1), None, None)
        everything = Removals([np.empty(0, dtype=np.intp)], [np.arange(len(y))])
        return float(self.quick(*self._columns(y, outcome), everything).mean())

    def _columns(self, y: Array, outcome: Array) -> tuple[Array, Array]:
        """Truth and prediction as tables: of numbers, or of labels that can be compared."""
        tables = y.reshape(len(y), -1), outcome.reshape(len(y), -1)
        if self.quick is accuracy:
            fractions = any(table.dtype.kind == "f" and (table % 1 != 0).any() for table in tables)
            must_be, way_out = "a regression score for a regression model", "Use a score such as 'r2', or a classifier."
            refuse_if(fractions, "scoring", must_be, "'accuracy'", way_out)
            return tables
        return _numbers(self.name, tables[0]), _numbers(self.name, tables[1])

    def _loop(self, y: Array, outcome: Array, values: Array, truth: Truth, failures: list[str] | None) -> Array:
        scores = np.full(len(truth.removals), np.nan)
        for i in np.flatnonzero(~truth.untrainable & ~((truth.removals.counts == 1) & self.needs_many)).tolist():
            part = truth.removals.part(i)
            own = None if truth.weights is None else truth.weights[truth.removals.rows[part]]
            try:
                scores[i] = self._one(y[part], outcome[part], values[part], truth.classes, own)
            except ValueError as problem:
                if failures is None or isinstance(problem, InputError):
                    raise
                failures.append(str(problem))
        return scores

    def _one(self, y: Array, outcome: Array, values: Array, classes: Classes | None, weights: Array | None) -> float:
        """The score of one test set; what is handed out are copies, since a loss may work in place."""
        y, outcome, values = y.copy(), outcome.copy(), values.copy()
        if self.needs_many and y.dtype.kind == "f":  # shares of a variance, in which the unit of y does not count
            unit = sizes(y.reshape(len(y), -1)).reshape(y.shape[1:])
            y, outcome = y / unit, outcome / unit
        if self.loss is not None:
            return -as_score(self.name, self.loss(y, outcome))
        return self.score_by(_Stub(outcome, values, classes), np.zeros((len(y), 1)), y, weights)

    def score_by(self, model: Estimator, X: XLike, y: Array, weights: Array | None) -> float:
        """Score of a fitted model, with sample weights where the scorer asked for them."""
        extra = {"sample_weight": weights.copy()} if self.weighted and weights is not None else {}
        return as_score(self.name, self.scorer(model, X, y, **extra))


def as_score(name: str, found: Any) -> float:
    """What a loss or scorer returned, as the one number it must be."""
    if np.ndim(found) == 0:
        with suppress(TypeError, ValueError):
            return float(found)
    got = f"shape {np.shape(found)}" if np.ndim(found) else repr(found)
    raise InputError(sentence(f"The result of {name.removeprefix('minus ')}", "one number", got, "Return the mean."))


def _numbers(name: str, table: Array) -> Array:
    if table.dtype.kind in "biufO":
        with suppress(TypeError, ValueError):
            return table.astype(np.float64, copy=False)
    way_out = "Use a classification score such as 'accuracy'."
    raise InputError(f"scoring={name} needs numeric y; got labels such as {table.ravel()[0]!s}. {way_out}")


class _Stub:
    """An estimator that returns held-out predictions, for scorers."""

    def __init__(self, outcome: Array, values: Array, classes: Classes | None) -> None:
        self.outcome, self.values = outcome, values
        if classes is not None:
            self.classes_ = classes.labels

    def fit(self, X: XLike, y: YLike = None) -> _Stub:
        """Return self."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.dummy import DummyClassifier, DummyRegressor

        model = DummyClassifier() if hasattr(self, "classes_") else DummyRegressor()
        return model.__sklearn_tags__()

    def predict(self, X: XLike) -> Array:
        """The held-out predictions."""
        return self.outcome

    def decision_function(self, X: XLike) -> Array:
        """The held-out decision values."""
        return self.values[:, 0] if self.values.shape[1] == 1 else self.values

    def predict_proba(self, X: XLike) -> Array:
        """Raise an error: there are no probabilities before the calibration."""
        got = "one that needs probabilities, which are calibrated after the search"
        way_out = "Use a score such as 'accuracy' or 'roc_auc'."
        raise InputError(sentence("scoring", "a scorer of labels or decision values", got, way_out))


def resolve_scoring(scoring: ScoringLike, *, classifier: bool) -> Scoring:
    """What a `scoring` argument means.

    Examples
    --------
    >>> from mercer.selection.scoring import resolve_scoring
    >>> resolve_scoring(None, classifier=False).name
    'neg_mean_squared_error'
    """
    if scoring is None:
        scoring = "accuracy" if classifier else "neg_mean_squared_error"
    if isinstance(scoring, str) and scoring in QUICK:
        function = QUICK[scoring]
        return Scoring(scoring, function, pooled=function not in MEANS_OF_ROWS, needs_many=function is r2)
    if isinstance(scoring, str) or hasattr(scoring, "_score_func"):
        from sklearn import get_config
        from sklearn.metrics import get_scorer, get_scorer_names

        if isinstance(scoring, str) and scoring not in get_scorer_names():
            raise InputError(f"Unknown scoring {scoring!r}. {nearest(scoring, [*QUICK, *get_scorer_names()])}")
        scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
        metric = _plain(scorer._score_func)  # noqa: SLF001 - scikit-learn has no other name for it
        name, module = getattr(metric, "__name__", ""), str(getattr(metric, "__module__", ""))
        # whether scikit-learn's own searches would hand sample weights to this scorer
        routed = get_config()["enable_metadata_routing"] and hasattr(scorer, "get_metadata_routing")
        asks = routed and scorer.get_metadata_routing().score.requests.get("sample_weight") is True
        return Scoring(
            str(scoring), scorer=scorer, pooled=module.startswith("sklearn.") and name not in _MEANS,
            needs_many=name in _OF_VARIANCE, weighted=asks and not isinstance(scoring, str),
        )  # fmt: skip
    if callable(scoring):
        _refuse_no_loss(scoring)
        return Scoring(f"minus {getattr(scoring, '__name__', 'loss')}", loss=scoring)
    raise InputError(sentence("scoring", "a scikit-learn name, a scorer or a loss function", repr(scoring)))


def _plain(function: object) -> object:
    """The function itself, without the arguments bound to it."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _refuse_no_loss(function: Callable[..., object]) -> None:
    """A plain function must be a loss of truth and prediction; the scores of scikit-learn grow with quality."""
    what, must_be = "A function given as scoring", "a loss, loss(y_true, y_pred), lower is better"
    plain = _plain(function)
    name = getattr(plain, "__name__", type(plain).__name__)
    if str(getattr(plain, "__module__", "")).startswith("sklearn.metrics") and name.endswith(("_score", "corrcoef")):
        from sklearn.metrics import get_scorer_names

        known = next((each for each in (name, name.removesuffix("_score")) if each in get_scorer_names()), None)
        way_out = f"Use make_scorer({name})" + (f" or the name {known!r}." if known else ".")
        raise InputError(sentence(what, must_be, f"{name}, which is larger for better predictions", way_out))
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # not every compiled function tells
        return
    try:
        signature.bind(None, None)
    except TypeError:
        way_out = "For other scores, use sklearn.metrics.make_scorer."
        raise InputError(sentence(what, must_be, f"{name}{signature}", way_out)) from None
