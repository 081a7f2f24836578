"""What similarity is: kernels as values, the algebra that combines them, and their certificates."""

from mercer.kernels.algebra import Exp, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.certificate import Certificate, Witness
from mercer.kernels.counts import Jaccard, Spectrum, Subsequence, Words
from mercer.kernels.given import Custom, FromFeatures, Outer, Precomputed
from mercer.kernels.notation import parse
from mercer.kernels.pair import Pair
from mercer.kernels.products import AdditiveChi2, Chi2, Constant, Cosine, Linear, Polynomial, Sigmoid, SquaredDistance
from mercer.kernels.stationary import Gaussian, Laplacian, Matern, Periodic, RationalQuadratic, Stationary
from mercer.kernels.views import Mapped, Normalized, On

__all__ = ["Certificate", "Kernel", "Pair", "Witness", "parse"]
__all__ += ["Gaussian", "Laplacian", "Matern", "Periodic", "RationalQuadratic", "Stationary"]
__all__ += ["AdditiveChi2", "Chi2", "Constant", "Cosine", "Linear", "Polynomial", "Sigmoid", "SquaredDistance"]
__all__ += ["Custom", "FromFeatures", "Jaccard", "Outer", "Precomputed", "Spectrum", "Subsequence", "Words"]
__all__ += ["Exp", "Mapped", "Normalized", "On", "Power", "Product", "Scaled", "Sum"]
