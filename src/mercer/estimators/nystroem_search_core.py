"""What searches over streams share: candidates from a sample, one pass or a few, the choice and its warnings."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array, File, Rows, Seed
from mercer.errors import EdgeOfGridWarning, InputError, sentence, warn
from mercer.estimators.nystroem import NystroemRidge, NystroemRidgeClassifier
from mercer.estimators.nystroem_base import (
    StreamingEstimator,
    checked_kernel,
    landmark_choice,
    opened,
    seed_of,
    warn_if_landmarks_lost,
    warn_if_no_mercer_kernel,
)
from mercer.estimators.parameters import is_whole
from mercer.estimators.search_core import warn_if_ill, warn_of_failures
from mercer.kernels import Kernel
from mercer.selection.ladders import edges_in_words, resolve_alphas, resolve_kernels
from mercer.selection.plan import Rates
from mercer.selection.scoring import resolve_scoring
from mercer.solvers.route import digits_left
from mercer.streaming.landmarks import drawn_sample, ranked_words, sides_of
from mercer.streaming.models import SUMMED
from mercer.streaming.plan import StreamPlan
from mercer.streaming.scores import hashed_folds, landmark_check
from mercer.streaming.search import PassReading, StreamedResult, StreamedSearch
from mercer.text import Text, summary_below

_FAMILY = 10  # kernels that a name stands for, about


class NystroemSearchCore(StreamingEstimator):
    """A search on the features of landmarks."""

    _words: str

    def __init__(
        self,
        kernels: Any = "gaussian",
        alphas: Any = None,
        *,
        cv: int = 10,
        landmarks: Any = None,
        method: str = "pivoted",
        nested: bool = False,
        scoring: Any = None,
        fit_intercept: bool = False,
        rule: str = "best",
        budget: float = 120.0,
        backend: Any = None,
        checkpoint: File = None,
        block_rows: Any = None,
        random_state: Seed = 0,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            landmarks=landmarks, method=method, fit_intercept=fit_intercept, budget=budget, backend=backend,
            checkpoint=checkpoint, block_rows=block_rows, random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.kernels = kernels
        self.alphas = alphas
        self.cv = cv
        self.nested = nested
        self.scoring = scoring
        self.rule = rule

    def _kernels(self) -> list[Any]:
        return list(self.kernels) if isinstance(self.kernels, list | tuple) else [self.kernels]

    def _validate(self) -> None:
        super()._validate()
        least = 3 if self.nested else 2
        if not is_whole(self.cv, least):
            way_out = "Splitters are not supported: rows are assigned to folds by a hash."
            must_be = f"a number of folds of at least {least}"
            raise InputError(sentence(f"cv of {type(self).__name__}", must_be, repr(self.cv), way_out))

    def _settled(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> StreamedSearch:
        """Everything that the passes need, from a sample."""
        self._begin()
        self._validate()
        owner, folds = type(self).__name__, int(self.cv)
        source = opened(self, X, y, sample_weight, groups, labels=self._classifies, least=2)
        choice, seed = landmark_choice(self, source.width), seed_of(self.random_state)
        sample = drawn_sample(source, choice, _guess(self.kernels), folds, seed, self.backend)
        ranked = ranked_words(source, sample, folds, seed, self.backend)
        names = getattr(self, "feature_names_in_", None)
        rows, n = Rows(sample.X, names), int(source.rows or 0)
        kernels = [checked_kernel(owner, kernel) for kernel in resolve_kernels(self.kernels, rows)]
        for kernel in kernels:
            kernel.check(rows)
        alphas = resolve_alphas(self.alphas, kernels, rows, n)
        targets = self._targets_of(sample, source)
        count = choice.count(n, len(kernels), folds)
        named = None if names is None else tuple(names)
        features = [choice.features(kernel, sample.X, named, count, seed) for kernel in kernels]
        intercept = bool(self.fit_intercept)
        sides = sides_of(features, n, float(alphas.min()), sample, targets, intercept=intercept)
        scoring = resolve_scoring(self.scoring, classifier=self._classifies)
        if scoring.weighted:
            raise InputError(
                f"scoring of {owner} requests sample_weight; {owner} does not pass sample_weight to scorers. Use a "
                "scorer without sample_weight."
            )
        reading = PassReading(source, self.backend, self.checkpoint, self.block_rows, int(self.verbose))
        return StreamedSearch(
            reading, kernels, alphas, sides, targets, folds, seed, intercept, sample.weights is not None, scoring,
            bool(self.nested), self.rule, ranked,
        )  # fmt: skip

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Draw landmarks, read all rows once or a few times, and keep the best candidate.

        Parameters
        ----------
        X, y
            As for `NystroemRidge` and `NystroemRidgeClassifier`.
        sample_weight : float, array-like, column name or path, default=None
            Weights of training; scores are not weighted.
        groups : array-like, column name or path, default=None
            Keys; rows with the same key are always in the same fold.

        Returns
        -------
        self
        """
        with np.errstate(under="ignore"):
            search = self._settled(X, y, sample_weight, groups)
            self.best_estimator_ = self._winner(search, *self._searched(search))
        if self._classifies:
            self.classes_ = self.best_estimator_.classes_ = search.targets.classes  # type: ignore[attr-defined]
        self.best_estimator_.publish()
        return self

    def _searched(self, search: StreamedSearch) -> tuple[StreamedResult, int, int]:
        """Run, choose, and keep what the search has to say; the numbers of the winning kernel and alpha."""
        self.plan_ = search.plan()
        found = search.run()
        table = found.table
        how = "by hash" if search.ranked is None else "dealt in the order of a hash"
        self.folds_ = hashed_folds(search.folds, f"{search.folds} folds {how} (seed {search.seed})")
        choice = table.choose(self.rule, self.folds_, found.failures)
        k, a = choice.kernel, choice.alphas[0]
        self.kernels_, self.alphas_, self.table_, self.choice_ = list(table.kernels), table.alphas, table, choice
        self.cv_results_ = table.results()
        self.best_kernel_, self.alpha_ = self.kernels_[k], float(self.alphas_[a])
        self.best_score_ = float(table.mean[k, a, 0])
        self.digits_ = digits_left(SUMMED * table.worst_condition(choice))
        self.best_index_ = k * len(table.alphas) + a
        self.landmark_check_ = landmark_check(found.swept[k], found.totals, search.sides[k].features.count)
        self.fold_rows_ = found.totals.rows.astype(np.intp)
        if found.nested is not None:
            self.nested_, self.nested_scores_ = found.nested, found.nested.scores
            self.optimism_ = found.nested.optimism
        self._words = self._summarised()
        self._warn(found, edges_in_words(table, choice))
        return found, k, a

    def _warn(self, found: StreamedResult, edges: list[str]) -> None:
        owner = type(self).__name__
        if edges:
            said = f"The best candidate of {owner} is on the edge of the grid ({' and '.join(edges)} tried)."
            warn(EdgeOfGridWarning(said, hint="$others."))
        warn_if_ill(f"the best candidate of {owner}", found.table.worst_condition(self.choice_))
        warn_if_no_mercer_kernel(self.best_kernel_)
        if found.failures:
            warn_of_failures(found.table.scoring, found.failures)

    def _winner(self, search: StreamedSearch, found: StreamedResult, k: int, a: int) -> Any:
        """The best candidate fitted to all rows, from weights that are computed already."""
        family = NystroemRidgeClassifier if self._classifies else NystroemRidge
        model = family(self.alpha_, kernel=self.best_kernel_, fit_intercept=self.fit_intercept, method=self.method)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        final = found.swept[k].final
        alphas = np.full(final.weights.shape[2], self.alpha_)
        condition, rows = float(found.swept[k].condition[a]), int(found.totals.rows.sum())
        model.hold(
            search.sides[k].features, final.weights[a], final.intercept[a], alphas, rows, condition,
            one_target=search.reading.source.targets_1d,
        )  # fmt: skip
        if self.landmarks is not None:
            warn_if_landmarks_lost(type(self).__name__, search.sides[k].features)
        return model

    def predict(self, X: Any) -> Array:
        """Predict with the best candidate, block by block: numbers, or labels.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
        """
        check_is_fitted(self, "best_estimator_")
        found: Array = self.best_estimator_.predict(X)
        return found

    def predict_blocks(self, X: Any) -> Iterator[Array]:
        """Predictions that do not fit in memory: those of one block of rows after the other.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            New rows.

        Returns
        -------
        iterator of ndarray
        """
        check_is_fitted(self, "best_estimator_")
        found: Iterator[Array] = self.best_estimator_.predict_blocks(X)
        return found

    def explain(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, rates: Rates | None = None
    ) -> StreamPlan:
        """Passes, time and memory that `fit` on this data would take; only a sample is read.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for `fit`.
        rates : Rates, default=None
            Speeds of the machine, as `mercer.selection.plan.measure()` finds them; otherwise fixed ones.

        Returns
        -------
        StreamPlan
            Prints as a table.
        """
        fresh = copy.copy(self)  # so that nothing looks fitted that is not
        return fresh._settled(X, y, sample_weight, groups).plan(rates)  # noqa: SLF001 - a copy of itself

    def _html_repr(self) -> str:
        return summary_below(super()._html_repr(), self, "best_estimator_")

    def summary(self) -> str:
        """The candidates, the best one and its numerical accuracy, as text.

        Returns
        -------
        str
        """
        check_is_fitted(self, "best_estimator_")
        return Text(self._words)

    def _summarised(self) -> str:
        lines = [
            str(self.plan_),
            self.table_.text(self.choice_, self.folds_),
            f"About {self.digits_:.0f} digits of the best candidate's scores are correct.",
            str(self.landmark_check_),
        ]
        if hasattr(self, "nested_"):
            lines.append(
                f"Out-of-sample {self.table_.scoring}: {self.nested_.mean:.4g} +- {self.nested_.standard_error:.2g} "
                "(one standard error). Cross-validation score of the best candidate: optimistic by "
                f"{self.optimism_:.2g}."
            )
        return "\n".join(lines)


def _guess(kernels: Any) -> int:
    """The number of kernels that an argument stands for, before any row is read."""
    if isinstance(kernels, Kernel):
        return 1
    if isinstance(kernels, str):
        return 1 if "(" in kernels else _FAMILY
    try:
        return max(1, sum(map(_guess, kernels)))
    except TypeError:
        return 1
