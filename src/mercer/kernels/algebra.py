"""New kernels from old ones: each rule is one class, and each keeps Mercer kernels Mercer kernels."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.data.rows import Array, Columns, Rows, as_rows
from mercer.errors import InputError, sentence
from mercer.kernels.base import ATOM, ENDLESS, POWER, PRODUCT, SUM, Identity, Kernel, function_name, short_name
from mercer.kernels.labels import Label, argument, column_names, products, scaled
from mercer.kernels.parameters import is_real, vectorised, whole_number
from mercer.kernels.products import integer_power

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mercer.kernels.pair import Pair


class Composed(Kernel):
    """A kernel made of others: it takes the rows they take, and is valid where the rule says so."""

    def __post_init__(self) -> None:
        """Refuse members that take different kinds of rows."""
        for name, member in self.items():
            if name in ("k1", "k2", "base") and not isinstance(member, Kernel):
                raise InputError(sentence(f"{name} of {type(self).__name__}", "a kernel", repr(member)))
        kinds = {member.kind for member in self.members().values()} - {"any"}
        if len(kinds) > 1:
            way_out = "Give each its own column with .on('column')."
            if "gram" in kinds:
                way_out = "Compute the other kernel's matrix too, and give Precomputed() the combined one."
            raise InputError(
                f"{' and '.join(repr(member) for member in self.members().values())} take different kinds of "
                f"rows ({' and '.join(sorted(kinds))}). {way_out}"
            )

    # The kind and trust of a composed kernel are those of its members.
    @property
    def kind(self) -> str:  # type: ignore[override]
        """What rows all members take."""
        kinds = {member.kind for member in self.members().values()} - {"any"}
        return kinds.pop() if kinds else "any"

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """Whether every member's values can be relied on."""
        return all(member.trusted for member in self.members().values())

    @property
    def finite(self) -> bool:  # type: ignore[override]
        """Whether every member has explicit features."""
        return all(member.finite for member in self.members().values())

    @property
    def fixed(self) -> bool:  # type: ignore[override]
        """Whether the features of every member are the same for all rows."""
        return all(member.fixed for member in self.members().values())

    @property
    def takes_objects(self) -> bool:
        """Whether every member takes objects."""
        return all(member.takes_objects for member in self.members().values())

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Whether every member takes sparse rows."""
        return all(member.takes_sparse for member in self.members().values())

    @property
    def positive_only(self) -> bool:  # type: ignore[override]
        """Whether a member refuses negative numbers."""
        return any(member.positive_only for member in self.members().values())

    def verdict(self) -> tuple[bool | None, str]:
        """Valid where every member is; otherwise the rule says nothing."""
        if all(member.verdict()[0] for member in self.members().values()):
            return True, self.because
        return None, "the rule needs Mercer kernels, and not every part is known to be one"

    def feature_count(self, width: int) -> int | None:
        """What the rule makes of the members' numbers of features."""
        return self._counted([member.feature_count(width) for member in self.members().values()])

    def count_features(self, rows: Rows) -> int | None:
        """The same, with members that look at one row if need be."""
        return self._counted([member.count_features(rows) for member in self.members().values()])

    def _counted(self, counts: list[int | None]) -> int | None:
        known = [count for count in counts if count is not None]
        return min(self.combined_count(*known), ENDLESS) if self.finite and len(known) == len(counts) else None

    def combined_count(self, *counts: int) -> int:
        """The number of features, given that of each member: the base's, unless the rule says otherwise."""
        return counts[0]

    def check(self, rows: Rows) -> None:
        """Rows must suit every member."""
        for member in self.members().values():
            member.check(rows)


class Sum(Composed):
    """k1 + k2."""

    because: ClassVar[str] = "a sum of Mercer kernels is one (phi: both feature maps side by side)"
    binding: ClassVar[int] = SUM

    k1: Kernel
    k2: Kernel

    def block(self, pair: Pair) -> Array:
        """Both tiles, added."""
        tile = self.k1.values(pair)
        other = self.k2.values(pair)
        tile += other
        pair.give_back(other)
        return tile

    def diagonal(self, rows: Rows) -> Array:
        """Both diagonals, added."""
        return self.k1.diagonal(rows) + self.k2.diagonal(rows)

    def combined_count(self, *counts: int) -> int:
        """As many as both have."""
        return sum(counts)

    def features(self, rows: Rows) -> Array:
        """Both, side by side."""
        return np.hstack([self.k1.features(rows), self.k2.features(rows)])

    def feature_labels(self, rows: Rows) -> list[str]:
        """Both, one after the other."""
        return self.k1.feature_labels(rows) + self.k2.feature_labels(rows)

    def __repr__(self) -> str:
        return f"{self.k1.bracketed(SUM)} + {self.k2.bracketed(PRODUCT)}"


class Product(Composed):
    """k1 k2."""

    because: ClassVar[str] = "a product of Mercer kernels is one (phi: all products of two features)"
    binding: ClassVar[int] = PRODUCT

    k1: Kernel
    k2: Kernel

    def block(self, pair: Pair) -> Array:
        """Both tiles, multiplied."""
        tile = self.k1.values(pair)
        other = self.k2.values(pair)
        tile *= other
        pair.give_back(other)
        return tile

    def diagonal(self, rows: Rows) -> Array:
        """Both diagonals, multiplied."""
        return self.k1.diagonal(rows) * self.k2.diagonal(rows)

    def combined_count(self, *counts: int) -> int:
        """Every feature of one times every feature of the other."""
        return math.prod(counts)

    def features(self, rows: Rows) -> Array:
        """All products of a feature of one with a feature of the other."""
        return column_products(self.k1.features(rows), self.k2.features(rows))

    def feature_labels(self, rows: Rows) -> list[str]:
        """All products of a name of one with a name of the other."""
        return products(self.k1.feature_labels(rows), self.k2.feature_labels(rows))

    def __repr__(self) -> str:
        return f"{self.k1.bracketed(PRODUCT)} * {self.k2.bracketed(POWER)}"


class Scaled(Composed):
    """factor k, for a factor that is not negative."""

    because: ClassVar[str] = "a non-negative multiple of a Mercer kernel is one (phi scaled by the square root)"
    binding: ClassVar[int] = PRODUCT

    base: Kernel
    factor: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a negative factor."""
        super().__post_init__()
        if not is_real(self.factor) or self.factor < 0:
            raise InputError(
                sentence(
                    "The factor of a kernel",
                    "a non-negative number",
                    repr(self.factor),
                    "A negative multiple of a kernel is none.",
                )
            )

    def verdict(self) -> tuple[bool | None, str]:
        """As its base: scaling changes no sign."""
        valid, _ = self.base.verdict()
        if valid is False and self.factor > 0:
            return False, "a positive multiple of what is no Mercer kernel is none"
        return (True, "it is zero everywhere") if self.factor == 0 else super().verdict()

    def counterexample(self) -> Any:
        """The base's."""
        return self.base.counterexample()

    def block(self, pair: Pair) -> Array:
        """The tile, scaled."""
        tile = self.base.values(pair)
        tile *= float(self.factor)
        return tile

    def diagonal(self, rows: Rows) -> Array:
        """The diagonal, scaled."""
        return float(self.factor) * self.base.diagonal(rows)

    def features(self, rows: Rows) -> Array:
        """The base's, times the square root of the factor."""
        return np.asarray(np.sqrt(float(self.factor)) * self.base.features(rows))

    def feature_labels(self, rows: Rows) -> list[str]:
        """The base's, with the square root of the factor in front."""
        return scaled(math.sqrt(float(self.factor)), self.base.feature_labels(rows))

    def __repr__(self) -> str:
        return f"{float(self.factor)!r} * {self.base.bracketed(POWER)}"


class Power(Composed):
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
        result = single
        for _ in range(int(self.exponent) - 1):
            result = column_products(result, single)
        return result

    def feature_labels(self, rows: Rows) -> list[str]:
        """All products of as many names as the exponent says."""
        single = self.base.feature_labels(rows)
        if len(single) == 1:
            return [Label.of(single[0]).raised(int(self.exponent))]
        result = single
        for _ in range(int(self.exponent) - 1):
            result = products(result, single)
        return result

    def __repr__(self) -> str:
        return f"{self.base.bracketed(ATOM)} ** {int(self.exponent)}"


class Exp(Composed):
    """exp(k)."""

    because: ClassVar[str] = "exp is a power series with positive coefficients: sums, products, limits"

    base: Kernel

    @property
    def finite(self) -> bool:  # type: ignore[override]
        """Its features are infinitely many."""
        return False

    def block(self, pair: Pair) -> Array:
        """exp of the tile."""
        tile = self.base.values(pair)
        return np.exp(tile, out=tile)

    def diagonal(self, rows: Rows) -> Array:
        """exp of the diagonal."""
        return np.asarray(np.exp(self.base.diagonal(rows)))

    def __repr__(self) -> str:
        return f"{self.base.bracketed(ATOM)}.exp()"


class Mapped(Composed):
    """k(f(x), f(z)) for a function f of whole tables."""

    because: ClassVar[str] = "a Mercer kernel of mapped rows is one (phi after f)"

    base: Kernel
    function: Callable[[Any], Any]

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Whatever the function takes."""
        return "any"

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Nobody knows what the function takes."""
        return False

    @property
    def positive_only(self) -> bool:  # type: ignore[override]
        """The function decides what the base sees."""
        return False

    def __post_init__(self) -> None:
        """Refuse what cannot be called."""
        super().__post_init__()
        vectorised(self, "function", self.function)
        if self.base.kind == "gram":
            raise InputError("Precomputed() cannot be mapped: its rows are values of a kernel already. Map the matrix.")

    @property
    def _name(self) -> tuple[str, Identity]:
        return "map", Identity(self.function)

    def _apply(self, values: Any) -> Rows:
        try:
            rows = as_rows(self.function(values), objects=self.base.kind == "objects")
        except InputError as problem:
            raise InputError(f"The result of {self!r} is no table: {problem}") from None
        if len(rows) != values.shape[0]:
            raise InputError(
                sentence(
                    f"The result of {self!r}",
                    f"a table of {values.shape[0]} rows, one per row of X",
                    f"{len(rows)} rows",
                )
            )
        return rows

    def seen(self, rows: Rows) -> Rows:
        """What the base sees of these rows: f(x)."""
        return rows.derive(self._name, self._apply)

    def block(self, pair: Pair) -> Array:
        """The base's tile of mapped rows."""
        return self.base.values(self.pair_seen(pair))

    def pair_seen(self, pair: Pair) -> Pair:
        """What the base sees."""
        return pair.mapped(self._name, self._apply)

    def diagonal(self, rows: Rows) -> Array:
        """The base's diagonal of mapped rows."""
        return self.base.diagonal(self.seen(rows))

    def check(self, rows: Rows) -> None:
        """The mapped rows must suit the base."""
        self.base.check(self.seen(rows))

    def feature_count(self, width: int) -> int | None:
        """Nobody knows how many columns the function makes."""
        return None

    def count_features(self, rows: Rows) -> int | None:
        """As many as the base has of mapped rows."""
        return self.base.count_features(self.seen(rows)) if self.finite and len(rows) else None

    def features(self, rows: Rows) -> Array:
        """The base's features of mapped rows."""
        return self.base.features(self.seen(rows))

    def feature_labels(self, rows: Rows) -> list[str]:
        """The base's names, of f(x)1, f(x)2, ... unless the function names its columns."""
        after = self.seen(rows)
        if after.names is None and not after.objects:
            name = f"{short_name(self.function)}({argument(rows)})"
            after = Rows(after.values, [f"{name}{j + 1}" for j in range(after.width)])
        return self.base.feature_labels(after)

    def __repr__(self) -> str:
        return f"{self.base.bracketed(ATOM)}.map(<{function_name(self.function)}>)"


class On(Composed):
    """A kernel on some columns only."""

    because: ClassVar[str] = "choosing columns is a map, and a Mercer kernel of mapped rows is one"

    base: Kernel
    columns: int | str | Sequence[int | str] = 0

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Tables, whatever the chosen columns hold."""
        return "vectors"

    @property
    def takes_objects(self) -> bool:
        """Other columns may hold anything."""
        return True

    @property
    def positive_only(self) -> bool:  # type: ignore[override]
        """Other columns may be negative."""
        return False

    def __post_init__(self) -> None:
        """Refuse what names no column."""
        super().__post_init__()
        if self.base.kind == "gram":
            raise InputError("Precomputed() has no columns to choose from; leave out .on(...).")
        wanted = self._wanted
        if not wanted:
            raise InputError(
                sentence("The columns of .on(...)", "a number, a name, or a list of them", repr(self.columns))
            )

    @property
    def _wanted(self) -> Columns:
        single = isinstance(self.columns, str | numbers.Integral)
        listed: list[Any] = [self.columns] if single else np.atleast_1d(np.asarray(self.columns, dtype=object)).tolist()
        if any(not isinstance(c, str | numbers.Integral) or isinstance(c, bool) for c in listed):
            return ()
        return tuple(c if isinstance(c, str) else int(c) for c in listed)

    @property
    def chosen(self) -> int:
        """How many columns the base sees."""
        return len(self._wanted)

    def verdict(self) -> tuple[bool | None, str]:
        """As its base."""
        valid, _ = self.base.verdict()
        if valid is False:
            return False, "it is no Mercer kernel on these columns"
        return super().verdict()

    def counterexample(self) -> Any:
        """The base's, in these columns of a table of zeros; columns with names need a table of your own."""
        rows, wanted = self.base.counterexample(), self._wanted
        if rows is None or any(isinstance(column, str) for column in wanted):
            return None
        inner, places = np.asarray(rows, dtype=np.float64), np.array(wanted)
        table = np.zeros((len(inner), max(0, int(places.max()) + 1) + max(0, -int(places.min()))))
        table[:, places[: inner.shape[1]]] = inner[:, : len(places)]  # other columns may be anything
        return table

    def block(self, pair: Pair) -> Array:
        """The base's tile of these columns."""
        return self.base.values(self.pair_seen(pair))

    def pair_seen(self, pair: Pair) -> Pair:
        """What the base sees."""
        return pair.columns(self._wanted)

    def diagonal(self, rows: Rows) -> Array:
        """The base's diagonal of these columns."""
        return self.base.diagonal(self.seen(rows))

    def check(self, rows: Rows) -> None:
        """The chosen columns must suit the base."""
        self.base.check(self.seen(rows))

    def feature_count(self, width: int) -> int | None:
        """As many as the base has for as many columns."""
        return self.base.feature_count(len(self._wanted))

    def count_features(self, rows: Rows) -> int | None:
        """As many as the base has of these columns."""
        return self.base.count_features(self.seen(rows))

    def seen(self, rows: Rows) -> Rows:
        """What the base sees of these rows: the columns chosen."""
        return rows.columns(self._wanted)

    def places(self, rows: Rows) -> list[int]:
        """The numbers of the columns chosen."""
        return [int(j) for j in Rows(np.arange(rows.width)[None], rows.names).columns(self._wanted).values[0]]

    def features(self, rows: Rows) -> Array:
        """The base's features of these columns."""
        return self.base.features(self.seen(rows))

    def feature_labels(self, rows: Rows) -> list[str]:
        """The base's names of these columns, which keep their own."""
        part, names = self.seen(rows), column_names(rows)
        if not part.objects:
            part = Rows(part.values, [names[j] for j in self.places(rows)])
        return self.base.feature_labels(part)

    def __repr__(self) -> str:
        listed = list(self._wanted) if not isinstance(self.columns, str | numbers.Integral) else self._wanted[0]
        return f"{self.base.bracketed(ATOM)}.on({listed!r})"


class Normalized(Composed):
    """k(x, z) / sqrt(k(x, x) k(z, z)), and 0 where k(x, x) = 0."""

    because: ClassVar[str] = "it is a Mercer kernel with features scaled to length one"

    base: Kernel

    def __post_init__(self) -> None:
        """Refuse a kernel whose k(x, x) is not to be had."""
        super().__post_init__()
        if self.base.kind == "gram":
            raise InputError(
                "Precomputed() cannot be normalized: k(x, x) of new rows is not in the matrix. "
                "Normalise the matrix itself before giving it."
            )

    def block(self, pair: Pair) -> Array:
        """The base's tile divided by both lengths; exactly 1 (or 0) on the diagonal."""
        left = self._inverse_length(pair.x)
        right = left if pair.same else self._inverse_length(pair.z)
        tile = self.base.values(pair)
        tile *= left[:, None]
        tile *= right
        if pair.same:
            np.fill_diagonal(tile, left > 0)
        return tile

    def _inverse_length(self, rows: Rows) -> Array:
        squared = self.base.diagonal(rows)
        if squared.min(initial=0.0) < 0:
            raise InputError(
                sentence(f"k(x, x) of {self.base!r}", "non-negative to be normalized", float(squared.min()))
            )
        length = np.sqrt(squared)
        return np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)

    def diagonal(self, rows: Rows) -> Array:
        """1, or 0 where k(x, x) = 0."""
        return (self._inverse_length(rows) > 0).astype(np.float64)

    def features(self, rows: Rows) -> Array:
        """The base's features, scaled to length one."""
        return self.base.features(rows) * self._inverse_length(rows)[:, None]

    def feature_labels(self, rows: Rows) -> list[str]:
        """The base's names over the length of its features."""
        return [f"{label}/|phi|" for label in self.base.feature_labels(rows)]

    def __repr__(self) -> str:
        return f"{self.base.bracketed(ATOM)}.normalized()"


def column_products(left: Array, right: Array) -> Array:
    """Every column of one times every column of the other, row by row."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), left.shape[1] * right.shape[1])
