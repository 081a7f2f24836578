"""What a decomposition is asked about: the truth and the noise, at training and at test rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.checks import as_numbers
from mercer.data.rows import Array
from mercer.errors import InputError, sentence


@dataclass(frozen=True, eq=False)
class Question:
    """Truth and noise where they are needed.

    Attributes
    ----------
    X, X_test : array-like
        Training and test rows; the same object where no test rows were given.
    truth, truth_test : ndarray of shape (n,) and (m,)
        Values, or labels of a classifier; `truth` is None where training sets come from a sampler.
    noise, noise_test : ndarray of shape (n,) and (m,)
        Standard deviation, or probability of a wrong label; `noise` is None where `truth` is.
    """

    X: Any
    X_test: Any
    truth: Array | None
    truth_test: Array
    noise: Array | None
    noise_test: Array

    @property
    def same(self) -> bool:
        """Whether the test rows are the training rows."""
        return self.X is self.X_test


def ask(X: Any, X_test: Any, truth: Any, noise: Any, *, classifier: bool, training: bool = True) -> Question:
    """Everything checked; `training` says whether truth and noise at X are needed besides those at X_test."""
    test = X if X_test is None else X_test
    f, f_test = _both("truth", truth, X, X_test, training=training)
    s, s_test = _both("noise", noise, X, X_test, training=training)
    if not classifier:
        f, f_test = _numbers("truth", f), _numbers("truth", f_test)
    f_test, s_test = _filled("truth", f_test, test), _filled("noise", s_test, test)
    if training:
        f, s = _filled("truth", f, X), _filled("noise", s, X)
    for values in (s, s_test):
        if values is not None:
            _checked_noise(values, classifier=classifier)
    return Question(X, test, f if training else None, f_test, s if training else None, s_test)


def _both(name: str, given: Any, X: Any, X_test: Any, *, training: bool) -> tuple[Any, Any]:
    """Values at X and at X_test of a function, a number or values."""
    if callable(given):
        at_test = np.asarray(given(X if X_test is None else X_test))
        if X_test is None:
            return at_test, at_test
        return (np.asarray(given(X)) if training else None), at_test
    if name == "noise" and (np.isscalar(given) or getattr(given, "ndim", 1) == 0):
        return np.asarray(given), np.asarray(given)
    if X_test is None or not training:
        return np.asarray(given), np.asarray(given)
    if not isinstance(given, list | tuple) or len(given) != 2 or 0 in (np.ndim(given[0]), np.ndim(given[1])):
        must_be = "a function, or a pair: its values at X and its values at X_test"
        raise InputError(sentence(name, must_be, type(given).__name__, f"Give ({name} at X, {name} at X_test)."))
    return np.asarray(given[0]), np.asarray(given[1])


def _numbers(name: str, values: Any) -> Any:
    """Finite numbers, or None where there are none to check."""
    if values is None:
        return None
    found = as_numbers(values)
    if found is None or not np.isfinite(found).all():
        raise InputError(sentence(name, "finite numbers", repr(values)))
    return found


def _filled(name: str, values: Array, X: Any) -> Array:
    """One value per row; a single noise serves all rows."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if values.ndim == 0 and name == "noise":
        values = np.broadcast_to(values, (n,))
    if values.shape != (n,):
        raise InputError(sentence(name, f"one value for each of {n} rows", f"shape {values.shape}"))
    return values


def _checked_noise(values: Array, *, classifier: bool) -> None:
    found = as_numbers(values)
    most, must_be = np.inf, "a finite, non-negative standard deviation"
    if classifier:
        most, must_be = 1.0, "the probability of a wrong label for a classifier, at least 0 and below 1"
    if found is None or not (np.isfinite(found) & (found >= 0) & (found < most)).all():
        bad = values.ravel()[0] if found is None else found[~(np.isfinite(found) & (found >= 0) & (found < most))][0]
        raise InputError(sentence("noise", must_be, repr(getattr(bad, "item", lambda: bad)())))
