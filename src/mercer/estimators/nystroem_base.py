"""What the estimators on landmarks share: parameters, tables in memory or read in passes, landmarks, labels."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from mercer.data.rows import Array, Estimator, File, PerRow, Rows, Seed, XLike, YLike
from mercer.errors import IllConditionedWarning, InputError, nearest, refuse_if, sentence, warn
from mercer.estimators.base import HoldsKernels, forget
from mercer.estimators.inputs import as_sample_weight, check_arrays
from mercer.estimators.parameters import is_in, is_positive_only, is_whole, validate
from mercer.estimators.targets import refuse_one_class
from mercer.kernels import Kernel
from mercer.kernels.tiles import blocks
from mercer.runtime.passes import check_backend, run_pass
from mercer.selection.ladders import warn_of_scales
from mercer.selection.scoring import resolve_scoring
from mercer.solvers.landmarks import METHODS, Features
from mercer.solvers.problem import Problem
from mercer.streaming.blocks import Source, as_source
from mercer.streaming.blocks.files import file_layout, is_named_table
from mercer.streaming.blocks.table import RolesGiven
from mercer.streaming.landmarks import FindDistinct, LandmarkChoice, draw_sample, numbers_of, rank_words, sides_of
from mercer.streaming.search import StreamedSearch
from mercer.streaming.sums import FoldSums, LabelLosses, SummedTargets
from mercer.tables import TableEncoder
from mercer.tables.encoding import Passes, columns_for, encode_file, encode_new
from mercer.tables.parquet import table_path
from mercer.text import counted

PREDICTED_AT_ONCE = 32_768  # rows
_READ_AT_ONCE = 65_536
_FEW_LOST = 0.05  # share of the landmarks
_FLOATS = [np.float64, np.float32]  # types of numbers that are read as they are
_ENDLESS = 10**9  # rows, where more may come

SearchOf: TypeAlias = Callable[[list[Kernel], Array], StreamedSearch]  # makes the same search of other candidates


class NumericEstimator(HoldsKernels):
    """An estimator with one or many kernels for rows of numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super(HoldsKernels, self).__sklearn_tags__()
        tags.input_tags.positive_only = any(map(is_positive_only, self._kernel_list()))
        return tags

    def _refuse_kernel(self, kernel: Kernel, rows: Rows) -> None:
        """Raise an error for kernels that do not take rows of numbers."""
        what, way_out = f"kernel of {type(self).__name__}", "Use KernelRidge for this kernel."
        refuse_if(kernel.kind in ("gram", "objects"), what, "a kernel for numeric rows", repr(kernel), way_out)
        kernel.check(rows)


@dataclass(eq=False, repr=False, kw_only=True)
class StreamingEstimator(NumericEstimator):
    """What all estimators on landmarks share: how landmarks are drawn and how a table is read."""

    landmarks: Any = None
    method: str = "pivoted"
    fit_intercept: bool = False
    time_budget: float = 120.0
    backend: Any = None
    checkpoint: File = None
    block_rows: Any = None
    random_state: Seed = 0
    verbose: int = 0

    _classifies: ClassVar[bool] = False

    def __sklearn_clone__(self) -> Any:
        """A clone with the same backend: a client of Dask cannot be copied."""
        bare = copy.copy(self)
        bare.backend = None
        fresh = BaseEstimator.__sklearn_clone__(bare)
        fresh.backend = self.backend
        return fresh

    def _validate(self) -> None:
        check_backend(self.backend)
        validate(self)
        seedless = self.checkpoint is not None and not is_whole(self.random_state)
        what, got = f"random_state of {type(self).__name__}", repr(self.random_state)[:40]
        way_out = "Without a seed the next run would draw other landmarks and folds, and could not resume."
        refuse_if(seedless, what, "an integer when checkpoint is given", got, way_out)

    def predict(self, X: XLike) -> Array:
        """Predict numbers, or labels, block by block; only the predictions are held.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            New rows. Of a file or a Dask DataFrame the columns of training are taken by name, others are left alone.
            A DataFrame in memory must have these columns alone, in the same order, as everywhere in scikit-learn; after
            a fit to a file of mixed columns, it or a dict of columns is read as a file is.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
        """
        return np.concatenate(list(self.predict_blocks(X)))

    def _names(self) -> tuple[str, ...] | None:
        """The names of the numbers that kernels see: columns of X, or those that the encoder makes of them."""
        encoder = getattr(self, "encoder_", None)
        names = getattr(self, "feature_names_in_", None) if encoder is None else encoder.names_out_
        return None if names is None else tuple(names)

    def _kernel_count(self) -> int:
        """About how many candidates there are, before any row is read."""
        return 1

    def _open(
        self, X: XLike, y: YLike, weights: PerRow = None, groups: PerRow = None, *, reset: bool = True, least: int = 1
    ) -> Source:
        """X and y as a source; the estimator gets, or is held to, the number and names of columns.

        `reset`: of a new fit, which forgets what an earlier one found.
        """
        labels = self._classifies
        if reset:
            forget(self)
            for name in ("_state", "_search", "_dual"):
                self.__dict__.pop(name, None)
            self._validate()  # before the table is read
        encoder = getattr(self, "encoder_", None)
        if isinstance(X, str | os.PathLike) and is_named_table(table_path(os.fspath(X))):
            encoded = _encode(self, X, RolesGiven(y, weights, groups, labels), encoder, reset=reset)
            if encoded is not None:
                return encoded
        stream = encoder is None and is_stream(X, y)
        if encoder is not None:
            X = np.concatenate(list(_encoded_blocks(self, X, encoder)))
        elif not stream:
            X, y = check_arrays(self, X, y, dtype=_FLOATS, reset=reset, ensure_min_samples=least)
            if labels:
                check_classification_targets(y)
            weights = as_sample_weight(weights, X)
        source = as_source(X, y, sample_weight=weights, groups=groups, labels=labels)
        if stream:
            need_targets(self, source.targets)
            check_columns(self, source, reset=reset)
        return source

    def _find_labels(self, source: Source) -> LabelLosses:
        """The classes: those given to `partial_fit`, or those that a pass finds."""
        labels = getattr(self, "_known", None)
        if labels is None:
            labels = run_pass(source, FindDistinct(), at_once=_READ_AT_ONCE, backend=self.backend)["distinct"]
        refuse_one_class(type(self).__name__, labels, np.ones(len(labels)))
        return LabelLosses(labels)

    def prepare(
        self, X: XLike, y: YLike, sample_weight: PerRow, groups: PerRow = None, *, more: bool = False
    ) -> tuple[StreamedSearch, SearchOf]:
        """Open a table and find everything that the passes need, as `fit` does; forgets an earlier fit.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for `fit`.
        more : bool, default=False
            Whether further rows may come later.

        Returns
        -------
        search : StreamedSearch
            Of all candidates.
        search_of : callable
            Makes the same search of other kernels and alphas.
        """
        source = self._open(X, y, sample_weight, groups, least=2 if hasattr(self, "cv") else 1)
        folds = int(getattr(self, "cv", 1))
        choice, seed = landmark_choice(self, source.width), seed_of(self.random_state)
        sample = draw_sample(source, choice, self._kernel_count(), folds, seed, self.backend)
        n, rows = int(source.rows or 0), Rows(sample.X, self._names())
        ranked = rank_words(source, sample, folds, seed, self.backend) if folds > 1 else None
        targets: SummedTargets = self._find_labels(source) if self._classifies else numbers_of(sample)
        Y = np.zeros((len(rows), 1)) if sample.Y is None else targets.table(sample.Y)
        kernels: list[Kernel] = self._resolve_kernels(rows, Problem(Y, sample.weights, bool(self.fit_intercept)))
        for kernel in kernels:
            self._refuse_kernel(kernel, rows)
        warn_of_scales(kernels, rows)
        alphas: Array = self._resolve_alphas(kernels, rows, n, len(targets.offset))
        count, intercept = choice.count(n, len(kernels), folds), bool(self.fit_intercept)
        expected = _ENDLESS if more else n
        scoring = resolve_scoring(getattr(self, "scoring", None), classifier=self._classifies)

        def search_of(kernels: list[Kernel], alphas: Array) -> StreamedSearch:
            features = [choice.features(kernel, sample.X, self._names(), count, seed) for kernel in kernels]
            sides = sides_of(features, expected, float(alphas.min()), sample, targets, intercept=intercept)
            first = FoldSums(sides, targets, folds, seed, intercept, folds == 1 or sample.weights is not None, ranked)
            rule, nested = getattr(self, "rule", "best"), bool(getattr(self, "nested", False))
            how = self.backend, self.checkpoint, self.block_rows, int(self.verbose)
            return StreamedSearch(source, kernels, alphas, first, scoring, rule, nested, *how)

        return search_of(kernels, alphas), search_of


def is_stream(X: XLike, y: YLike = None) -> bool:
    """Whether X is read in passes: a path, a memory map, a Dask collection, blocks, or a table whose y is a column."""
    if isinstance(X, str | os.PathLike | np.memmap) or type(X).__module__.partition(".")[0].startswith("dask"):
        return True
    if hasattr(X, "columns"):
        return isinstance(y, str) or (isinstance(y, list) and bool(y) and all(isinstance(name, str) for name in y))
    if isinstance(X, list | tuple):
        return bool(X) and isinstance(X[0], tuple) and np.ndim(X[0][0]) == 2
    return not (hasattr(X, "shape") or hasattr(X, "__array__")) and (callable(X) or hasattr(X, "__iter__"))


def _encode(owner: Estimator, X: XLike, asked: RolesGiven, encoder: TableEncoder | None, reset: bool) -> Source | None:
    """A file of mixed columns, encoded by a TableEncoder, which becomes `encoder_`; None where all are numbers."""
    need_targets(owner, asked.y)
    path = table_path(os.fspath(X))
    layout, numbers = file_layout(path, asked)
    names = layout.names or ()
    if encoder is None and (numbers or not reset):
        return None
    targets, labels = list(layout.target_names or ()), [name for _, name in layout.categories]
    plain = [name for name in (*targets, layout.weights) if name is not None and name not in labels]
    table = encode_file(str(path), names, plain, labels, encoder)
    Y = [table.beside[name] for name in targets]
    weights, groups = (None if name is None else table.beside[name] for name in (layout.weights, layout.keys))
    y = Y[0] if layout.flat else np.column_stack(Y)
    if reset:
        owner.encoder_, owner.n_features_in_ = table.encoder, len(names)
        owner.feature_names_in_ = np.array(names, dtype=object)
    if isinstance(table.X, Passes):
        return as_source(replace(table.X, y=y, weights=weights, groups=groups), labels=asked.labels)
    return as_source(table.X, y, sample_weight=weights, groups=groups, labels=asked.labels)


def need_targets(estimator: Estimator, targets: YLike) -> None:
    """Raise an error if there are no targets."""
    if targets is None:
        raise InputError(f"y of {type(estimator).__name__} must be given to fit; got None.")


def check_columns(estimator: Estimator, source: Source, *, reset: bool) -> None:
    """Keep the number and names of columns (`reset`), or raise an error if they are not those of the first fit."""
    if reset:
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = source.width
        if source.names is not None:
            estimator.feature_names_in_ = np.array(source.names, dtype=object)
        return
    if source.width != estimator.n_features_in_:
        columns = counted(estimator.n_features_in_, "column")
        raise InputError(f"X must have {columns}, as in the first fit; got {source.width}.")
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and source.names is not None:
        for place, (name, wanted) in enumerate(zip(source.names, known, strict=True)):
            must_be, way_out = f"{wanted!r}, as in the first fit", "Use the columns in the same order."
            refuse_if(name != wanted, f"Column {place} of X", must_be, repr(name), way_out)


def new_blocks(estimator: Estimator, X: XLike) -> Iterator[Array]:
    """Rows to predict, block by block, their columns in the order of training."""
    encoder = getattr(estimator, "encoder_", None)
    if encoder is not None or not is_stream(X):
        for table in _encoded_blocks(estimator, X, encoder):
            for part in blocks(len(table), PREDICTED_AT_ONCE):
                yield np.ascontiguousarray(table[part], dtype=np.float64)
        return
    source = as_source(X)
    names, places = getattr(estimator, "feature_names_in_", None), None
    if names is not None and source.names is not None:
        missing = [name for name in names if name not in source.names]
        if missing:
            raise InputError(f"The rows to predict need the column {missing[0]!r}. {nearest(missing[0], source.names)}")
        places = [source.names.index(name) for name in names]
    elif source.width != estimator.n_features_in_:
        raise InputError(sentence("X", f"a table of {estimator.n_features_in_} columns", f"{source.width} columns"))
    for block in source.blocks(PREDICTED_AT_ONCE):
        yield block.X if places is None else np.ascontiguousarray(block.X[:, places])


def _encoded_blocks(estimator: Estimator, X: XLike, encoder: TableEncoder | None) -> Iterator[Array]:
    """New rows of a file or a table in memory, encoded; without an encoder a table as it is."""
    if encoder is None:
        yield check_arrays(estimator, X, dtype=_FLOATS, reset=False)
        return
    if isinstance(X, str | os.PathLike):
        yield from encode_new(str(table_path(os.fspath(X))), encoder)
        return
    if not isinstance(X, Mapping) and is_stream(X):
        what, must_be = f"X of {type(estimator).__name__}", "a path, a DataFrame or a dict of columns, as in fit,"
        raise InputError(sentence(what, f"{must_be} to a file of mixed columns", type(X).__name__))
    yield encoder.transform(columns_for(encoder, X))


def landmark_choice(estimator: Estimator, columns: int) -> LandmarkChoice:
    """`landmarks` and `method`, checked."""
    owner, given, method = type(estimator).__name__, estimator.landmarks, estimator.method
    seconds = math.inf if estimator.time_budget is None else float(estimator.time_budget)
    way_out, must_be = nearest(method, METHODS) if isinstance(method, str) else "", "'pivoted', 'kmeans' or 'uniform'"
    refuse_if(not is_in(method, *METHODS), f"method of {owner}", must_be, repr(method), way_out)
    if given is None or is_whole(given, 1):
        return LandmarkChoice(given, method, seconds)
    refuse_if(np.ndim(given) != 2, f"landmarks of {owner}", "None, an integer above 0, or a table of rows", repr(given))
    encoder = getattr(estimator, "encoder_", None)
    if encoder is not None and hasattr(given, "columns"):
        given = encoder.transform(columns_for(encoder, given))
    names, must_be = getattr(estimator, "feature_names_in_", None), f"rows of {columns} finite numbers, as X has"
    if names is not None and hasattr(given, "columns"):  # in the order of X
        there = list(map(str, given.columns))
        missing = [name for name in names if name not in there]
        if missing:
            raise InputError(f"landmarks of {owner} need the column {missing[0]!r}. {nearest(missing[0], there)}")
        given = np.asarray(given)[:, [there.index(name) for name in names]]
    try:
        rows = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(sentence(f"landmarks of {owner}", must_be, "text or objects")) from None
    if rows.shape[1] != columns or not len(rows) or not np.isfinite(rows).all():
        got = f"a table of {rows.shape[0]} x {rows.shape[1]}" + ("" if np.isfinite(rows).all() else " with NaN or inf")
        raise InputError(sentence(f"landmarks of {owner}", must_be, got))
    return LandmarkChoice(rows, method, seconds)


def warn_if_landmarks_lost(owner: str, features: Features) -> None:
    """Warn if many landmarks were dropped although they are not copies or combinations of others."""
    if features.lost > _FEW_LOST * features.given:
        words = f"{owner} uses {features.count} of {features.given} landmarks: {features.lost} were dropped because"
        why = f"their columns in the kernel matrix of {features.kernel!r} are nearly linearly dependent."
        way_out = "The landmarks used are in landmarks_. Use a smaller width, or landmarks further apart."
        warn(f"{words} {why} {way_out}", IllConditionedWarning)


def seed_of(random_state: Seed) -> int:
    """`random_state` as the seed of landmarks and folds."""
    if isinstance(random_state, int | np.integer) and is_whole(random_state, 0):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
