"""The Gram matrix as an image, and its spectrum with the degrees of freedom that alphas leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import check_gram
from mercer.data.rows import Array
from mercer.displays.look import BLUE, COLOURS, MAP, STYLES, Display, grid_lines, named
from mercer.errors import InputError, sentence
from mercer.estimators.pipelines import split_pipeline
from mercer.insight.spectrum import GramSpectrum


@dataclass(eq=False, repr=False)
class GramDisplay(Display):
    """Similarities of all pairs of rows, ordered by target: blocks show classes, a band along the diagonal a trend.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The matrix, in the order drawn.
    order : ndarray of int
        The row that each line of the picture is.
    y : ndarray of shape (n,) or None
        Targets in that order.
    y_label : str, default="target"
        Name of the target.

    Examples
    --------
    >>> from mercer.displays import GramDisplay
    >>> from mercer.kernels import Linear
    >>> GramDisplay.from_kernel(Linear(), [[2.0], [1.0]], [5.0, 4.0]).K.tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """

    K: Array
    order: Array
    y: Array | None = None
    y_label: str = "target"

    @classmethod
    def from_kernel(cls, kernel: Any, X: Any, y: Any = None, *, y_label: str = "target", ax: Any = None) -> Self:
        """The matrix of a kernel on these rows.

        Parameters
        ----------
        kernel : Kernel
            Of `mercer.kernels`.
        X : array-like
            Rows.
        y : array-like of shape (n,), default=None
            Targets or labels that order the rows; None leaves them as they are.
        y_label : str, default="target"
            Name of the target.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        GramDisplay
        """
        return cls.from_matrix(kernel(X), y, y_label=y_label, ax=ax)

    @classmethod
    def from_matrix(cls, K: Any, y: Any = None, *, y_label: str = "target", ax: Any = None) -> Self:
        """A matrix that is there already.

        Parameters
        ----------
        K : array-like of shape (n, n)
            Symmetric.
        y, y_label, ax
            As for `from_kernel`.

        Returns
        -------
        GramDisplay
        """
        matrix = check_gram(np.asarray(K, dtype=np.float64))
        if y is None:
            return cls(matrix, np.arange(len(matrix)), None, y_label).plot(ax)
        targets = np.asarray(y)
        if targets.shape != (len(matrix),):
            got = f"shape {targets.shape}"
            raise InputError(sentence("y of GramDisplay", f"one target for each of {len(matrix)} rows", got))
        order = np.argsort(targets, kind="stable")
        return cls(matrix[np.ix_(order, order)], order, targets[order], y_label).plot(ax)

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
        ax = self._on(ax, (6.0, 4.6))
        drawn = ax.imshow(self.K, cmap=MAP, interpolation="nearest" if len(self.K) <= 400 else "antialiased")
        self.figure_.colorbar(drawn, ax=ax, label="k(x, z)")
        if self.y is None:
            named(ax, "row", "row")
            return self
        named(ax, f"rows, ordered by {self.y_label}", f"{self.y_label} of the row")
        labels, starts, counts = np.unique(self.y, return_index=True, return_counts=True)
        if len(labels) <= min(12, len(self.y) // 2):  # classes: a name in the middle of each, a line between
            ax.set_yticks(starts + 0.5 * counts - 0.5, [str(label) for label in labels])
            for start in starts[1:]:
                ax.axhline(start - 0.5, color="white", linewidth=0.8)
                ax.axvline(start - 0.5, color="white", linewidth=0.8)
        else:
            places = np.linspace(0, len(self.y) - 1, min(6, len(self.y))).astype(int)
            ax.set_yticks(places, [_written(self.y[i]) for i in places])
        return self


def _written(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, int | float | np.number) else str(value)


@dataclass(eq=False, repr=False)
class SpectrumDisplay(Display):
    """Eigenvalues from the largest, and where alphas cut them off.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n,)
        Descending.
    alphas, degrees : ndarray of shape (k,)
        Alphas, and the effective degrees of freedom that they leave: the sum of d / (d + alpha).
    smallest : float
        What rounding may account for; smaller eigenvalues are not drawn.

    Examples
    --------
    >>> from mercer.displays import SpectrumDisplay
    >>> from mercer.kernels import Linear
    >>> display = SpectrumDisplay.from_kernel(Linear(), [[1.0, 0.0], [0.0, 2.0]], alphas=[1.0])
    >>> display.eigenvalues.tolist(), display.degrees.tolist()  # 4 / 5 + 1 / 2
    ([4.0, 1.0], [1.3])
    """

    eigenvalues: Array
    alphas: Array
    degrees: Array
    smallest: float = 0.0

    @classmethod
    def from_kernel(cls, kernel: Any, X: Any, *, alphas: Any = (), ax: Any = None) -> Self:
        """The spectrum of a kernel on these rows, without an intercept.

        Parameters
        ----------
        kernel : Kernel
            Of `mercer.kernels`.
        X : array-like
            Rows.
        alphas : sequence of float, default=()
            To be drawn with their degrees of freedom.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        SpectrumDisplay
        """
        given = np.asarray(alphas, dtype=np.float64).ravel()
        if not (np.isfinite(given) & (given > 0)).all():
            raise InputError(sentence("alphas of SpectrumDisplay", "positive numbers", repr(alphas)))
        values, slack = _spectrum(kernel(X))
        kept = np.maximum(values, 0.0)
        return cls(values, given, (kept / (kept + given[:, None])).sum(axis=1), slack).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """The spectrum of a fitted model's kernel on its rows, and its own alpha and degrees of freedom.

        Parameters
        ----------
        estimator : KernelRidge, a search, or a Pipeline that ends in one
            Fitted. Of a search, `best_estimator_` is used.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        SpectrumDisplay
        """
        last = split_pipeline(estimator)[1]
        check_is_fitted(last)
        model = getattr(last, "best_estimator_", last)
        if not hasattr(type(model), "effective_dof_") or np.ndim(model.alpha):
            what = "a KernelRidge with a single alpha, or a KernelRidgeCV"
            raise InputError(sentence("The estimator of SpectrumDisplay", what, type(last).__name__))
        K = model.X_fit_ if model.kernel_.kind == "gram" else model.kernel_(model.X_fit_)
        values, slack = _spectrum(np.asarray(K))
        return cls(values, np.array([float(model.alpha)]), np.array([model.effective_dof_]), slack).plot(ax)

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
        kept = self.eigenvalues[self.eigenvalues > self.smallest]
        ax.plot(np.arange(1, len(kept) + 1), kept, "o", color=BLUE, markersize=3.5, label="eigenvalue")
        ax.set_yscale("log")
        ax.xaxis.get_major_locator().set_params(integer=True)  # there is no eigenvalue number 2.5
        for i, (alpha, degrees) in enumerate(zip(self.alphas, self.degrees, strict=True)):
            k = (i + 1) % len(COLOURS)
            label = f"alpha = {alpha:.3g}: {degrees:.3g} degrees of freedom"
            ax.axhline(alpha, color=COLOURS[k], linestyle=STYLES[k], linewidth=1.5, label=label)
        hidden = len(self.eigenvalues) - len(kept)
        rest = f" ({hidden} more {'is' if hidden == 1 else 'are'} zero up to rounding)" if hidden else ""
        named(ax, f"index of the eigenvalue{rest}", "eigenvalue of K")
        ax.legend(frameon=False)
        return self


def _spectrum(K: Array) -> tuple[Array, float]:
    """Eigenvalues in descending order, and what of them is rounding."""
    found = GramSpectrum(check_gram(np.asarray(K, dtype=np.float64)), float(np.finfo(np.float64).eps))
    return found.scaled_values[::-1] * found.unit, found.tolerance
