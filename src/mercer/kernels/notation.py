"""Kernels from text, without running any of it."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from mercer.errors import InputError, KernelTextError, nearest
from mercer.kernels.base import BuiltIn, Kernel
from mercer.kernels.counts import ObjectKernel
from mercer.kernels.given import OfFunction
from mercer.kernels.stationary import Gaussian, Laplacian
from mercer.kernels.value import Width, brief

_LONGEST = 10_000
_METHODS = {
    "exp": ".exp() takes no arguments.",
    "normalized": ".normalized() takes no arguments.",
    "on": ".on(...) takes columns, such as .on('age').",
    "from_gamma": "from_gamma takes one number, gamma.",
}
_OPERATORS: dict[type, Callable[..., object]] = {ast.Add: operator.add, ast.Mult: operator.mul, ast.Pow: operator.pow}


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def snake(name: str) -> str:
    """RationalQuadratic -> rational_quadratic.

    >>> snake("RationalQuadratic"), snake("Chi2")
    ('rational_quadratic', 'chi2')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _laplacian_of_gamma(gamma: Width) -> Kernel:
    Gaussian.from_gamma(gamma)  # refuses what is no gamma
    return Laplacian([1.0 / each for each in gamma] if np.ndim(gamma) else 1.0 / gamma)


# Kernels by the parameter of scikit-learn's: exp(-gamma |x - z|^2), exp(-gamma |x - z|_1).
_OF_GAMMA: dict[str, Callable[..., Kernel]] = {
    "rbf": lambda gamma=1.0: Gaussian.from_gamma(gamma),
    "gaussian": Gaussian.from_gamma,
    "laplacian": _laplacian_of_gamma,
}


def _leaves(cls: type[Kernel]) -> Iterator[type[Kernel]]:
    """The classes below one that no other is derived from: kernels and not their common parts."""
    below = cls.__subclasses__()
    yield from (leaf for each in below for leaf in _leaves(each)) if below else [cls]


# Our own kernels without functions; this is read before anyone can add a kernel to them.
NAMES = {_plain(leaf.__name__): leaf for family in (BuiltIn, ObjectKernel) for leaf in _leaves(family)}
_WITH_FUNCTIONS = [_plain(leaf.__name__) for leaf in _leaves(OfFunction)]


def parse(text: str) -> Kernel:
    """A kernel from a kernel expression: names, numbers, ``+ * **`` and the methods of kernels; nothing is run.

    Parameters
    ----------
    text : str
        Such as ``"gaussian(width=2) + 0.5 * linear()"``; `repr` of a kernel is such an expression.

    Returns
    -------
    Kernel

    Raises
    ------
    KernelTextError
        If the expression is not a kernel; with the nearest known name.

    Examples
    --------
    >>> from mercer.kernels import parse
    >>> parse("gaussian(width=2) + 0.5 * linear()")
    Gaussian(width=2) + 0.5 * Linear()
    >>> parse("rational_quadratic(shape=0.5).on([0, 3]) ** 2")
    RationalQuadratic(width=1.0, shape=0.5).on([0, 3]) ** 2
    >>> parse("rbf(gamma=2)")  # as scikit-learn has it
    Gaussian(width=0.5)
    >>> parse("gausian(2)")
    Traceback (most recent call last):
        ...
    mercer.errors.KernelTextError: There is no kernel 'gausian'. Did you mean 'gaussian'?
    """
    if not isinstance(text, str):
        raise KernelTextError(f"A kernel expression must be a string; got {text!r}.")
    if len(text) > _LONGEST:
        raise KernelTextError(f"A kernel expression must have at most {_LONGEST} characters; got {len(text)}.")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _kernel(tree, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        if isinstance(problem, KernelTextError):
            raise
        reason = problem if isinstance(problem, InputError) else "the syntax is invalid."
        raise KernelTextError(f"The kernel expression {brief(text)!r} is invalid: {reason}") from None


def _kernel(node: ast.expr, text: str) -> Kernel:
    value = _value(node, text)
    if not isinstance(value, Kernel):
        raise KernelTextError(f"The kernel expression {brief(text)!r} must be a kernel; got {value!r}.")
    return value


def _value(node: ast.expr, text: str) -> object:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, text) for item in items]
        case ast.Name(id=name):
            return _class(name)()
        case ast.BinOp(left=left, op=op, right=right):
            return _combine(_value(left, text), op, _value(right, text), text)
        case ast.Call():
            return _call(node, text)
    allowed = f"only kernels, numbers, + * ** and the methods {', '.join(_METHODS)} are allowed."
    raise KernelTextError(f"The kernel expression {brief(text)!r} contains {ast.unparse(node)!r}; {allowed}")


def _combine(left: object, op: ast.operator, right: object, text: str) -> object:
    # Two plain numbers are not worked out: 9**9**9 must not keep anyone waiting.
    if type(op) in _OPERATORS and (isinstance(left, Kernel) or isinstance(right, Kernel)):
        with suppress(TypeError):
            return _OPERATORS[type(op)](left, right)
    if isinstance(left, int | float) and isinstance(right, int | float):
        problem = "arithmetic with numbers is not supported. Write the result, such as 0.5."
        raise KernelTextError(f"The kernel expression {brief(text)!r} is invalid: {problem}")
    problem = "kernels are combined by +, * and ** only."
    raise KernelTextError(f"The kernel expression {brief(text)!r} is invalid: {problem}")


def _call(node: ast.Call, text: str) -> object:
    given = [_value(item, text) for item in node.args]
    named = {item.arg or "**": _value(item.value, text) for item in node.keywords}
    if len(named) < len(node.keywords):
        raise KernelTextError(f"{ast.unparse(node)!r} names a parameter twice.")
    match node.func:
        case ast.Name(id=name) if _plain(name) in _OF_GAMMA and (_plain(name) == "rbf" or "gamma" in named):
            make: Callable[..., object] = _OF_GAMMA[_plain(name)]
        case ast.Name(id=name):
            make = _class(name)
        case ast.Attribute(value=ast.Name(id=name), attr="from_gamma") if _plain(name) == "gaussian":
            make = Gaussian.from_gamma
        case ast.Attribute(value=owner, attr="exp" | "normalized" | "on" as method):
            make = getattr(_kernel(owner, text), method)
        case _:
            allowed = f"only kernels and the methods {', '.join(_METHODS)} can be called."
            raise KernelTextError(f"The kernel expression {brief(text)!r} calls {ast.unparse(node.func)!r}; {allowed}")
    try:
        return make(*given, **named)
    except TypeError:
        raise KernelTextError(f"Invalid arguments in {ast.unparse(node)!r}: {_usage(make)}") from None


def _usage(make: object) -> str:
    if isinstance(make, type) and issubclass(make, Kernel):
        names = [name for name, _ in make().items()]
        return f"its parameters are {', '.join(names)}." if names else "it takes no parameters."
    return _METHODS.get(getattr(make, "__name__", ""), "see the documentation of this method.")


def _class(name: str) -> type[Kernel]:
    plain = _plain(name)
    if plain in NAMES:
        return NAMES[plain]
    if plain in _WITH_FUNCTIONS:
        raise KernelTextError(f"{name} contains a Python function and cannot be written as a kernel expression.")
    known = [snake(kernel.__name__) for kernel in NAMES.values()]
    raise KernelTextError(f"There is no kernel {name!r}. {nearest(name, known)}")
