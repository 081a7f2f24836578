"""What every kernel made of others has from them: the rows it takes, its verdict, its number of features."""

from __future__ import annotations

import itertools
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, sentence
from mercer.kernels.base import ENDLESS, Kernel, Slopes
from mercer.kernels.tiles import between

if TYPE_CHECKING:
    from mercer.kernels.pair import Pair


_INPUTS = {"gram": "a kernel matrix", "objects": "objects such as texts", "vectors": "rows of numbers"}


def _holds_for_all_parts(name: str) -> Any:
    """A property: whether this property holds for every part."""
    return property(lambda self: all(getattr(part, name) for part in self.parts()))


class Composed(Kernel):
    """A kernel made of others: it takes the rows they take, and is valid where the rule says so."""

    kind: ClassVar[Any] = property(lambda self: min({part.kind for part in self.parts()} - {"any"}, default="any"))
    positive_only: ClassVar[Any] = property(lambda self: any(part.positive_only for part in self.parts()))
    trusted: ClassVar[Any] = _holds_for_all_parts("trusted")
    finite: ClassVar[Any] = _holds_for_all_parts("finite")
    fixed: ClassVar[Any] = _holds_for_all_parts("fixed")
    takes_objects: ClassVar[Any] = _holds_for_all_parts("takes_objects")
    takes_sparse: ClassVar[Any] = _holds_for_all_parts("takes_sparse")

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

    def _key(self) -> tuple[Any, ...]:
        return type(self), *self.parts()

    def __repr__(self) -> str:
        first, *others = self.parts()
        return self.symbol.join([first.bracket(self.binding), *(part.bracket(self.binding + 1) for part in others)])
