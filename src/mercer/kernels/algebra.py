"""New kernels from old ones: each rule is one class, and each keeps Mercer kernels Mercer kernels."""

from __future__ import annotations

import math
from functools import reduce
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, sentence
from mercer.kernels.base import Kernel, Slopes
from mercer.kernels.composed import Chain, Rule
from mercer.kernels.labels import Label, products
from mercer.kernels.products import integer_power
from mercer.kernels.value import ATOM, POWER, PRODUCT, SUM, is_real, whole_number

if TYPE_CHECKING:
    from mercer.kernels.pair import Pair


class Sum(Chain):
    """k1 + k2."""

    because: ClassVar[str] = (
        "a sum of Mercer kernels is a Mercer kernel (its feature map: both feature maps, concatenated)"
    )
    binding: ClassVar[int] = SUM
    symbol: ClassVar[str] = " + "
    operation: ClassVar[np.ufunc] = np.add
    log_operation: ClassVar[np.ufunc] = np.logaddexp

    def partials(self, values: list[Array]) -> list[Array | float]:
        """1 for every term."""
        return [1.0] * len(values)

    def combined_count(self, *counts: int) -> int:
        """Sum of the terms' numbers of features."""
        return sum(counts)

    def features(self, rows: Rows) -> Array:
        """All, side by side."""
        return np.hstack([part.features(rows) for part in self.parts()])

    def feature_labels(self, rows: Rows) -> list[str]:
        """All, one after the other."""
        return [label for part in self.parts() for label in part.feature_labels(rows)]


class Product(Chain):
    """k1 k2."""

    because: ClassVar[str] = (
        "a product of Mercer kernels is a Mercer kernel (its feature map: all products of two features)"
    )
    binding: ClassVar[int] = PRODUCT
    symbol: ClassVar[str] = " * "
    operation: ClassVar[np.ufunc] = np.multiply
    log_operation: ClassVar[np.ufunc] = np.add

    def partials(self, values: list[Array]) -> list[Array | float]:
        """The product of the other factors."""
        return [_product_without(values, {i}) for i in range(len(values))]

    def second_partial(self, values: list[Array], i: int, j: int) -> Array | float:
        """The product of the factors but two."""
        return 0.0 if i == j else _product_without(values, {i, j})

    def combined_count(self, *counts: int) -> int:
        """Every feature of one times every feature of the others."""
        return math.prod(counts)

    def features(self, rows: Rows) -> Array:
        """All products of a feature of each."""
        return reduce(column_products, (part.features(rows) for part in self.parts()))

    def feature_labels(self, rows: Rows) -> list[str]:
        """All products of a name of each."""
        return reduce(products, (part.feature_labels(rows) for part in self.parts()))


class Scaled(Rule):
    """factor k, for a factor that is not negative."""

    because: ClassVar[str] = (
        "a non-negative multiple of a Mercer kernel is a Mercer kernel (its feature map: multiplied by the square "
        "root of the factor)"
    )
    binding: ClassVar[int] = PRODUCT

    base: Kernel
    factor: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a negative factor."""
        super().__post_init__()
        if not is_real(self.factor) or self.factor < 0:
            hint = "A negative multiple of a kernel is not a kernel."
            raise InputError(sentence("The factor of a kernel", "a non-negative number", repr(self.factor), hint))

    def verdict(self) -> tuple[bool | None, str]:
        """The verdict of the base: scaling changes no sign."""
        valid, _ = self.base.verdict()
        if valid is False and self.factor > 0:
            return False, "a positive multiple of a kernel that is not a Mercer kernel is not a Mercer kernel"
        return (True, "it is zero everywhere") if self.factor == 0 else super().verdict()

    def counterexample(self) -> Any:
        """The base's."""
        return self.base.counterexample()

    def block(self, pair: Pair) -> Array:
        """The tile, scaled."""
        tile = self.base.values(pair)
        tile *= float(self.factor)
        return tile

    def logarithm(self, pair: Pair) -> Array | None:
        """The base's, plus that of the factor."""
        found = self.base.logarithm(pair)
        return None if found is None or self.factor == 0 else found + math.log(float(self.factor))

    def partials(self, values: list[Array]) -> list[Array | float]:
        """The factor."""
        return [float(self.factor)]

    def own_slopes(self, values: list[Array], weights: Array) -> Slopes:
        """By the factor: the kernel itself."""
        return {"factor": float(self.factor) * np.asarray(np.vdot(weights, values[0]))} if self.factor > 0 else {}

    def diagonal(self, rows: Rows) -> Array:
        """The diagonal, scaled."""
        return float(self.factor) * self.base.diagonal(rows)

    def features(self, rows: Rows) -> Array:
        """The base's, times the square root of the factor."""
        return np.asarray(np.sqrt(float(self.factor)) * self.base.features(rows))

    def feature_labels(self, rows: Rows) -> list[str]:
        """The base's, with the square root of the factor in front."""
        return products([Label.make(math.sqrt(float(self.factor)), ())], self.base.feature_labels(rows))

    def __repr__(self) -> str:
        return f"{float(self.factor)!r} * {self.base.bracket(POWER)}"


class Power(Rule):
    """k^exponent, for a positive whole exponent."""

    because: ClassVar[str] = "a whole power of a Mercer kernel is a product of Mercer kernels"
    binding: ClassVar[int] = POWER

    base: Kernel
    exponent: int = 2

    def __post_init__(self) -> None:
        """Refuse exponents that are no positive whole numbers."""
        super().__post_init__()
        whole_number(self, "exponent", self.exponent)

    def block(self, pair: Pair) -> Array:
        """The tile, raised."""
        return integer_power(self.base.values(pair), int(self.exponent), pair)

    def logarithm(self, pair: Pair) -> Array | None:
        """The base's, times the exponent."""
        found = self.base.logarithm(pair)
        return None if found is None else int(self.exponent) * found

    def partials(self, values: list[Array]) -> list[Array | float]:
        """exponent k^(exponent - 1)."""
        return [int(self.exponent) * values[0] ** (int(self.exponent) - 1)]

    def second_partial(self, values: list[Array], i: int, j: int) -> Array | float:
        """exponent (exponent - 1) k^(exponent - 2)."""
        exponent = int(self.exponent)
        return np.asarray(exponent * (exponent - 1) * values[0] ** max(exponent - 2, 0))

    def diagonal(self, rows: Rows) -> Array:
        """The diagonal, raised."""
        return np.asarray(self.base.diagonal(rows) ** int(self.exponent))

    def combined_count(self, *counts: int) -> int:
        """All products of as many features as the exponent says."""
        (count,) = counts
        return int(count ** min(int(self.exponent), 62)) if count > 1 else count  # 2**62 is beyond any memory

    def features(self, rows: Rows) -> Array:
        """All products of as many features as the exponent says."""
        single = self.base.features(rows)
        if single.shape[1] == 1:
            return np.asarray(single ** int(self.exponent))
        return reduce(column_products, repeat(single, int(self.exponent)))

    def feature_labels(self, rows: Rows) -> list[str]:
        """All products of as many names as the exponent says."""
        single = self.base.feature_labels(rows)
        if len(single) == 1:
            return [Label.of(single[0]).power(int(self.exponent))]
        return reduce(products, repeat(single, int(self.exponent)))

    def __repr__(self) -> str:
        return f"{self.base.bracket(ATOM)} ** {int(self.exponent)}"


class Exp(Rule):
    """exp(k)."""

    because: ClassVar[str] = (
        "exp is a power series with positive coefficients, and sums, products and limits of Mercer kernels are Mercer "
        "kernels"
    )

    finite: ClassVar[bool] = False

    base: Kernel

    def block(self, pair: Pair) -> Array:
        """exp of the tile."""
        tile = self.base.values(pair)
        return np.exp(tile, out=tile)

    def logarithm(self, pair: Pair) -> Array:
        """The base's values."""
        return self.base.values(pair)

    def partials(self, values: list[Array]) -> list[Array | float]:
        """exp(k)."""
        return [np.exp(values[0])]

    def second_partial(self, values: list[Array], i: int, j: int) -> Array | float:
        """exp(k)."""
        return np.asarray(np.exp(values[0]))

    def diagonal(self, rows: Rows) -> Array:
        """exp of the diagonal."""
        return np.asarray(np.exp(self.base.diagonal(rows)))

    def __repr__(self) -> str:
        return f"{self.base.bracket(ATOM)}.exp()"


def _product_without(values: list[Array], left_out: set[int]) -> Array | float:
    """The product of all values but those of these places."""
    return math.prod((value for place, value in enumerate(values) if place not in left_out), start=1.0)


def column_products(left: Array, right: Array) -> Array:
    """Every column of one times every column of the other, row by row."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), left.shape[1] * right.shape[1])
