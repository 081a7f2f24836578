"""How a column acts on predictions: accumulated local effects and averages, with errors from refits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer.data.checks import keyword_hints
from mercer.data.rows import Array, Estimator, PerRow, XLike, YLike
from mercer.displays import EffectDisplay
from mercer.errors import InputError, refuse, refuse_if
from mercer.estimators.auto_evaluation import some_rows
from mercer.estimators.pipelines import Transformers, column_names, column_values, with_column
from mercer.estimators.refitting import part_of
from mercer.inference.changes import column_place
from mercer.inference.effects import MarginalEffects, marginal_effects
from mercer.inference.influence import Influence, influence
from mercer.report.refits import Refit, fold_refits
from mercer.report.subject import AS_TRANSFORMED, Subject, is_known
from mercer.tables import Column
from mercer.tables.columns import Scale
from mercer.text import Shown, legible, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROWS = 300  # that are moved along a column
_VALUES = 20  # of a column of numbers
_LEVELS = 12  # of a category: the most common
_SHOWN = 6  # columns in a report
_KNOWN = 20  # values that a column in a report has at least
_FEWEST = 3  # rows of a table whose column can be moved along
_FACTORED = 2000  # rows up to which a report makes further factors


@dataclass(frozen=True, eq=False, repr=False)
class ColumnEffect(Shown):
    """How predictions change along one column.

    Attributes
    ----------
    column : str
        Its name.
    kind : str
        `local` or `average`.
    values : ndarray of shape (k,)
        Numbers, dates (datetime64) or levels of the column.
    effect, standard_error : ndarray of shape (k,)
        The effect there, and its standard error by the jackknife of folds.
    of : str
        What is predicted: the target, or the probability of a label.
    """

    column: str
    kind: str
    values: Array
    effect: Array
    standard_error: Array
    of: str

    def _columns(self) -> dict[str, list[Any]]:
        """Value by value."""
        columns = {self.column: self.values, "effect": self.effect, "standard error": self.standard_error}
        return {name: values.tolist() for name, values in columns.items()}

    def __str__(self) -> str:
        places = self.effect.argmin(), self.effect.argmax()
        ends = [f"{plain(float(self.effect[i]), 3)} at {_value_text(self.values[i])}" for i in places]
        how = "Average prediction" if self.kind == "average" else "Change"
        return f"{how} of {legible(self.of)} along {legible(self.column)}: from {ends[0]} to {ends[1]}."

    def plot(self, ax: Axes | None = None) -> EffectDisplay:
        """Draw, with a band of two standard errors.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        EffectDisplay
        """
        local = self.kind == "local"
        what = f"{'change' if local else 'average prediction'} of {legible(self.of)}"
        x, y = (text.replace("$", r"\$") for text in (legible(self.column), what))
        return EffectDisplay(self.values, self.effect, self.standard_error, x, y, zero=local).plot(ax)


def _value_text(value: Any) -> str:
    return plain(float(value), 3) if isinstance(value, float) else legible(str(value).removesuffix("T00:00:00"))


@keyword_hints
def column_effect(
    model: Estimator,
    X: XLike,
    y: YLike,
    column: str | int,
    *,
    kind: str = "local",
    label: Any = None,
    target: str = "y",
    groups: PerRow = None,
) -> ColumnEffect:
    """How predictions change along a column, with standard errors.

    ``kind="local"`` gives accumulated local effects: the mean change of the prediction when rows between two
    neighbouring values of the column are moved from one to the other, summed up. Other columns stay as they are, so
    that no row is far from the data; the mean over the rows is 0. ``kind="average"`` gives partial dependence: the mean
    prediction of all rows with this value in the column. Levels of a category have no neighbours: their effect is the
    average, less its mean over the rows for ``kind="local"``.

    Standard errors are those of the jackknife of ten folds: the model is refitted without each, its parameters kept.

    Parameters
    ----------
    model : AutoRegressor, AutoClassifier, KernelRidgeCV, KernelRidgeClassifierCV, or a Pipeline that ends in one
        Fitted to these rows.
    X, y : table and array-like of shape (n_samples,)
        The rows and targets of the fit.
    column : str or int
        Name or place of the column of X. Rows are moved along it in front of the transformers of a Pipeline.
    kind : {"local", "average"}, default="local"
        See above.
    label : object, default=None
        The class whose probability is shown; None is the second of two, or the most common one.
    target : str, default="y"
        What y is called.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group are left out together for the standard error.

    Returns
    -------
    ColumnEffect

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV, column_effect
    >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(80, 2))
    >>> y = 3.0 * X[:, 0] + X[:, 1] ** 2
    >>> effect = column_effect(KernelRidgeCV("gaussian", [1e-4], fit_intercept=True).fit(X, y), X, y, "x1")
    >>> slope = (effect.effect[-1] - effect.effect[0]) / (effect.values[-1] - effect.values[0])
    >>> round(float(slope), 1)
    3.0
    """
    refuse_if(kind not in ("local", "average"), "kind of column_effect", "'local' or 'average'", repr(kind))
    subject = Subject(model, X, y, target=target, groups=groups)
    movable, number = _movable(subject, column), _number(subject, label)
    return _effect_along(subject, fold_refits(subject), movable, kind, number)


def _movable(subject: Subject, column: str | int) -> Movable:
    """The column of this name or place: of the table that was given, or else one that its Pipeline makes."""
    if subject.transformers is not None:
        raw = column_names(subject.X)
        own = [each.name if each.why != AS_TRANSFORMED else "" for each in subject.columns]
        name = raw[column_place(column, raw)] if not isinstance(column, str) else column
        if name in raw and name not in own:
            return _raw(subject, subject.transformers, raw.index(name))
        column = own.index(name) if name in own else name
    names = [each.name for each in subject.columns]
    place = column_place(column, names)
    name, made = names[place], subject.columns[place]
    refuse(place not in subject.feature_places, f"Column {name!r} is not used by the model: {made.why}.")
    refuse(made.kind == "text", f"Column {name!r} holds texts, which have no order and too many values to show.")
    return _movable_encoded(subject, place)


def _number(subject: Subject, label: Any) -> int:
    """The number of the class that is asked for."""
    if not subject.classifier:
        if label is not None:
            raise InputError("label of column_effect needs a classifier; this model predicts numbers. Remove label.")
        return 0
    classes = subject.model.classes_.tolist()
    if label is None:
        return 1 if len(classes) == 2 else int(np.argmax([np.sum(subject.y == each) for each in classes]))
    must_be = f"one of {', '.join(map(str, classes))}"
    refuse_if(label not in classes, "label of column_effect", must_be, repr(label))
    return int(classes.index(label))


def average_effects(subject: Subject) -> MarginalEffects | None:
    """Average effects with their standard errors; None where rows are too many, or the model has none."""
    if len(subject.y) > _FACTORED // (2 if subject.classifier else 1):  # probabilities take longer
        return None
    model, X = (subject.model, None) if subject.pipeline is None else (subject.pipeline, subject.X)
    if subject.encoder is not None and not subject.auto:
        model, X = Pipeline([("encoder", subject.encoder), ("model", subject.model)]), None
    with suppress(InputError):
        return marginal_effects(model, X, of="probability" if subject.classifier else "prediction")
    return None


def row_influence(subject: Subject) -> Influence | None:
    """What leaving out each row changes; None where rows are too many, or it is not known."""
    logs = hasattr(subject.model, "log_factor_")  # beside which targets would be in other units
    if subject.classifier or logs or len(subject.y) > _FACTORED:
        return None
    with suppress(InputError):
        return influence(subject.model if subject.auto else subject.model.best_estimator_)
    return None


def main_effects(subject: Subject, refits: list[Refit], names: list[str]) -> list[ColumnEffect]:
    """The effects of the first few of these columns that have some: texts have not, nor columns of hardly any value."""
    n, label, columns = len(subject.y), _number(subject, None), enumerate(subject.columns)
    places = {each.name: k for k, each in columns if each.kind != "text" and n - each.missing >= _KNOWN}
    movable = [_movable_encoded(subject, places[name]) for name in names if name in places]
    return [_effect_along(subject, refits, each, "local", label) for each in movable[:_SHOWN]]


@dataclass(frozen=True, eq=False)
class Movable:
    """A column along which rows can be moved.

    Attributes
    ----------
    column : Column
        Its name and kind.
    z : ndarray of shape (n,)
        Its numbers, or the numbers of its levels, row by row.
    levels : list of str
        The names of the levels; empty for numbers.
    known : ndarray of bool, shape (n,)
        Which rows have a value.
    put : callable
        Gives some rows with the cells of others in the column, as the kernels see them.
    """

    column: Column
    z: Array
    levels: list[str]
    known: Array
    put: Callable[[Array, Any], Array]


def _movable_encoded(subject: Subject, place: int) -> Movable:
    """A column of which some columns of Z were made, and nothing else."""
    column, mine = subject.columns[place], np.flatnonzero(subject.place == place)

    def put(moved: Array, lenders: Any) -> Array:
        rows = subject.Z[moved]
        rows[:, mine] = subject.Z[lenders][..., mine]
        return rows

    z, levels = subject.Z[:, mine[0]], []
    if column.kind == "category" and len(mine) == 1:
        z, levels = (z > 0).astype(int), ["False", "True"]
    elif column.kind == "category":
        z, levels = subject.Z[:, mine].argmax(axis=1), [*column.levels, *(["other"] if column.pooled else [])]
    marked = bool(column.missing and column.marked)
    known = subject.Z[:, mine[-1]] == 0.0 if marked else np.ones(len(subject.Z), dtype=bool)
    return Movable(column, z, levels, known, put)


def _raw(subject: Subject, transformers: Transformers, place: int) -> Movable:
    """A column of the table that the transformers mix with others, or bend: rows are moved before they see it."""
    X, name, cells = subject.X, column_names(subject.X)[place], column_values(subject.X, place)

    def put(moved: Array, lenders: Any) -> Array:
        count = len(moved)
        both = part_of(X, np.concatenate([moved, np.broadcast_to(lenders, count)]))
        order = np.concatenate([np.arange(count, 2 * count)] * 2)
        return transformers.numbers(part_of(with_column(both, place, lenders=order), np.arange(count)))

    every = np.arange(len(cells))
    if np.array_equal(put(every, np.roll(every, 1)), subject.Z):
        raise InputError(f"Column {name!r} is not used by the model: no transformer of the Pipeline takes it.")
    if cells.dtype.kind in "iuf":
        z = cells.astype(np.float64)
        scale = Scale(0.0, 1.0, 0.0, float(np.nanmin(z)), float(np.nanmax(z)))
        return Movable(Column(name, "number", "a column of the table", scale=scale), z, [], np.isfinite(z), put)
    levels, codes = np.unique(cells.astype(str), return_inverse=True)
    return Movable(Column(name, "category", "a column of the table"), codes, levels.tolist(), is_known(cells), put)


def _effect_along(subject: Subject, refits: list[Refit], movable: Movable, kind: str, label: int) -> ColumnEffect:
    column, rows = movable.column, some_rows(len(subject.y))
    there = rows[movable.known[rows]]
    if len(there) < _FEWEST:
        raise InputError(f"Column {column.name!r} has fewer than {_FEWEST} known values. Choose another column.")
    moved = np.sort(np.random.default_rng(1).permutation(there)[:_ROWS])
    models = [Refit(subject), *refits]

    def predict(lenders: Any) -> Array:
        Z = movable.put(moved, lenders)
        return np.array([model.levels(Z, label) for model in models])

    values, effect = (_levels if movable.levels else _numbers)(movable, there, moved, kind, predict)
    parts = effect[1:]
    spread = np.sqrt((len(parts) - 1) * np.mean((parts - parts.mean(axis=0)) ** 2, axis=0))
    name = f"the probability of {subject.model.classes_[label]}" if subject.classifier else subject.target
    return ColumnEffect(column.name, kind, values, effect[0], spread, name)


Predict = Callable[[Any], Array]  # of the moved rows with the cells of others in the column, by every model


def _numbers(movable: Movable, there: Array, moved: Array, kind: str, predict: Predict) -> tuple[Array, Array]:
    """The values of a column of numbers or dates, as some rows have them, and for every model the effect there."""
    column, z, scale = movable.column, movable.z, movable.column.scale
    assert scale is not None  # noqa: S101 - numbers and dates have one
    order = there[np.argsort(z[there], kind="stable")]
    ends = order[np.unique(np.round(np.linspace(0, len(order) - 1, _VALUES + 1)).astype(int))]
    ends = ends[np.append(True, np.diff(z[ends]) > 0)]
    numbers = scale.centre + scale.spread * z[ends]
    if column.kind == "date":
        numbers = np.datetime64(0, "s") + np.round(86400 * numbers).astype("timedelta64[s]")
    if kind == "average":
        return numbers, _means(predict, ends)
    steps = len(ends) - 1
    step = np.clip(np.searchsorted(z[ends], z[moved], side="left"), 1, max(steps, 1)) - 1
    change = predict(ends[np.minimum(step + 1, steps)]) - predict(ends[step])
    count = np.maximum(np.bincount(step, minlength=steps), 1)[:steps]
    effects = [np.append(0.0, np.cumsum(np.bincount(step, each, steps)[:steps] / count)) for each in change]
    return numbers, np.array([effect - np.interp(z[there], z[ends], effect).mean() for effect in effects])


def _levels(movable: Movable, there: Array, _: Array, kind: str, predict: Predict) -> tuple[Array, Array]:
    """The most common levels of a category, as some rows have them, and for every model the average there."""
    numbers = movable.z[there]
    counts = np.bincount(numbers)
    kept = np.sort(np.argsort(-counts, kind="stable")[: min(_LEVELS, int(np.sum(counts > 0)))])
    means = _means(predict, [there[np.flatnonzero(numbers == each)[0]] for each in kept])
    shares = counts[kept] / counts[kept].sum() * (kind == "local")
    return np.array(movable.levels, dtype=object)[kept], np.array([each - shares @ each for each in means])


def _means(predict: Predict, lenders: Any) -> Array:
    """For every model the mean predictions of rows that all have the cell of one row in the column."""
    return np.stack([predict(lender).mean(axis=1) for lender in lenders], axis=1)
