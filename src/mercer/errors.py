"""Every error and warning mercer raises, and the one place their sentences are built.

MercerError
|-- InputError (also ValueError)         an argument, table or file is invalid
|   |-- KernelTextError                  a string is not a kernel expression
|   |-- ModelFileError                   a model file or checkpoint is invalid, or cannot be read or written
|   `-- NoFeaturesError (and AttributeError)  the model has no weights of explicit features
`-- MemoryRefusal (also MemoryError)     the work needs too much memory; nothing was allocated

MercerWarning (also UserWarning)
|-- SingularSystemWarning                the system has no unique solution; the minimum-norm solution is used
|-- IllConditionedWarning                few digits of the solution are correct
|-- NotMercerWarning                     the kernel is not a Mercer kernel
|-- EdgeOfGridWarning                    the best candidate of a search is on the edge of the grid
|-- ConvergenceWarning                   an iteration stopped before it reached its tolerance
|-- LeakageWarning                       a column nearly determines the target
|-- LeftOutWarning                       a column is left out that looks like numbers or dates, or counts the rows
`-- UnfamiliarRowsWarning                new rows have values unlike the training data
"""

from __future__ import annotations

import difflib
import json
import warnings
from collections.abc import Callable, Iterable
from inspect import currentframe
from string import Template
from typing import Self

_INSIDE = ("mercer", "sklearn", "joblib")  # packages whose frames warnings do not point to


def printable(text: str, *, lines: bool = False) -> str:
    r"""Text that a terminal shows and does not obey: every character that cannot be printed becomes its JSON escape.

    Escape sequences, control characters (C0 and C1), bidirectional controls, lone surrogates and line separators are
    written as ``\u001b`` and the like, so that a string inside JSON keeps its value.

    Parameters
    ----------
    text : str
        Any text: names of columns, cells, paths, strings of a model file.
    lines : bool, default=False
        Whether line feeds stay as they are.

    Examples
    --------
    >>> from mercer.errors import printable
    >>> print(printable("caf\u00e9 \x1b[31mred\u202e\n"))
    café \u001b[31mred\u202e\n
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or (lines and sign == "\n") else json.dumps(sign)[1:-1] for sign in text)


KINDS_IN_HINTS = {"as_number": "number", "as_text": "text", "category": "category"}


def python_terms(column: str) -> dict[str, str]:
    """The settings that hints name, as parameters of Python.

    >>> python_terms("price")["category"]
    "TableEncoder(kinds={'price': 'category'})"
    """
    kinds = {name: f"TableEncoder(kinds={{{column!r}: {kind!r}}})" for name, kind in KINDS_IN_HINTS.items()}
    return kinds | {
        "comma_or_point": "TableEncoder(decimal=',') or TableEncoder(decimal='.')",
        "date_format": "TableEncoder(date_format='%d/%m/%Y')",
        "decimal": "decimal",
        "drop": f"TableEncoder(drop=[{column!r}])",
        "encoding": "the parameter encoding",
        "grid": "Extend the grid, or use extend_grid=True",
        "kind": "TableEncoder(kinds={COLUMN: KIND})",
        "missing": "",
        "new_sign": "Write the numbers in this format, or convert the column to a number type",
        "others": "Extend the grid",
        "rows": "Save it with rows=True",
        "separator": "the parameter separator",
        "style": "TableEncoder(decimal=..., thousands=...)",
        "without": "",
    }


class _Printable(Exception):
    """An exception whose texts are safe to print: they quote names, cells and files of strangers.

    A `hint` says what would help. The settings in it are terms, such as $decimal, that each surface puts into its own
    words: `str` gives the parameters of Python, `in_terms` those of a table of terms.
    """

    def __init__(self, *given: object, hint: str = "", column: str = "") -> None:
        self.given, self.hint, self.column = given, hint, column
        texts = [f"{given[0]} {self._help(python_terms)}", *given[1:]] if hint else given
        super().__init__(*(printable(each, lines=True) if isinstance(each, str) else each for each in texts))

    def _help(self, terms: Callable[[str], dict[str, str]]) -> str:
        return Template(self.hint).substitute(terms(self.column))

    def in_terms(self, terms: Callable[[str], dict[str, str]]) -> str:
        """The text with its hint in the words of another surface.

        Examples
        --------
        >>> from mercer.errors import InputError
        >>> error = InputError("Cells may be separated by a comma or a bar.", hint="Set $separator.")
        >>> print(error)
        Cells may be separated by a comma or a bar. Set the parameter separator.
        >>> print(error.in_terms(lambda column: {"separator": "--separator"}))
        Cells may be separated by a comma or a bar. Set --separator.
        """
        return printable(f"{self.given[0]} {self._help(terms)}", lines=True) if self.hint else str(self)


class MercerError(_Printable):
    """Base class of every error that mercer raises on purpose."""


class InputError(MercerError, ValueError):
    """An argument, table or file given to mercer is invalid."""


class KernelTextError(InputError):
    """A string is not a kernel expression."""


class ModelFileError(InputError):
    """A model file or checkpoint cannot be read or written: missing, damaged, of a newer format, or another file."""


class NoFeaturesError(InputError, AttributeError):
    """A model has no weights of explicit features: its kernel has no finite map, or one that is too large."""


class MemoryRefusal(MercerError, MemoryError):
    """The work needs more memory than is available; raised before memory is allocated."""

    def __new__(cls, *given: object, **_: str) -> Self:
        """Make the exception; MemoryError.__new__ does not support subclasses with a second base, as Dask needs."""
        return Exception.__new__(cls, *given)


class MercerWarning(_Printable, UserWarning):
    """Base class of every warning that mercer issues."""


class SingularSystemWarning(MercerWarning):
    """The system has no unique solution; the minimum-norm solution was used."""


class IllConditionedWarning(MercerWarning):
    """The system is so ill-conditioned that few digits of the solution are correct."""


class NotMercerWarning(MercerWarning):
    """The kernel in use is not a Mercer kernel."""


class EdgeOfGridWarning(MercerWarning):
    """The best candidate of a search is on the edge of the grid."""


class ConvergenceWarning(MercerWarning):
    """An iteration stopped before it reached its tolerance."""


class LeakageWarning(MercerWarning):
    """A column alone nearly determines the target: it may have been computed from it."""


class LeftOutWarning(MercerWarning):
    """A column was left out that looks like numbers or dates, or counts the rows."""


class UnfamiliarRowsWarning(MercerWarning):
    """New rows have values unlike the training data: out of range, unseen categories, or newly missing."""


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Issue a warning that points to the caller's line: the first one outside of mercer, scikit-learn and joblib."""
    level = 1
    frame = currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def sentence(what: str, must_be: str, got: object, way_out: str = "") -> str:
    """The form of an error message: the thing, what it must be, what was found, and what to do.

    >>> sentence("alpha of KernelRidge", "a non-negative number", -1.0, "Use 0 for none.")
    'alpha of KernelRidge must be a non-negative number; got -1.0. Use 0 for none.'
    """
    return f"{what} must be {must_be}; got {got}." + (f" {way_out}" if way_out else "")


def refuse(invalid: object, message: str, hint: str = "", column: str = "") -> None:
    """Raise an InputError with this message if something is invalid.

    >>> refuse(not [], "X is empty.")
    Traceback (most recent call last):
    mercer.errors.InputError: X is empty.
    """
    if invalid:
        raise InputError(message, hint=hint, column=column)


def refuse_if(invalid: object, what: str, must_be: str, got: object, way_out: str = "") -> None:
    """Raise an InputError with the sentence of these parts if something is invalid.

    >>> refuse_if(-1.0 < 0, "alpha of KernelRidge", "a non-negative number", -1.0)
    Traceback (most recent call last):
    mercer.errors.InputError: alpha of KernelRidge must be a non-negative number; got -1.0.
    """
    if invalid:
        raise InputError(sentence(what, must_be, got, way_out))


# What others call a parameter or a score, and its names here, of which the first that is there is suggested.
_ALIASES = {
    "alpha": ("alphas", "confidence"), "auc": ("roc_auc",), "bandwidth": ("width",), "C": ("alpha", "alphas"),
    "coef0": ("offset",), "cv": ("evaluation",), "f1_score": ("f1",), "folds": ("cv", "evaluation"),
    "gamma": ("width", "scale"), "kernel": ("kernels",), "kernels": ("kernel",), "lambda_": ("alpha", "alphas"),
    "length_scale": ("width",), "log_loss": ("neg_log_loss",), "mae": ("neg_mean_absolute_error",),
    "mse": ("neg_mean_squared_error",), "n_folds": ("cv",), "n_splits": ("cv",), "reg": ("alpha", "alphas"),
    "rmse": ("neg_root_mean_squared_error",), "seed": ("random_state",), "sigma": ("width",),
}  # fmt: skip


def nearest(name: str, known: Iterable[str]) -> str:
    """'Did you mean ...?' for a misspelt name, or the list of known names.

    >>> nearest("gausian", ["gaussian", "linear"])
    "Did you mean 'gaussian'?"
    """
    names = sorted(set(known))
    alias = next((other for other in _ALIASES.get(name, _ALIASES.get(name.lower(), ())) if other in names), None)
    if alias is not None:
        return f"Did you mean {alias!r}?"
    lowered = {other.lower(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {lowered[close[0]]!r}?"
    return f"Known: {', '.join(names)}." if names else "No names are available."
