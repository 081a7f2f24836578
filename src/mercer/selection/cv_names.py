"""The ways to judge a candidate that go by a name: `cv="gcv"` and `cv="held-out"`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.data.folds import Folds, draw
from mercer.data.rows import Seed, row_count
from mercer.errors import InputError, sentence

METHODS = ("gcv", "held-out")
_EVERY = 5  # one row in so many is held out


def method_of(cv: Any) -> str:
    """The name in `cv`, or "folds" where it is none.

    Examples
    --------
    >>> from mercer.selection.cv_names import method_of
    >>> method_of("gcv"), method_of(10)
    ('gcv', 'folds')
    """
    if not isinstance(cv, str):
        return "folds"
    if cv not in METHODS:
        must_be = "'gcv', 'held-out', a number of folds, a splitter, a list of (train, test) or None"
        raise InputError(sentence("cv", must_be, repr(cv)))
    return cv


def named_folds(cv: str, X: Any, y: Any, *, groups: Any = None, random_state: Seed = None, repeats: int = 1) -> Folds:
    """The splits that a name stands for.

    Parameters
    ----------
    cv : {"gcv", "held-out"}
        Every row by itself; or every fifth row at once: drawn by chance with `random_state`, whole groups of rows with
        `groups`.
    X, y : array-like
        Rows and targets.
    groups : array-like of shape (n,), default=None
        Rows of one group stay on one side.
    random_state : int, RandomState or None
        None holds out rows 4, 9, 14 and so on.
    repeats : int, default=1
        Must be 1.

    Returns
    -------
    Folds

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection.cv_names import named_folds
    >>> named_folds("held-out", np.zeros((12, 1)), np.zeros(12)).splits[0].test.tolist()
    [4, 9]
    """
    if repeats != 1:
        raise InputError(sentence("repeats", f"1 when cv is {cv!r}", repr(repeats), "Set cv to a number of folds."))
    n = row_count(X)
    if cv == "gcv":
        if groups is not None:
            raise InputError("cv='gcv' is based on single rows and cannot keep groups together. Use cv='held-out'.")
        return replace(draw(None, X, y), label="generalized cross-validation")
    if n < _EVERY:
        raise InputError(f"cv='held-out' needs at least {_EVERY} rows; got {n}.")
    if groups is not None or random_state is not None:
        from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
        from sklearn.utils import check_random_state

        make = ShuffleSplit if groups is None else GroupShuffleSplit
        generator = check_random_state(0 if random_state is None else random_state)
        splitter = make(1, test_size=1 / _EVERY, random_state=generator.randint(2**31 - 1))
        drawn = draw(splitter, X, y, groups=groups)
    else:
        held_out = np.arange(_EVERY - 1, n, _EVERY)
        drawn = draw([(np.delete(np.arange(n), held_out), held_out)], X, y)
    return replace(drawn, label="a fifth of the rows held out")
