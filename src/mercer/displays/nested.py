"""Nested cross-validation at a glance: what every outer fold chose, what it promised and what it got."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.data.rows import Array, Seed
from mercer.displays.look import BLUE, GREY, VERMILION, Display, grid_lines, larger, named, short_kernel
from mercer.estimators.nesting import NestedCrossValidation, nested_cross_validate


@dataclass(eq=False, repr=False)
class NestedDisplay(Display):
    """One line per outer fold: inner score of its winner, outer score, and the best candidate itself.

    Parameters
    ----------
    inner, outer : ndarray of shape (folds,)
        Scores, of all repeats one after the other; larger is better.
    chosen : list of str
        The best candidate of every fold; empty where scores are pooled over folds.
    scoring : str
        What the score is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV, nested_cross_validate
    >>> from mercer.displays import NestedDisplay
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> search = KernelRidgeCV([Gaussian(w) for w in (0.5, 1.0, 2.0)], [1e-3, 1e-2, 1e-1])
    >>> result = nested_cross_validate(search, X, np.sin(X[:, 0]), cv=5, random_state=0)
    >>> display = NestedDisplay.from_result(result)
    >>> len(display.chosen), bool(display.optimism == result.optimism)
    (5, True)
    """

    inner: Array
    outer: Array
    chosen: list[str]
    scoring: str = "score"

    @property
    def optimism(self) -> float:
        """Mean inner score less mean outer score."""
        return float(self.inner.mean() - self.outer.mean())

    @classmethod
    def from_result(cls, result: NestedCrossValidation, *, x_label: str | None = None, ax: Any = None) -> Self:
        """What `nested_cross_validate` returned.

        Parameters
        ----------
        result : NestedCrossValidation
            The scores and choices.
        x_label : str, default=None
            Of the scores' axis, with units.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        NestedDisplay
        """
        chosen = [f"{short_kernel(choice['kernel'])}, alpha {_text(choice['alpha'])}" for choice in result.chosen]
        if len(chosen) != result.scores.size:
            chosen = []
        label = x_label or larger(result.scoring)
        return cls(result.inner_scores.ravel(), result.scores.ravel(), chosen, label).plot(ax)

    @classmethod
    def from_estimator(
        cls, search: Any, X: Any, y: Any, *, cv: Any = 10, random_state: Seed = None, ax: Any = None
    ) -> Self:
        """Run `nested_cross_validate` and draw what it returns.

        Parameters
        ----------
        search, X, y, cv, random_state
            As for `mercer.nested_cross_validate`.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        NestedDisplay
        """
        return cls.from_result(nested_cross_validate(search, X, y, cv=cv, random_state=random_state), ax=ax)

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
        count = len(self.outer)
        ax = self._on(ax, (8.0, min(12.0, 1.9 + 0.3 * count)))
        grid_lines(ax, "x")
        places = np.arange(1, count + 1)
        ax.hlines(places, self.inner, self.outer, color=GREY, linewidth=1.5)
        inner, outer = float(self.inner.mean()), float(self.outer.mean())
        ax.axvline(inner, color=VERMILION, linestyle="--", linewidth=1.4)  # named with the points
        ax.axvline(outer, color=BLUE, linestyle="-", linewidth=1.4)
        ax.plot(
            self.inner, places, "s", color=VERMILION, markerfacecolor="white", markeredgewidth=1.5,
            label=f"inner (mean {inner:.3g}, dashed)",
        )  # fmt: skip
        ax.plot(self.outer, places, "o", color=BLUE, label=f"outer (mean {outer:.3g}, solid)")
        step = -(-count // 30)
        names = [f"{i}: {text}" for i, text in zip(places, self.chosen, strict=True)] if self.chosen else places
        ax.set_yticks(places[::step], list(names)[::step])
        ax.set_ylim(count + 0.6, 0.4)
        ax.locator_params(axis="x", nbins=6)
        named(ax, self.scoring, "outer fold and its choice" if self.chosen else "repeat")
        ax.legend(
            title=f"optimism {self.optimism:.2g}", alignment="left", loc="lower left", bbox_to_anchor=(0.0, 1.0),
            ncols=2, frameon=False, borderaxespad=0.2, handletextpad=0.3, columnspacing=1.2,
        )  # fmt: skip
        return self


def _text(alpha: Any) -> str:
    return f"{alpha:.3g}" if np.ndim(alpha) == 0 else ", ".join(f"{value:.3g}" for value in alpha)
