"""New kernels from old ones: each rule is one class, and each keeps Mercer kernels Mercer kernels.

`Composed` is what every kernel made of others has from them: the rows it takes, its verdict, its number of features.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.data.rows import Array, Rows, XLike
from mercer.errors import InputError, refuse_if, sentence
from mercer.kernels.base import ENDLESS, Kernel, Slopes
from mercer.kernels.products import integer_power
from mercer.kernels.tiles import between
from mercer.kernels.value import ATOM, POWER, PRODUCT, SUM, Check, Label, is_real, products, whole_number

if TYPE_CHECKING:
    from mercer.kernels.pair import Pair

_INPUTS = {"gram": "a kernel matrix", "objects": "objects such as texts", "vectors": "rows of numbers"}


def _from_parts(combine: Callable[[Iterable[Any]], object], name: str) -> Any:
    """A property: what this function makes of the property of that name of all parts."""
    return property(lambda self: combine(getattr(part, name) for part in self.parts()))


class Composed(Kernel):
    """A kernel made of others: it takes the rows they take, and is valid where the rule says so."""

    # Why the rule cannot be applied to a matrix that is given in place of X; empty if it can.
    without_gram: ClassVar[str] = ""
    kind = _from_parts(lambda kinds: min({*kinds} - {"any"}, default="any"), "kind")
    positive_only = _from_parts(any, "positive_only")
    trusted = _from_parts(all, "trusted")
    finite = _from_parts(all, "finite")
    fixed = _from_parts(all, "fixed")
    takes_objects = _from_parts(all, "takes_objects")
    takes_sparse = _from_parts(all, "takes_sparse")

    def __post_init__(self) -> None:
        """Refuse members that take different kinds of rows."""
        for name, member in self.items():
            if name in ("k1", "k2", "base") and not isinstance(member, Kernel):
                raise InputError(sentence(f"{name} of {type(self).__name__}", "a kernel", repr(member)))
        kinds = {member.kind for member in self.members().values()} - {"any"}
        if len(kinds) > 1:
            way_out = "Select a column for each with .on('column')."
            if "gram" in kinds:
                way_out = "Compute the matrices of all kernels, combine these, and use Precomputed()."
            raise InputError(
                f"{' and '.join(repr(member) for member in self.members().values())} cannot be combined: one takes "
                f"{', another '.join(_INPUTS[kind] for kind in sorted(kinds))}. {way_out}"
            )
        super().__post_init__()
        if self.without_gram and "gram" in kinds:
            raise InputError(self.without_gram)

    def verdict(self) -> tuple[bool | None, str]:
        """Valid where every member is; otherwise the rule says nothing."""
        if all(member.verdict()[0] for member in self.parts()):
            return True, self.because
        return None, "the rule needs Mercer kernels, and not every part is known to be one"

    def feature_count(self, width: int) -> int | None:
        """What the rule makes of the members' numbers of features."""
        return self._combine_counts([member.feature_count(width) for member in self.parts()])

    def count_features(self, rows: Rows) -> int | None:
        """Number of features, with members that look at one row if need be."""
        return self._combine_counts([member.count_features(rows) for member in self.parts()])

    def _combine_counts(self, counts: list[int | None]) -> int | None:
        known = [count for count in counts if count is not None]
        return min(self.combined_count(*known), ENDLESS) if self.finite and len(known) == len(counts) else None

    def combined_count(self, *counts: int) -> int:
        """The number of features, given that of each member: the base's, unless the rule says otherwise."""
        return counts[0]

    def check(self, rows: Rows) -> None:
        """Rows must suit every member."""
        for member in self.parts():
            member.check(rows)


class Rule(Composed):
    """A function of the values of other kernels, differentiated by the chain rule: by parameters and by columns."""

    def partials(self, values: list[Array]) -> list[Array | float]:
        """Derivatives of the rule by the value of each part, given these values."""
        raise NotImplementedError

    def second_partial(self, values: list[Array], i: int, j: int) -> Array | float:
        """Its second derivative by the values of parts i and j."""
        return 0.0

    def part_names(self) -> list[str]:
        """The parameter that holds each of `parts`."""
        return list(self.members())

    def own_slopes(self, values: list[Array], weights: Array) -> Slopes:
        """Slopes by the rule's own parameters."""
        return {}

    def slopes(self, pair: Pair, weights: Array) -> Slopes:
        """Through each part, with weights times the derivative of the rule by it."""
        parts = self.parts()
        values = [part.values(pair) for part in parts]
        found = self.own_slopes(values, weights)
        for name, part, by in zip(self.part_names(), parts, self.partials(values), strict=True):
            found |= {f"{name}__{inner}": slope for inner, slope in part.slopes(pair, weights * by).items()}
        return found

    def derivative(self, x: Rows, z: Rows, columns: tuple[int, ...]) -> Array:
        """The sum over parts; by two columns also over pairs of parts."""
        parts = self.parts()
        values = [between(part, x, z) for part in parts]
        first = self.partials(values)
        found = sum(by * part.derivative(x, z, columns) for by, part in zip(first, parts, strict=True))
        if len(columns) == 2:
            left, right = ([part.derivative(x, z, (column,)) for part in parts] for column in columns)
            for i, j in itertools.product(range(len(parts)), repeat=2):
                found = found + self.second_partial(values, i, j) * left[i] * right[j]
        return np.asarray(found)


class Chain(Rule):
    """A rule of two members that may be applied many times over: k1 is then a chain itself.

    Long chains are walked and not descended into, so that a sum over hundreds of columns is as good as one of two.
    """

    symbol: ClassVar[str]  # between the parts of the text
    operation: ClassVar[np.ufunc]  # of two values
    log_operation: ClassVar[np.ufunc]  # of the logarithms of two values

    k1: Kernel
    k2: Kernel

    def parts(self) -> tuple[Kernel, ...]:  # type: ignore[override]
        """All terms or factors, from left to right."""
        found: list[Kernel] = []
        kernel: Kernel = self
        while isinstance(kernel, Chain) and type(kernel) is type(self):
            found.append(kernel.k2)
            kernel = kernel.k1
        return (kernel, *reversed(found))

    def part_names(self) -> list[str]:
        """k1__k1, k1__k2, k2 for three parts."""
        last = len(self.parts()) - 1
        return ["__".join(["k1"] * last), *("__".join([*["k1"] * (last - i), "k2"]) for i in range(1, last + 1))]

    def block(self, pair: Pair) -> Array:
        """All tiles, added or multiplied."""
        first, *others = self.parts()
        tile = first.values(pair)
        for part in others:
            other = part.values(pair)
            self.operation(tile, other, out=tile)
            pair.give_back(other)
        return tile

    def logarithm(self, pair: Pair) -> Array | None:
        """The logarithm of the sum or product, from those of the parts; None if one has none."""
        logs = [log for part in self.parts() if (log := part.logarithm(pair)) is not None]
        return reduce(self.log_operation, logs) if len(logs) == len(self.parts()) else None

    def diagonal(self, rows: Rows) -> Array:
        """All diagonals, added or multiplied."""
        return reduce(self.operation, (part.diagonal(rows) for part in self.parts()))

    def _key(self) -> tuple[object, ...]:
        return type(self), *self.parts()

    def __repr__(self) -> str:
        first, *others = self.parts()
        return self.symbol.join([first.bracket(self.binding), *(part.bracket(self.binding + 1) for part in others)])


class Sum(Chain):
    """k1 + k2."""

    because = "a sum of Mercer kernels is a Mercer kernel (its feature map: both feature maps, concatenated)"
    binding = SUM
    symbol = " + "
    operation = np.add
    log_operation = np.logaddexp

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

    because = "a product of Mercer kernels is a Mercer kernel (its feature map: all products of two features)"
    binding = PRODUCT
    symbol = " * "
    operation = np.multiply
    log_operation = np.add

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

    because = (
        "a non-negative multiple of a Mercer kernel is a Mercer kernel (its feature map: multiplied by the square "
        "root of the factor)"
    )
    binding = PRODUCT

    base: Kernel
    factor: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a negative factor."""
        super().__post_init__()
        bad, hint = not is_real(self.factor) or self.factor < 0, "A negative multiple of a kernel is not a kernel."
        refuse_if(bad, "The factor of a kernel", "a non-negative number", repr(self.factor), hint)

    def verdict(self) -> tuple[bool | None, str]:
        """The verdict of the base: scaling changes no sign."""
        valid, _ = self.base.verdict()
        if valid is False and self.factor > 0:
            return False, "a positive multiple of a kernel that is not a Mercer kernel is not a Mercer kernel"
        return (True, "it is zero everywhere") if self.factor == 0 else super().verdict()

    def counterexample(self) -> XLike:
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

    because = "a whole power of a Mercer kernel is a product of Mercer kernels"
    binding = POWER

    checks: ClassVar[Mapping[str, Check]] = {"exponent": whole_number}

    base: Kernel
    exponent: int = 2

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

    because = (
        "exp is a power series with positive coefficients, and sums, products and limits of Mercer kernels are Mercer "
        "kernels"
    )

    finite = False

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
