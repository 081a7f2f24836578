"""Sums over the rows of each fold, from one pass.

A row counts as a = (k(Z, x) or phi(x), h(x), y - c): its values at the landmarks, one more column, and its targets less
a fixed offset c. The sum of a a' over the rows of a fold is all that least squares ever asks of it. The column h is 1
for a model with an intercept. Without one it is 1 - phi(x)'u for a fixed u: what the features cannot say of
a constant, so that targets far from zero leave no large numbers to be subtracted from one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from mercer.data.checks import kind_of_names, one_kind
from mercer.data.hashing import fold_of
from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.kernels.tiles import blocks
from mercer.runtime import run, thread_count
from mercer.runtime.passes import PassWork
from mercer.selection.removals import label_targets
from mercer.solvers.cholesky import add_gram, add_panel, whiten
from mercer.solvers.landmarks import Features
from mercer.streaming.blocks import Block

State = dict[str, Array]
_PANEL = 192  # columns that a thread sums at a time


@dataclass(frozen=True, eq=False)
class Numbers:
    """Targets that are numbers.

    Attributes
    ----------
    offset : ndarray of shape (targets,)
        About their mean; subtracted before anything is summed.
    """

    offset: Array

    def table(self, Y: Array) -> Array:
        """The targets as they are."""
        return Y


@dataclass(frozen=True, eq=False)
class LabelLosses:
    """Targets that are labels: -1 and +1 for two classes, one-hot for more.

    Attributes
    ----------
    classes : ndarray of shape (classes,)
        In order.
    """

    classes: Array

    @cached_property
    def offset(self) -> Array:
        """None: such targets are near zero."""
        return np.zeros(1 if len(self.classes) == 2 else len(self.classes))

    def numbers(self, Y: Array) -> Array:
        """Number of the class of each label; unknown labels are an error."""
        kinds = [(kind_of_names("y", self.classes), "the classes"), (kind_of_names("y", Y), "these rows")]
        one_kind("y", [(kind, where) for kind, where in kinds if kind is not None])
        places = np.asarray(np.minimum(np.searchsorted(self.classes, Y), len(self.classes) - 1))
        other = np.flatnonzero(self.classes[places] != Y)
        if len(other):
            known = ", ".join(map(repr, self.classes[:5].tolist())) + (", ..." if len(self.classes) > 5 else "")
            raise InputError(sentence("Every label in y", f"one of {known}", repr(Y[other[:1]].tolist()[0])))
        return places

    def table(self, Y: Array) -> Array:
        """Numbers for least squares."""
        return label_targets(self.numbers(Y), len(self.classes))


SummedTargets: TypeAlias = Numbers | LabelLosses  # how what a table says of its rows becomes numbers


@dataclass(frozen=True, eq=False)
class Side:
    """One kernel of a pass.

    Attributes
    ----------
    features : Features
        Its landmarks.
    whitened : bool
        Whether rows are turned into features as they come, or the sums at the end.
    constant : ndarray of shape (r,)
        u; zeros where there is an intercept.
    """

    features: Features
    whitened: bool
    constant: Array


@dataclass(frozen=True, eq=False)
class FoldSums(PassWork):
    """The work of one pass: sums of a a' for every fold and kernel.

    Attributes
    ----------
    sides : tuple of Side
        The kernels.
    targets : SummedTargets
        How Y becomes numbers.
    folds, seed : int
        How many folds, and the seed of the hash that assigns rows to them.
    intercept : bool
        Whether models have an unpenalized constant.
    weighted : bool
        Whether rows have weights.
    ranked : ndarray or None
        Words of all rows or groups where they are dealt to the folds by rank; None where the hash alone assigns them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.streaming.blocks import as_source
    >>> from mercer.solvers.landmarks import Features
    >>> from mercer.kernels import Linear
    >>> from mercer.streaming.models import Moments
    >>> from mercer.streaming.sums import FoldSums, Numbers, Side
    >>> X = np.arange(12.0)[:, None]
    >>> side = Side(Features.of(Linear(), X[-1:]), whitened=True, constant=np.zeros(1))
    >>> work = FoldSums((side,), Numbers(np.zeros(1)), folds=3, seed=0, intercept=True)
    >>> state = work.begin()
    >>> for block in as_source(X, 2 * X[:, 0] + 1).blocks(5):
    ...     work.add(state, block)
    >>> moments = Moments.read(work, state, 0)
    >>> models = moments.without(0).solve(np.array([1e-9]))
    >>> models.intercept.round(6)
    array([[1.]])
    """

    sides: tuple[Side, ...]
    targets: SummedTargets
    folds: int
    seed: int
    intercept: bool
    weighted: bool = False
    ranked: Array | None = None

    @property
    def beside(self) -> bool:
        """Whether there are unweighted sums beside the weighted ones, to score the models without a fold by."""
        return self.weighted and self.folds > 1

    def sizes(self) -> list[int]:
        """Length of a for each kernel."""
        return [side.features.count + 1 + len(self.targets.offset) for side in self.sides]

    def bytes(self) -> int:
        """Memory of the sums in bytes."""
        return sum(8 * self.folds * size * size * (1 + self.beside) for size in self.sizes())

    def begin(self) -> State:
        """Nothing summed yet."""
        t, names = len(self.targets.offset), ("train", "test")[: 1 + self.beside]
        state = {name: np.zeros(self.folds) for name in ("rows", "weights")}
        state |= {name: np.zeros((self.folds, t)) for name in ("sums", "plain_sums", "plain_squares")}
        sizes = [(f"{name}{k}", size) for k, size in enumerate(self.sizes()) for name in names]
        return state | {name: np.zeros((self.folds, size, size)) for name, size in sizes}

    def add(self, state: State, block: Block) -> None:
        """The rows of a block, in place."""
        if block.Y is None:
            raise InputError("y must be given to fit; got none.")
        folds = self.assign(block)
        order = np.argsort(folds, kind="stable")
        X, folds = np.ascontiguousarray(block.X[order]), folds[order]
        for side in self.sides:  # rows that were not in the sample
            side.features.kernel.check(side.features.rows(X))
        Y = self.targets.table(block.Y)[order] - self.targets.offset
        weights = block.weights[order] if self.weighted and block.weights is not None else None
        w = np.ones(len(Y)) if weights is None else weights
        state["rows"] += np.bincount(folds, minlength=self.folds)
        state["weights"] += np.bincount(folds, w, minlength=self.folds)
        for j, y in enumerate(Y.T):
            for name, values in (("sums", w * y), ("plain_sums", y), ("plain_squares", y * y)):
                state[name][:, j] += np.bincount(folds, values, minlength=self.folds)
        cuts = np.searchsorted(folds, np.arange(self.folds + 1))
        for k, side in enumerate(self.sides):
            A = _vectors(side, X, Y)
            if self.beside:
                _add(state[f"test{k}"], A, cuts)
            if weights is not None:
                A[weights == 0] = 0.0  # also where a row without weight is too large for the kernel
                A *= np.sqrt(weights)[:, None]
            _add(state[f"train{k}"], A, cuts)

    def assign(self, block: Block) -> Array:
        """The fold of every row of a block, as `fold_of` has it."""
        if self.folds == 1:
            return np.zeros(len(block), dtype=np.intp)
        return fold_of(block.start, len(block), self.folds, self.seed, block.keys, self.ranked)


def _vectors(side: Side, X: Array, Y: Array) -> Array:
    """a for every row."""
    r = side.features.count
    A = np.empty((len(X), r + 1 + Y.shape[1]))
    side.features.against(X, out=A[:, :r])
    A[:, r] = 1.0
    if side.constant.any():
        A[:, r] -= (A[:, :r] @ side.features.coefficients(side.constant[:, None]))[:, 0]
    A[:, r + 1 :] = Y
    if side.whitened:
        run(lambda rows: whiten(A[rows, :r], side.features.root), blocks(len(A)))
    return A


def _add(sums: Array, A: Array, cuts: Array) -> None:
    """Each fold on a thread; or, where there are few, some columns of a fold."""
    if len(sums) >= 2 * thread_count():
        run(lambda f: add_gram(sums[f], A[cuts[f] : cuts[f + 1]]), range(len(sums)))
        return
    jobs = [(f, panel) for f in range(len(sums)) for panel in blocks(sums.shape[1], _PANEL)]
    run(lambda job: add_panel(sums[job[0]], A[cuts[job[0]] : cuts[job[0] + 1]], job[1]), jobs)
