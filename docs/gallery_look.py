"""What every script of the gallery starts from: the look of mercer's own pictures."""

from typing import Any

from cycler import cycler
from matplotlib import rcParams

from mercer.displays import look


def settle(_settings: dict[str, Any], _script: str) -> None:
    """Give plain matplotlib the colours, thin grids and open frames of the displays."""
    rcParams.update(
        {
            "axes.axisbelow": True,
            "axes.grid": True,
            "axes.prop_cycle": cycler(color=look.COLOURS),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlelocation": "left",
            "axes.titlesize": "medium",
            "figure.constrained_layout.use": True,
            "grid.color": "0.9",
            "grid.linewidth": 0.8,
            "image.cmap": look.MAP,
            "legend.frameon": False,
            "lines.linewidth": 1.8,
        }
    )
