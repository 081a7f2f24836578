"""A kernel as a value: parameters by name as scikit-learn knows them and their validation, equality, hash and text.

And names of explicit features: products of columns, each with its factor, written as a person would.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias, TypeGuard

import numpy as np

from mercer.data.checks import KeywordHints, as_numbers
from mercer.data.rows import Array, Rows
from mercer.errors import InputError, nearest, refuse_if, sentence

# How tightly a kernel's text binds: what stands to its left or right decides about brackets.
SUM, PRODUCT, POWER, ATOM = range(4)


class Value(KeywordHints):
    """Something frozen, made of named parameters, some of which are such values themselves."""

    binding: ClassVar[int] = ATOM

    # -- parameters, as scikit-learn knows them ---------------------------------------------------

    @classmethod
    def _names(cls) -> tuple[str, ...]:
        return tuple(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]

    def items(self) -> Iterator[tuple[str, Any]]:
        """Parameter names and values, in order."""
        for name in self._names():
            yield name, getattr(self, name)

    def members(self) -> dict[str, Self]:
        """The kernels this one is made of."""
        return {name: value for name, value in self.items() if isinstance(value, Value)}  # type: ignore[misc]

    def parts(self) -> tuple[Self, ...]:
        """The kernels this one is made of, the terms of a long sum or product side by side."""
        return tuple(self.members().values())

    def leaves(self) -> int:
        """How many kernels at the bottom of the tree are evaluated."""
        return sum(part.leaves() for part in self.parts()) or 1

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; members' parameters as ``member__name``.

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Linear
        >>> sorted((Gaussian(2.0) + Linear()).get_params())
        ['k1', 'k1__per_dimension', 'k1__width', 'k2']
        """
        params = dict(self.items())
        for name, member in self.members().items() if deep else ():
            params |= {f"{name}__{key}": value for key, value in member.get_params().items()}
        return params

    def set_params(self, **params: object) -> Self:
        """A new kernel with some parameters replaced (kernels never change).

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Linear
        >>> (Gaussian(2.0) + Linear()).set_params(k1__width=3.0)
        Gaussian(width=3.0) + Linear()
        """
        own: dict[str, object] = {}
        nested: dict[str, dict[str, object]] = {}
        for name, value in params.items():
            head, _, rest = name.partition("__")
            if head not in self._names():
                raise InputError(f"{type(self).__name__} has no parameter {head!r}. {nearest(head, self._names())}")
            if rest:
                nested.setdefault(head, {})[rest] = value
            else:
                own[head] = value
        for head, inner in nested.items():
            member = own.get(head, getattr(self, head))
            if not isinstance(member, Value):
                raise InputError(
                    f"{type(self).__name__} has no parameter {head + '__' + next(iter(inner))!r}: {head} is not a "
                    f"kernel. Use {head!r}."
                )
            own[head] = member.set_params(**inner)
        return dataclasses.replace(self, **own) if own else self  # type: ignore[type-var]

    def __sklearn_clone__(self) -> Self:
        return self

    # -- values: equality, hash, text -------------------------------------------------------------

    def _key(self) -> tuple[object, ...]:
        return type(self), *((name, _comparable(value)) for name, value in self.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        defaults = {field.name: field.default for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        plain = {name for name, value in self.items() if isinstance(value, bool | None) and value is defaults[name]}
        shown = (f"{name}={_text(value)}" for name, value in self.items() if name not in plain)
        return f"{type(self).__name__}({', '.join(shown)})"

    def bracket(self, at_least: int) -> str:
        """The kernel's text, in brackets where its surroundings bind tighter than it does."""
        return repr(self) if self.binding >= at_least else f"({self!r})"


def _comparable(value: object) -> object:
    """A hashable stand-in that is equal exactly where the parameter's value is."""
    if isinstance(value, Value | bool | str) or value is None:
        return value
    if callable(value):
        return value if value.__hash__ is not None else Identity(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, list | tuple):
        return "sequence", tuple(map(_comparable, value))
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        return _comparable(array.item() if array.ndim == 0 else array.tolist())
    return value


class Identity:
    """A stand-in for something that cannot be hashed: equal to itself alone, and keeps it alive."""

    def __init__(self, held: object) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.held is other.held

    def __hash__(self) -> int:
        return id(self.held)


def _text(value: object) -> str:
    """The source text of a parameter."""
    if hasattr(value, "__array__") and not callable(value):
        return repr(np.asarray(value).tolist())
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_text, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    if callable(value) and not isinstance(value, Value):
        return f"<{function_name(value)}>"
    return repr(value)


def function_name(function: object, nameless: str = "lambda") -> str:
    """What a function is called, for people: lambda, not <lambda>, or as is said where it has no name."""
    name = str(getattr(function, "__name__", type(function).__name__)).strip("<>")
    return nameless if name == "lambda" else name


Width: TypeAlias = Any  # one number, or one per column as a sequence or array

# Beyond these the square of a width leaves the range of floating point numbers.
_SMALLEST, _LARGEST = 1e-150, 1e150


def positive_width(owner: object, name: str, value: Width) -> None:
    """One positive number, or a non-empty sequence of them, of a size whose square exists."""
    array = None
    with suppress(TypeError, ValueError, OverflowError):
        array = as_numbers(value)
    positive = array is not None and array.ndim <= 1 and array.size > 0 and bool(((array > 0) & (array < np.inf)).all())
    if array is None or not positive or not ((array >= _SMALLEST) & (array <= _LARGEST)).all():
        must_be = "a number between 1e-150 and 1e150" if positive else "a positive number"
        must_be += ", or a list of such numbers (one per column)"
        raise InputError(sentence(f"{name} of {type(owner).__name__}", must_be, repr(value)))


Check: TypeAlias = Callable[[object, str, object], None]  # of owner, name and value: raises an InputError


def positive_number(owner: object, name: str, value: object) -> None:
    """One positive number of a size whose square exists."""
    if not is_real(value) or not _SMALLEST <= value <= _LARGEST:
        positive = is_real(value) and value > 0
        must_be = "a number between 1e-150 and 1e150" if positive else "a finite number above 0"
        raise InputError(sentence(f"{name} of {type(owner).__name__}", must_be, repr(value)))


def is_real(value: object) -> TypeGuard[float]:
    """Whether something is one finite real number."""
    try:
        return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def real_number(owner: object, name: str, value: object, least: float = -math.inf) -> None:
    """A finite number, at least a bound."""
    if not is_real(value) or value < least:
        bound = "" if least == -math.inf else f" of at least {least:g}"
        raise InputError(sentence(f"{name} of {type(owner).__name__}", f"a finite number{bound}", brief(repr(value))))


def brief(text: str) -> str:
    """A text that is not longer than a line."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def whole_number(owner: object, name: str, value: object, least: int = 1) -> None:
    """A whole number of at least `least`."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= least
    refuse_if(not whole, f"{name} of {type(owner).__name__}", f"an integer of at least {least}", repr(value))


def truth_value(owner: object, name: str, value: object) -> None:
    """True or False, and nothing that merely counts as one."""
    refuse_if(not isinstance(value, bool | np.bool_), f"{name} of {type(owner).__name__}", "True or False", repr(value))


def check_callable(owner: object, name: str, value: object) -> None:
    """Something that can be called."""
    refuse_if(not callable(value), f"{name} of {type(owner).__name__}", "a function", repr(value))


non_negative: Check = partial(real_number, least=0.0)


def inverse_width(value: Width) -> float | Array:
    """1 / width, ready to multiply columns."""
    array = as_numbers(value)
    if array is None:
        raise InputError(sentence("A width", "a number", repr(value)))
    return 1.0 / float(array) if array.ndim == 0 else np.asarray(1.0 / array)


def fits_columns(owner: object, value: Width, columns: int, name: str = "width") -> None:
    """A width per column needs as many widths as there are columns."""
    array = np.asarray(value)
    if array.ndim == 1 and len(array) != columns:
        must_be = "one number" if columns == 1 else f"one number, or {columns} numbers (one per column of X)"
        choose = f"Use {columns} numbers, or choose columns with .on(...)."
        hint = "Choose columns with .on(...)." if columns == 1 else choose
        raise InputError(sentence(f"{name} of {type(owner).__name__}", must_be, f"{len(array)} numbers", hint))


# Squares of factors up to here are told apart from whole numbers with digits to spare.
_WHOLE, _ROUNDING = 1e9, 1e-12

Powers = tuple[tuple[str, int], ...]


class Label(str):
    """A name that remembers its factor and what it is a product of, so that names can be multiplied.

    Examples
    --------
    >>> from mercer.kernels.value import Label
    >>> Label.make(2**0.5, [("x1", 1), ("x2", 2)])
    'sqrt2*x1*x2^2'
    >>> Label.of("x1").times(Label.of("a + b"))
    'x1*(a + b)'
    """

    __slots__ = ("factor", "powers")

    factor: float
    powers: Powers

    @classmethod
    def make(cls, factor: float, powers: Iterable[tuple[str, int]]) -> Self:
        """factor times a product of powers."""
        powers = tuple(powers)
        label = cls(_product(factor, powers))
        label.factor, label.powers = factor, powers
        return label

    @classmethod
    def of(cls, name: str) -> Label:
        """A plain name as a product of one."""
        return name if isinstance(name, Label) else cls.make(1.0, [(name, 1)])

    def times(self, other: Label) -> Label:
        """The product of the two, like with like."""
        powers = dict(self.powers)
        for name, exponent in other.powers:
            powers[name] = powers.get(name, 0) + exponent
        return Label.make(self.factor * other.factor, powers.items())

    def power(self, exponent: int) -> Label:
        """A whole power."""
        return Label.make(self.factor**exponent, [(name, e * exponent) for name, e in self.powers])


def products(left: Sequence[str], right: Sequence[str]) -> list[str]:
    """Every name of one times every name of the other, in the order of the features."""
    return [Label.of(a).times(Label.of(b)) for a in left for b in right]


def column_names(rows: Rows) -> list[str]:
    """The names of the columns: the DataFrame's, or x1, x2, ... as the lectures write."""
    return list(rows.names) if rows.names is not None else [f"x{j + 1}" for j in range(rows.width)]


def argument(rows: Rows) -> str:
    """What a function is of: the one column that has a name, or x."""
    return rows.names[0] if rows.names is not None and len(rows.names) == 1 else "x"


def _product(factor: float, powers: Powers) -> str:
    front = _number(factor)
    if factor == 0 or not powers:
        return front
    alone = abs(factor - 1.0) <= _ROUNDING
    if alone and len(powers) == 1 and powers[0][1] == 1:
        return powers[0][0]
    parts = [bracket(name) + (f"^{exponent}" if exponent > 1 else "") for name, exponent in powers]
    return "*".join(parts if alone else [front, *parts])


def _number(factor: float) -> str:
    """3, sqrt2 or 1.58: an integer, the root of one, or a short decimal.

    >>> [_number(factor) for factor in (3.0, 2**0.5, 2.5**0.5, 0.0)]
    ['3', 'sqrt2', '1.58', '0']
    """
    square = factor * factor
    whole = round(square) if square < _WHOLE else 0
    if factor == 0 or whole == 0 or abs(square - whole) > _ROUNDING * square:
        return f"{factor:.3g}"
    root = math.isqrt(whole)
    return str(root) if root * root == whole else f"sqrt{whole}"


def bracket(name: str) -> str:
    """A name as a factor of a product: in brackets where it would fall apart."""
    return f"({name})" if re.search(r"[-+*/^\s]", re.sub(r"\([^()]*\)$", "", name)) else name
