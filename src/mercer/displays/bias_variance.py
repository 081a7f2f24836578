"""Bias, variance and noise: over alpha the curves whose sum has a valley, at one alpha over the test rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.data.rows import Array
from mercer.displays.look import BAND, BLACK, BLUE, GREEN, GREY, VERMILION, Display, grid_lines, named
from mercer.insight.bias_variance import BiasVariance, bias_variance

_LINES = (
    ("risk", "risk", BLACK, "-", "o"),
    ("bias_squared", "bias squared", BLUE, "--", "s"),
    ("variance", "variance", VERMILION, "-.", "^"),
    ("noise", "noise", GREEN, ":", ""),
)


@dataclass(eq=False, repr=False)
class BiasVarianceDisplay(Display):
    """The parts of the risk as curves.

    Parameters
    ----------
    result : BiasVariance
        Of `mercer.bias_variance`.
    x : ndarray or None
        What the test rows are drawn over where there is one alpha; None is their number.
    x_label, y_label : str or None
        Names of the axes, with units.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, bias_variance
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> result = bias_variance(
    ...     KernelRidge(kernel="rbf"), X, lambda X: np.sin(X[:, 0]), 0.3, alphas=np.logspace(-3, 2, 11)
    ... )
    >>> result.plot().ax_.get_xlabel()
    'alpha'
    """

    result: BiasVariance
    x: Array | None = None
    x_label: str | None = None
    y_label: str | None = None

    @classmethod
    def from_result(
        cls,
        result: BiasVariance,
        *,
        x: Any = None,
        x_label: str | None = None,
        y_label: str | None = None,
        ax: Any = None,
    ) -> Self:
        """A decomposition that is there already.

        Parameters
        ----------
        result : BiasVariance
            Of `mercer.bias_variance`.
        x : array-like of shape (m,), default=None
            Where the test rows lie, for a result of one alpha.
        x_label, y_label : str, default=None
            With units.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        BiasVarianceDisplay
        """
        place = None if x is None else np.asarray(x, dtype=np.float64).ravel()
        return cls(result, place, x_label, y_label).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, truth: Any, noise: Any, *, alphas: Any = None, X_test: Any = None, ax: Any = None
    ) -> Self:
        """Decompose and draw.

        Parameters
        ----------
        estimator, X, truth, noise, alphas, X_test
            As for `mercer.bias_variance`.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        BiasVarianceDisplay
        """
        return cls.from_result(bias_variance(estimator, X, truth, noise, alphas=alphas, X_test=X_test), ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        self
        """
        ax = self._on(ax)
        grid_lines(ax)
        alphas = self.result.alphas
        single = alphas is None
        m = self.result.risk_at.shape[-1]
        x = (np.arange(1, m + 1) if self.x is None else self.x) if alphas is None else alphas
        order = np.argsort(x, kind="stable")
        for name, label, colour, style, marker in _LINES:
            values = np.broadcast_to(getattr(self.result, f"{name}_at" if single else name), x.shape)[order]
            ax.plot(
                x[order], values, linestyle=style, marker="" if single else marker, color=colour,
                linewidth=1.8, markersize=4, label=label,
            )  # fmt: skip
            errors = (self.result.standard_errors or {}).get(name)
            if errors is not None and not single:
                ends = values - errors[order], values + errors[order]
                ax.fill_between(x[order], *ends, color=colour, alpha=BAND, linewidth=0)
        if alphas is not None:
            best = float(alphas[np.argmin(self.result.risk)])
            ax.axvline(
                best,
                color=GREY,
                linestyle=(0, (1, 2)),
                linewidth=1.4,
                label=f"least risk, at alpha = {best:.3g}",
                zorder=1,
            )
            if x.min() > 0:
                ax.set_xscale("log")
        own = "alpha" if not single else "test row" if self.x is None else "x"
        named(ax, self.x_label or own, self.y_label or "expected squared loss")
        ax.legend(frameon=False)
        return self
