"""Scores of all kernels and alphas of a search, the best candidate, and those within one standard error of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.data.rows import Array
from mercer.displays.look import BLACK, MAP, Display, larger, named, short_kernel
from mercer.errors import InputError, sentence
from mercer.estimators.pipelines import split_pipeline


@dataclass(eq=False, repr=False)
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
    def from_estimator(cls, search: Any, *, x_label: str | None = None, ax: Any = None) -> Self:
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
        if not hasattr(search, "kernels"):
            must_be = "a search, such as KernelRidgeCV, or a Pipeline that ends in one"
            raise InputError(sentence("The search of SearchDisplay", must_be, type(search).__name__))
        check_is_fitted(search, "table_")
        found = search.table_
        if not hasattr(found, "mean"):
            raise InputError(
                "SearchDisplay needs all scores of a search, which model files do not hold. Fit the search again."
            )
        mean, error = found.mean.mean(axis=2), found.standard_error(search.folds_).mean(axis=2)
        best = np.unravel_index(np.nanargmax(mean), mean.shape)
        close = mean >= mean[best] - np.nan_to_num(error[best])
        name, kernels = _ladder(found.kernels)
        winner = (search.choice_.kernel, search.choice_.alphas[0])
        alphas = [f"{alpha:.3g}" for alpha in found.alphas]
        return cls(mean, close, winner, kernels, alphas, x_label or name, found.scoring).plot(ax)

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
        ax = self._on(ax, (max(6.0, min(11.0, 2.6 + 0.45 * len(self.kernels))), 4.8))
        finite = self.scores[np.isfinite(self.scores)]
        # the worst candidates are often worse by orders of magnitude, and would take all colours
        low = float(np.quantile(finite, 0.3)) if finite.size > 3 else float(finite.min())
        drawn = ax.pcolormesh(np.ma.masked_invalid(self.scores.T), cmap=MAP, vmin=low, vmax=float(finite.max()))
        for colour, width in (("white", 4.0), (BLACK, 1.8)):
            for ends in _outline(self.close.T):
                ax.plot(*ends, color=colour, linewidth=width, solid_capstyle="round", clip_on=False)
        hollow = {"marker": "s", "markerfacecolor": "none", "markeredgewidth": 1.8, "markersize": 10, "linestyle": ""}
        ax.plot([], [], color=BLACK, label="within one standard error", **hollow)
        place = (self.winner[0] + 0.5, self.winner[1] + 0.5)
        ax.plot(*place, "*", color="#fffffe", markeredgecolor="#000001", markersize=16, linestyle="", label="chosen")
        _ticks(ax.set_xticks, self.kernels, self.winner[0], turned=max(map(len, self.kernels)) > 6)
        _ticks(ax.set_yticks, self.alphas, self.winner[1])
        named(ax, self.name, "alpha")
        self.figure_.colorbar(
            drawn,
            ax=ax,
            label=larger(self.scoring).replace(" (", "\n("),
            extend="min" if finite.min() < low else "neither",
        )
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
        return self


def _ticks(setter: Any, labels: list[str], chosen: int, *, turned: bool = False) -> None:
    """Labels in the middle of the cells, so many that they can be read, with that of the chosen one."""
    step = -(-len(labels) // 16)
    places = np.arange(chosen % step, len(labels), step)
    how = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    setter(places + 0.5, [labels[i] for i in places], **how)


def _ladder(kernels: Any) -> tuple[str, list[str]]:
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
