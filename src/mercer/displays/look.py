"""One look for all pictures: Okabe and Ito's colours, line styles and markers that also tell lines apart in grey.

A display is a dataclass of what it draws; `from_...` computes it and draws, `plot(ax)` draws it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, dataclass_transform

import numpy as np

from mercer.data.rows import Array, Estimator, XLike
from mercer.errors import InputError, MercerError, refuse_if, sentence
from mercer.text import Brief, round_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from mercer.kernels import Kernel

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#999999"
Axis: TypeAlias = Literal["both", "x", "y"]
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
TURNED: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}  # labels of ticks that need room
MAP = "viridis"  # even in lightness, so it survives a black-and-white printer
BAND = 0.2  # opacity of bands of uncertainty
_LONGEST = 34  # letters of a kernel in a label


@dataclass_transform(eq_default=False)
class Display(Brief):
    """What all displays share: the axes they were drawn on.

    A subclass becomes a dataclass by itself and writes `_draw`, which returns the labels of the axes. `size` is that of
    a new figure, in inches; `grid` says which lines are drawn below, and `legend` where the names of lines are, if at
    all.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the picture is, after `plot`.
    """

    ax_: Axes
    figure_: Figure | SubFigure
    _size: ClassVar[tuple[float, float]]
    _grid: ClassVar[Axis | None]
    _legend: ClassVar[dict[str, Any] | None]

    def __init_subclass__(
        cls, size: tuple[float, float] = (6.4, 4.4), grid: Axis | None = None, legend: dict[str, Any] | None = None
    ) -> None:
        """Make the subclass a dataclass."""
        cls._size, cls._grid, cls._legend = size, grid, legend
        dataclass(eq=False, repr=False)(cls)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        self
        """
        if ax is None:
            _, ax = pyplot().subplots(figsize=self._figure_size(), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_axisbelow(True)
        if self._grid is not None:
            grid_lines(ax, self._grid)
        x, y = self._draw(ax)
        ax.set(xlabel=x, ylabel=y)
        if self._legend is not None:
            ax.legend(frameon=False, **self._legend)
        return self

    def _figure_size(self) -> tuple[float, float]:
        """Inches; where they depend on what is drawn, a display computes them."""
        return self._size

    def _draw(self, ax: Axes) -> tuple[str, str]:
        """Draw on these axes, and return their labels."""
        raise NotImplementedError


def pyplot() -> ModuleType:
    """matplotlib.pyplot, loaded for the first plot."""
    try:
        from matplotlib import pyplot as plt
    except ModuleNotFoundError:  # pragma: no cover - the tests have it
        raise MercerError("Plots need matplotlib. Install it with: pip install 'mercer[cli]'.") from None
    return plt


def grid_lines(ax: Axes, axis: Axis = "both") -> None:
    """Thin lines to read values by."""
    ax.grid(visible=True, axis=axis, color="0.9", linewidth=0.8)


def fill_band(ax: Axes, x: Array, low: Array, high: Array, colour: str, label: str = "") -> None:
    """An area of uncertainty around a line."""
    ax.fill_between(x, low, high, color=colour, alpha=BAND, linewidth=0, label=label)


def shades(count: int) -> list[tuple[str, float]]:
    """Colours with opacities, each darker on white than the one before: areas that differ on paper without colour."""
    greys = np.linspace(0.93, max(0.72, 1.0 - 0.07 * count), count)
    channels = [[int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)] for colour in COLOURS[:count]]
    own = np.array(channels) @ [0.299, 0.587, 0.114]
    return [(colour, float(share)) for colour, share in zip(COLOURS, (1.0 - greys) / (1.0 - own), strict=False)]


def short_kernel(kernel: Kernel) -> str:
    """A kernel for a label: its kind and width where that is all, otherwise its text, shortened in the middle."""
    params = {name: value for name, value in kernel.get_params().items() if value is not False}
    if set(params) == {"width"} and np.ndim(params["width"]) == 0:
        return f"{type(kernel).__name__} {params['width']:.3g}"
    text = round_numbers(repr(kernel))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2 - 1]}…{text[-(_LONGEST // 2 - 2) :]}"


def larger(scoring: str) -> str:
    """The name of a score, with the side on which good ones lie."""
    return f"{scoring} (larger is better)"


def column_labels(estimator: Estimator, count: int) -> list[str]:
    """The names of the columns as they were given to `fit`, or x, or x1 and x2."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and len(names) == count:
        return [str(name) for name in names]
    return ["x"] if count == 1 else [f"x{j + 1}" for j in range(count)]


def table(X: XLike, *widths: int) -> Array:
    """X as numbers with as many columns as can be drawn."""
    must_be = f"a table of {' or '.join(map(str, widths))} column{'' if widths[-1] == 1 else 's'} of numbers"
    hint = "For one column of a larger table use mercer.column_effect."
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(sentence("X of a display", must_be, "other values", hint)) from None
    fits = values.ndim == 2 and values.shape[1] in widths
    refuse_if(not fits, "X of a display", must_be, f"shape {values.shape}", hint)
    return values


def check_kind(display: str, estimator: Estimator, *, classifier: bool) -> None:
    """Refuse a classifier where numbers are drawn, and a regressor where labels are."""
    from sklearn.base import is_classifier

    must_be, other = ("a classifier", "FitDisplay") if classifier else ("a regressor", "BoundaryDisplay")
    got = type(getattr(estimator, "steps", [(None, estimator)])[-1][1]).__name__
    hint = f"For {'a regressor' if classifier else 'a classifier'} use {other}."
    refuse_if(is_classifier(estimator) != classifier, f"The estimator of {display}", must_be, got, hint)


def mesh(X: Array, count: int) -> tuple[Array, Array, Array]:
    """Two axes that span the rows with a margin, and all their pairs as rows."""
    ends = [(column.min(), column.max()) for column in X.T]
    first, second = (np.linspace(a - 0.05 * (b - a), b + 0.05 * (b - a), count) for a, b in ends)
    return first, second, np.column_stack([part.ravel() for part in np.meshgrid(first, second)])
