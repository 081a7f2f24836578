"""Kernels and alphas to choose from: the Gram matrix, its spectrum, and the scores of a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.data.checks import check_gram
from mercer.data.rows import AlphaLike, Array, Estimator, XLike, YLike
from mercer.displays.look import (
    BLACK,
    BLUE,
    COLOURS,
    MAP,
    STYLES,
    TURNED,
    Display,
    larger,
    short_kernel,
)
from mercer.errors import InputError, refuse, refuse_if, sentence
from mercer.estimators.pipelines import split_pipeline
from mercer.insight.spectrum import GramSpectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mercer.kernels import Kernel


class GramDisplay(Display, size=(6.0, 4.6)):
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
    def from_kernel(
        cls, kernel: Kernel, X: XLike, y: YLike = None, *, y_label: str = "target", ax: Axes | None = None
    ) -> Self:
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
    def from_matrix(cls, K: XLike, y: YLike = None, *, y_label: str = "target", ax: Axes | None = None) -> Self:
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
        must_be, got = f"one target for each of {len(matrix)} rows", f"shape {targets.shape}"
        refuse_if(targets.shape != (len(matrix),), "y of GramDisplay", must_be, got)
        order = np.argsort(targets, kind="stable")
        return cls(matrix[np.ix_(order, order)], order, targets[order], y_label).plot(ax)

    def _draw(self, ax: Axes) -> tuple[str, str]:
        image = ax.imshow(self.K, cmap=MAP, interpolation="nearest" if len(self.K) <= 400 else "antialiased")
        self.figure_.colorbar(image, ax=ax, label="k(x, z)")
        if self.y is None:
            return "row", "row"
        labels, starts, counts = np.unique(self.y, return_index=True, return_counts=True)
        if len(labels) <= min(12, len(self.y) // 2):  # classes: a name in the middle of each, a line between
            ax.set_yticks(starts + 0.5 * counts - 0.5, [str(label) for label in labels])
            for start, draw in product(starts[1:], (ax.axhline, ax.axvline)):
                draw(start - 0.5, color="white", linewidth=0.8)
        else:
            places = np.linspace(0, len(self.y) - 1, min(6, len(self.y))).astype(int)
            texts = [f"{y:.3g}" if isinstance(y, int | float | np.number) else str(y) for y in self.y[places]]
            ax.set_yticks(places, texts)
        return f"rows, ordered by {self.y_label}", f"{self.y_label} of the row"


class SpectrumDisplay(Display, grid="both", legend={}):
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
    def from_kernel(cls, kernel: Kernel, X: XLike, *, alphas: AlphaLike = (), ax: Axes | None = None) -> Self:
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
        penalties = np.asarray(alphas, dtype=np.float64).ravel()
        positive = (np.isfinite(penalties) & (penalties > 0)).all()
        refuse_if(not positive, "alphas of SpectrumDisplay", "positive numbers", repr(alphas))
        values, slack = _spectrum(kernel(X))
        kept = np.maximum(values, 0.0)
        return cls(values, penalties, (kept / (kept + penalties[:, None])).sum(axis=1), slack).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Estimator, *, ax: Axes | None = None) -> Self:
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

    def _draw(self, ax: Axes) -> tuple[str, str]:
        kept = self.eigenvalues[self.eigenvalues > self.smallest]
        ax.plot(np.arange(1, len(kept) + 1), kept, "o", color=BLUE, markersize=3.5, label="eigenvalue")
        ax.set_yscale("log")
        ax.locator_params(axis="x", integer=True)  # there is no eigenvalue number 2.5
        for i, (alpha, degrees) in enumerate(zip(self.alphas, self.degrees, strict=True)):
            k = (i + 1) % len(COLOURS)
            label = f"alpha = {alpha:.3g}: {degrees:.3g} degrees of freedom"
            ax.axhline(alpha, color=COLOURS[k], linestyle=STYLES[k], linewidth=1.5, label=label)
        hidden = len(self.eigenvalues) - len(kept)
        rest = f" ({hidden} more {'is' if hidden == 1 else 'are'} zero up to rounding)" if hidden else ""
        return f"index of the eigenvalue{rest}", "eigenvalue of K"


def _spectrum(K: Array) -> tuple[Array, float]:
    """Eigenvalues in descending order, and what of them is rounding."""
    spectrum = GramSpectrum(check_gram(np.asarray(K, dtype=np.float64)), float(np.finfo(np.float64).eps))
    return spectrum.scaled_values[::-1] * spectrum.unit, spectrum.tolerance


class SearchDisplay(Display):
    """Mean scores as a heat map, kernels across and alphas upwards.

    Parameters
    ----------
    scores : ndarray of shape (kernels, alphas)
        Means over splits; larger is better.
    close : ndarray of bool of the same shape
        Within one standard error of the best.
    winner : tuple of int
        Kernel and alpha that were chosen.
    kernels, alphas : list of str
        How they are written along the axes.
    name, scoring : str
        What changes from kernel to kernel, and what the score is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV
    >>> from mercer.displays import SearchDisplay
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(25.0 * X[:, 0])
    >>> search = KernelRidgeCV([Gaussian(w) for w in (0.1, 1.0, 10.0)], [1e-3, 1e-2, 1e-1, 1.0]).fit(X, y)
    >>> display = SearchDisplay.from_estimator(search)
    >>> display.name, display.kernels, display.winner
    ('width', ['0.1', '1', '10'], (1, 2))
    """

    scores: Array
    close: Array
    winner: tuple[int, int]
    kernels: list[str]
    alphas: list[str]
    name: str = "kernel"
    scoring: str = "score"

    @classmethod
    def from_estimator(cls, search: Estimator, *, x_label: str | None = None, ax: Axes | None = None) -> Self:
        """The table of a fitted search.

        Parameters
        ----------
        search : KernelRidgeCV, KernelRidgeClassifierCV, or a Pipeline that ends in one
            Fitted.
        x_label : str, default=None
            Of the kernels' axis, with units.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        SearchDisplay
        """
        search = split_pipeline(search)[1]
        must_be = "a search, such as KernelRidgeCV, or a Pipeline that ends in one"
        refuse_if(not hasattr(search, "kernels"), "The search of SearchDisplay", must_be, type(search).__name__)
        check_is_fitted(search, "table_")
        table = search.table_
        need = "all scores of a search, which model files do not hold. Fit the search again."
        refuse(not hasattr(table, "mean"), f"SearchDisplay needs {need}")
        mean, error = table.mean.mean(axis=2), table.standard_error(search.folds_).mean(axis=2)
        best = np.unravel_index(np.nanargmax(mean), mean.shape)
        close = mean >= mean[best] - np.nan_to_num(error[best])
        name, kernels = _ladder(table.kernels)
        winner = (search.choice_.kernel, search.choice_.alphas[0])
        alphas = [f"{alpha:.3g}" for alpha in table.alphas]
        return cls(mean, close, winner, kernels, alphas, x_label or name, table.scoring).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        return max(6.0, min(11.0, 2.6 + 0.45 * len(self.kernels))), 4.8

    def _draw(self, ax: Axes) -> tuple[str, str]:
        finite = self.scores[np.isfinite(self.scores)]
        # the worst candidates are often worse by orders of magnitude, and would take all colours
        low = float(np.quantile(finite, 0.3)) if finite.size > 3 else float(finite.min())
        cells = ax.pcolormesh(np.ma.masked_invalid(self.scores.T), cmap=MAP, vmin=low, vmax=float(finite.max()))
        for colour, width in (("white", 4.0), (BLACK, 1.8)):
            for ends in _outline(self.close.T):
                ax.plot(*ends, color=colour, linewidth=width, solid_capstyle="round", clip_on=False)
        hollow = "within one standard error"
        ax.plot([], [], "s", color=BLACK, markerfacecolor="none", markeredgewidth=1.8, markersize=10, label=hollow)
        place = (self.winner[0] + 0.5, self.winner[1] + 0.5)
        ax.plot(*place, "*", color="#fffffe", markeredgecolor="#000001", markersize=16, linestyle="", label="chosen")
        _ticks(ax.set_xticks, self.kernels, self.winner[0], turned=max(map(len, self.kernels)) > 6)
        _ticks(ax.set_yticks, self.alphas, self.winner[1])
        label, extend = larger(self.scoring).replace(" (", "\n("), "min" if finite.min() < low else "neither"
        self.figure_.colorbar(cells, ax=ax, label=label, extend=extend)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
        return self.name, "alpha"


def _ticks(setter: Callable[..., object], labels: list[str], chosen: int, *, turned: bool = False) -> None:
    """Labels in the middle of the cells, so many that they can be read, with that of the chosen one."""
    step = -(-len(labels) // 16)
    places = np.arange(chosen % step, len(labels), step)
    setter(places + 0.5, [labels[i] for i in places], **(TURNED if turned else {}))


def _ladder(kernels: Sequence[Kernel]) -> tuple[str, list[str]]:
    """The one number in which the kernels differ and its values, or their texts."""
    params = [kernel.get_params() for kernel in kernels]
    if len({(type(kernel), *sorted(each)) for kernel, each in zip(kernels, params, strict=True)}) == 1:
        plain = [name for name in params[0] if all(isinstance(each[name], int | float) for each in params)]
        differ = [name for name in plain if len({each[name] for each in params}) > 1]
        if len(differ) == 1 and len({repr(k.set_params(**{differ[0]: params[0][differ[0]]})) for k in kernels}) == 1:
            return differ[0].replace("__", " "), [f"{each[differ[0]]:.3g}" for each in params]
    return "kernel", [short_kernel(kernel) for kernel in kernels]


def _outline(inside: Array) -> list[tuple[list[int], list[int]]]:
    """The edges between cells that are inside and cells that are not."""
    padded = np.pad(inside.astype(bool), 1)
    edges = [([int(j), int(j)], [int(i) - 1, int(i)]) for i, j in np.argwhere(padded[:, 1:] != padded[:, :-1])]
    return edges + [([int(j) - 1, int(j)], [int(i), int(i)]) for i, j in np.argwhere(padded[1:] != padded[:-1])]
