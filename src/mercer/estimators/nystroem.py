"""Ridge regression and classification on landmarks: one pass over the rows, however many there are.

Landmarks come from a sample, sums from one pass, and the model keeps no rows.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import check_alpha
from mercer.data.folds import check_names
from mercer.data.rows import AlphaLike, Array, PerRow, Rows, XLike, YLike
from mercer.errors import InputError, SingularSystemWarning, refuse_if, sentence, warn
from mercer.estimators.base import warn_if_not_mercer
from mercer.estimators.nystroem_base import (
    StreamingEstimator,
    new_blocks,
    warn_if_landmarks_lost,
)
from mercer.estimators.parameters import resolve
from mercer.estimators.search_core import warn_if_ill
from mercer.estimators.targets import LabelsMixin, refuse_one_class
from mercer.kernels import Kernel
from mercer.runtime import promise
from mercer.selection.ladders import spread_widths
from mercer.selection.plan import Rates
from mercer.selection.removals import label_numbers
from mercer.solvers.landmarks import Features
from mercer.solvers.plan import digits_left
from mercer.solvers.problem import Problem
from mercer.streaming.models import SUMMED, Models, Moments
from mercer.streaming.scores import class_counts
from mercer.streaming.search import StreamedSearch, StreamPlan
from mercer.streaming.sums import State
from mercer.text import counted, round_numbers, text_below


@dataclass(eq=False, repr=False)
class NystroemCore(StreamingEstimator):
    """A ridge on the features of landmarks, from sums over the rows."""

    alpha: AlphaLike = 1.0
    _: KW_ONLY
    kernel: Any = "gaussian"

    kernel_: Kernel = field(init=False)
    landmarks_: Array = field(init=False)
    _dual: Array = field(init=False)
    _intercept: Array = field(init=False)
    _search: StreamedSearch = field(init=False)
    _state: State = field(init=False)

    def _html_repr(self) -> str:
        diagram = super()._html_repr()
        if not hasattr(self, "kernel_"):
            return str(diagram)
        return text_below(diagram, f"{round_numbers(repr(self.kernel_))}, {counted(len(self.landmarks_), 'landmark')}")

    def _resolve_kernels(self, rows: Rows, problem: Problem) -> list[Kernel]:
        """The candidates, from a sample of rows and their targets."""
        kernel = resolve(type(self).__name__, self.kernel, rows.width)
        warn_if_not_mercer(kernel)
        return [spread_widths(kernel, rows) if isinstance(self.kernel, str) else kernel]

    def _resolve_alphas(self, kernels: list[Kernel], rows: Rows, n: int, targets: int) -> Array:
        """The alphas for n rows and so many targets, from a sample of rows."""
        return check_alpha(type(self).__name__, self.alpha, targets)

    # -- fitting ----------------------------------------------------------------------------------

    @property
    def digits_(self) -> float:
        """Decimal digits of predictions that are correct."""
        return digits_left(SUMMED * self.condition_)

    def hold(self, features: Features, models: Models, ladder: Array, places: Array, *, one_target: bool) -> None:
        """Keep what predictions need.

        Parameters
        ----------
        features : Features
            Kernel and landmarks.
        models : Models
            One for each alpha of a ladder.
        ladder, places : ndarray
            The alphas, and which of them each target has.
        one_target : bool
            Whether predictions have no axis for targets.
        """
        targets = np.arange(len(places))
        self.kernel_, self.landmarks_ = features.kernel, features.landmarks
        weights = np.ascontiguousarray(models.weights[places, :, targets].T)
        self._dual = np.ascontiguousarray(features.coefficients(weights))
        self._intercept = models.intercept[places, targets]
        self._alphas, self._one_target = ladder[places], one_target

    def explain(
        self, X: XLike, y: YLike = None, sample_weight: PerRow = None, rates: Rates | None = None
    ) -> StreamPlan:
        """Passes, time and memory that `fit` on this data would take; only a sample is read.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        rates : Rates, default=None
            Speeds of the machine, as `mercer.selection.plan.measure()` finds them; otherwise fixed ones.

        Returns
        -------
        StreamPlan
            Prints as a table.
        """
        # of a copy, so that nothing looks fitted that is not
        return copy.copy(self).prepare(X, y, sample_weight)[0].plan(rates)

    def fit(self, X: XLike, y: YLike = None, sample_weight: PerRow = None) -> Self:
        """Draw landmarks, read all rows once, and solve; for a classifier one more pass may find the labels.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            Rows: a table in memory; the path of a .npy, .csv, .tsv or .parquet file or of a folder of Parquet files; or
            blocks (X, y) or (X, y, weights), as something that can be iterated over again or a function that returns
            an iterator. The columns of a CSV or Parquet file that are not all numbers are encoded by a `TableEncoder`.
        y : array-like, column name or list of them, path or None
            Targets, or labels; None where blocks bring their own.
        sample_weight : float, array-like, column name or path, default=None
            Weights of the squared errors.

        Returns
        -------
        self
        """
        self._known: Array | None = None  # labels that were given to partial_fit
        return self._fit_pass(X, y, sample_weight, more=False)

    def _fit_pass(self, X: XLike, y: YLike, sample_weight: PerRow, *, more: bool) -> Self:
        with np.errstate(under="ignore"):
            search, _ = self.prepare(X, y, sample_weight, more=more)
            kept = ("landmarks", "method", "kernel", "fit_intercept")
            self.plan_, self._as_fitted = search.plan(), {name: getattr(self, name) for name in kept}
            needed, count = self.plan_.bytes, self.plan_.landmarks[0]
            promise(needed, f"{type(self).__name__} with {count} landmarks", "Use fewer landmarks.")
            self._one_target = search.source.targets_1d
            self._finish(search, search.sums())
        return self

    def _finish(self, search: StreamedSearch, state: State) -> None:
        """The model from the sums, which are kept as they are for rows that may come."""
        owner, work = type(self).__name__, search.work([0])
        weights_left = float(state["weights"].sum()) > 0
        refuse_if(not weights_left, f"sample_weight of {owner}", "positive for at least one row", "only zeros")
        alphas = check_alpha(owner, self.alpha, len(work.targets.offset))
        moments = Moments.read(work, {name: array.copy() for name, array in state.items()}, 0)
        ladder, places = np.unique(alphas, return_inverse=True)
        system, features = moments.without(), work.sides[0].features
        models = system.solve(ladder)
        condition = np.maximum(system.condition(ladder), moments.loss_of_digits(system, ladder, models)).max()
        self.hold(features, models, ladder, places, one_target=self._one_target)
        self.n_rows_, self.condition_ = int(state["rows"].sum()), float(condition)
        if self._as_fitted["landmarks"] is not None:
            warn_if_landmarks_lost(owner, features)
        if models.rank < len(models.weights[0]) and ladder[0] == 0:
            rank = f"The system of {owner} has rank {models.rank} of {len(models.weights[0])}"
            words = f"{rank}; the minimum-norm solution was used. A positive alpha makes it unique."
            warn(words, SingularSystemWarning)
        else:
            warn_if_ill(owner, self.condition_, of="predictions", digits=self.digits_)
        self._search, self._state = search, state
        self.publish()

    def publish(self) -> None:
        """Set the attributes that follow from what predictions need."""
        self.dual_coef_ = self._out(self._dual)
        self.intercept_ = self._out(self._intercept[None])[0]

    def _out(self, table: Array) -> Array:
        """A table with a column per target, or its column for a regressor of one target."""
        return table[:, 0] if not self._classifies and self._one_target else table

    def _add_rows(self, X: XLike, y: YLike, sample_weight: PerRow) -> Self:
        """Add rows to the sums, or begin with them."""
        if not hasattr(self, "_dual"):
            return self._fit_pass(X, y, sample_weight, more=True)
        if not hasattr(self, "_state"):
            words = f"partial_fit of {type(self).__name__} is not available after load or after a search"
            way_out = "Call fit on all rows, with landmarks=model.landmarks_."
            raise InputError(f"{words}, because the sums that it would update are not stored. {way_out}")
        owner, work = type(self).__name__, self._search.work([0])
        source = self._open(X, y, sample_weight, reset=False)
        other = not self._classifies and source.targets != len(work.targets.offset)
        refuse_if(other, "The number of targets", f"{len(work.targets.offset)}, as in the first fit", source.targets)
        for name, before in self._as_fitted.items():  # sums are of one kernel and its landmarks; only alpha may change
            now = getattr(self, name)
            if now is not before and not np.array_equal(now, before):
                got = repr(now) if np.ndim(now) == 0 else f"another table of shape {np.shape(now)}"
                must_be = "the same as in the first fit" + (f", {before!r}" if np.ndim(before) == 0 else "")
                raise InputError(sentence(f"{name} of {owner}", must_be, got, "Call fit to start again."))
        search = replace(self._search, source=source, checkpoint=None)
        # added to the new sums, so that the old ones are still there if these will not do
        with np.errstate(under="ignore"):
            self._finish(search, work.merge(search.sums(), self._state))
        return self

    # -- prediction -------------------------------------------------------------------------------

    def _value_blocks(self, X: XLike) -> Iterator[Array]:
        """f of new rows (rows x t), block by block."""
        check_is_fitted(self, "landmarks_")
        features = Features(self.kernel_, self.landmarks_, np.empty((0, 0)), self._names())
        for rows in new_blocks(self, X):
            self.kernel_.check(features.rows(rows))
            yield features.times(rows, self._dual) + self._intercept

    def predict_blocks(self, X: XLike) -> Iterator[Array]:
        """Predictions, numbers or labels, that do not fit in memory: those of one block of rows after the other.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            New rows.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_targets)

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import NystroemRidge
        >>> X = np.linspace(0.0, 6.0, 40_000)[:, None]
        >>> model = NystroemRidge(landmarks=20).fit(X, np.sin(X[:, 0]))
        >>> [len(values) for values in model.predict_blocks(X)]
        [32768, 7232]
        """
        for values in self._value_blocks(X):
            yield np.asarray(self.classes_[label_numbers(values)]) if self._classifies else self._out(values)


class NystroemRidge(MultiOutputMixin, RegressorMixin, NystroemCore):  # type: ignore[misc]
    """Kernel ridge regression on the features of a few landmark rows, from one pass over all rows.

    The rows are read block by block and never held together; the model keeps the landmarks alone. With every row as a
    landmark it is kernel ridge regression.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Regularization, not negative; the same as `KernelRidge` has.
    kernel : Kernel, str or callable, default="gaussian"
        As for `KernelRidge`, of rows of numbers. "gaussian" and "laplacian" have gamma = 1 / n_features on columns in
        units of their spread: one width per column, from a sample of rows.
    landmarks : int, array-like of shape (n_landmarks, n_features) or None, default=None
        How many, or the rows themselves. None: as many as rows, memory and `time_budget` suggest, at most 2000.
    method : {"pivoted", "kmeans", "uniform"}, default="pivoted"
        How landmarks are drawn from a sample: by what those before leave open (randomly pivoted Cholesky), by the
        seeding of k-means++ in feature space, or by chance.
    fit_intercept : bool, default=False
        Whether the model has an unpenalized constant.
    time_budget : float, default=120.0
        Seconds that the pass may take, by prediction, where the number of landmarks is left open.
    backend : str, Client or None, default=None
        Where blocks are summed: "serial", "threads", "dask", a scheduler's address or a Dask client. None: Dask for
        Dask collections while a client is there, otherwise here.
    checkpoint : path, default=None
        File that keeps the sums; a pass that was killed goes on from it.
    block_rows : int or None, default=None
        Rows read together; None: about 30 MB of kernel values.
    random_state : int, RandomState or None, default=0
        Of the landmarks.
    verbose : int, default=0
        1: progress. 2: progress with a line for every half second, also in files.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        Those that tell something new.
    dual_coef_ : ndarray of shape (n_landmarks,) or (n_landmarks, n_targets)
        f(x) = k(x, landmarks_) dual_coef_ + intercept_.
    intercept_ : float or ndarray of shape (n_targets,)
        The constant.
    kernel_ : Kernel
        The kernel itself.
    encoder_ : TableEncoder
        Only after a fit to a file whose columns are not all numbers: encodes them, and new rows.
    n_rows_ : int
        Rows that were summed.
    condition_ : float
        A bound of the condition number of the system.
    digits_ : float
        Decimal digits of predictions that are correct.
    plan_ : StreamPlan
        What the pass was predicted to take.

    See Also
    --------
    mercer.NystroemRidgeCV : Chooses kernel and alpha, from the same pass.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NystroemRidge
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(5000, 1))
    >>> model = NystroemRidge(1e-3, kernel=Gaussian(1.0), landmarks=20).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.0], [2.0]]).round(3)
    array([0.841, 0.909])

    Blocks that come one after the other, from anywhere:

    >>> def blocks():
    ...     for seed in range(5):
    ...         X = np.random.default_rng(seed).uniform(0.0, 6.0, size=(1000, 1))
    ...         yield X, np.sin(X[:, 0])
    >>> NystroemRidge(1e-3, kernel=Gaussian(1.0), landmarks=20).fit(blocks).predict([[1.0]]).round(3)
    array([0.841])
    """

    def partial_fit(self, X: XLike, y: YLike = None, sample_weight: PerRow = None) -> Self:
        """Add rows: the model is what `fit` to all of them together, with the same landmarks, would have given.

        The first call draws the landmarks, and finds the widths of a kernel name, from its own rows alone.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import NystroemRidge
        >>> X = np.linspace(0.0, 6.0, 900)[:, None]
        >>> whole = NystroemRidge(landmarks=X[::100]).fit(X, np.sin(X[:, 0]))
        >>> pieces = NystroemRidge(landmarks=X[::100])
        >>> for part in (slice(0, 300), slice(300, 900)):
        ...     pieces = pieces.partial_fit(X[part], np.sin(X[part, 0]))
        >>> bool(np.abs(pieces.predict(X) - whole.predict(X)).max() < 1e-9)
        True
        """
        return self._add_rows(X, y, sample_weight)


class NystroemRidgeClassifier(LabelsMixin, NystroemCore):
    """Least squares on labels with the features of a few landmark rows, from one pass over all rows.

    Labels become -1 and +1 for two classes, one-hot columns for more; the largest value wins. Where the rows are read
    in passes, one more pass finds the labels.

    Parameters
    ----------
    alpha, kernel, landmarks, method, fit_intercept, time_budget, backend, checkpoint, block_rows, random_state, verbose
        As for `NystroemRidge`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    landmarks_, kernel_, encoder_, n_rows_, condition_, plan_
        As for `NystroemRidge`.
    dual_coef_ : ndarray of shape (n_landmarks, 1) or (n_landmarks, n_classes)
        Coefficients of the decision function.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Its constant.

    See Also
    --------
    mercer.NystroemRidge : The same for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NystroemRidgeClassifier
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "odd")
    >>> model = NystroemRidgeClassifier(0.1, kernel=Gaussian(1.0), landmarks=50).fit(X, y)
    >>> model.predict([[1.0, 1.0], [1.0, -1.0]]).tolist()
    ['same', 'odd']
    """

    _classifies: ClassVar[bool] = True
    predict = NystroemCore.predict  # block by block

    def partial_fit(self, X: XLike, y: YLike = None, classes: Any = None, sample_weight: PerRow = None) -> Self:
        """Add rows: the model is what `fit` to all of them together, with the same landmarks, would have given.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like, default=None
            All labels that will ever come, for the first call; None: those of its rows.

        Returns
        -------
        self
        """
        names = None if classes is None else np.unique(check_names("classes", classes, np.size(classes)))
        if hasattr(self, "_dual"):
            if names is not None and not np.array_equal(names, self.classes_):
                must_be = "None, or the labels of the first call"
                raise InputError(sentence(f"classes of {type(self).__name__}", must_be, repr(classes)[:60]))
        else:
            self._known = names
        return self._add_rows(X, y, sample_weight)

    def _finish(self, search: StreamedSearch, state: State) -> None:
        classes = search.first.targets.classes  # type: ignore[union-attr]
        if self._known is None:  # labels that were promised may still come
            counts = class_counts(state["sums"], state["weights"], len(classes)).sum(axis=0)
            counts[counts <= 1e-9 * max(float(counts.max()), 1e-300)] = 0.0  # what is left of none is rounding
            refuse_one_class(type(self).__name__, classes, counts)
        super()._finish(search, state)
        self.classes_ = classes

    def _values(self, X: XLike) -> Array:
        """Decision values of new rows."""
        return np.concatenate(list(self._value_blocks(X)))
