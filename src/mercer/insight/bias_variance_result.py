"""A decomposition of the risk: what is asked (truth and noise) and the answer (bias squared, variance, noise)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.checks import as_numbers
from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.text import Shown, plain, text_table

PARTS = ("bias_squared", "variance", "noise", "risk")


@dataclass(frozen=True, eq=False, repr=False)
class BiasVariance(Shown):
    """Where the expected error of an estimator comes from: risk = bias squared + variance + noise.

    Attributes
    ----------
    bias_squared_at, variance_at, noise_at, risk_at : ndarray of shape (m,) or (alphas, m)
        At each test row; one row per alpha where `alphas` was given.
    bias_squared, variance, noise, risk : float or ndarray of shape (alphas,)
        Means over the test rows.
    alphas : ndarray or None
        The alphas, as they were given.
    standard_errors : mapping or None
        Of the averages bias_squared, variance and risk, over the draws; None where the numbers are exact.
    how : str
        How they were found, and what they are.
    loss : {"squared", "0/1"}
        The loss whose expectation is the risk.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.insight.bias_variance_result import BiasVariance
    >>> print(BiasVariance(np.array([1.0, 3.0]), np.array([0.5, 0.5]), np.array([1.0, 1.0]), how="exact"))
    Expected squared loss at 2 test rows, exact:
    bias squared  variance  noise  risk
    ------------  --------  -----  ----
               2       0.5      1   3.5
    """

    bias_squared_at: Array
    variance_at: Array
    noise_at: Array
    alphas: Array | None = None
    standard_errors: Mapping[str, Any] | None = None
    how: str = "exact"
    loss: str = "squared"

    @property
    def risk_at(self) -> Array:
        """Expected loss at each test row: the sum of its parts."""
        return np.asarray(self.bias_squared_at + self.variance_at + self.noise_at)

    @property
    def bias_squared(self) -> Any:
        """Mean squared distance of the mean prediction from the truth."""
        return _average(self.bias_squared_at)

    @property
    def variance(self) -> Any:
        """Mean variance of the predictions over training sets."""
        return _average(self.variance_at)

    @property
    def noise(self) -> Any:
        """Mean loss that no prediction can avoid."""
        return _average(self.noise_at)

    @property
    def risk(self) -> Any:
        """Mean expected loss."""
        return _average(self.risk_at)

    @property
    def best_alpha(self) -> float | None:
        """The alpha with the least risk; None where no alphas were given."""
        return None if self.alphas is None else float(self.alphas[int(np.argmin(self.risk))])

    def table(self) -> dict[str, Array]:
        """Columns of numbers, ready for a data frame: alpha if there are several, the parts, their standard errors.

        Returns
        -------
        dict of str to ndarray

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.insight.bias_variance_result import BiasVariance
        >>> list(BiasVariance(np.zeros(2), np.ones(2), np.ones(2)).table())
        ['bias_squared', 'variance', 'noise', 'risk']
        """
        columns = {} if self.alphas is None else {"alpha": self.alphas.copy()}
        columns |= {name: np.atleast_1d(getattr(self, name)) for name in PARTS}
        errors = self.standard_errors or {}
        return columns | {f"{name}_error": np.atleast_1d(error) for name, error in errors.items()}

    def _columns(self) -> dict[str, list[Any]]:
        """The same as lists."""
        return {name: values.tolist() for name, values in self.table().items()}

    def plot(self, ax: Any = None) -> Any:
        """Draw it: curves over alpha, or over the test rows where there is one alpha.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        BiasVarianceDisplay
        """
        from mercer.displays import BiasVarianceDisplay

        return BiasVarianceDisplay.from_result(self, ax=ax)

    def __str__(self) -> str:
        columns = self.table()
        names = [name for name in columns if not name.endswith("_error")]
        rows = [[self._cell(name, i) for name in names] for i in range(len(columns["risk"]))]
        header = [name.replace("_", " ") for name in names]
        m = self.risk_at.shape[-1]
        title = f"Expected {self.loss} loss at {m} test row{'' if m == 1 else 's'}, {self.how}:"
        return "\n".join([title, text_table(header, rows)])

    def __repr__(self) -> str:
        found = {name: np.atleast_1d(getattr(self, name)) for name in PARTS}
        best = int(np.argmin(found["risk"]))
        at = "" if self.alphas is None or len(found["risk"]) == 1 else f" at alpha {plain(float(self.alphas[best]), 3)}"
        said = ", ".join(f"{name.replace('_', ' ')} {plain(float(values[best]), 3)}" for name, values in found.items())
        return f"<BiasVariance: {'least risk' + at + ': ' if at else ''}{said}>"

    def _cell(self, name: str, i: int) -> Any:
        value = float(self.table()[name][i])
        if self.standard_errors is None or name not in self.standard_errors:
            return value
        return f"{value:.4g} +- {float(np.atleast_1d(self.standard_errors[name])[i]):.2g}"


def _average(values: Array) -> Any:
    means = values.mean(axis=-1)
    return float(means) if means.ndim == 0 else means


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
        raise InputError(sentence(name, must_be, type(given).__name__, f"Pass ({name} at X, {name} at X_test)."))
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
