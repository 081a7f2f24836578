"""What a decomposition of the risk is: bias squared, variance and noise, on average and at every test row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.rows import Array
from mercer.tables import text_table

PARTS = ("bias_squared", "variance", "noise", "risk")


@dataclass(frozen=True, eq=False)
class BiasVariance:
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

    def _cell(self, name: str, i: int) -> Any:
        value = float(self.table()[name][i])
        if self.standard_errors is None or name not in self.standard_errors:
            return value
        return f"{value:.4g} +- {float(np.atleast_1d(self.standard_errors[name])[i]):.2g}"


def _average(values: Array) -> Any:
    means = values.mean(axis=-1)
    return float(means) if means.ndim == 0 else means
