"""What searches share: candidates, splits, the search itself, the choice and its warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from mercer.data.checks import checked_gram, checked_weights
from mercer.data.folds import Folds, draw
from mercer.data.rows import Array, Rows
from mercer.errors import EdgeOfGridWarning, IllConditionedWarning, InputError, sentence
from mercer.estimators.base import KernelSetter
from mercer.estimators.inputs import NO_TARGETS, checked_input, object_tags
from mercer.estimators.names import is_positive_only, is_precomputed, takes_sparse
from mercer.kernels import Kernel
from mercer.selection.edges import edges_in_words, further_alphas, further_kernels
from mercer.selection.ladders import resolve_alphas, resolve_kernels
from mercer.selection.plan import Plan, Rates
from mercer.selection.search import Ordered, Search
from mercer.selection.table import Choice, SearchTable, joined
from mercer.solvers.route import EPS

_ROUNDS = 6  # of extending the grid
_REPLAYED = 5  # splits refitted by verify=True


class SearchCore(KernelSetter, BaseEstimator):  # type: ignore[misc]
    """What the regressor and the classifier share: candidates, splits, the search, the choice."""

    kernels: Any
    alphas: Any
    cv: Any
    repeats: int
    scoring: Any
    fit_intercept: bool
    rule: str
    extend_grid: bool
    verify: bool
    checkpoint: Any
    random_state: Any
    verbose: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        listed = self.kernels if isinstance(self.kernels, list | tuple) else [self.kernels]
        tags.input_tags.pairwise = any(is_precomputed(kernel) for kernel in listed)
        tags.input_tags.positive_only = any(is_positive_only(kernel) for kernel in listed)
        tags.input_tags.sparse = all(takes_sparse(kernel) for kernel in listed)
        return object_tags(tags, listed)

    def _checked_input(self, X: Any, y: Any = NO_TARGETS, **how: Any) -> Any:
        listed = self.kernels if isinstance(self.kernels, list | tuple) else [self.kernels]
        sparse = "csr" if all(takes_sparse(kernel) for kernel in listed) else False
        return checked_input(self, listed, X, y, sparse=sparse, **how)

    def _checked(self, X: Any, y: Any, sample_weight: Any, **how: Any) -> tuple[Any, Any, Array | None]:
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)  # a second fit forgets the first
        if self.rule not in ("best", "one_se"):
            raise InputError(sentence(f"rule of {type(self).__name__}", "'best' or 'one_se'", repr(self.rule)))
        X, y = self._checked_input(X, y, least=2, **how)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
            checked_weights(type(self).__name__, weights)
        return X, y, weights

    def _candidates(self, X: Any) -> tuple[Rows, list[Kernel], Array]:
        """Kernels and alphas, from all of X and before any split."""
        rows = Rows(X, getattr(self, "feature_names_in_", None))
        kernels = resolve_kernels(self.kernels, rows)
        kinds = {kernel.kind == "gram" for kernel in kernels if kernel.kind != "any"}
        if len(kinds) > 1:
            raise InputError("kernels must all take a Gram matrix or all take rows; got both kinds.")
        for kernel in kernels:
            kernel.check(rows)
        if True in kinds:
            checked_gram(rows.dense())
        return rows, kernels, resolve_alphas(self.alphas, kernels, rows)

    def _is_gram(self, kernels: list[Kernel]) -> bool:
        return any(kernel.kind == "gram" for kernel in kernels)

    def _search(self, X: Any, y: Any, weights: Array | None, groups: Any) -> tuple[Search, list[Kernel], Array]:
        raise NotImplementedError

    def _folds(self, X: Any, y: Any, groups: Any, *, classifier: bool) -> Folds:
        return draw(
            self.cv, X, y, repeats=self.repeats, groups=groups, random_state=self.random_state, classifier=classifier
        )

    def _fit_search(self, search: Search, kernels: list[Kernel], alphas: Array) -> tuple[Ordered, Plan, Choice]:
        """Run the search, extend it if asked to, and choose."""
        ordered = search.ordered()
        route = search.plan(kernels, alphas)
        try:
            table = ordered.run(kernels, alphas, route, verbose=self.verbose, checkpoint=self.checkpoint)
        except KeyboardInterrupt as stop:
            if hasattr(stop, "table"):
                self.cv_results_ = stop.table.results()
            raise
        if not np.isfinite(table.mean).any():
            raise InputError(
                sentence(
                    "scoring", "a number for some candidate", "NaN for every one", "Try another score or other folds."
                )
            )
        choice = table.choose(self.rule, search.folds)
        if self.extend_grid:
            table, choice = self._extended(search, ordered, table, choice)
            route = search.plan(table.kernels, table.alphas)
        self.kernels_, self.alphas_ = list(table.kernels), table.alphas
        self.folds_, self.plan_, self.table_ = search.folds, route, table
        self.cv_results_ = table.results()
        self.best_kernel_ = self.kernels_[choice.kernel]
        mean = table.mean[choice.kernel]
        self.best_score_ = float(np.mean([mean[a, t] for t, a in enumerate(choice.alphas)]))
        self.digits_ = table.digits(choice)
        self.best_index_ = choice.kernel * len(table.alphas) + choice.alphas[0]
        self._choice = choice
        self._warn(table, choice)
        return ordered, route, choice

    def _extended(
        self, search: Search, ordered: Ordered, table: SearchTable, choice: Choice
    ) -> tuple[SearchTable, Choice]:
        """Add rungs beyond the edge that the winner stands on, until it does not."""
        for turn in range(_ROUNDS):
            kernels, alphas = further_kernels(table, choice), further_alphas(table, choice)
            if not kernels and not len(alphas):
                break
            again = None if self.checkpoint is None else f"{self.checkpoint}.{turn + 1}"
            if len(alphas):
                route = search.plan(table.kernels, alphas)
                found = ordered.run(table.kernels, alphas, route, verbose=self.verbose, checkpoint=again)
                table = joined(table, found, axis=1)
            else:
                route = search.plan(kernels, table.alphas)
                found = ordered.run(kernels, table.alphas, route, verbose=self.verbose, checkpoint=again)
                table = joined(table, found, axis=0)
            choice = table.choose(self.rule, search.folds)
        return table, choice

    def _warn(self, table: SearchTable, choice: Choice) -> None:
        edges = edges_in_words(table, choice)
        if edges:
            warnings.warn(
                f"The winner of {type(self).__name__} stands on the edge of the grid: {' and '.join(edges)} of those "
                "tried. Try further ones, or use extend_grid=True.",
                EdgeOfGridWarning,
                stacklevel=4,
            )
        condition = max(float(table.condition[choice.kernel, a]) for a in choice.alphas)
        if condition * EPS > 1e-6:
            warnings.warn(
                f"The winner of {type(self).__name__} is nearly singular: condition about {condition:.1g}, so about "
                f"{self.digits_:.0f} digits of its scores can be trusted. Larger alphas give more.",
                IllConditionedWarning,
                stacklevel=4,
            )

    def _held_out(self, ordered: Ordered, route: Plan, alphas: list[float]) -> Array:
        """Held-out values of the winner, repeats x n x t; replayed by refitting where asked for."""
        values = ordered.kept_values(self.best_kernel_, alphas)
        if values is None or self.verify:
            values, system = ordered.values(self.best_kernel_, alphas, route)
        if self.verify:
            self.verified_ = _replayed(ordered, system, values, alphas, self.random_state)
        return ordered.by_repeat(values)

    def explain(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, rates: Rates | None = None
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
        fresh: SearchCore = clone(self)  # so that nothing looks fitted that is not
        X, y, weights = fresh._checked(X, y, sample_weight, **self._how())
        search, kernels, alphas = fresh._search(X, y, weights, groups)
        return search.plan(kernels, alphas, rates)

    def _how(self) -> dict[str, Any]:
        return {}

    def summary(self) -> str:
        """What was tried, what won and how far to trust it, for people.

        Returns
        -------
        str
        """
        check_is_fitted(self, "best_estimator_")
        lines = [
            (
                f"{len(self.kernels_)} kernels x {len(self.alphas_)} alphas by {self.folds_.label}, "
                f"{self.plan_.chosen.name} route."
            ),
            self.table_.text(self._choice, self.folds_),
            f"The winner's numbers can be trusted to about {self.digits_:.0f} digits.",
        ]
        if hasattr(self, "verified_"):
            lines.append(f"Refitting {_REPLAYED} splits agreed to {self.verified_:.1e}.")
        lines.append(
            "The winner's score is the best of many and so a little optimistic; nested_cross_validate says how much."
        )
        return "\n".join(lines)


def _replayed(ordered: Ordered, system: Any, values: Array, alphas: list[float], random_state: Any) -> float:
    """Largest difference between closed forms and refits over a random handful of splits."""
    from sklearn.utils import check_random_state

    count = len(ordered.removals)
    chosen = check_random_state(random_state).choice(count, size=min(_REPLAYED, count), replace=False)
    worst = 0.0
    for i in chosen:
        part = values[ordered.removals.part(int(i))]
        for t, alpha in enumerate(alphas):
            worst = max(worst, float(np.abs(system.refit(int(i), alpha)[0][:, t] - part[:, t]).max()))
    return worst
