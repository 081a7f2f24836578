"""Every error and warning mercer raises, and the one place their sentences are built.

MercerError
|-- InputError (also ValueError)         something given is not what it must be
|   |-- KernelTextError                  text that is no kernel
|   |-- ModelFileError                   a model file or checkpoint that is none, or cannot be read or written
|   `-- NoFeaturesError (and AttributeError)  weights of features asked for, and there are none
`-- MemoryRefusal (also MemoryError)     the work would not fit; nothing was allocated

MercerWarning (also UserWarning)
|-- SingularSystemWarning                the system has no unique solution; the shortest one is given
|-- IllConditionedWarning                few digits of the solution can be trusted
|-- NotMercerWarning                     the similarity used is no Mercer kernel
|-- EdgeOfGridWarning                    the winner of a search stands on the edge of what was tried
`-- UnfamiliarRowsWarning                new rows hold values unlike those of training
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable
from string import Template
from typing import Self


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


def python_terms(column: str) -> dict[str, str]:
    """What hints call the settings that would help, for those who write Python.

    >>> python_terms("price")["category"]
    "kinds={'price': 'category'}"
    """
    return {
        "category": f"kinds={{{column!r}: 'category'}}",
        "comma_or_point": "decimal=',' or decimal='.'",
        "decimal": "decimal",
        "drop": "drop",
        "grid": "further ones, or use extend_grid=True",
        "missing": "",
        "others": "further ones",
        "separator": "separator",
        "style": "decimal or thousands",
        "without": "",
    }


class _Printable(Exception):
    """An exception whose texts are safe to print: they quote names, cells and files of strangers.

    A `hint` says what would help. The settings in it are terms, such as $decimal, that each surface puts into its own
    words: `str` gives the parameters of Python, `worded` those of a table of terms.
    """

    def __init__(self, *given: object, hint: str = "", column: str = "") -> None:
        self.given, self.hint, self.column = given, hint, column
        texts = [f"{given[0]} {self._help(python_terms)}", *given[1:]] if hint else given
        super().__init__(*(printable(each, lines=True) if isinstance(each, str) else each for each in texts))

    def _help(self, terms: Callable[[str], dict[str, str]]) -> str:
        return Template(self.hint).substitute(terms(self.column))

    def worded(self, terms: Callable[[str], dict[str, str]]) -> str:
        """The text with its hint in the words of another surface.

        Examples
        --------
        >>> from mercer.errors import InputError
        >>> error = InputError("Cells may be separated by a comma or a bar.", hint="Say which with $separator.")
        >>> print(error, "|", error.worded(lambda column: {"separator": "--separator"}))
        Cells may be separated by a comma or a bar. Say which with separator. | Cells ... Say which with --separator.
        """
        return printable(f"{self.given[0]} {self._help(terms)}", lines=True) if self.hint else str(self)


class MercerError(_Printable):
    """Base class of every error that mercer raises on purpose."""


class InputError(MercerError, ValueError):
    """Something given to mercer is not what it must be."""


class KernelTextError(InputError):
    """A text does not describe a kernel."""


class ModelFileError(InputError):
    """A model file or checkpoint cannot be read or written: missing, damaged, of a newer format, or none at all."""


class NoFeaturesError(InputError, AttributeError):
    """A model has no weights of explicit features: its kernel has no finite map, or one beyond all memory."""


class MemoryRefusal(MercerError, MemoryError):
    """The work would need more memory than there is; it was refused before any was taken."""

    def __new__(cls, *given: object, **_: str) -> Self:
        """Make one; MemoryError's own way refuses subclasses with a second base, as when Dask sends them."""
        return Exception.__new__(cls, *given)


class MercerWarning(_Printable, UserWarning):
    """Base class of every warning that mercer gives."""


class SingularSystemWarning(MercerWarning):
    """The system has no unique solution; the one of minimum norm was returned."""


class IllConditionedWarning(MercerWarning):
    """The system is so badly conditioned that few digits of the solution can be trusted."""


class NotMercerWarning(MercerWarning):
    """The similarity in use is not a Mercer kernel."""


class EdgeOfGridWarning(MercerWarning):
    """The winner of a search stands on the edge of what was tried."""


class ConvergenceWarning(MercerWarning):
    """An iteration stopped before it reached what was asked for."""


class UnfamiliarRowsWarning(MercerWarning):
    """New rows hold values unlike those of training: out of range, never seen, or newly missing."""


def sentence(what: str, must_be: str, got: object, way_out: str = "") -> str:
    """The one form of every complaint: what it is, what it must be, what was got, the way out.

    >>> sentence("alpha of KernelRidge", "a non-negative number", -1.0, "Use 0 for none.")
    'alpha of KernelRidge must be a non-negative number; got -1.0. Use 0 for none.'
    """
    return f"{what} must be {must_be}; got {got}." + (f" {way_out}" if way_out else "")


def nearest(name: str, known: Iterable[str]) -> str:
    """'Did you mean ...?' for a misspelt name, or the list of what there is.

    >>> nearest("gausian", ["gaussian", "linear"])
    "Did you mean 'gaussian'?"
    """
    names = sorted(known)
    lowered = {other.lower(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {lowered[close[0]]!r}?"
    return f"Known: {', '.join(names)}." if names else "It has none."
