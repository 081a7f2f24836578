"""How a system was solved, and how many digits of the solution are correct."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.errors import IllConditionedWarning, NotMercerWarning, SingularSystemWarning, warn

EPS = float(np.finfo(np.float64).eps)
# Past this the smallest eigenvalue is rounding error, and "positive definite" was luck.
SINGULAR = 0.5 / EPS
# Closed forms and refits differ by a few kappa eps; past this much it is worth a word.
_FEW, _WORTH_A_WORD = 3.0, 1e-6


def digits_left(condition: float) -> float:
    """Decimal digits that a system of this condition leaves.

    >>> round(digits_left(1e6)), digits_left(float("inf"))
    (9, 0.0)
    """
    return max(0.0, -math.log10(_FEW * EPS * max(condition, 1.0))) if math.isfinite(condition) else 0.0


@dataclass(frozen=True)
class Route:
    """The route of one solve.

    Attributes
    ----------
    name : str
        cholesky, mixed (single-precision factor, refined to double), spectral, primal or cg.
    reason : str
        Why this one was taken.
    condition : float
        Estimated condition number of the system, infinite where it is singular.
    rank : int
        Rank of the system, as far as double precision can tell.
    size : int
        Number of unknowns.
    negative : float
        The most negative eigenvalue found, 0 for a positive definite system.
    residual : float
        What an iteration left of the right-hand side, relative to it; 0 for factors.
    cancelled : float
        Error of coefficients and predictions beyond that of the factor, in units of the precision: of sums of numbers
        so many times larger than the answer, or of an iteration that ended early.

    Examples
    --------
    >>> from mercer.solvers import Route
    >>> print(Route("cholesky", "dual, 100 rows", condition=1e4, rank=100, size=100))
    cholesky (dual, 100 rows): condition number about 1e+04, 11.2 correct digits
    """

    name: str
    reason: str
    condition: float
    rank: int
    size: int
    negative: float = 0.0
    residual: float = 0.0
    cancelled: float = 1.0

    @property
    def digits(self) -> float:
        """Decimal digits of coefficients and predictions that are correct, of about 15."""
        return digits_left(self.cancelled if self.residual else max(self.condition, self.cancelled))

    @property
    def singular(self) -> bool:
        """Whether the minimum-norm solution of a singular system was used."""
        return self.rank < self.size

    def __str__(self) -> str:
        if self.singular:
            return f"{self.name} ({self.reason}): rank {self.rank} of {self.size}, minimum-norm solution"
        how = f"condition number about {self.condition:.1g}, {self.digits:.1f} correct digits"
        return f"{self.name} ({self.reason}): {how}"

    def warn(self, owner: str, alpha: float) -> None:
        """Warn if the system is indefinite, singular or nearly singular."""
        if self.negative < 0:
            warn(
                f"K + alpha I of {owner} must be positive definite (alpha = {alpha:.3g}); got an eigenvalue of "
                f"{self.negative:.3g}, so the least-squares problem may have no minimum. Use a Mercer kernel, alpha "
                f"above {alpha - self.negative:.3g}, or mercer.repair on the matrix.",
                NotMercerWarning,
            )
        elif self.singular:
            warn(
                f"The system of {owner} is singular: rank {self.rank} of {self.size} with alpha = {alpha:.3g}. "
                "The minimum-norm solution was used; a larger alpha makes it unique.",
                SingularSystemWarning,
            )
        elif self.condition * EPS > _WORTH_A_WORD:
            warn(
                f"The system of {owner} is nearly singular: condition number about {self.condition:.1g} with "
                f"alpha = {alpha:.3g}; about {self.digits:.0f} digits of the solution are correct. Use a larger alpha "
                "for more accuracy.",
                IllConditionedWarning,
            )
