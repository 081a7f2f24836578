"""What a value is, the same in every process: data by content, functions by what they do and hold, never by address."""

from __future__ import annotations

import builtins
import copyreg
import functools
import hashlib
import sys
import sysconfig
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from mercer.errors import InputError, sentence
from mercer.kernels.base import Kernel

_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis), type(NotImplemented))
_INSTALLED = tuple({Path(sysconfig.get_paths()[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def identity(value: Any) -> str:
    """A number that differs where values differ: closures, defaults, bound arguments and kernels' functions included.

    Examples
    --------
    >>> from functools import partial
    >>> from mercer.selection.identity import identity
    >>> def pinball(truth, guess, q):
    ...     return max(q * (truth - guess), (q - 1) * (truth - guess))
    >>> identity(partial(pinball, q=0.1)) == identity(partial(pinball, q=0.1))
    True
    >>> identity(partial(pinball, q=0.1)) == identity(partial(pinball, q=0.9))
    False
    """
    return _Walk().of(value)


class _Walk:
    """One pass over a value and all that it holds."""

    def __init__(self) -> None:
        self.known: dict[int, str] = {}
        self.alive: list[Any] = []  # so that no address is used twice

    def of(self, value: Any) -> str:
        if isinstance(value, _PLAIN):
            return f"{type(value).__name__} {value!r}"
        if id(value) not in self.known:
            self.alive.append(value)
            self.known[id(value)] = "itself"  # met again while it is still being read
            text = "\n".join(self._parts(value))
            self.known[id(value)] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return self.known[id(value)]

    def _parts(self, value: Any) -> list[str]:
        if isinstance(value, np.ndarray) and value.dtype != object:
            content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return ["array", str(value.dtype), str(value.shape), content]
        if isinstance(value, np.ndarray):
            return ["objects", str(value.shape), *map(self.of, value.ravel())]
        if type(value) in (list, tuple):
            return [type(value).__name__, *map(self.of, value)]
        if isinstance(value, set | frozenset):
            return [type(value).__name__, *sorted(_Walk().of(item) for item in value)]
        if type(value) is dict:
            return ["dict", *(self.of(part) for item in value.items() for part in item)]
        if isinstance(value, ModuleType):
            return ["module", value.__name__]
        if isinstance(value, CodeType):
            own = (value.co_names, value.co_varnames, value.co_freevars, value.co_flags)
            return ["code", value.co_code.hex(), *map(self.of, own), *map(self.of, value.co_consts)]
        if isinstance(value, FunctionType | BuiltinFunctionType | type):
            return self._named(value)
        if isinstance(value, functools.partial):
            return ["partial", *map(self.of, (value.func, value.args, value.keywords))]
        return self._object(value)

    def _named(self, value: Any) -> list[str]:
        """A function or class: an installed one by its name, one's own by what is in it."""
        name = [type(value).__name__, str(value.__module__), value.__qualname__]
        if isinstance(value, BuiltinFunctionType):
            held = value.__self__
            return [*name, "" if held is None or isinstance(held, ModuleType) else self.of(held)]
        if isinstance(value, type):
            return name if _installed(value) else [*name, *self._class(value)]
        held = [value.__defaults__, value.__kwdefaults__, [_content(cell) for cell in value.__closure__ or ()]]
        if _installed(value):
            return [*name, *map(self.of, held)]
        names = sorted(_names(value.__code__) & set(value.__globals__))
        return ["function", *map(self.of, [value.__code__, *held, {name: value.__globals__[name] for name in names}])]

    def _class(self, value: type) -> list[str]:
        parts = [self.of(base) for base in value.__mro__[1:]]
        for name, member in sorted(vars(value).items()):
            inner = getattr(member, "__func__", member)  # of class methods and static ones
            if isinstance(inner, property):
                parts += [name, *map(self.of, (inner.fget, inner.fset))]
            elif isinstance(inner, FunctionType) or not (name.startswith("__") or hasattr(inner, "__get__")):
                parts += [name, self.of(inner)]
        return parts

    def _object(self, value: Any) -> list[str]:
        """Anything else by what a copy of it is made from."""
        if isinstance(value, Kernel):  # its parameters alone: it may keep what it has worked out
            return [self.of(type(value)), *(self.of(part) for item in value.items() for part in item)]
        known = copyreg.dispatch_table.get(type(value))
        try:
            recipe: Any = value.__reduce_ex__(4) if known is None else known(value)
        except (TypeError, NotImplementedError):
            what = f"a {type(value).__name__} in the score, the kernels or the rows"
            must_be = "None where something cannot be known again in another run"
            raise InputError(sentence("checkpoint", must_be, what)) from None
        if isinstance(recipe, str):
            return ["global", str(type(value).__module__), recipe]
        made, arguments, *rest = recipe
        state, items, pairs = [*rest, None, None, None][:3]
        listed = (arguments, state, list(items or ()), [part for pair in pairs or () for part in pair])
        return [self.of(made), *map(self.of, listed)]


def _installed(value: Any) -> bool:
    """Whether this belongs to Python or to an installed package, and not to the user's own work."""
    if str(value.__module__).partition(".")[0] in {"mercer", builtins.__name__}:
        return True
    module = sys.modules.get(str(value.__module__))
    if module is None or value.__module__ == "__main__":
        return False
    file = getattr(module, "__file__", None)
    return file is None or any(Path(file).is_relative_to(place) for place in _INSTALLED)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _names(code: CodeType) -> set[str]:
    """Every global name that a function, or one inside it, may read."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*map(_names, inner))
