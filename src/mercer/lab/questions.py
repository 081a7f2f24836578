"""What the page may ask: points, a kernel, alpha and a loss, checked before anything is done with them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from mercer.data.rows import Array, XLike
from mercer.errors import InputError, refuse, refuse_if, sentence
from mercer.kernels import Kernel, parse

Answer: TypeAlias = dict[str, object]  # what the page is told: numbers, texts, lists and arrays by name

MOST_ROWS = 300  # that the page plays with
MOST_PLACES = 4096  # that a curve or a map is drawn at
_MOST_WORDS = 60
_MOST_PARTS = 12  # of a kernel
_MOST_COLUMNS = 8
_LONGEST = 2000  # letters of a kernel
_LONGEST_WORD = 40
_LOSSES = {False: ("squared", "huber", "quantile"), True: ("squared", "logistic")}  # of numbers, of labels


class Question:
    """What the page has: points, a kernel and its settings, and where it wants predictions; or an `InputError`.

    Attributes
    ----------
    X : ndarray of shape (n, d), or list of str
        The points: numbers, or words.
    words : bool
        Whether points are words.
    y : ndarray of shape (n,)
        Their targets; -1 and 1 for labels.
    labels : bool
        Whether the targets are two labels.
    kernel, alpha, intercept, loss : Kernel, float, bool, str
        The model.
    at : ndarray of shape (m, d), or list of str
        Where predictions are wanted.
    """

    def __init__(self, asked: object) -> None:
        if not isinstance(asked, Mapping):
            raise InputError(sentence("The request", "an object with points, kernel and alpha", type(asked).__name__))
        self.X, self.y, self.labels = read_points(asked.get("points"))
        self.words = isinstance(self.X, list)
        self.alpha = _number(asked.get("alpha", 1.0), "alpha")
        refuse_if(not 0 < self.alpha <= 1e12, "alpha", "above 0 and at most 1e12", self.alpha)
        at, width = asked.get("at", []), None if self.words else self.X.shape[1]
        self.at: XLike = _words(at, 2 * _MOST_WORDS) if self.words else _rows(at, MOST_PLACES, "places", width)
        self.loss, known = asked.get("loss", "squared"), _LOSSES[self.labels]
        must_be, what = f"one of {', '.join(map(repr, known))}", "labels" if self.labels else "numbers"
        refuse_if(self.loss not in known, f"The loss of {what}", must_be, repr(self.loss)[:40])
        self.kernel, self.intercept = read_kernel(asked.get("kernel")), asked.get("intercept") is True


def read_kernel(text: object) -> Kernel:
    """The kernel that a text describes."""
    refuse(isinstance(text, str) and not text.strip(), "Write a kernel, such as Gaussian(width=1).")
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise InputError(sentence("The kernel", f"a text of at most {_LONGEST} letters", repr(text)[:40]))
    kernel = parse(text)
    refuse(_parts(kernel) > _MOST_PARTS, f"A kernel on this page may have at most {_MOST_PARTS} parts.")
    return kernel


def _parts(kernel: Kernel) -> int:
    return 1 + sum(_parts(part) for part in kernel.parts())


def read_points(given: object) -> tuple[XLike, Array, bool]:
    """Points as the page sends them: x, y, and whether y has labels."""
    if not isinstance(given, Mapping) or "x" not in given or "y" not in given:
        raise InputError(sentence("points", "an object with x and y", type(given).__name__))
    x, y, labels = given["x"], given["y"], given.get("labels") is True
    words = isinstance(x, list) and bool(x) and isinstance(x[0], str)
    X: XLike = _words(x, _MOST_WORDS) if words else _rows(x, MOST_ROWS, "points", None)
    y = _rows([[each] for each in y] if isinstance(y, list) else None, MOST_ROWS, "targets", 1)[:, 0]
    refuse(len(X) != len(y), f"There must be as many points as targets; got {len(X)} and {len(y)}.")
    refuse(len(y) < 2, "There must be at least 2 points. Add some by clicking into the plot.")
    refuse(labels and set(np.unique(y)) != {-1.0, 1.0}, "There must be points of both labels.")
    return X, y, labels


def _number(given: object, what: str) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or abs(given) > 1e300 or math.isnan(given):
        raise InputError(sentence(what, "a number", repr(given)[:40]))
    return float(given)


def _rows(given: object, most: int, what: str, columns: int | None) -> Array:
    if not isinstance(given, list) or len(given) > most:
        got = f"{len(given)}" if isinstance(given, list) else type(given).__name__
        raise InputError(sentence(what, f"a list of at most {most}", got))
    if not given:
        return np.empty((0, columns or 1))
    try:
        rows = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} must be lists of numbers.") from None
    if rows.ndim != 2 or not 1 <= rows.shape[1] <= _MOST_COLUMNS or not np.isfinite(rows).all():
        raise InputError(f"{what} must be lists of numbers, all of one length.")
    refuse(columns not in (None, rows.shape[1]), f"{what} must have {columns} numbers each; got {rows.shape[1]}.")
    refuse(np.abs(rows).max() > 1e100, f"{what} must not be larger than 1e100.")
    return rows


def _words(given: object, most: int) -> list[str]:
    if not isinstance(given, list) or len(given) > most or not all(isinstance(each, str) for each in given):
        raise InputError(f"Words must be a list of at most {most} texts.")
    refuse(any(len(each) > _LONGEST_WORD for each in given), f"Words must have at most {_LONGEST_WORD} letters.")
    return given
