"""What AutoRegressor and AutoClassifier share: encoding, tuning, weighting, costs, importance and summary."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrf
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import KeywordHints
from mercer.data.folds import Copies, dealt, in_order
from mercer.data.rows import Array, Estimator, File, Rows, XLike
from mercer.errors import (
    IllConditionedWarning,
    InputError,
    MercerWarning,
    UnfamiliarRowsWarning,
    printable,
    refuse_if,
    warn,
)
from mercer.estimators.auto_evaluation import FULL_SYSTEMS, HeldOutPart, paired, rises, warn_of_leakage
from mercer.estimators.auto_members import ExtraMember, check_extra, fit_in_cells, join_extra, votes_of
from mercer.estimators.inputs import FEWEST, Beside, EncodedTable, check_table, refuse_lengths
from mercer.estimators.local import LocalRidge
from mercer.estimators.parameters import is_whole
from mercer.estimators.refitting import part_of
from mercer.estimators.ridge import KernelRidge
from mercer.kernels.base import Kernel
from mercer.local.storage import check_folder
from mercer.runtime import single_threaded_blas, thread_count
from mercer.runtime.container import check_path
from mercer.runtime.progress import Progress, duration
from mercer.selection.search import fingerprint
from mercer.solvers.plan import digits_left
from mercer.solvers.problem import Problem
from mercer.tables import TableEncoder
from mercer.tables.columns import usually_outside
from mercer.text import Text, counted, summary_below, text_table
from mercer.tuning.committee import (
    Committee,
    CommitteeFit,
    Member,
    Recipe,
    TrainingTable,
    each_on_all_cores,
    trained_on,
)
from mercer.tuning.held_out import convex_weights

# Folds that members are tuned without; of few rows, of which a third would be missed, more.
_FOLDS, _MORE_FOLDS, _MOST_FOLDS = 3, (200, 5), (120, 10)
_ENOUGH = 20  # groups from which on a standard error over them is taken as it is
_FEWEST_DISTINCT = 4  # rows that folds of distinct rows can be made of
# A member with fewer digits that can be trusted is named.
_DIGITS = 6.0
_CELL_FOLDS = 5  # of members in cells
_PERMUTED = 600  # rows that columns are permuted among


@dataclass(eq=False, repr=False, kw_only=True)
class AutoCore(KeywordHints, BaseEstimator):  # type: ignore[misc]
    """A committee of kernel ridge members on an encoded table."""

    committee: bool = True
    time_budget: float | None = None
    copies: bool | None = None
    encoder: TableEncoder | None = None
    extra: Any = None
    checkpoint: File = None
    random_state: int = 0
    verbose: int = 0

    extra_: list[ExtraMember] = field(init=False)
    encoder_: TableEncoder = field(init=False)
    committee_: Committee = field(init=False)
    members_: list[Member] = field(init=False)
    models_: list[Any] = field(init=False)
    tells = True  # of columns that may leak and of rows unlike those of training
    _recipes: ClassVar[tuple[Recipe, ...]]
    _weigh = staticmethod(convex_weights)
    _squares = True  # whether losses are squared errors

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    # -- fitting ----------------------------------------------------------------------------------

    def _prepare(self, X: XLike, y: Array, *given: Any) -> tuple[Any, Array, Array, Beside]:
        """The table as given and encoded, targets, and weights, groups and times, without rows of weight 0.

        Fits the encoder.
        """
        check_extra(self)
        table = check_table(self, X, reset=True)
        refuse_lengths(table, y)
        beside = Beside.of(self, len(y), *given)
        if beside.weights is not None and not beside.weights.all():
            used = np.flatnonzero(beside.weights > 0)
            table, y, beside = part_of(table, used), y[used], beside.part(used)
            beside = Beside.of(self, len(y), beside.weights, beside.groups, beside.times)
        encoder = TableEncoder() if self.encoder is None else clone(self.encoder)
        self.encoder_ = table.encoder if isinstance(table, EncodedTable) else encoder.fit(table)
        Z = self.encoder_.transform(table)
        if len(Z) < FEWEST:
            raise InputError(f"{type(self).__name__} needs at least {FEWEST} rows; got n_samples = {len(Z)}.")
        if self.tells and y.ndim == 1:
            warn_of_leakage(self.encoder_, Z, y, classifier=is_classifier(self))
        self.__dict__.pop("_latest", None)  # of a fit before
        if (latest := _latest(Z, beside.times)) is not None:
            self._latest = latest
        beside, self.copies_ = self._with_copies(Z, y, beside)
        return table, Z, y, beside

    def _with_copies(self, Z: Array, y: Array, beside: Beside) -> tuple[Beside, str]:
        """Copies of rows as groups, unless there are groups or times, and the sentence about it; empty without copies.

        A copy in another fold gives the target of a held-out row away.
        """
        if beside.groups is not None or beside.times is not None or self.copies is False:
            return beside, ""
        found = Copies.among(Z, y if y.dtype.kind in "biuf" else np.unique(y, return_inverse=True)[1])
        if not found.count or (found.by_chance and not self.copies) or found.groups.max() + 1 < _FEWEST_DISTINCT:
            return beside, ""
        return replace(beside, groups=found.groups), f"{found.words()}; copies are kept in one fold."

    def _outer_folds(self, X: XLike, y: Array, strata: Array | None, folds: Any, *given: Any) -> tuple[Array, Beside]:
        """The folds of `evaluate`, and weights, groups and times; copies of a row are in one fold, as groups are.

        In the order of time there is one block more, of number -1.
        """
        beside = Beside.of(self, len(y), *given, least=4)  # three in every training part
        refuse_lengths(X, y)
        encoder = TableEncoder() if self.encoder is None else clone(self.encoder)
        with warnings.catch_warnings(action="ignore", category=MercerWarning):  # every fold tells it
            beside, _ = self._with_copies(encoder.fit_transform(X), y, beside)
        refuse_if(not is_whole(folds, 2), "cv of evaluate", "an integer of at least 2", repr(folds))
        if beside.times is not None:
            return self._following(beside.times, int(folds)), beside
        rng = np.random.default_rng(None if self.random_state is None else self.random_state + 1)
        return dealt(len(y), int(folds), rng, strata=strata, groups=beside.groups), beside

    def _following(self, times: Array, folds: int) -> Array:
        """At most so many folds that follow in time, after the rows of fold -1."""
        found = in_order(times, folds + 1) - 1
        most, must_be = int(np.bincount(times).max()), "such that there are earlier and later rows"
        got = f"{most} of {len(times)} with the same time"
        refuse_if(found.max() < 0, f"time of {type(self).__name__}", must_be, got)
        return found

    def _fit_committee(self, Z: Array, Y: Array, strata: Array | None, beside: Beside, X: XLike, y: Array) -> Array:
        """Tune the committee and fit its members to the encoded table; the rows that it was weighed on."""
        time_left = time_for_tuning(type(self).__name__, len(Z), self.time_budget)
        if self.checkpoint is not None:
            check_path(self.checkpoint)
        rng = np.random.default_rng(self.random_state)
        if not Z.shape[1]:
            Z = np.zeros((len(Z), 1))  # no column varies: the constant is the model
        share = self.encoder_.groups_ if len(self.encoder_.groups_) else np.zeros(1, dtype=int)
        problem = Problem(Y, beside.weights, intercept=True)
        table = TrainingTable(Rows(Z), problem, [int(each) for each in share], strata, beside.groups, beside.times)
        in_cells = len(Z) > FULL_SYSTEMS
        count = _CELL_FOLDS if in_cells else _fold_count(len(Z))
        folds = table.folds(count, rng) if table.times is None else self._following(table.times, _FOLDS)
        self.rows_used_ = np.flatnonzero(folds >= 0)
        if in_cells:
            single, folder = not self.committee, None
            if self.checkpoint is not None:
                what, must_be = f"random_state of {type(self).__name__}", "an integer when checkpoint is given"
                refuse_if(self.random_state is None, what, must_be, "None")
                mark = fingerprint(Z, Y, beside.weights, folds, single, type(self).__name__, self.random_state)
                folder = check_folder(self.checkpoint, mark, "checkpoint")
            given = table, folds, self._weigh, rng
            self.committee_, self.models_ = fit_in_cells(*given, single=single, folder=folder, verbose=self.verbose)
        else:
            Y = self._fit_systems(table, y, folds, time_left, int(rng.integers(2**31)))
        self.__dict__.pop("extra_", None)  # of a fit before
        if self.extra:
            of_extra = (X, y, beside.weights), self._extra_votes
            self.committee_, self.extra_ = join_extra(self, self.committee_, *of_extra, Y, folds, self._weigh)
        self.members_, self._Y = self.committee_.members, Y[self.rows_used_]
        return self.rows_used_

    def _fit_systems(self, table: TrainingTable, y: Array, folds: Array, time_left: float | None, seed: int) -> Array:
        """Tune and weigh members, and fit each to all rows; returns what they are fitted to."""
        recipes = self._recipes if self.committee else self._recipes[:1]
        deadline = math.inf if time_left is None else time.monotonic() + time_left
        self.committee_ = CommitteeFit(
            table, recipes, folds, self._weigh, time_budget=time_left, random_state=seed, verbose=self.verbose
        ).fit()
        table = self._revise(table, y, deadline)
        members, problem = self.committee_.members, table.problem
        progress = Progress("fitting members to all rows", len(members), self.verbose)
        self.models_ = [None] * len(members)

        def fit(place: int) -> None:
            kernel, alpha = members[place].kernel, members[place].alpha
            self.models_[place] = self.member(kernel, alpha, table.rows.values, problem.Y, problem.weights)
            progress.step()

        # the summary says it: alpha was not chosen by the user
        with warnings.catch_warnings(action="ignore", category=IllConditionedWarning):
            each_on_all_cores(fit, range(len(members)), len(problem.Y))
        return problem.Y

    def member(self, kernel: Kernel, alpha: float, Z: Array, Y: Array, weights: Array | None = None) -> KernelRidge:
        """A member with these parameters, fitted to encoded rows."""
        return KernelRidge(alpha, kernel=kernel, fit_intercept=True).fit(Z, Y, sample_weight=weights)

    def _rows(self, X: XLike) -> Array:
        """New rows as the members know them; warns of rows unlike those of training, and of later ones."""
        check_is_fitted(self, "models_")
        encoded = self.encoder_.encode(check_table(self, X, reset=False))
        Z = encoded.values
        if self.tells and not hasattr(self, "_latest"):
            numbers = sum(column.scale is not None for column in self.encoder_.columns_)
            encoded.report.warn(usually_outside(len(Z), numbers, len(self.models_[0].X_fit_)))
        place, last = getattr(self, "_latest", (0, math.inf))
        later = int(np.count_nonzero(Z[:, place : place + 1] > last))
        if later:
            words = f"{later} of {counted(len(Z), 'row')} are later than all training rows."
            about = "error_ is estimated on rows that come directly after their training rows"
            more = "the error of much later rows is probably larger"
            warn(f"{words} {about}; {more}.", UnfamiliarRowsWarning)
        return Z if Z.shape[1] else np.zeros((len(Z), 1))

    def _votes(self, Z: Array, X: XLike) -> Array:
        """The committee's values (m x t) at encoded rows, which the estimators in `extra` see as given."""
        both = zip(self.members_, self.models_, strict=True)
        votes = [member.weight * np.reshape(model.predict(Z), (len(Z), -1)) for member, model in both]
        extra = [each for each in getattr(self, "extra_", ()) if each.weight]
        if extra and hasattr(X, "columns") and hasattr(self, "feature_names_in_"):
            X = X[list(self.feature_names_in_)]  # in the order of training
        votes += [each.weight * votes_of(each.name, each.model, X, self._extra_votes, len(Z)) for each in extra]
        return np.asarray(sum(votes))

    # -- words ------------------------------------------------------------------------------------

    def relevance(self) -> dict[str, float]:
        """By how much the error on held-out rows rises when a column is permuted among them; largest first.

        In units of `error_`; for several targets in their standard deviations. The kernel members, without estimators
        in `extra`, are fitted again without each fold, to at most 600 rows drawn at random, fewer of a table with many
        columns. Columns that tell the same share their relevance; below 0 is chance.

        Returns
        -------
        dict of column name to number
        """
        check_is_fitted(self, "models_")
        rows = getattr(self, "rows_used_", np.arange(len(self._Y)))  # the first files do not have them
        groups, Z = self.encoder_.groups_, self.models_[0].X_fit_[rows]
        places = np.unique(groups)
        if not len(places):
            return {}
        most = max(60, int(_PERMUTED * min(1.0, math.sqrt(30 / len(places)))))
        some = np.sort(np.random.default_rng(0).permutation(len(Z))[:most])
        columns = [np.flatnonzero(groups == place) for place in places]
        by_place = rises(Z, self._without_folds(Z, rows, some), columns, squares=self._squares)
        names = (str(self.encoder_.columns_[place].name) for place in places)
        found = {name: rise for name, (rise, _) in zip(names, by_place, strict=True)}
        return dict(sorted(found.items(), key=lambda each: -each[1]))

    def _without_folds(self, Z: Array, rows: Array, some: Array) -> list[HeldOutPart]:
        """The members fitted to some rows without each fold, as they were tuned without it if that is known."""
        committee, weights = self.committee_, part_of(self.models_[0].fitted_.weights, rows)
        shares = np.array([member.weight for member in self.members_])
        shares = shares / shares.sum() if shares.any() else np.full(len(shares), 1.0 / len(shares))
        parts = []
        for fold in np.unique(committee.folds[some]):
            train, test = some[committee.folds[some] != fold], some[committee.folds[some] == fold]
            if not len(train):
                continue
            tuned = committee.by_fold[fold] if committee.by_fold else [(m.kernel, m.alpha) for m in self.members_]
            with warnings.catch_warnings(action="ignore", category=IllConditionedWarning):
                given = Z[train], self._Y[train], part_of(weights, train)
                models = [self.member(kernel, alpha, *given) for kernel, alpha in tuned]

            def losses(rows: Array, models: list[KernelRidge] = models, test: Array = test) -> Array:
                votes = [np.reshape(model.predict(rows), (len(rows), -1)) for model in models]
                return np.asarray(self._losses(np.tensordot(shares, votes, axes=1), self._Y[test]))

            parts.append(HeldOutPart(test, losses))
        return parts

    @property
    def _ordered(self) -> bool:
        """Whether folds followed in time, so that the earliest rows were never held out."""
        return len(self.committee_.held_out) < len(self.models_[0].X_fit_)

    def _html_repr(self) -> str:
        return summary_below(super()._html_repr(), self, "models_")

    @property
    def in_cells(self) -> bool:
        """Whether members are in cells, because one system of all rows would be too large."""
        return isinstance(self.models_[0], LocalRidge)

    def how_judged(self) -> str:
        """What the out-of-fold error is: from how many folds, and what was tuned on them."""
        tuned = "widths tuned on rows of all folds" if self.in_cells else "each tuned anew"
        words = f"{int(self.committee_.folds.max()) + 1} folds, {tuned}"
        if self._ordered:
            return f"{words}, on earlier rows"
        grouped = self.committee_.clusters is not None and not getattr(self, "copies_", "")
        return f"{words}, groups kept whole" if grouped else words

    def unit(self) -> float:
        """What standardized errors are multiplied by for those in the units of y."""
        return 1.0

    def summary(self) -> str:
        """What was tried, what was chosen, and how good it is, for people.

        Returns
        -------
        str
        """
        check_is_fitted(self, "models_")
        tried = [(member, member.status, ", ".join(member.bounds)) for member in self.committee_.tried]
        tried += [(member, "as given", "") for member in getattr(self, "extra_", ())]
        unit = self.unit()
        rows = [["->" * (m.weight > 0), m.name, f"{m.weight:.2f}", f"{m.error * unit:.4g}", *how] for m, *how in tried]
        table = text_table(["", "member", "weight", self.error_title(), "tuning", "on a bound"], rows)
        head, error, baseline, more = self._words()
        accuracy = f"{error} ({self.how_judged()}); baseline {baseline}."
        head = f"{len(self.models_[0].X_fit_)} rows, {self.n_features_in_} columns{head}".rstrip()
        return Text("\n".join([head, table, accuracy, *more, *self._left_out_columns()]))

    def _left_out_columns(self) -> list[str]:
        """A line for each column and member that is not as it might be, and for rows that were left out."""
        lines = [getattr(self, "copies_", "")] * bool(getattr(self, "copies_", ""))
        clusters = self.committee_.clusters
        count = _ENOUGH if clusters is None else len(np.unique(clusters))
        if count < _ENOUGH:
            what = "blocks of time" if self._ordered else "groups"
            lines.append(f"The standard error is that of only {count} {what}, and itself uncertain.")
        unused = (column for column in self.encoder_.columns_ if not column.outputs)
        lines += [f"Left out: {printable(column.name)} ({printable(column.why)})." for column in unused]
        both = zip(self.members_, map(correct_digits, self.models_), strict=True)
        few = ((member.name, digits) for member, digits in both if digits < _DIGITS)
        return lines + [f"{name} is nearly singular: about {digits:.0f} digits can be trusted." for name, digits in few]

    # -- the outer loop -----------------------------------------------------------------------------

    def _judge_folds(
        self, X: XLike, y: Array, folds: Array, beside: Beside, predictions: Array, judge: Callable[..., Any]
    ) -> tuple[Array, Array, Array, Array | None, Array]:
        """Repeat everything that fit does for every fold; the loop alone tells its progress.

        Fills in predictions, and judges each fold by its rows of training, its rows, their table and the model.

        Returns errors and those of the baseline by fold, the rows that were tested, their clusters, and z of the gains.
        """
        progress, found = Progress("evaluating", int(folds.max()) + 1, self.verbose), []
        encoder = self.encoder
        if not self.extra:  # whose estimators get the table as it is
            X, encoder = (TableEncoder() if self.encoder is None else self.encoder).pinned(X)
        begin = time.monotonic()
        for fold in range(int(folds.max()) + 1):
            if self.time_budget is not None and fold and time.monotonic() - begin > 4 * self.time_budget:
                break
            train, test = np.flatnonzero(trained_on(folds, fold)), np.flatnonzero(folds == fold)
            given, part = beside.part(train), part_of(X, test)
            model = clone(self).set_params(verbose=0, encoder=encoder, checkpoint=None)
            model.tells = False  # of what a fit to all rows has told, and of folds that are unlike one another
            model.fit(part_of(X, train), y[train], given.weights, given.groups, given.times)
            model.__dict__.pop("_latest", None)  # folds that follow in time are later by design
            predictions[test] = model.predict(part)
            found.append((test, *judge(train, test, part, model)))
            progress.step()
        tested, errors, base, gains = zip(*found, strict=True)
        rows = np.concatenate(tested)
        clusters = part_of(beside.clusters, rows)
        return np.array(errors), np.array(base), rows, clusters, paired(np.concatenate(gains), clusters=clusters)


def _latest(Z: Array, times: Array | None) -> tuple[int, float] | None:
    """The encoded column whose order is that of `times`, and its largest value; None if there is no such column."""
    if times is not None:
        for place, column in enumerate(Z.T):
            if np.array_equal(np.unique(column, return_inverse=True)[1].ravel(), times):
                return place, float(column.max())
    return None


# Seconds on a machine that factors 25 GFlop in a second on one thread. Tuning: fitted to the processor time of
# `mercer fit` on 34 tables of 60 to 9000 rows and 3 to 477 encoded columns (tests/cli/test_costs.py). The rest, with a
# time budget of next to nothing: 1000 rows 1.3, 2000 rows 2.6, 4000 rows 5.5, 8000 rows 13 with one member and 27 with
# four.
_RATE = 25e9
# To begin with; for each row; for each column; for each pair of rows and each column, and each encoded column.
_START, _EACH, _EACH_COLUMN, _PAIRS_COLUMN, _PAIRS_ENCODED = 0.8, 5e-4, 7e-3, 8e-8, 1.9e-8
_TUNED_ON = 1200  # rows that widths are tuned on
_LATE = 1.2  # times a budget is still kept
_PROBE = 1000  # rows of a system that is factored to see how fast the machine is
_PROBES, _PAUSE = 5, 0.02  # how often, and seconds in between


def correct_digits(model: Estimator) -> float:
    """How many decimal digits of a member's predictions are correct."""
    if hasattr(model, "landmarks_"):
        return digits_left(model.condition_)
    return float(model.digits_ if hasattr(model, "digits_") else model.route_.digits)


def _fold_count(n: int) -> int:
    """Folds that members are tuned without, for so many rows."""
    return next((folds for rows, folds in (_MOST_FOLDS, _MORE_FOLDS) if n <= rows), _FOLDS)


def tuning_seconds(n: int, columns: int = 8, encoded: int = 8) -> float:
    """Seconds that tuning the kernels takes without a budget, for so many rows, columns, and columns of numbers.

    Each column has a width and each encoded column enters the distances of all pairs of rows.
    """
    rows, times = min(n, _TUNED_ON), (_fold_count(n) + 1) / (_FOLDS + 1)
    by_pair = _PAIRS_COLUMN * columns + _PAIRS_ENCODED * encoded
    return _START + _EACH * rows + times * (_EACH_COLUMN * columns + by_pair * rows**2)


def fixed_seconds(n: int) -> float:
    """Upper estimate of the seconds after tuning, which cannot be cut short, on the reference machine."""
    if n <= FULL_SYSTEMS:
        return 0.3 + 1e-3 * min(n, 3000) + 30.0 * (n / 8000) ** 3
    return 14.0 + 4e-4 * n  # in cells, tuning included: 6000 rows 10 s, 20 000 rows 13 to 20 s, 48 940 rows 28 s


def time_for_tuning(name: str, n: int, budget: float | None) -> float | None:
    """What of a budget is left for tuning; refuses one that the rest of the work alone would break.

    Examples
    --------
    >>> from mercer.estimators.auto_core import time_for_tuning
    >>> 0 < time_for_tuning("AutoRegressor", 100, 60.0) < 60
    True
    """
    if budget is None:
        return None
    needed = fixed_seconds(n) * (_slowness() if n > _PROBE else 1.0)
    if n > _PROBE and needed > _LATE * budget + 1.0:
        takes = f"{duration(needed)} for {n} rows in addition to tuning, more than the time budget"
        raise InputError(f"{name} may need {takes}. Use a larger time budget, or fewer rows.")
    return max(budget - needed, 0.0)


def _slowness() -> float:
    """How many times as long a factor takes here as where the rates were taken; at least half.

    The fastest of a few factors on one thread: threads of BLAS that wait for a busy core take ten times as long, which
    says nothing about a fit that runs for seconds.
    """
    A, seconds = np.eye(_PROBE) + 0.5 / _PROBE, []
    with single_threaded_blas():
        for _ in range(_PROBES):
            begin = time.perf_counter()
            dpotrf(A)
            seconds.append(time.perf_counter() - begin)
            time.sleep(_PAUSE)
    one_core = 1.5 if thread_count() == 1 else 1.0
    return max(0.5, one_core * min(seconds) * 3 * _RATE / _PROBE**3)
