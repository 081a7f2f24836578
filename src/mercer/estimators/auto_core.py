"""What the automatic estimators share: the table encoded, a committee tuned and weighed, and an honest report."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_feature_names, _num_samples, check_is_fitted

from mercer.data.encoding import TableEncoder
from mercer.data.rows import Array, Rows
from mercer.errors import IllConditionedWarning, InputError, sentence
from mercer.estimators.ridge import KernelRidge
from mercer.kernels.slopes import tunable
from mercer.selection.committee import Committee, Member, Recipe, fit_committee
from mercer.selection.problem import Problem
from mercer.selection.progress import Progress
from mercer.selection.tuning import predicted_at
from mercer.tables import text_table

_FOLDS = 3
# A member with fewer digits that can be trusted is named.
_DIGITS = 6.0
# Rows beyond which the committee is tuned and weighed on a random part of the table, and its members fitted to all.
_WEIGHED = 8000
# Rows beyond which the members, too, are fitted to a part.
_MOST = 60_000
# What alpha is tried multiplied by, the more rows the less is needed.
_RATIOS = (1.0, 0.3, 0.1, 0.03, 0.01)


class AutoCore(BaseEstimator):  # type: ignore[misc]
    """A committee of kernel ridge members on an encoded table."""

    committee: bool
    time_budget: float | None
    random_state: int
    verbose: int
    encoder_: TableEncoder
    committee_: Committee
    members_: list[Member]
    _recipes: tuple[Recipe, ...]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    # -- fitting ----------------------------------------------------------------------------------

    def _encoded(self, X: Any, *, reset: bool) -> Array:
        table = checked_table(self, X, reset=reset)
        if reset:
            self.encoder_ = TableEncoder().fit(table)
        return self.encoder_.transform(table)

    def _settled(self) -> None:
        """Refuse settings that are none."""
        budget = self.time_budget
        if budget is not None and (not isinstance(budget, int | float) or isinstance(budget, bool) or not budget > 0):
            raise InputError(
                sentence(f"time_budget of {type(self).__name__}", "a positive number of seconds, or None", repr(budget))
            )

    def _outer_folds(self, n: int, strata: Array | None, folds: Any) -> Array:
        """The folds of `evaluate`."""
        if not isinstance(folds, int | np.integer) or isinstance(folds, bool) or folds < 2:
            raise InputError(sentence("folds of evaluate", "a whole number of at least 2", repr(folds)))
        seed = None if self.random_state is None else self.random_state + 1
        return dealt(n, strata, np.random.default_rng(seed), int(folds))

    def _fit_committee(self, Z: Array, Y: Array, strata: Array | None) -> None:
        """Tune the committee and fit its members to the encoded table."""
        rng = np.random.default_rng(self.random_state)
        kept = np.arange(len(Z))
        if len(Z) > _MOST:
            kept = np.sort(rng.permutation(len(Z))[:_MOST])
            Z, Y, strata = Z[kept], Y[kept], None if strata is None else strata[kept]
        self._left_over = len(Z) > _WEIGHED
        part = np.sort(rng.permutation(len(Z))[:_WEIGHED]) if self._left_over else np.arange(len(Z))
        self._part_used = kept[part]
        if not Z.shape[1]:
            Z = np.zeros((len(Z), 1))  # nothing to go by: the constant is the model
        recipes = self._recipes if self.committee else self._recipes[:1]
        groups = self.encoder_.groups_ if len(self.encoder_.groups_) else np.zeros(1, dtype=int)
        self.committee_ = fit_committee(
            Rows(Z[part]),
            Problem(Y[part], None, intercept=True),
            recipes,
            dealt(len(part), None if strata is None else strata[part], rng, _FOLDS),
            share=[int(group) for group in groups],
            time_budget=self.time_budget,
            random_state=int(rng.integers(2**31)),
            verbose=self.verbose,
        )
        self.members_ = self.committee_.members
        if len(part) < len(Z):
            self.members_ = [replace(m, alpha=alpha_for_all(m, Rows(Z), Y, rng)) for m in self.members_]
        with warnings.catch_warnings():  # the summary says it: nobody here has chosen alpha
            warnings.simplefilter("ignore", IllConditionedWarning)
            self.models_ = [KernelRidge(m.alpha, kernel=m.kernel, fit_intercept=True).fit(Z, Y) for m in self.members_]
        self._Y = Y[part]

    def _votes(self, X: Any) -> Array:
        """The committee's values at new rows."""
        check_is_fitted(self, "models_")
        Z = self._encoded(X, reset=False)
        if not Z.shape[1]:
            Z = np.zeros((len(Z), 1))
        votes = [
            member.weight * np.reshape(model.predict(Z), (len(Z), -1))
            for member, model in zip(self.members_, self.models_, strict=True)
        ]
        return np.asarray(sum(votes))

    # -- words ------------------------------------------------------------------------------------

    def relevance(self) -> dict[str, float]:
        """How fast the model changes with each column: the inverse of its width, largest 1.

        Columns of members with one width for all count the same; the committee's weights are taken into account.

        Returns
        -------
        dict of column name to number
        """
        check_is_fitted(self, "models_")
        groups = self.encoder_.groups_
        total = np.zeros(int(groups.max(initial=0)) + 1)
        for member in self.members_:
            widths = np.broadcast_to(tunable(member.kernel)["width"], (len(groups),)) if len(groups) else np.empty(0)
            mine = np.zeros(len(total))
            np.maximum.at(mine, groups, 1.0 / widths)
            total += member.weight * mine / max(float(mine.max(initial=0.0)), 1e-300)
        names = [self.encoder_.columns_[group].name for group in np.unique(groups)]
        values = total[np.unique(groups)] / max(float(total.max(initial=0.0)), 1e-300)
        order = np.argsort(-values, kind="stable")
        return {str(names[i]): float(values[i]) for i in order}

    def _member_table(self) -> str:
        unit = self._unit()
        rows = [
            [
                "->" if m.weight > 0 else "",
                m.name,
                f"{m.weight:.2f}",
                f"{m.error * unit:.4g}",
                m.status,
                ", ".join(m.bounds),
            ]
            for m in self.committee_.tried
        ]
        return text_table(["", "member", "weight", "out-of-fold error", "tuning", "on a bound"], rows)

    def _how(self) -> str:
        """What the out-of-fold error is: from how many folds, and what was tuned on them."""
        folds, tuned = int(self.committee_.folds.max()) + 1, self.committee_.tuned_on
        whole = tuned == len(self.committee_.held_out)
        return f"{folds} folds, " + ("each tuned anew" if whole else f"widths tuned once, on {tuned} of all rows")

    def _unit(self) -> float:
        return 1.0

    def _relevance_text(self) -> str:
        listed = list(self.relevance().items())
        shown = ", ".join(f"{name} {value:.2f}" for name, value in listed[:8])
        return f"Columns by relevance: {shown}{', ...' if len(listed) > 8 else ''}." if listed else "No column varies."

    def _left_out_columns(self) -> list[str]:
        """A line for each column and member that is not as it might be, and for rows that were left out."""
        lines = [f"Left out: {c.name} ({c.why})." for c in self.encoder_.columns_ if not c.outputs]
        for member, model in zip(self.members_, self.models_, strict=True):
            if model.route_.digits < _DIGITS:
                lines.append(
                    f"{member.name} is nearly singular: about {model.route_.digits:.0f} digits can be trusted."
                )
        if self._left_over:
            used, all_rows = len(self._part_used), len(self.models_[0].X_fit_)
            lines.append(f"Tuned and weighed on {used} rows drawn at random; members fitted to {all_rows}.")
        return lines

    # -- the outer loop -----------------------------------------------------------------------------

    @staticmethod
    def _part(X: Any, rows: Array) -> Any:
        if isinstance(X, dict):
            return {name: _safe_indexing(column, rows) for name, column in X.items()}
        return _safe_indexing(X, rows)

    def _outer(self, X: Any, y: Array, folds: Array) -> list[tuple[Array, Self]]:
        """Everything that fit does, repeated on the training part of every fold."""
        found: list[tuple[Array, Self]] = []
        progress = Progress("evaluating", int(folds.max()) + 1, self.verbose)
        begin = time.monotonic()
        for fold in range(int(folds.max()) + 1):
            if self.time_budget is not None and found and time.monotonic() - begin > 4 * self.time_budget:
                break
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            found.append((test, clone(self).fit(self._part(X, train), y[train])))
            progress.step()
        return found


def alpha_for_all(member: Member, rows: Rows, Y: Array, rng: np.random.Generator) -> float:
    """alpha for many rows, chosen on some that are held out: what is best for a part of the rows is too large."""
    order = rng.permutation(len(rows))
    held = min(2000, len(rows) // 10)
    test, train = np.sort(order[:held]), np.sort(order[held:])
    new, rest, problem = Rows(rows.values[test]), Rows(rows.values[train]), Problem(Y[train], None, intercept=True)
    alphas = [member.alpha * ratio for ratio in _RATIOS]
    values = predicted_at(member.kernel, alphas, rest, problem, new)
    return float(alphas[int(np.argmin(np.mean((values - Y[test]) ** 2, axis=(1, 2))))])


def checked_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """A table as scikit-learn knows it: two dimensions, as many columns as before."""
    if hasattr(X, "tocsr"):
        raise InputError(
            sentence(f"X of {type(estimator).__name__}", "a dense table", "a sparse matrix", "Use X.toarray().")
        )
    if not hasattr(X, "columns") and not isinstance(X, dict):
        values = np.asarray(X, dtype=object if _mixed(X) else None)
        if values.ndim != 2:
            raise InputError(
                f"X of {type(estimator).__name__} must be a table with rows and columns; got {values.ndim} dimensions. "
                "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
            )
        if values.dtype.kind == "c":
            raise InputError("Complex data not supported: X must hold real numbers.")
        if not len(values) or not values.shape[1]:
            missing = "sample" if not len(values) else "feature"
            raise InputError(
                f"Found array with 0 {missing}(s) (shape={values.shape}) while a minimum of 1 is required."
            )
        X = values
        columns = values.shape[1]
    else:
        columns = len(X.columns) if hasattr(X, "columns") else len(X)
    _check_feature_names(estimator, X, reset=reset)
    if reset:
        estimator.n_features_in_ = columns
    elif columns != estimator.n_features_in_:
        expected = f"is expecting {estimator.n_features_in_} features as input"
        raise InputError(f"X has {columns} features, but {type(estimator).__name__} {expected}.")
    return X


def _mixed(X: Any) -> bool:
    """Whether a plain list holds texts beside numbers."""
    return isinstance(X, list | tuple) and any(
        isinstance(cell, str) for row in X[:50] if isinstance(row, list | tuple) for cell in row
    )


def dealt(n: int, strata: Array | None, rng: np.random.Generator, folds: int) -> Array:
    """A fold for every row: at random, or each class evenly."""
    count = max(2, min(folds, n))
    order = rng.permutation(n)
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    numbers = np.empty(n, dtype=np.intp)
    numbers[order] = np.arange(n) % count
    return numbers


def enough_rows(estimator: Any, X: Any) -> None:
    """Refuse what nothing can be learned from."""
    n = _num_samples(X)
    if n < 3:
        raise InputError(sentence(f"{type(estimator).__name__}", "given at least 3 rows", f"n_samples = {n}"))


def corrected_error(errors: Array, share: float) -> float:
    """Standard error of a mean over folds whose training sets overlap (Nadeau and Bengio)."""
    if len(errors) < 2:
        return math.nan
    return float(errors.std(ddof=1) * math.sqrt(1.0 / len(errors) + share / (1.0 - share)))
