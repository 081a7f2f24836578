"""Every model that leaves folds out, for every alpha, and its squared errors on them, from sums over the folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.data.rows import Array
from mercer.errors import refuse, refuse_if
from mercer.runtime import run
from mercer.solvers.cholesky import (
    lapack,
    largest_eigenvalue,
    leading,
    mirror,
    potrf,
    rich_start,
    solve_columns,
    whiten_both,
)
from mercer.streaming.sums import FoldSums, Side, State

_WORK = 64  # numbers of work space that LAPACK's blocked routines take for each row


class Tridiagonal:
    """C = Q T Q' with T tridiagonal, so that (C + alpha I)^-1 costs next to nothing for one more alpha.

    Parameters
    ----------
    C : ndarray of shape (r, r)
        Symmetric; its upper triangle is read, and it is overwritten.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.streaming.models import Tridiagonal
    >>> C = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 1.0]])
    >>> reduced = Tridiagonal(C.copy())
    >>> b = np.array([[1.0], [2.0], [3.0]])
    >>> w = reduced.out(reduced.solve(reduced.into(b), 0.5))
    >>> bool(np.abs((C + 0.5 * np.eye(3)) @ w - b).max() < 1e-12)
    True
    """

    def __init__(self, C: Array) -> None:
        r, self.reflectors = len(C), C
        self.diagonal, self.beside, self.factors = np.empty(r), np.zeros(max(r - 1, 1)), np.zeros(max(r - 1, 1))
        work = np.empty(_WORK * max(r, 1))
        lapack("dsytrd", b"L", r, C, leading(C), self.diagonal, self.beside, self.factors, work, len(work))
        reach = np.abs(self.diagonal)
        reach[:-1] += np.abs(self.beside)
        reach[1:] += np.abs(self.beside)
        self.largest = float(reach.max(initial=0.0))  # eigenvalue, or a little more (Gershgorin)
        self.noise = r * float(np.finfo(np.float64).eps) * self.largest  # eigenvalues up to this are rounding

    def _rotate(self, B: Array, side: bytes) -> Array:
        """Q'B or Q B."""
        r, rotated = len(self.diagonal), np.array(B.T, order="C")  # a copy that LAPACK sees as r x t and writes to
        if r > 1 and rotated.size:
            work, (C, t) = np.empty(_WORK * max(r, len(rotated))), (self.reflectors, len(rotated))
            lapack("dormtr", b"L", b"L", side, r, t, C, leading(C), self.factors, rotated, r, work, len(work))
        return np.ascontiguousarray(rotated.T)

    def into(self, B: Array) -> Array:
        """Q'B."""
        return self._rotate(B, b"T")

    def out(self, B: Array) -> Array:
        """Q B."""
        return self._rotate(B, b"N")

    def least(self) -> float:
        """The smallest eigenvalue."""
        from scipy.linalg import eigvalsh_tridiagonal

        unit = max(self.largest, 1e-300)  # bisection squares what is beside the diagonal
        d, e = self.diagonal / unit, self.beside[: len(self.diagonal) - 1] / unit
        return float(unit * eigvalsh_tridiagonal(d, e, select="i", select_range=(0, 0))[0])

    def solve(self, B: Array, alpha: float) -> Array:
        """(T + alpha I)^-1 B; the shortest solution where that is singular."""
        from scipy.linalg.lapack import dptsv

        if alpha > self.noise:
            _, _, solved, info = dptsv(self.diagonal + alpha, self.beside, B)
            if info == 0:
                return np.asarray(solved)
        values, vectors = self._spectrum
        kept = values > self.noise
        inside = vectors[:, kept].T @ B
        return np.asarray(vectors[:, kept] @ (inside / (values[kept] + alpha)[:, None]))

    def rank(self) -> int:
        """How many eigenvalues are more than rounding."""
        return int((self._spectrum[0] > self.noise).sum())

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        from scipy.linalg import eigh_tridiagonal

        beside = self.beside[: len(self.diagonal) - 1]
        found: tuple[Array, Array] = eigh_tridiagonal(self.diagonal, beside, check_finite=False)
        return found


class Shifted:
    """C + alpha I for one alpha, by Cholesky: a fraction of the work of a tridiagonal form, which serves them all.

    Parameters
    ----------
    C : ndarray of shape (r, r)
        Symmetric; left as it is.
    alpha : float
        Added to its diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.streaming.models import Shifted
    >>> C = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> shifted = Shifted(C, 1.0)
    >>> shifted.definite, shifted.solve(np.array([[4.0], [5.0]]), 1.0).round(6).tolist()
    (True, [[1.0], [1.0]])
    """

    def __init__(self, C: Array, alpha: float) -> None:
        r, self.alpha = len(C), alpha
        self.largest = largest_eigenvalue(lambda v: C @ v, rich_start(r))  # of C, about
        self.noise = r * float(np.finfo(np.float64).eps) * self.largest
        self.factor = C.copy()
        self.factor.flat[:: r + 1] += alpha
        self.definite = alpha > self.noise and potrf(self.factor)

    def least(self) -> float:
        """The smallest eigenvalue of C, about."""
        inverse = largest_eigenvalue(lambda v: self.solve(v, self.alpha), rich_start(len(self.factor)))
        return 1.0 / inverse - self.alpha

    def into(self, B: Array) -> Array:
        """B: nothing is turned."""
        return B

    out = into

    def solve(self, B: Array, alpha: float) -> Array:
        """(C + alpha I)^-1 B, for the alpha of the factor."""
        return solve_columns(self.factor, B)


# Error of models from whitened sums over that of a factor of the same condition, on drawn tables.
SUMMED = 20.0
_DRAWS, _LUCK = 4, 4.0  # columns of noise, which may be so much smaller than rounding
_NARROW = 1e-3


@dataclass(frozen=True, eq=False)
class Moments:
    """The sums of one kernel, in features, read to the end.

    Attributes
    ----------
    side : Side
        Its features.
    train, test : ndarray of shape (folds, p, p)
        Sums of a a': weighted for training, unweighted for scoring (the same array without weights).
    offset : ndarray of shape (t,)
        What was subtracted from y.
    intercept : bool
        Whether there is one.
    weight : float
        Sum of the weights of all rows.
    """

    side: Side
    train: Array
    test: Array
    offset: Array
    intercept: bool
    weight: float

    @staticmethod
    def read(work: FoldSums, state: State, k: int) -> Moments:
        """The sums of kernel k; the arrays of the state are used up."""
        side, train = work.sides[k], state[f"train{k}"]
        test = state.get(f"test{k}", train)
        sums = list(train) if test is train else [*train, *test]
        what, finite = f"Sums over rows of {side.features.kernel!r}", all(np.isfinite(C).all() for C in sums)
        refuse_if(not finite, what, "finite", "NaN or infinity", "Scale X, y or the weights.")
        if not side.whitened:
            r, root = side.features.count, np.eye(train.shape[1])
            root[:r, :r] = side.features.root
            run(lambda C: whiten_both(C, root), sums)
        run(mirror, sums)
        return Moments(side, train, test, work.targets.offset, work.intercept, float(state["weights"].sum()))

    @cached_property
    def total(self) -> Array:
        """Sum over all folds."""
        return np.asarray(self.train.sum(axis=0))

    def without(self, *folds: int, size: int | None = None) -> SummedSystem:
        """The system of all rows but those of some folds, on the first `size` features."""
        # added up, not subtracted from the total: what only the folds left out have seen is exactly 0
        left = np.zeros_like(self.total)
        for sums in (self.train[fold] for fold in range(len(self.train)) if fold not in folds):
            left += sums
        constant = self.side.constant[:size]
        return SummedSystem(self._leading(left, size), self.offset, constant, self.intercept, narrow=self.narrow)

    @cached_property
    def narrow(self) -> bool:
        """Whether most landmarks have next to nothing in common, so that K_ZZ is nearly diagonal."""
        root = np.abs(self.side.features.root)
        beside = (root.sum() - np.trace(root)) / max(len(root) * (len(root) - 1) / 2, 1)
        return bool(beside < _NARROW * np.trace(root) / len(root))

    def _leading(self, C: Array, size: int | None) -> Array:
        r = self.side.features.count
        if size is None or size == r:
            return C
        kept, rest = np.r_[:size, r : len(C)], self.side.constant[size:]
        left: Array = C[np.ix_(kept, kept)]
        if rest.any():  # h is what all features leave of a constant: what these alone leave is h + phi(x)'u of the rest
            moved = rest @ C[size:r]
            left[size] += moved[kept]
            left[:, size] += moved[kept]
            left[size, size] += moved[size:r] @ rest
        return left

    def loss_of_digits(self, system: SummedSystem, alphas: Array, models: Models) -> Array:
        """How much larger than the precision errors of predictions of all rows are, beside the targets, for each alpha.

        Predictions are sums of the terms of k(x, Z) c. Errors dG of the sum of k k' and dK of K_ZZ change the weights
        by (C + alpha I)^-1 R'^-1 (dG + alpha dK) c; noise of their size shows how much (docs/derivations, section 32).
        """
        features, squares = self.side.features, np.diagonal(self.total)[-len(self.offset) :]
        targets = np.sqrt(squares / max(self.weight, 1e-300) + self.offset**2)
        root, r, C = features.root, features.count, self.total[: features.count, : features.count]
        diagonal = np.linalg.norm(root, axis=0)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            # of features that were summed as such, each was rounded by itself
            summed = diagonal if self.side.whitened else np.sqrt(np.abs(np.einsum("ij,ij->j", root, C @ root)))
            # sums less those of the mean were rounded before the mean was subtracted
            before = np.sqrt(system.before) if self.intercept else np.zeros(r)
            noise = np.random.default_rng(0).normal(size=(r, 1, _DRAWS))
            noise = noise * np.column_stack([summed, diagonal, before])[:, :, None]
            noise = np.hstack([features.whiten(noise[:, :2].reshape(r, -1)), noise[:, 2]])
            found = []
            for alpha, weights, moved in zip(alphas, models.weights, system.response(noise, alphas), strict=True):
                spread = np.sqrt(np.abs(np.einsum("ij,ij->j", moved, C @ moved)) / self.weight).reshape(3, -1)
                by_sums, by_kernel, by_centring = spread.mean(axis=1)
                c = features.coefficients(weights)
                kernel, sums = (np.linalg.norm(sizes[:, None] * c, axis=0) for sizes in (diagonal, summed))
                sums = math.sqrt(self.weight) * targets if self.side.whitened else sums
                centring = np.linalg.norm(before[:, None] * weights, axis=0)
                felt = _LUCK * (by_sums * sums + by_kernel * alpha * kernel + by_centring * centring) / SUMMED
                lost = np.maximum(kernel * diagonal.mean(), felt) / targets
                found.append(np.nan_to_num(lost, nan=1.0).max(initial=1.0))
        return np.array(found)

    def squared_errors(self, fold: int, models: Models) -> Array:
        """Sum over the rows of a fold of squared residuals: v'M v for every alpha and target, (alphas, t)."""
        M = self._leading(self.test[fold], models.weights.shape[1])
        return np.asarray(np.maximum(_quadratic_forms(M, models.residual_vectors()), 0.0))

    def squared_terms(self, fold: int, models: Models) -> Array:
        """|v|'|M| |v|: the sum of the sizes of all terms of `squared_errors`, which rounding is relative to."""
        return _quadratic_forms(np.abs(self.test[fold]), np.abs(models.residual_vectors()))


def _quadratic_forms(M: Array, V: Array) -> Array:
    """v'M v for every v of V (alphas x p x t)."""
    flat = np.ascontiguousarray(V.transpose(1, 0, 2)).reshape(V.shape[1], -1)
    return np.asarray(np.einsum("ij,ij->j", flat, M @ flat).reshape(V.shape[0], V.shape[2]))


@dataclass(frozen=True, eq=False)
class Models:
    """Models of one training set for several alphas, prediction phi(x)'weights + intercept.

    Attributes
    ----------
    inner : ndarray of shape (alphas, r, t)
        Weights less those that speak for the offset.
    border : ndarray of shape (alphas, t)
        What h is multiplied by in the residual.
    weights : ndarray of shape (alphas, r, t)
        Of the features.
    intercept : ndarray of shape (alphas, t)
        Zeros without one, and not less: the offset is in the weights then.
    rank : int
        Directions that the rows tell apart, where some alpha was too small for all; otherwise all.
    """

    inner: Array
    border: Array
    weights: Array
    intercept: Array
    rank: int

    @staticmethod
    def join(parts: Sequence[Models]) -> Models:
        """Models of one training set, for the alphas of all parts."""
        names = ("inner", "border", "weights", "intercept")
        inner, border, weights, intercept = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        return Models(inner, border, weights, intercept, min(part.rank for part in parts))

    def residual_vectors(self) -> Array:
        """v with residual a'v, for every alpha and target: (alphas, p, t)."""
        alphas, _, t = self.inner.shape
        ones = np.broadcast_to(np.eye(t), (alphas, t, t))
        return np.concatenate([-self.inner, self.border[:, None, :], ones], axis=1)


class SummedSystem:
    """(C + alpha I) w = b for one training set: one alpha by Cholesky, several from one tridiagonal form.

    Parameters
    ----------
    sums : ndarray of shape (p, p)
        The sum of a a' over the training rows; used up.
    offset : ndarray of shape (t,)
        What was subtracted from y.
    constant : ndarray of shape (r,)
        u.
    intercept : bool
        Whether there is an unpenalized constant.
    narrow : bool, default=False
        Whether C is nearly diagonal. Each alpha then gets a Cholesky factor, which keeps weights accurate that are far
        smaller than the others; a tridiagonal form mixes them.
    """

    def __init__(self, sums: Array, offset: Array, constant: Array, intercept: bool, *, narrow: bool = False) -> None:
        self.offset, self.intercept, self.u, self.narrow = offset, intercept, constant, narrow
        r = len(constant)
        self.beside, self.b = sums[:r, r].copy(), sums[:r, r + 1 :].copy()
        self.weight, self.y = float(sums[r, r]), sums[r, r + 1 :].copy()
        C = np.ascontiguousarray(sums[:r, :r])
        self.before = np.diagonal(C).copy()
        if intercept:
            refuse(not self.weight > 0, "A training fold has no rows with positive weight. Use fewer folds.")
            C -= np.outer(self.beside / self.weight, self.beside)
            self.b -= np.outer(self.beside / self.weight, self.y)
        else:
            self.b += np.outer(self.beside, offset)
        self.C, self.after = C, np.diagonal(C).copy()

    @cached_property
    def _tridiagonal(self) -> Tridiagonal:
        """The tridiagonal form, in the place of C."""
        return Tridiagonal(self.C)

    def _form(self, alphas: Array | Sequence[float]) -> tuple[Array, Shifted | Tridiagonal]:
        """The alphas as an array, and what the system is solved from."""
        ladder = np.asarray(alphas, dtype=np.float64)
        single = len(ladder) == 1 and "_tridiagonal" not in vars(self)
        if single and (shifted := Shifted(self.C, float(ladder[0]))).definite:
            return ladder, shifted
        return ladder, self._tridiagonal

    @staticmethod
    def _unseen(reduced: Shifted | Tridiagonal, u: Array, alpha: float) -> Array | float:
        """What of u lies where the rows say nothing: the weights are zero there, so that they are the shortest."""
        if isinstance(reduced, Shifted) or alpha > reduced.noise or not u.any():
            return 0.0
        turned = (reduced.diagonal + alpha)[:, None] * u
        turned[:-1] += reduced.beside[:, None] * u[1:]
        turned[1:] += reduced.beside[:, None] * u[:-1]
        return np.asarray(u - reduced.solve(turned, alpha))

    def solve(self, alphas: Array | Sequence[float]) -> Models:
        """The models for all alphas."""
        if self.narrow and len(alphas) > 1:
            return Models.join([self.solve([alpha]) for alpha in alphas])
        (ladder, reduced), t = self._form(alphas), len(self.offset)
        b, u = np.split(reduced.into(np.hstack([self.b, np.outer(self.u, self.offset)])), 2, axis=1)
        solved = [reduced.solve(b - alpha * u, alpha) - self._unseen(reduced, u, alpha) for alpha in ladder.tolist()]
        r = len(self.u)
        inner = reduced.out(np.hstack(solved)).reshape(r, len(ladder), t).transpose(1, 0, 2)
        if self.intercept:
            border = (np.einsum("r,art->at", self.beside, inner) - self.y) / self.weight
            weights, intercept = inner, self.offset - border
        else:
            border = np.broadcast_to(self.offset, (len(ladder), t))
            weights, intercept = inner + np.outer(self.u, self.offset), np.zeros((len(ladder), t))
        rank = r if isinstance(reduced, Shifted) or (ladder > reduced.noise).all() else reduced.rank()
        return Models(inner, border, weights, intercept, rank)

    def response(self, B: Array, alphas: Array | Sequence[float]) -> list[Array]:
        """(C + alpha I)^-1 B for each alpha."""
        ladder, reduced = self._form(alphas)
        into = reduced.into(B)
        return [reduced.out(reduced.solve(into, alpha)) for alpha in ladder.tolist()]

    def condition(self, alphas: Array | Sequence[float]) -> Array:
        """Condition number of the system for each alpha; infinite where its smallest eigenvalue is rounding.

        Or how much larger sums were before those of the mean were subtracted, where that is more.
        """
        ladder, reduced = self._form(alphas)
        least = np.maximum(reduced.least(), 0.0) + ladder
        found = np.full(len(ladder), math.inf)
        np.divide(reduced.largest + ladder, least, out=found, where=least > reduced.noise)
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = np.nan_to_num(self.before / (np.maximum(self.after, 0.0) + ladder[:, None]), nan=1.0)
        return np.asarray(np.maximum(found, lost.max(axis=1, initial=1.0)))
