"""The score of a search beside its scores on permuted targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from mercer.data.rows import Array
from mercer.displays.look import GREY, VERMILION, Display, grid_lines, larger, named


@dataclass(eq=False, repr=False)
class NullDisplay(Display):
    """Scores of permutations, and the score of the targets as observed; `mercer.permutation_test` computes them.

    Parameters
    ----------
    null : ndarray of shape (permutations,)
        Scores of permuted targets.
    score, pvalue : float
        The score of the targets as observed, and what the test makes of it.
    scoring : str, default="score"
        Name of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.displays import NullDisplay
    >>> NullDisplay(np.linspace(-2.0, -1.0, 50), -0.5, 0.02).plot().ax_.get_xlabel()
    'score (larger is better)'
    """

    null: Array
    score: float
    pvalue: float
    scoring: str = "score"

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        self
        """
        ax = self._on(ax, (6.0, 3.8))
        grid_lines(ax, "y")
        ax.hist(self.null, bins=min(40, max(5, len(self.null) // 10)), color=GREY, label="permuted targets")
        ax.axvline(self.score, color=VERMILION, linewidth=2.0, label=f"as observed, p = {self.pvalue:.3g}")
        named(ax, larger(self.scoring), f"of {len(self.null)} permutations")
        ax.legend(frameon=False)
        return self
