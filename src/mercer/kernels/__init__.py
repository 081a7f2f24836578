"""What similarity is: kernels as values, the algebra that combines them, and their certificates."""

from mercer.kernels.algebra import Exp, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.certificate import Certificate, Witness
from mercer.kernels.counts import Jaccard, Spectrum, Subsequence, Words
from mercer.kernels.given import Custom, FromFeatures, Outer, Precomputed
from mercer.kernels.indefinite import AdditiveChi2, Chi2, Sigmoid, SquaredDistance
from mercer.kernels.notation import parse
from mercer.kernels.pair import Pair
from mercer.kernels.products import Constant, Cosine, Linear, Polynomial
from mercer.kernels.stationary import (
    Gaussian,
    Laplacian,
    Matern,
    Periodic,
    RationalQuadratic,
    Stationary,
)
from mercer.kernels.views import Mapped, Normalized, On

__all__ = [
    "AdditiveChi2",
    "Certificate",
    "Chi2",
    "Constant",
    "Cosine",
    "Custom",
    "Exp",
    "FromFeatures",
    "Gaussian",
    "Jaccard",
    "Kernel",
    "Laplacian",
    "Linear",
    "Mapped",
    "Matern",
    "Normalized",
    "On",
    "Outer",
    "Pair",
    "Periodic",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "SquaredDistance",
    "Stationary",
    "Subsequence",
    "Sum",
    "Witness",
    "Words",
    "parse",
]
