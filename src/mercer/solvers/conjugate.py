"""(K + alpha I)^-1 without a factor of K: conjugate gradients, preconditioned by a few columns of it.

With F F' close to K, (F F' + alpha I)^-1 is cheap to apply and leaves a system whose eigenvalues lie close together.
Two iterations are nested. The inner one multiplies by K in single precision and is stopped after a few digits. The
outer one takes what it found as a direction, multiplies it by K in double precision, and so knows what is missing.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import cho_solve

from mercer.data.checks import sizes
from mercer.data.rows import Array, Rows
from mercer.errors import ConvergenceWarning, InputError, warn
from mercer.kernels.base import Kernel
from mercer.runtime import available_bytes, promise
from mercer.solvers.cholesky import Map, conjugate_gradients, dots, largest_eigenvalue, ratio, rich_start
from mercer.solvers.dual import DualSolved, DualSystem, Solution, border_of, solve_bordered
from mercer.solvers.gram import SUMS, KeptTiles, refuse_infinite, symmetric_times, training_matrix
from mercer.solvers.landmarks import pivoted_cholesky
from mercer.solvers.plan import EPS, Route, SolverChoice, pivots, room_for_tiles, worth_products

# What the residual is brought down to, relative to the right-hand side. Coefficients are good to the residual times
# the condition in the worst case, predictions to much more: 1e-8 keeps them within 1e-4 where 1e-6 need not.
TOLERANCE = 1e-8
# The most that single precision is asked for at a time, and the least that a round must gain for it to go on.
_AT_A_TIME, _SLOW = 1e-5, 0.1
_STEPS, _ROUNDS = 300, 12
MOST, _DOUBLE = 3000, 15
_SHARE = 1e-4


class NotSolved(InputError):
    """An iteration that finds no solution at all."""


class LowRank:
    """(F F' + alpha I)^-1, which F (n x r) alone gives.

    Parameters
    ----------
    F : ndarray of shape (n, r)
        Tall and narrow.
    inner : ndarray of shape (r, r)
        F'F.
    alpha : float
        Positive.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.conjugate import LowRank
    >>> F = np.array([[1.0], [2.0], [0.0]])
    >>> LowRank(F, F.T @ F, 1.0)(np.array([[1.0], [2.0], [3.0]])).round(3).ravel().tolist()
    [0.167, 0.333, 3.0]
    """

    def __init__(self, F: Array, inner: Array, alpha: float) -> None:
        self.F, self.alpha, shifted = F, alpha, inner + alpha * np.eye(len(inner))
        self._factor = np.linalg.cholesky(shifted) if len(inner) else shifted

    def __call__(self, R: Array) -> Array:
        """(F F' + alpha I)^-1 R."""
        if not self.F.shape[1]:
            return R / self.alpha
        result = self.F @ cho_solve((self._factor, True), self.F.T @ R, check_finite=False)
        np.subtract(R, result, out=result)
        result /= self.alpha
        return np.asarray(result)


class Conjugate:
    """G = (V K V + alpha I)^-1 by preconditioned conjugate gradients on many right-hand sides at once.

    Every right-hand side is solved until ||b - A x|| / ||b|| is the tolerance.

    Parameters
    ----------
    system : StreamedSystem
        Products with V K V, and F with F F' close to it.
    alpha : float
        Positive.
    most : int, default=3000
        Products with K after which it ends as it is; one in double precision counts as 15.

    Attributes
    ----------
    single, double : int
        How many products with K were made in single and in double precision.
    residual : float
        The largest residual that was left, of double precision and relative to what was asked for.
    relative, error : ndarray of shape (t,)
        Residuals relative to each of the last right-hand sides, and about the length of what is wrong with each of the
        last solutions.
    """

    def __init__(self, system: StreamedSystem, alpha: float, most: int = MOST) -> None:
        self.exact, self.reason = system.exact, system.choice.reason
        self.quick = system.quick if system.tiles.single else self.exact
        self.nearby = LowRank(system.F, system.inner, alpha)
        self.n, self.alpha, self.largest = system.n, alpha, system.largest + alpha
        self.most, self.single, self.double = most, 0, 0
        self.residual, self.relative, self.error = 0.0, np.zeros(0), np.zeros(0)

    @property
    def effort(self) -> int:
        """What it has taken so far, in products of single precision, from kept tiles."""
        return self.single + _DOUBLE * self.double

    @property
    def account(self) -> str:
        """What it has taken so far, and how far it came."""
        return f"{self.single} + {self.double} products, residual {self.residual:.0e}"

    def solve(self, B: Array, relative_to: Array | None = None) -> Array:
        """G B; every round knows in double precision what is missing, and each direction is new to the last.

        `relative_to`: what the tolerance is relative to, one number per column; the length of the column by default.
        """
        unit = sizes(B)  # squares must neither vanish nor overflow
        B = B / unit
        X, R = np.zeros_like(B), B.copy()
        goal = TOLERANCE * np.maximum(_lengths(B) if relative_to is None else relative_to / unit, 1e-300)
        before, product, last = math.inf, self.quick, None
        for _ in range(_ROUNDS):
            missing = float((_lengths(R) / goal).max(initial=0.0))
            if missing <= 1.0 or self.effort >= self.most:
                break
            if missing > _SLOW * before:
                if product is self.exact:
                    break
                product, last = self.exact, None
            before = missing
            # all at once in double precision, else the same share in each of several rounds
            rounds = math.ceil(math.log(missing) / math.log(1 / _AT_A_TIME)) if product is not self.exact else 1
            D = self._descend(R, product, 0.5 * missing ** (-1.0 / max(1, rounds)))
            if last is not None:
                D -= ratio(dots(D, last[1]), dots(*last)) * last[0]
            AD = self.exact(D) + self.alpha * D
            self.double += 1
            step = ratio(dots(D, R), dots(D, AD))
            if not np.isfinite(step * AD).all():  # numbers beyond any precision: X stays as it was
                break
            X += step * D
            R -= step * AD
            if (EPS * self.largest * _lengths(X) > 0.01 * goal).any():  # rounding may have led the update astray
                R = B - self.exact(X) - self.alpha * X
                self.double += 1
            last = D, AD
        left = _lengths(R)
        self.residual = max(self.residual, TOLERANCE * float((left / goal).max(initial=0.0)))
        self.relative = left / np.maximum(_lengths(B), 1e-300)
        self.error = self._error(R, X) * unit
        return X * unit

    def _error(self, R: Array, X: Array) -> Array:
        """Length of what is wrong with every column of X.

        ||A^-1 R|| for the residual R, and for noise of the size in which products with K are rounded; the inverse of
        the nearby system stands for A^-1.
        """
        size = np.sqrt(np.einsum("ij,ij->i", self.nearby.F, self.nearby.F))[:, None]
        noise = np.random.default_rng(0).normal(size=(self.n, 1))
        rounded = float(_lengths(self.nearby(size * noise))[0])
        return _lengths(self.nearby(R)) + EPS * rounded * _lengths(size * X)

    def _descend(self, B: Array, product: Map, share: float) -> Array:
        """Conjugate gradients until every residual is this share of its beginning, or no more is to be had."""
        goal = share * _lengths(B)

        def times(D: Array) -> Array:
            self.double += product is self.exact
            self.single += product is not self.exact
            return product(D) + self.alpha * D

        def is_done(_: Array, R: Array) -> bool:
            return bool((_lengths(R) <= goal).all()) or self.effort >= self.most

        return conjugate_gradients(B, times, self.nearby, is_done, _STEPS)[0]

    def loss_of_digits(self, found: Array) -> float:
        """Error of these columns of the last solution or of their predictions, in units of the precision."""
        t = found.shape[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = np.maximum(self.error[:t] / _lengths(found), self.relative[:t]) / EPS
        return float(np.nan_to_num(lost, nan=1.0).max(initial=1.0))

    @property
    def has_converged(self) -> bool:
        """Whether the residual is what was asked for."""
        return self.residual <= 1.001 * TOLERANCE

    def route(self) -> Route:
        """How it was solved, with the residual that was reached."""
        reason = f"{self.reason}, {self.nearby.F.shape[1]} pivots, {self.account}"
        if not self.has_converged:
            reason += f" of {TOLERANCE:.0e} wanted; a larger alpha or solver='cholesky' gives more digits"
        residual = max(float(self.relative.max(initial=0.0)), EPS)
        return Route("cg", reason, max(1.0, self.largest / self.alpha), self.n, self.n, residual=residual)


def solve_by_gradients(G: Conjugate, root: Array, Y: Array, *, intercept: bool) -> Solution:
    """Coefficients, with an intercept from a system of its own where there is one.

    The tolerance is relative to what targets differ from their mean, so that those far from zero are fitted as well as
    others; without an intercept not to less than 1e-4 of their size, beyond which double precision ends.
    """
    y = root[:, None] * (Y - Y.mean(axis=0))
    if intercept:
        border = border_of(G, root[:, None])
        if not 0 < border.scale < math.inf:
            raise NotSolved(
                f"Conjugate gradients cannot solve this system: alpha = {G.alpha:.3g} is too small compared with the "
                f"largest eigenvalue of the kernel matrix, {G.largest:.3g}. Use solver='cholesky', a larger alpha, or "
                "scale X."
            )
        found = solve_bordered(G, root, border, Y)
        # coefficients add up to zero: what the residual of the border has left of their sum is taken off
        off = found.dual.sum(axis=0) / border.scale
        found = replace(found, dual=found.dual - root[:, None] * border.left * off, intercept=found.intercept + off)
    else:
        spread, y = _lengths(y), root[:, None] * Y
        solved = G.solve(y, np.maximum(spread, _SHARE * _lengths(y)))
        found = Solution(root[:, None] * solved, np.zeros(Y.shape[1]), None, G.route())
    return replace(found, route=replace(found.route, cancelled=G.loss_of_digits(found.dual / root[:, None])))


def _lengths(B: Array) -> Array:
    unit = sizes(B)
    return np.asarray(unit * np.sqrt(dots(B / unit, B / unit)))


# Tables of the size of the right-hand sides that an iteration holds at once, beside the sums of a product.
_TABLES = 14


class StreamedSystem:
    """V K V for sample weights V^2, known by its products alone.

    Parameters
    ----------
    kernel : Kernel
        Of rows, not of a given matrix.
    rows : Rows
        Training rows.
    weights : ndarray of shape (n,) or None
        Positive sample weights.
    intercept : bool
        Whether the model has an unpenalized constant.
    choice : SolverChoice
        Why, for the record.

    Attributes
    ----------
    tiles : KeptTiles
        Products in single precision.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.plan import SolverChoice
    >>> from mercer.solvers.conjugate import StreamedSystem
    >>> X = np.linspace(0.0, 9.0, 200)[:, None]
    >>> choice = SolverChoice("cg", "an example", 0)
    >>> system = StreamedSystem(Gaussian(1.0), as_rows(X), None, intercept=False, choice=choice)
    >>> solution = system.solve(np.sin(X), 0.1, "cg")
    >>> exact = np.linalg.solve(Gaussian(1.0)(X) + 0.1 * np.eye(200), np.sin(X))
    >>> bool(np.abs(solution.dual - exact).max() < 1e-6 * np.abs(exact).max())
    True
    """

    def __init__(
        self, kernel: Kernel, rows: Rows, weights: Array | None, *, intercept: bool, choice: SolverChoice
    ) -> None:
        self.kernel, self.rows, self.intercept, self.choice = kernel, rows, intercept, choice
        self.n = len(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            refuse_infinite(kernel, kernel.diagonal(rows))
        self.root = np.ones(self.n) if weights is None else np.sqrt(weights)
        self.weighted = weights is not None
        self._factored: DualSystem | None = None
        room = room_for_tiles(self.n, available_bytes())
        self.F, _ = pivoted_cholesky(kernel, rows, pivots(self.n), np.random.default_rng(0))
        self.F *= self.root[:, None]
        self.inner = self.F.T @ self.F
        r = len(self.inner)
        self.largest = largest_eigenvalue(self.inner.__matmul__, rich_start(r)) if r else 1.0
        self.tiles = KeptTiles(kernel, rows, room)

    def exact(self, B: Array) -> Array:
        """V K V B in double precision, from tiles made anew."""
        return self.root[:, None] * symmetric_times(self.kernel, self.rows, self.root[:, None] * B)

    def quick(self, B: Array) -> Array:
        """V K V B in single precision, from the tiles that are kept."""
        return self.root[:, None] * self.tiles(self.root[:, None] * B)

    def inverse(self, alpha: float, targets: int, most: int = MOST) -> Conjugate:
        """G for this alpha and so many right-hand sides at once, after at most so many products."""
        if alpha <= 0:
            raise InputError(
                "solver='cg' needs alpha above 0; got 0. Use a small positive alpha, or solver='spectral'."
            )
        what = f"The conjugate gradient method on {self.n} rows and {targets} targets"
        promise(8 * self.n * targets * (SUMS + _TABLES), what, "Fit fewer targets at a time.")
        return Conjugate(self, alpha, most)

    def solve(self, Y: Array, alpha: float, solver: str = "cg") -> Solution:
        """Coefficients for targets Y (n x t); by a factor where that was allowed and the iteration took too long."""
        if self._factored is None:
            G = self.inverse(alpha, Y.shape[1], most=worth_products(self.n) if self.choice.replaceable else MOST)
            found: Solution | NotSolved
            try:
                found = solve_by_gradients(G, self.root, Y, intercept=self.intercept)
            except NotSolved as error:
                G.residual, found = math.inf, error
            if not G.has_converged and self.choice.replaceable:
                self._factored = self._direct_system(G)
            if self._factored is None:
                if isinstance(found, NotSolved):
                    raise found
                if not G.has_converged:
                    products = G.single + G.double
                    warn(
                        f"Conjugate gradients did not converge: relative residual {G.residual:.1e} (tolerance "
                        f"{TOLERANCE:.0e}) after {products} matrix products. Use a larger alpha, or "
                        "solver='cholesky'.",
                        ConvergenceWarning,
                    )
                return found
        return self._factored.solve(Y, alpha, "cholesky")

    def _direct_system(self, G: Conjugate) -> DualSystem | None:
        """The system with its matrix, for a factor, if there is room for one once the tiles are gone."""
        self.tiles = KeptTiles(self.kernel, self.rows, 0)
        if int(8.8 * self.n * self.n) > available_bytes():
            return None
        reason = f"{self.choice.reason}; conjugate gradients were too slow: {G.account}"
        K, weights = training_matrix(self.kernel, self.rows), self.root**2 if self.weighted else None
        return DualSystem(K, weights, intercept=self.intercept, reason=reason)

    def at(self, alpha: float, solver: str = "cg") -> DualSolved:
        """Raise an error: variances, evidence and degrees of freedom need a factorization."""
        raise InputError(
            "Standard deviations, evidence and degrees of freedom need a factorization of the "
            f"{self.n} x {self.n} kernel matrix; this model was fitted with solver='cg'. Use solver='cholesky', or "
            "fewer rows."
        )
