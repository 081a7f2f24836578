"""Ridge regression and classification on landmarks that choose kernel and alpha by exact cross-validation."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.data.folds import Folds
from mercer.data.rows import AlphaLike, Array, PerRow, Rows, ScoringLike, XLike, YLike
from mercer.errors import InputError, refuse_if
from mercer.estimators.base import is_tuned, warn_if_not_mercer
from mercer.estimators.nystroem import NystroemRidge, NystroemRidgeClassifier
from mercer.estimators.nystroem_base import SearchOf, StreamingEstimator, seed_of, warn_if_landmarks_lost
from mercer.estimators.parameters import is_whole
from mercer.estimators.search_core import WORTH_A_WORD, BestCandidate, keep_choice, warn_of_failures
from mercer.estimators.targets import LabelsMixin
from mercer.kernels import Constant, Kernel
from mercer.local.search import times_width, tuned_kernels
from mercer.selection.ladders import beyond_edges, edges_in_words, resolve_alphas, resolve_kernels
from mercer.selection.plan import Rates
from mercer.selection.scoring import resolve_scoring
from mercer.selection.table import Winner
from mercer.solvers.plan import EPS, digits_left
from mercer.solvers.problem import Problem, take_rows
from mercer.streaming.models import SUMMED
from mercer.streaming.scores import hashed_folds, landmark_check
from mercer.streaming.search import StreamedResult, StreamedSearch, StreamPlan
from mercer.text import Text, summary_below

_FAMILY = 10  # kernels that a name stands for, about
_LARGEST_LEVEL = 1e4  # of a constant kernel beside one with k(x, x) = 1, so that landmarks can be told apart
_TUNED = 3  # candidates from tuning: the best two kernels, and the best one with twice its widths
_ROUNDS = 3  # of extending default ladders, each of which reads all rows again


@dataclass(eq=False, repr=False)
class NystroemSearchCore(BestCandidate, StreamingEstimator):
    """A search on the features of landmarks."""

    kernels: Any = "tuned"
    alphas: AlphaLike = None
    _: KW_ONLY
    cv: int = 10
    nested: bool = False
    scoring: ScoringLike = None
    rule: str = "best"

    best_estimator_: NystroemRidge | NystroemRidgeClassifier = field(init=False)
    _words: str = field(init=False)

    def _kernel_count(self) -> int:
        if is_tuned(self):
            return _TUNED
        named = [isinstance(kernel, str) and "(" not in kernel for kernel in self._kernel_list()]
        return sum(_FAMILY if each else 1 for each in named) or 1

    def _validate(self) -> None:
        super()._validate()
        owner, least = type(self).__name__, 3 if self.nested else 2
        must_be = f"a number of folds of at least {least}"
        way_out = "Splitters are not supported: rows are assigned to folds by a hash."
        refuse_if(not is_whole(self.cv, least), f"cv of {type(self).__name__}", must_be, repr(self.cv), way_out)
        if resolve_scoring(self.scoring, classifier=self._classifies).weighted:
            words = f"scoring of {owner} requests sample_weight; {owner} does not pass sample_weight to scorers."
            raise InputError(f"{words} Use a scorer without sample_weight.")

    def _resolve_kernels(self, rows: Rows, problem: Problem) -> list[Kernel]:
        if not is_tuned(self):
            return resolve_kernels(self.kernels, rows)
        what, must_be = f"sample_weight of {type(self).__name__}", "positive for at least one row"
        refuse_if(not len(problem.used_rows), what, must_be, "only zeros")
        used, some = take_rows(rows, problem, problem.used_rows)
        centred = replace(some, intercept=True).subtract_mean()
        tuned = [kernel for kernel, _ in tuned_kernels(used, centred, seed_of(self.random_state))]
        found = [*tuned[: _TUNED - 1], times_width(tuned[0], 2.0)]
        if self.fit_intercept:
            return found
        # a constant kernel in place of an intercept: about the squared mean of y over its variance
        spread = np.sqrt(np.mean(centred.Y**2, axis=0))
        ratio = np.abs(centred.centre) / np.where(spread > 0, spread, 1.0)
        return [kernel + Constant(float(np.clip(np.max(ratio) ** 2, 1.0, _LARGEST_LEVEL))) for kernel in found]

    def _resolve_alphas(self, kernels: list[Kernel], rows: Rows, n: int, targets: int) -> Array:
        return resolve_alphas(self.alphas, kernels, rows, n)

    def fit(self, X: XLike, y: YLike = None, sample_weight: PerRow = None, groups: PerRow = None) -> Self:
        """Draw landmarks, read all rows once or a few times, and keep the best candidate.

        Default ladders grow where the best candidate is on their edge, at most three times and by prediction within
        `time_budget`; all candidates are then summed again.

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
            search, found = self._run_search(*self.prepare(X, y, sample_weight, groups))
            self.best_estimator_ = self._winner(search, found)
        if self._classifies:
            self.classes_ = self.best_estimator_.classes_ = search.first.targets.classes  # type: ignore[union-attr]
        self.best_estimator_.publish()
        return self

    def _run_search(self, search: StreamedSearch, search_of: SearchOf) -> tuple[StreamedSearch, StreamedResult]:
        """Run, extend default ladders, choose, and keep what is known of the choice; the last search and its result."""
        how = "by hash" if search.first.ranked is None else "dealt in the order of a hash"
        folds = hashed_folds(search.first.folds, f"{search.first.folds} folds {how} (seed {search.first.seed})")
        by_name, by_default = default = self._growing()
        seconds = search.plan().seconds
        for turn in range(_ROUNDS + 1):
            found = search.run()
            table = found.table
            choice = self._choose(found, folds)
            wider, rungs = beyond_edges(table, choice, folds, default)
            kernels = [*search.kernels, *(wider if by_name else [])]
            alphas = np.union1d(search.alphas, rungs) if by_default and len(rungs) else search.alphas
            if turn == _ROUNDS or len(kernels) * len(alphas) == len(search.kernels) * len(search.alphas):
                break
            larger = search_of(kernels, alphas)
            seconds += larger.plan().seconds
            if self.time_budget is not None and seconds > self.time_budget:
                break
            search = larger
            if self.checkpoint is not None:
                search = replace(search, checkpoint=f"{self.checkpoint}.grid{turn + 1}")
        self.plan_ = search.plan()
        keep_choice(self, table, choice, folds)
        k, self.alpha_ = choice.kernel, float(table.alphas[choice.alphas[0]])
        self.digits_ = digits_left(SUMMED * table.worst_condition(choice))
        self.landmark_check_ = landmark_check(found.swept[k], found.totals, search.first.sides[k].features.count)
        self.fold_rows_ = found.totals.rows.astype(np.intp)
        if found.nested is not None:
            self.nested_, self.nested_scores_ = found.nested, found.nested.scores[0]
            self.optimism_ = found.nested.optimism
        self._words = self._summarize(edges_in_words(table, choice, folds, default, default))
        self._warn(found, edges_in_words(table, choice, folds, default, (not by_name, not by_default)))
        return search, found

    def _choose(self, found: StreamedResult, folds: Folds) -> Winner:
        """The best candidate; of default alphas one whose scores have six digits, if there is any."""
        table = found.table
        sound = (table.condition * EPS <= WORTH_A_WORD) & np.isfinite(table.mean).all(axis=2)
        if self.alphas is None and sound.any():
            table = replace(table, scores=np.where(sound[..., None, None], table.scores, np.nan))
        return table.choose(self.rule, folds, found.failures)

    def _warn(self, found: StreamedResult, edges: list[str]) -> None:
        self._warn_of_choice(edges, "$others.", found.table.worst_condition(self.choice_), digits=self.digits_)
        warn_if_not_mercer(self.best_kernel_)
        warn_of_failures(found.table.scoring, found.failures)

    def _winner(self, search: StreamedSearch, found: StreamedResult) -> Any:
        """The best candidate fitted to all rows, from weights that are computed already."""
        k, a = self.choice_.kernel, self.choice_.alphas[0]
        family = NystroemRidgeClassifier if self._classifies else NystroemRidge
        model = family(self.alpha_, kernel=self.best_kernel_, fit_intercept=self.fit_intercept, method=self.method)
        kept = ("n_features_in_", "feature_names_in_", "encoder_")
        model.__dict__.update({name: getattr(self, name) for name in kept if hasattr(self, name)})
        features, swept = search.first.sides[k].features, found.swept[k]
        places = np.full(len(search.first.targets.offset), a)
        model.hold(features, swept.final, search.alphas, places, one_target=search.source.targets_1d)
        model.n_rows_, model.condition_ = int(found.totals.rows.sum()), float(swept.condition[a])
        if self.landmarks is not None and not (is_tuned(self) or self._growing()[0]):
            warn_if_landmarks_lost(type(self).__name__, features)
        return model

    def predict_blocks(self, X: XLike) -> Iterator[Array]:
        """Predictions that do not fit in memory: those of one block of rows after the other.

        Parameters
        ----------
        X : array-like, DataFrame, path, memory map, Dask collection, or blocks
            New rows.

        Returns
        -------
        iterator of ndarray
        """
        return iter(self._model_for(X).predict_blocks(X))

    def explain(
        self, X: XLike, y: YLike = None, sample_weight: PerRow = None, groups: PerRow = None, rates: Rates | None = None
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
        # of a copy, so that nothing looks fitted that is not
        return copy.copy(self).prepare(X, y, sample_weight, groups)[0].plan(rates)

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

    def _summarize(self, edges: list[str]) -> str:
        digits = f"About {self.digits_:.0f} digits of the best candidate's scores are correct."
        lines = [str(self.plan_), self.table_.text(self.choice_, self.folds_), digits, str(self.landmark_check_)]
        if edges:
            lines.append(f"The best candidate is on the edge of the default grid ({' and '.join(edges)} tried).")
        if hasattr(self, "nested_"):
            optimism = f"Cross-validation score of the best candidate: optimistic by {self.optimism_:.2g}."
            mean, error = f"{self.nested_.mean:.4g}", f"{self.nested_.standard_error:.2g}"
            lines.append(f"Out-of-sample {self.table_.scoring}: {mean} +- {error} (one standard error). {optimism}")
        return "\n".join(lines)


class NystroemRidgeCV(MultiOutputMixin, RegressorMixin, NystroemSearchCore):  # type: ignore[misc]
    """Ridge regression on landmarks that chooses its kernel and alpha by exact cross-validation, from one pass.

    Sums over the rows of each fold give the models without that fold, for every alpha, and their squared errors on it:
    the same numbers as refitting with the same landmarks. Landmarks, ladders and the offset of y come from
    a sample of all rows, before any split, and do not look at scores.

    Parameters
    ----------
    kernels : "tuned", Kernel, list of Kernel or str, default="tuned"
        Candidates. "tuned": kernels with a width per column, tuned on draws of at most 1200 rows of a sample, of which
        the best two, and the best one with twice its widths; without an intercept a constant kernel is added to each.
        Others as for `KernelRidgeCV`; ladders of widths come from a sample of rows.
    alphas : array-like, default=None
        Candidates. None: a ladder from the spectra of the kernels on the sample, of which one is chosen that leaves six
        digits of the scores, if there is any.
    cv : int, default=10
        Folds. A row's fold is a hash of its number, or of its key where `groups` are given: neither the size of blocks
        nor the number of workers changes it. Where that would leave a fold empty, the rows or groups are dealt to the
        folds evenly, in the order of their hashes.
    landmarks, method, time_budget
        As for `NystroemRidge`, for each kernel.
    nested : bool, default=False
        Whether pairs of folds are held out as well, for an out-of-sample score of the whole search: `nested_`.
    scoring : str, scorer, callable or None, default=None
        As for `KernelRidgeCV`. Squared errors (None), their root and "r2" come from the sums.
        "neg_mean_absolute_error" and "max_error" take a second pass; any other a second pass that keeps all
        held-out predictions.
    fit_intercept : bool, default=False
        Whether the model has an unpenalized constant.
    rule : {"best", "one_se"}, default="best"
        "one_se" uses the kernel of the best candidate and the largest alpha within one standard error.
    backend, checkpoint, block_rows, verbose
        As for `NystroemRidge`.
    random_state : int, RandomState or None, default=0
        Of landmarks and folds.

    Attributes
    ----------
    best_kernel_, alpha_, best_score_, best_index_ : Kernel, float, float, int
        The best candidate.
    best_estimator_ : NystroemRidge
        The best candidate fitted to all rows.
    encoder_ : TableEncoder
        As for `NystroemRidge`.
    cv_results_, kernels_, alphas_, digits_, folds_
        As for `KernelRidgeCV`.
    landmark_check_ : LandmarkCheck
        Held-out error with all landmarks and with half of them: whether more would still help.
    nested_ : Outcome
        Only with `nested`; its scores are also `nested_scores_`, and `optimism_` is what plain scores hide.
    fold_rows_ : ndarray of shape (cv,)
        Rows of each fold.
    plan_ : StreamPlan
        What the passes were predicted to take.

    See Also
    --------
    mercer.KernelRidgeCV : The same with every row as a landmark, for tables of some thousand rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NystroemRidgeCV
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 6.0, size=(4000, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=4000)
    >>> kernels, alphas = [Gaussian(w) for w in (0.1, 1.0, 10.0)], [1e-3, 0.1, 10.0, 1000.0]
    >>> search = NystroemRidgeCV(kernels, alphas, landmarks=30).fit(X, y)
    >>> search.best_kernel_, search.alpha_
    (Gaussian(width=1.0), 0.1)
    """


class NystroemRidgeClassifierCV(LabelsMixin, NystroemSearchCore):
    """Least squares on labels with landmarks, kernel and alpha chosen by exact cross-validation.

    One pass sums, a second one decides on every row with the models that have not seen its fold.

    Parameters
    ----------
    kernels, alphas, cv, landmarks, method, nested, fit_intercept, rule, time_budget, backend, checkpoint, block_rows, \
random_state, verbose
        As for `NystroemRidgeCV`.
    scoring : str, scorer, callable or None, default=None
        None is accuracy. Any other keeps all held-out predictions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    best_estimator_ : NystroemRidgeClassifier
        The best candidate fitted to all rows.
    best_kernel_, alpha_, best_score_, cv_results_, kernels_, alphas_, digits_, folds_, landmark_check_, nested_, plan_
        As for `NystroemRidgeCV`; the landmark check is of squared errors on the labels' numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NystroemRidgeClassifierCV
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "odd")
    >>> kernels, alphas = [Gaussian(w) for w in (0.3, 1.0, 3.0)], [1e-4, 0.01, 1.0, 100.0]
    >>> search = NystroemRidgeClassifierCV(kernels, alphas, cv=5, landmarks=40).fit(X, y)
    >>> search.predict([[1.0, 1.0], [1.0, -1.0]]).tolist()
    ['same', 'odd']
    """

    _classifies: ClassVar[bool] = True
    predict = NystroemSearchCore.predict  # block by block
