"""What the streaming ridges share: landmarks from a sample, sums from one pass, a model that keeps no rows."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import checked_alpha
from mercer.data.rows import Array, File, Rows, Seed
from mercer.errors import InputError, SingularSystemWarning, sentence, warn
from mercer.estimators.nystroem_base import (
    StreamingEstimator,
    checked_kernel,
    landmark_choice,
    new_blocks,
    opened,
    seed_of,
    warn_if_landmarks_lost,
    warn_if_no_mercer_kernel,
)
from mercer.estimators.parameters import resolve
from mercer.estimators.search_core import warn_if_ill
from mercer.kernels import Kernel
from mercer.runtime import promise
from mercer.selection.plan import Rates
from mercer.solvers.landmarks import Features
from mercer.solvers.route import digits_left
from mercer.streaming.blocks import Block, Source
from mercer.streaming.landmarks import LandmarkChoice, drawn_sample, reading_passes, sides_of
from mercer.streaming.models import SUMMED, Moments
from mercer.streaming.plan import StreamPlan, block_rows, stream_plan
from mercer.streaming.search import PassReading
from mercer.streaming.sums import FoldSums, State
from mercer.text import counted, rounded, text_below

_ENDLESS = 10**9  # rows, where more may come


class NystroemCore(StreamingEstimator):
    """A ridge on the features of landmarks, from sums over the rows."""

    kernel_: Kernel
    landmarks_: Array
    _dual: Array
    _intercept: Array
    _work: FoldSums
    _state: State

    def _html_repr(self) -> str:
        diagram = super()._html_repr()
        if not hasattr(self, "kernel_"):
            return str(diagram)
        return text_below(diagram, f"{rounded(repr(self.kernel_))}, {counted(len(self.landmarks_), 'landmark')}")

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: Any = "gaussian",
        landmarks: Any = None,
        method: str = "pivoted",
        fit_intercept: bool = False,
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
        self.alpha = alpha
        self.kernel = kernel

    def _kernels(self) -> list[Any]:
        return [self.kernel]

    # -- fitting ----------------------------------------------------------------------------------

    def _names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)

    def _settled(self, source: Source, *, more: bool = False) -> tuple[FoldSums, StreamPlan]:
        """Everything that a pass needs, from a sample; `more` rows may come later."""
        owner = type(self).__name__
        self._validate()
        choice, seed = landmark_choice(self, source.width), seed_of(self.random_state)
        kernel = checked_kernel(owner, resolve(owner, self.kernel, source.width))
        sample = drawn_sample(source, choice, 1, 1, seed, self.backend)
        kernel.check(Rows(sample.X[:1], self._names()))
        warn_if_no_mercer_kernel(kernel)
        targets = self._targets_of(sample, source)
        alphas = checked_alpha(owner, self.alpha, len(targets.offset))
        features = self._features(choice, kernel, sample, int(source.rows or 0), seed)
        rows = _ENDLESS if more else int(source.rows or 0)
        sides = sides_of([features], rows, float(alphas.min()), sample, targets, intercept=bool(self.fit_intercept))
        self._as_fitted = {"landmarks": self.landmarks, "method": self.method}
        work = FoldSums(sides, targets, 1, seed, bool(self.fit_intercept), weighted=True)
        return work, self._plan(source, work, None)

    def _features(self, choice: LandmarkChoice, kernel: Kernel, sample: Block, rows: int, seed: int) -> Features:
        return choice.features(kernel, sample.X, self._names(), choice.count(rows, 1, 1), seed)

    def _plan(self, source: Source, work: FoldSums, rates: Rates | None) -> StreamPlan:
        side = work.sides[0]
        return stream_plan(
            rows=int(source.rows or 0), columns=source.width, landmarks=[side.features.count],
            whitened=[side.whitened], alphas=1, folds=1, targets=len(work.targets.offset), groups=[[0]], beside=False,
            second_pass=False, nested=False, block=self.block_rows or block_rows(work.sizes()[0]),
            before=reading_passes(source) + self._classifies, rates=rates,
        )  # fmt: skip

    def _summed(self, source: Source, work: FoldSums, checkpoint: File = None) -> State:
        side = work.sides[0]
        reading = PassReading(source, self.backend, checkpoint, self.block_rows, int(self.verbose))
        classes = getattr(work.targets, "classes", None)
        settings = [side.features.kernel, side.features.landmarks, side.whitened, side.constant, work.targets.offset,
                    classes, work.intercept]  # fmt: skip
        return reading.run(work, block_rows(work.sizes()[0]), "summing", "", settings)

    def _solve(self, work: FoldSums, state: State) -> None:
        """The model from the sums, which are kept as they are for rows that may come."""
        owner = type(self).__name__
        weight = float(state["weights"].sum())
        if not weight > 0:
            raise InputError(f"sample_weight of {owner} must be positive for at least one row; got only zeros.")
        alphas = checked_alpha(owner, self.alpha, len(work.targets.offset))
        moments = Moments.read(work, {name: array.copy() for name, array in state.items()}, 0)
        ladder, places = np.unique(alphas, return_inverse=True)
        system, features = moments.without(), work.sides[0].features
        models = system.solve(ladder)
        targets = np.arange(len(alphas))
        condition = float(np.maximum(system.condition(ladder), moments.lost(system, ladder, models)).max())
        self.hold(
            features, models.weights[places, :, targets].T, models.intercept[places, targets], alphas,
            int(state["rows"].sum()), condition, one_target=self._one_target,
        )  # fmt: skip
        if self._as_fitted["landmarks"] is not None:
            warn_if_landmarks_lost(owner, features)
        if models.rank < len(models.weights[0]) and ladder[0] == 0:
            warn(
                f"The system of {owner} has rank {models.rank} of {len(models.weights[0])}; the minimum-norm "
                "solution was used. A positive alpha makes it unique.",
                SingularSystemWarning,
            )
        else:
            warn_if_ill(owner, self.condition_)

    @property
    def digits_(self) -> float:
        """Decimal digits of predictions that are correct."""
        return digits_left(SUMMED * self.condition_)

    def hold(
        self,
        features: Features,
        weights: Array,
        intercept: Array,
        alphas: Array,
        rows: int,
        condition: float,
        *,
        one_target: bool,
    ) -> None:
        """Keep a solution: what predictions need, and what is known of it.

        Parameters
        ----------
        features : Features
            Kernel and landmarks.
        weights, intercept : ndarray
            Of the features, one column per target.
        alphas : ndarray of shape (n_targets,)
            By which they were found.
        rows : int
            How many rows were summed.
        condition : float
            A bound of the condition number of the system.
        one_target : bool
            Whether predictions have no axis for targets.
        """
        self.kernel_, self.landmarks_ = features.kernel, features.landmarks
        self._dual = np.ascontiguousarray(features.coefficients(np.ascontiguousarray(weights)))
        self._intercept = np.array(intercept, dtype=np.float64)
        self._alphas, self.n_rows_, self.condition_, self._one_target = alphas, rows, condition, one_target

    def explain(self, X: Any, y: Any = None, sample_weight: Any = None, rates: Rates | None = None) -> StreamPlan:
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
        fresh = copy.copy(self)  # so that nothing looks fitted that is not
        source = fresh._opened(X, y, sample_weight)  # noqa: SLF001 - a copy of itself
        work, _ = fresh._settled(source)  # noqa: SLF001 - a copy of itself
        return fresh._plan(source, work, rates)  # noqa: SLF001 - a copy of itself

    def _opened(self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True) -> Source:
        return opened(self, X, y, sample_weight, labels=self._classifies, reset=reset)

    def _fitted(self, X: Any, y: Any, sample_weight: Any, *, more: bool) -> Self:
        self._begin()
        source = self._opened(X, y, sample_weight)
        with np.errstate(under="ignore"):
            work, self.plan_ = self._settled(source, more=more)
            needed, count = self.plan_.bytes, self.plan_.landmarks[0]
            promise(needed, f"{type(self).__name__} with {count} landmarks", "Use fewer landmarks.")
            self._one_target = source.targets_1d
            self._finish(work, self._summed(source, work, self.checkpoint))
        return self

    def _finish(self, work: FoldSums, state: State) -> None:
        self._solve(work, state)
        self._work, self._state = work, state
        self.publish()

    def publish(self) -> None:
        """Set the attributes that follow from what predictions need."""
        raise NotImplementedError

    def _more(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Add rows to the sums."""
        if not hasattr(self, "_state"):
            raise InputError(
                f"partial_fit of {type(self).__name__} is not available after load or after a search, because the "
                "sums that it would update are not stored. Call fit on all rows, with landmarks=model.landmarks_."
            )
        source, work = self._opened(X, y, sample_weight, reset=False), self._work
        if not self._classifies and source.targets != len(work.targets.offset):
            must_be = f"{len(work.targets.offset)}, as in the first fit"
            raise InputError(sentence("The number of targets", must_be, source.targets))
        self._refuse_another(work)
        # added to the new sums, so that the old ones are still there if these will not do
        with np.errstate(under="ignore"):
            self._finish(work, work.merge(self._summed(source, work), self._state))
        return self

    def _refuse_another(self, work: FoldSums) -> None:
        """Sums are of one kernel and its landmarks, with an intercept or without; only alpha may change."""
        owner = type(self).__name__
        for name, before in self._as_fitted.items():
            now = getattr(self, name)
            if now is not before and not np.array_equal(now, before):
                got = repr(now) if np.ndim(now) == 0 else f"another table of shape {np.shape(now)}"
                must_be = "the same as in the first fit" + (f", {before!r}" if np.ndim(before) == 0 else "")
                raise InputError(sentence(f"{name} of {owner}", must_be, got, "Call fit to start again."))
        kernel = resolve(owner, self.kernel, self.n_features_in_)
        before = {"kernel": work.sides[0].features.kernel, "fit_intercept": work.intercept}
        for name, now in (("kernel", kernel), ("fit_intercept", bool(self.fit_intercept))):
            if now != before[name]:
                must_be = f"the same as in the first fit, {before[name]!r}"
                raise InputError(sentence(f"{name} of {owner}", must_be, repr(now), "Call fit to start again."))

    # -- prediction -------------------------------------------------------------------------------

    def _value_blocks(self, X: Any) -> Iterator[Array]:
        """f of new rows (rows x t), block by block."""
        check_is_fitted(self, "landmarks_")
        features = Features(self.kernel_, self.landmarks_, np.empty((0, 0)), self._names())
        for rows in new_blocks(self, X):
            self.kernel_.check(features.rows(rows))
            yield features.times(rows, self._dual) + self._intercept

    def _values(self, X: Any) -> Array:
        return np.concatenate(list(self._value_blocks(X)))
