"""Pictures of every concept, in scikit-learn's convention: `from_...` computes and draws, `plot(ax=)` draws again.

matplotlib is loaded when the first picture is drawn; nothing is shown or saved unless you do.
"""

from mercer.displays.bars import BarsDisplay
from mercer.displays.bias_variance import BiasVarianceDisplay
from mercer.displays.boundary import BoundaryDisplay
from mercer.displays.coverage import CoverageDisplay
from mercer.displays.curves import ComplexityDisplay, LearningCurveDisplay
from mercer.displays.effect import EffectDisplay
from mercer.displays.fit import FitDisplay
from mercer.displays.gram import GramDisplay, SpectrumDisplay
from mercer.displays.nested import NestedDisplay
from mercer.displays.null import NullDisplay
from mercer.displays.residuals import ResidualDisplay
from mercer.displays.search import SearchDisplay

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
