"""A kernel on rows that are seen in another way: mapped, some of their columns, or at unit length."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.data.rows import Array, Columns, Rows, XLike, as_rows
from mercer.errors import InputError, refuse_if, sentence
from mercer.kernels.algebra import Composed
from mercer.kernels.base import DIAGONAL_BLOCK, Kernel, Slopes
from mercer.kernels.products import inverse_or_zero
from mercer.kernels.tiles import blocks
from mercer.kernels.value import ATOM, Check, Identity, argument, check_callable, column_names, function_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mercer.kernels.pair import Pair


def _within_base(found: Slopes) -> Slopes:
    return {f"base__{name}": value for name, value in found.items()}


class View(Composed):
    """The base on what it sees of the rows."""

    positive_only = False  # negative numbers may be where the base does not see them; `check` asks it

    base: Kernel

    def base_rows(self, rows: Rows) -> Rows:
        """The rows that the base sees."""
        raise NotImplementedError

    def pair_seen(self, pair: Pair) -> Pair:
        """The pair that the base sees."""
        raise NotImplementedError

    def block(self, pair: Pair) -> Array:
        """The base's tile."""
        return self.base.values(self.pair_seen(pair))

    def logarithm(self, pair: Pair) -> Array | None:
        """The base's logarithms."""
        return self.base.logarithm(self.pair_seen(pair))

    def slopes(self, pair: Pair, weights: Array) -> Slopes:
        """The base's slopes."""
        return _within_base(self.base.slopes(self.pair_seen(pair), weights))

    def diagonal(self, rows: Rows) -> Array:
        """The base's diagonal."""
        return self.base.diagonal(self.base_rows(rows))

    def check(self, rows: Rows) -> None:
        """The base must take what it sees."""
        self.base.check(self.base_rows(rows))

    def count_features(self, rows: Rows) -> int | None:
        """The base's number of features."""
        seen = self.finite and len(rows)
        return self.base.count_features(self.base_rows(rows)) if seen else self.feature_count(rows.width)

    def features(self, rows: Rows) -> Array:
        """The base's features."""
        return self.base.features(self.base_rows(rows))


class Mapped(View):
    """k(f(x), f(z)) for a function f of whole tables."""

    because = (
        "a Mercer kernel of mapped rows is a Mercer kernel (its feature map: that of the kernel after the function)"
    )

    without_gram = (
        "Precomputed().map(...) is not supported: the matrix contains kernel values, not rows. Transform the "
        "data before computing the matrix."
    )

    kind = "any"  # whatever the function takes
    takes_sparse = False  # what the function takes is unknown

    checks: ClassVar[Mapping[str, Check]] = {"function": check_callable}

    function: Callable[[XLike], XLike]

    @property
    def _name(self) -> tuple[str, Identity]:
        return "map", Identity(self.function)

    def _apply(self, values: XLike) -> Rows:
        try:
            rows = as_rows(self.function(values), objects=self.base.kind == "objects")
        except InputError as problem:
            raise InputError(f"The function in {self!r} must return a table: {problem}") from None
        must_be = f"a table of {values.shape[0]} rows, one per row of X"
        refuse_if(len(rows) != values.shape[0], f"The result of {self!r}", must_be, f"{len(rows)} rows")
        return rows

    def base_rows(self, rows: Rows) -> Rows:
        """f(x)."""
        return rows.derive(self._name, self._apply)

    def pair_seen(self, pair: Pair) -> Pair:
        """f(x) and f(z)."""
        return pair.mapped(self._name, self._apply)

    def feature_count(self, width: int) -> int | None:
        """None: the number of columns of the result is unknown."""
        return None

    def feature_labels(self, rows: Rows) -> list[str]:
        """The base's names, of f(x)1, f(x)2, ... unless the function names its columns."""
        after = self.base_rows(rows)
        if after.names is None and not after.objects:
            name = f"{function_name(self.function, 'f')}({argument(rows)})"
            after = Rows(after.values, [f"{name}{j + 1}" for j in range(after.width)])
        return self.base.feature_labels(after)

    def __repr__(self) -> str:
        return f"{self.base.bracket(ATOM)}.map(<{function_name(self.function)}>)"


class On(View):
    """A kernel on some columns only."""

    because = "choosing columns is a map, and a Mercer kernel of mapped rows is a Mercer kernel"

    without_gram = "Precomputed() has no columns to choose from. Remove .on(...)."

    kind = "vectors"  # tables, whatever the chosen columns hold
    takes_objects = True  # other columns may hold anything

    columns: int | str | Sequence[int | str] = 0

    def __post_init__(self) -> None:
        """Refuse what names no column."""
        super().__post_init__()
        refuse_if(not self.keys, "The columns of .on(...)", "a number, a name, or a list of them", repr(self.columns))

    @property
    def keys(self) -> Columns:
        """The columns that the base sees, by number or by name; none where what was given names none."""
        single = isinstance(self.columns, str | numbers.Integral)
        listed: list[Any] = [self.columns] if single else np.atleast_1d(np.asarray(self.columns, dtype=object)).tolist()
        if any(not isinstance(c, str | numbers.Integral) or isinstance(c, bool) for c in listed):
            return ()
        return tuple(c if isinstance(c, str) else int(c) for c in listed)

    def verdict(self) -> tuple[bool | None, str]:
        """The verdict of the base."""
        if self.base.verdict()[0] is False:
            return False, "it is not a Mercer kernel on these columns"
        return super().verdict()

    def counterexample(self) -> XLike:
        """The base's, in these columns of a table of zeros; columns with names need a table of your own."""
        rows, wanted = self.base.counterexample(), self.keys
        if rows is None or any(isinstance(column, str) for column in wanted):
            return None
        inner, places = np.asarray(rows, dtype=np.float64), np.array(wanted)
        table = np.zeros((len(inner), max(0, int(places.max()) + 1) + max(0, -int(places.min()))))
        table[:, places[: inner.shape[1]]] = inner[:, : len(places)]  # other columns may be anything
        return table

    def pair_seen(self, pair: Pair) -> Pair:
        """The columns chosen of the two blocks."""
        return pair.columns(self.keys)

    def derivative(self, x: Rows, z: Rows, columns: tuple[int, ...]) -> Array:
        """The base's, of these columns; zero by the others."""
        places = self.places(x)
        if any(column not in places for column in columns):
            return np.zeros((len(x), len(z)))
        if len(set(places)) < len(places):  # a column that is chosen twice moves in both places
            return super().derivative(x, z, columns)
        own = tuple(places.index(column) for column in columns)
        return self.base.derivative(self.base_rows(x), self.base_rows(z), own)

    def feature_count(self, width: int) -> int | None:
        """Number of features of the base for as many columns."""
        return self.base.feature_count(len(self.keys))

    def base_rows(self, rows: Rows) -> Rows:
        """The columns chosen."""
        return rows.columns(self.keys)

    def places(self, rows: Rows) -> list[int]:
        """The numbers of the columns chosen."""
        return [int(j) for j in Rows(np.arange(rows.width)[None], rows.names).columns(self.keys).values[0]]

    def feature_labels(self, rows: Rows) -> list[str]:
        """The base's names of these columns, which keep their own."""
        part, names = self.base_rows(rows), column_names(rows)
        if not part.objects:
            part = Rows(part.values, [names[j] for j in self.places(rows)])
        return self.base.feature_labels(part)

    def __repr__(self) -> str:
        listed = list(self.keys) if not isinstance(self.columns, str | numbers.Integral) else self.keys[0]
        return f"{self.base.bracket(ATOM)}.on({listed!r})"


class Normalized(Composed):
    """k(x, z) / sqrt(k(x, x) k(z, z)), and 0 where k(x, x) = 0."""

    because = "it is a Mercer kernel with features scaled to length one"
    without_gram = (
        "Precomputed() cannot be normalized: k(x, x) of new rows is not in the matrix. Normalize the matrix before fit."
    )

    base: Kernel

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

    def logarithm(self, pair: Pair) -> Array | None:
        """The base's, less the logarithms of both lengths."""
        found = self.base.logarithm(pair)
        if found is None:
            return None
        with np.errstate(divide="ignore"):
            left, right = (np.log(self._inverse_length(rows)) for rows in (pair.x, pair.z))
        return np.asarray(found + left[:, None] + right)

    def slopes(self, pair: Pair, weights: Array) -> Slopes:
        """Through the tile, and through the lengths of both sides."""
        own = weights * self.values(pair)
        inverse = [inverse_or_zero(self.base.diagonal(rows)) for rows in (pair.x, pair.z)]
        found = self.base.slopes(pair, weights * np.sqrt(inverse[0])[:, None] * np.sqrt(inverse[1]))
        for rows, axis, by in ((pair.x, 1, inverse[0]), (pair.z, 0, inverse[1])):
            for part in blocks(len(rows), DIAGONAL_BLOCK):
                some, m = rows[part], -0.5 * (own.sum(axis=axis) * by)[part]
                square = type(pair)(some, some, same=True, shared=self.base.leaves() > 1)
                for name, value in self.base.slopes(square, np.diag(m)).items():
                    found[name] = found[name] + value
        return _within_base(found)

    def _inverse_length(self, rows: Rows) -> Array:
        with np.errstate(over="ignore"):
            squared = self.base.diagonal(rows)
        finite, least = bool(np.isfinite(squared).all()), squared.min(initial=0.0)
        if not finite or least < 0:
            what = f"k(x, x) of {self.base!r}"
            refuse_if(not finite, what, "finite for .normalized()", "infinity or NaN", "Scale X.")
            raise InputError(sentence(what, "non-negative for .normalized()", float(least)))
        return inverse_or_zero(np.sqrt(squared))

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
        return f"{self.base.bracket(ATOM)}.normalized()"
