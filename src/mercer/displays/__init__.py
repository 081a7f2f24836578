"""Pictures of every concept, in scikit-learn's convention: `from_...` computes and draws, `plot(ax=)` draws again.

matplotlib is loaded when the first picture is drawn; nothing is shown or saved unless you do.
"""

from mercer.displays.curves import BiasVarianceDisplay, ComplexityDisplay, LearningCurveDisplay
from mercer.displays.errors import CoverageDisplay, NestedDisplay, NullDisplay, ResidualDisplay
from mercer.displays.fits import BarsDisplay, BoundaryDisplay, EffectDisplay, FitDisplay
from mercer.displays.selection import GramDisplay, SearchDisplay, SpectrumDisplay

__all__ = [
    "BarsDisplay",
    "BiasVarianceDisplay",
    "BoundaryDisplay",
    "ComplexityDisplay",
    "CoverageDisplay",
    "EffectDisplay",
    "FitDisplay",
    "GramDisplay",
    "LearningCurveDisplay",
    "NestedDisplay",
    "NullDisplay",
    "ResidualDisplay",
    "SearchDisplay",
    "SpectrumDisplay",
]
