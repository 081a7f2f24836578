"""What searches share: candidates, splits, the search itself, the choice and its warnings."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import check_weights
from mercer.data.folds import Copies, Folds, by_chance, draw
from mercer.data.rows import (
    AlphaLike,
    Array,
    Estimator,
    File,
    PerRow,
    Rows,
    ScoringLike,
    Seed,
    SplitsLike,
    XLike,
    YLike,
)
from mercer.errors import (
    EdgeOfGridWarning,
    IllConditionedWarning,
    InputError,
    MercerWarning,
    refuse_if,
    sentence,
    warn,
)
from mercer.estimators.base import HoldsKernels, forget, listed_kernels
from mercer.estimators.inputs import NO_TARGETS, as_sample_weight, check_input, check_kernels
from mercer.estimators.parameters import takes_sparse, validate
from mercer.estimators.refitting import Refitting
from mercer.estimators.targets import Targets, Temperature
from mercer.kernels import Kernel
from mercer.runtime.container import check_path
from mercer.selection.ladders import (
    BY_WIDTH,
    beyond_edges,
    edges_in_words,
    resolve_alphas,
    resolve_kernels,
    warn_of_scales,
)
from mercer.selection.plan import Plan, Rates
from mercer.selection.scoring import resolve_scoring
from mercer.selection.search import Search
from mercer.selection.table import SearchTable, Winner, join_tables
from mercer.solvers.plan import EPS, digits_left
from mercer.solvers.problem import take_used
from mercer.text import Text, counted, summary_below
from mercer.tuning.tune import Settings, tune_rows

_ROUNDS = 6  # of extending the grid
_REPLAYED = 5  # splits refitted by verify=True
WORTH_A_WORD = 1e-6  # relative error of scores


class BestCandidate:
    """What searches share: which candidates are ladders that were not given, and the best one, which predicts."""

    kernels: Any
    alphas: AlphaLike
    best_estimator_: Any

    def own_ladders(self) -> tuple[bool, bool]:
        """Whether some of the kernels, and the alphas, come from default ladders."""
        names = [kernel for kernel in listed_kernels(self.kernels) if isinstance(kernel, str)]
        return any(name.strip().lower() in BY_WIDTH for name in names), self.alphas is None

    def _growing(self) -> tuple[bool, bool]:
        """Whether widths, and alphas, are default ladders alone, which may grow."""
        named = all(isinstance(kernel, str) and "(" not in kernel for kernel in listed_kernels(self.kernels))
        by_name, by_default = self.own_ladders()
        return by_name and named, by_default

    def _model_for(self, X: XLike) -> Any:
        """The best candidate, which is fitted to all rows."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def _values(self, X: XLike) -> Array:
        """f of the best candidate at new rows (m, outputs)."""
        return np.asarray(self._model_for(X)._values(X))  # noqa: SLF001 - of the same family

    def _warn_of_choice(self, edges: list[str], hint: str, condition: float, **how: Any) -> None:
        """Warn if the best candidate is on an edge of the grid, or has few correct digits."""
        what = f"best candidate of {type(self).__name__}"
        if edges:
            warn(EdgeOfGridWarning(f"The {what} is on the edge of the grid ({' and '.join(edges)} tried).", hint=hint))
        warn_if_ill(f"the {what}", condition, **how)


class SearchInputs(BestCandidate, HoldsKernels):
    """The data of a search over `kernels`, checked as scikit-learn does."""

    def check_data(self, X: XLike, y: YLike = NO_TARGETS, *, reset: bool = True) -> Any:
        """X, or X and y, validated as scikit-learn does."""
        listed = listed_kernels(self.kernels) if reset else [self.best_kernel_]
        sparse = "csr" if all(takes_sparse(kernel) for kernel in listed) else False
        return check_input(self, listed, X, y, sparse=sparse, reset=reset, least=2 if reset else 1)

    def _resolve(self, rows: Rows, y: Array, groups: PerRow) -> tuple[list[Kernel], Array, Folds, bool]:
        """Kernels, alphas and folds, and whether the rows are a kernel matrix."""
        kernels = resolve_kernels(self.kernels, rows)  # from all rows, before any split
        gram, alphas = check_kernels(kernels, rows), resolve_alphas(self.alphas, kernels, rows)
        how: Any = {"repeats": self.repeats, "groups": groups, "random_state": self.random_state}
        return kernels, alphas, draw(self.cv, rows.values, y, classifier=is_classifier(self), **how), gram

    def _model_for(self, X: XLike) -> Any:
        """The best candidate, after these new rows were checked."""
        check_is_fitted(self, "best_estimator_")
        self.check_data(X, reset=False)
        return self.best_estimator_


def read_rows(owner: Estimator, X: XLike, y: YLike, weight: PerRow, *, by_split: bool = True) -> tuple[Rows, Targets]:
    """Rows and targets, whose splits may be compared, checked like the parameters of their estimator."""
    validate(owner)
    X, y = owner.check_data(X, y)
    weights = as_sample_weight(weight, X)
    if weights is not None:
        check_weights(type(owner).__name__, weights)
    return Rows(X, getattr(owner, "feature_names_in_", None)), Targets.read(owner, y, weights, by_split=by_split)


@dataclass(eq=False, repr=False)
class SearchCore(SearchInputs):
    """What the regressor and the classifier share: candidates, splits, the search, the choice."""

    kernels: Any = "gaussian"
    alphas: AlphaLike = None
    _: KW_ONLY
    cv: SplitsLike = None
    repeats: int = 1
    scoring: ScoringLike = None
    fit_intercept: bool = False
    rule: str = "best"
    extend_grid: bool = False
    verify: bool = False
    checkpoint: File = None
    random_state: Seed = None
    verbose: int = 0

    tune = False
    _model: ClassVar[Any]  # the class of the best candidate

    def prepare(
        self, X: XLike, y: YLike, sample_weight: PerRow = None, groups: PerRow = None
    ) -> tuple[Search, list[Kernel], Array]:
        """Check the data and resolve the candidates, as `fit` does before it runs the search. Forgets an earlier fit.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for `fit`.

        Returns
        -------
        search : Search
            Rows, targets, folds and score.
        kernels : list of Kernel
            Candidates.
        alphas : ndarray
            Tried with each of them.
        """
        forget(self)
        rows, targets = read_rows(self, X, y, sample_weight)
        if self.checkpoint is not None:
            check_path(self.checkpoint)
            if by_chance(self.cv, self.repeats, self.random_state):
                must_be = "an integer when checkpoint is given and the folds are random"
                way_out = "Without a seed the next run would draw other folds, and could not resume."
                raise InputError(sentence(f"random_state of {type(self).__name__}", must_be, "None", way_out))
        kernels, alphas, folds, gram = self._resolve(rows, targets.y, groups)
        scoring = resolve_scoring(self.scoring, classifier=is_classifier(self))
        return targets.search(self, rows, folds, scoring, gram=gram), kernels, alphas

    def fit(self, X: XLike, y: YLike, sample_weight: PerRow = None, groups: PerRow = None) -> Self:
        """Search, and fit the best candidate to all rows; a classifier is calibrated on held-out decision values.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Rows; for precomputed kernels the Gram matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; for a classifier labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of training; scores are not weighted.
        groups : array-like of shape (n_samples,), default=None
            Rows of one group are never on both sides of a split.

        Returns
        -------
        self
        """
        search, kernels, alphas = self.prepare(X, y, sample_weight, groups)
        if groups is None:
            self._warn_of_copies(search)
        if not search.problem.gram:
            warn_of_scales(kernels, search.rows)
        with np.errstate(under="ignore"):
            table = self._run(search, kernels, alphas, self.checkpoint)
            table, choice = self._extend(search, table, table.choose(self.rule, search.folds, search.failures))
            if self.tune:
                table, choice = self._tune_winner(search, table, choice)
            if len(table.kernels) * len(table.alphas) > len(kernels) * len(alphas):
                self.plan_ = search.plan(table.kernels, table.alphas)
            keep_choice(self, table, choice, search.folds)
            self.digits_ = table.digits(choice)
            self._warn(table, choice, search.failures)
            self.alpha_ = search.alpha_of(self.alphas_, choice)
            spread = np.broadcast_to(self.alpha_, search.problem.Y.shape[1]).tolist()
            values, _ = search.values(self.best_kernel_, spread, self.plan_)
            self._finish(search, X, values)
        return self

    def _warn_of_copies(self, search: Search) -> None:
        """Warn where rows are copies of others that may be in another fold."""
        rows = search.rows
        if search.problem.gram or rows.objects or rows.sparse or rows.values.dtype.kind not in "biuf":
            return
        copies = Copies.among(rows.values, search.problem.Y)
        if not copies.by_chance:
            words = "If a held-out row has a copy among the training rows, scores are too optimistic."
            way_out = "Drop the copies, or pass groups= with one label for each distinct row."
            warn(f"{copies.words()}. {words} {way_out}", MercerWarning)

    def _extend(self, search: Search, table: SearchTable, choice: Winner) -> tuple[SearchTable, Winner]:
        """Add rungs beyond the edge that the best candidate is on, until it is on none; to default ladders always."""
        default = (False, False) if self.extend_grid else self._growing()
        widths, more_alphas = (True, True) if self.extend_grid else default
        for turn in range(_ROUNDS):
            wider, rungs = beyond_edges(table, choice, search.folds, default)
            again = None if self.checkpoint is None else f"{self.checkpoint}.{turn + 1}"
            if len(rungs) and more_alphas:
                table = self._run(search, table.kernels, rungs, again, table, 1)
            elif wider and widths:
                table = self._run(search, wider, table.alphas, again, table, 0)
            else:
                break
            choice = table.choose(self.rule, search.folds, search.failures)
        return table, choice

    def _run(
        self, search: Search, kernels: Sequence[Kernel], alphas: Array, checkpoint: File,
        table: SearchTable | None = None, axis: int = 0,
    ) -> SearchTable:  # fmt: skip
        """The table with these kernels (axis 0) or alphas (axis 1), too; what is finished survives an interrupt."""
        plan = search.plan(kernels, alphas)
        if table is None:
            self.plan_ = plan
        try:
            more = search.run(kernels, alphas, plan, verbose=self.verbose, checkpoint=checkpoint)
        except KeyboardInterrupt as stop:
            if hasattr(stop, "table"):
                self.cv_results_ = (stop.table if table is None else join_tables(table, stop.table, axis)).results()
            raise
        table = more if table is None else join_tables(table, more, axis)
        self.cv_results_ = table.results()
        return table

    def _tune_winner(self, search: Search, table: SearchTable, choice: Winner) -> tuple[SearchTable, Winner]:
        """Add the best candidate with tuned parameters, and its alpha, to the candidates."""
        winner, problem = table.kernels[choice.kernel], search.problem
        if not winner.tunable() or problem.gram:
            return table, choice
        alpha = max(float(table.alphas[choice.alphas[0]]), 1e-12)
        settings, seed = Settings(alpha=alpha, starts=1, verbose=self.verbose), check_random_state(self.random_state)
        self.tuned_ = tune_rows(winner, *take_used(search.rows, problem), settings, seed.randint(2**31 - 1))
        if self.tuned_.overfitted or self.tuned_.status == "failed":
            how = "overfitted: the error on held-out rows increased" if self.tuned_.overfitted else "failed"
            words = f"Tuning the best kernel of {type(self).__name__} {how}."
            warn(f"{words} The untuned kernel is used (see tuned_).", MercerWarning)
            return table, choice
        table = self._run(search, table.kernels, np.array([self.tuned_.alpha]), None, table, 1)
        table = self._run(search, [self.tuned_.kernel], table.alphas, None, table, 0)
        return table, table.choose(self.rule, search.folds, search.failures)

    def _finish(self, search: Search, X: XLike, values: Array) -> None:
        """Fit the best candidate to all rows; keep its held-out values, which `verify` compares with refits."""
        settings = {name: getattr(self, name) for name in ("fit_intercept", "class_weight") if hasattr(self, name)}
        self.best_estimator_ = self._model(self.alpha_, kernel=self.best_kernel_, **settings)
        if self.verify:
            self._verify(Refitting(self.best_estimator_, X, search.y, search.sample_weight), search, values)
        self.best_estimator_.fit(X, search.y, search.sample_weight)
        held_out = search.by_repeat(values)
        self.cv_predictions_ = held_out[:, :, 0] if search.y.ndim == 1 and held_out.shape[2] == 1 else held_out
        if search.classes is not None:
            self.classes_, tested = search.classes.labels, ~np.isnan(held_out[:, :, 0])
            weights = np.ones(search.folds.n) if search.sample_weight is None else search.sample_weight
            weights = weights * (np.count_nonzero(weights) / weights.sum())  # which only compare rows
            numbers, weights = (np.broadcast_to(row, tested.shape)[tested] for row in (search.classes.numbers, weights))
            self.temperature_ = Temperature.fitted(held_out[tested], numbers, weights)

    def _warn(self, table: SearchTable, choice: Winner, failures: list[str]) -> None:
        tuned = getattr(getattr(self, "tuned_", None), "kernel", None) == self.best_kernel_
        edges = [] if tuned else edges_in_words(table, choice, self.folds_, self._growing())
        self._warn_of_choice(edges, "$grid.", table.worst_condition(choice), route=self.plan_.chosen.name)
        warn_of_failures(table.scoring, failures)
        if self.rule == "one_se" and table.scores.shape[2] < 2:
            words = f"rule='one_se' of {type(self).__name__} gives the same as 'best' here"
            why = "there is only one test score, and so no standard error"
            warn(f"{words}: {why}. Set cv to at least 2 folds.", MercerWarning)

    def _verify(self, fit: Refitting, search: Search, values: Array) -> None:
        """Refit a random handful of splits from the rows themselves; keep the largest difference."""
        splits = self.folds_.splits
        chosen = check_random_state(self.random_state).choice(len(splits), min(_REPLAYED, len(splits)), replace=False)
        self._replayed, self.verified_ = len(chosen), 0.0
        for i in map(int, chosen):
            expected = values[search.removals.part(i)] + search.problem.centre
            if search.classes is not None:
                there = np.unique(search.classes.numbers[splits[i].train])
                if len(there) < len(search.classes.labels):  # a model of fewer classes; of two, their difference
                    expected = expected[:, there] if len(there) > 2 else expected[:, there[1:]] - expected[:, there[:1]]
            with warnings.catch_warnings(action="ignore", category=MercerWarning):
                model, rows = fit(splits[i].train, splits[i].test)
            refitted = (model.predict if search.classes is None else model.decision_function)(rows)
            self.verified_ = max(self.verified_, float(np.abs(refitted.reshape(expected.shape) - expected).max()))

    def explain(
        self, X: XLike, y: YLike, sample_weight: PerRow = None, groups: PerRow = None, rates: Rates | None = None
    ) -> Plan:
        """The plan of `fit` on this data, with predicted time and memory; nothing is run.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for `fit`.
        rates : Rates, default=None
            Speeds of the machine, as `mercer.selection.plan.measure()` finds them. The defaults are fixed, so that
            the same call takes the same route on every run; `fit` goes by them.

        Returns
        -------
        Plan
            Prints as a table of routes; the arrow marks the one that would be taken.
        """
        way_out = "Use cv=list(cv): explain would consume the iterator, and fit would get no splits."
        must_be, got = "a list or a splitter, not an iterator", f"a {type(self.cv).__name__}"
        refuse_if(hasattr(self.cv, "__next__"), "cv of explain", must_be, got, way_out)
        # of a copy, so that nothing looks fitted that is not
        search, kernels, alphas = copy.copy(self).prepare(X, y, sample_weight, groups)
        return search.plan(kernels, alphas, rates)

    @property
    def primal_coef_(self) -> Array:
        """Weights of the explicit features of the best candidate, as `KernelRidge.primal_coef_`."""
        return np.asarray(self.best_estimator_.primal_coef_)

    @property
    def primal_names_(self) -> list[str]:
        """Names of the features that `primal_coef_` weighs."""
        return list(self.best_estimator_.primal_names_)

    def _html_repr(self) -> str:
        return summary_below(super()._html_repr(), self, "best_estimator_")

    def summary(self) -> str:
        """The candidates, the best one and its numerical accuracy, as text.

        Returns
        -------
        str
        """
        check_is_fitted(self, "best_estimator_")
        tried = f"{counted(len(self.kernels_), 'kernel')} x {counted(len(self.alphas_), 'alpha')}"
        digits = f"About {self.digits_:.0f} digits of the best candidate's scores are correct."
        head = f"{tried} by {self.folds_.label}, method {self.plan_.chosen.name}."
        lines = [head, self.table_.text(self.choice_, self.folds_), digits]
        if hasattr(self, "verified_"):
            replayed = counted(self._replayed, "split")
            lines.append(f"Refitting {replayed} agreed to {self.verified_:.1e}, in the units of y.")
        if len(self.kernels_) * len(self.alphas_) > 1:
            optimistic = "The score of the best candidate is optimistic because it was used for selection"
            lines.append(f"{optimistic}; nested_cross_validate estimates by how much.")
        return Text("\n".join(lines))


def keep_choice(search: Estimator, table: SearchTable, choice: Winner, folds: Folds) -> None:
    """Set the attributes of a fitted search that say what was tried and chosen."""
    search.table_, search.choice_, search.folds_ = table, choice, folds
    search.kernels_, search.alphas_, search.cv_results_ = list(table.kernels), table.alphas, table.results()
    search.best_kernel_ = table.kernels[choice.kernel]
    search.best_score_ = table.best_score(choice)
    search.best_index_ = choice.kernel * len(table.alphas) + choice.alphas[0]


def warn_if_ill(what: str, condition: float, route: str = "", of: str = "scores", digits: float | None = None) -> None:
    """Warn if few digits of the scores, or of what else is named, are correct.

    Not through explicit features, where residuals that are far smaller than the targets limit the digits.
    """
    if condition * EPS > WORTH_A_WORD and route != "primal":
        correct = counted(round(digits_left(condition) if digits is None else digits), "digit")
        words = f"The linear system of {what} is nearly singular: condition number about {condition:.1g}"
        few = f"so only about {correct} of its {of} can be trusted"
        warn(f"{words}, {few}. Use larger alphas for more accuracy.", IllConditionedWarning)


def warn_of_failures(scoring: str, failures: list[str]) -> None:
    """Warn once of all scores that could not be computed, if there are any."""
    if failures:
        words = f"Scoring with {scoring} failed {counted(len(failures), 'time')}; these scores are NaN"
        warn(f"{words}, and the candidates are not selected. First error: {failures[0]}", MercerWarning)
