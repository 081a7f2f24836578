"""Scores as people read them: a root of squares in the target's unit, or a share of wrong labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

_SQUARES = {None, "neg_mean_squared_error", "mean_squared_error"}
_RIGHT = {None, "accuracy"}


@dataclass(frozen=True)
class AsError:
    """How a score of scikit-learn's sign is told.

    Attributes
    ----------
    measure : str
        What the number is.
    kind : {"root", "share", "score"}
        Root of minus the score, one less the score, or the score itself.
    """

    measure: str
    kind: str

    @classmethod
    def of(cls, scoring: Any, *, classifier: bool) -> AsError:
        """The first line that fits decides.

        ==============================================  ===========================
        regression, mean squared error (the default)    root mean squared error
        classification, accuracy (the default)          share of wrong labels
        any other score                                 the score, by its name
        ==============================================  ===========================

        Examples
        --------
        >>> from mercer.estimators.error_scale import AsError
        >>> squares = AsError.of(None, classifier=False)
        >>> squares.measure, squares.value(-4.0), squares.spread(0.4, -4.0)
        ('root mean squared error', 2.0, 0.1)
        >>> AsError.of("r2", classifier=False).value(0.5)
        0.5
        """
        known: str | None = scoring if scoring is None or isinstance(scoring, str) else ""
        if not classifier and known in _SQUARES:
            return cls("root mean squared error", "root")
        if classifier and known in _RIGHT:
            return cls("share of wrong labels", "share")
        return cls(str(known or getattr(scoring, "__name__", scoring)), "score")

    @property
    def smaller_is_better(self) -> bool:
        """True for errors, False for scores."""
        return self.kind != "score"

    def value(self, score: float) -> float:
        """The number that is told."""
        if self.kind == "root":
            return math.sqrt(max(-score, 0.0))
        return 1.0 - score if self.kind == "share" else score

    def spread(self, standard_error: float, score: float) -> float:
        """Its standard error, from that of the score."""
        if self.kind != "root":
            return standard_error
        error = self.value(score)
        return standard_error / (2.0 * error) if error else 0.0
