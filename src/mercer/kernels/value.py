"""A kernel as a value: parameters by name as scikit-learn knows them, equality, hash and text."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from mercer.errors import InputError, nearest

# How tightly a kernel's text binds: what stands to its left or right decides about brackets.
SUM, PRODUCT, POWER, ATOM = range(4)


class Value:
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
        if deep:
            for name, member in self.members().items():
                params |= {f"{name}__{key}": value for key, value in member.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """A new kernel with some parameters replaced (kernels never change).

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Linear
        >>> (Gaussian(2.0) + Linear()).set_params(k1__width=3.0)
        Gaussian(width=3.0) + Linear()
        """
        own: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
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

    def _key(self) -> tuple[Any, ...]:
        return type(self), *((name, _comparable(value)) for name, value in self.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        defaults = {field.name: field.default for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        shown = (
            f"{name}={_text(value)}"
            for name, value in self.items()
            if not ((isinstance(value, bool) or value is None) and value is defaults[name])
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def bracketed(self, at_least: int) -> str:
        """The kernel's text, in brackets where its surroundings bind tighter than it does."""
        return repr(self) if self.binding >= at_least else f"({self!r})"


def _comparable(value: Any) -> Any:
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

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.held is other.held

    def __hash__(self) -> int:
        return id(self.held)


def _text(value: Any) -> str:
    """The source text of a parameter."""
    if hasattr(value, "__array__") and not callable(value):
        return repr(np.asarray(value).tolist())
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_text, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    if callable(value) and not isinstance(value, Value):
        return f"<{function_name(value)}>"
    return repr(value)


def function_name(function: Any) -> str:
    """What a function is called, for people: lambda, not <lambda>."""
    return str(getattr(function, "__name__", type(function).__name__)).strip("<>")


def short_name(function: Any) -> str:
    """What a function is called in the name of a feature: f where it has no name."""
    name = function_name(function)
    return "f" if name == "lambda" else name
