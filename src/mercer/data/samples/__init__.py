"""Two small real tables that ship with mercer, for demonstrations and tests."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from mercer.data.rows import Array


@dataclass(frozen=True)
class Sample:
    """A table with its provenance.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Inputs, in the units of the source.
    y : ndarray of shape (n,)
        Target.
    names : tuple of str
        Names of the columns of X.
    target : str
        What y is, with its unit.
    source, licence : str
        Where it comes from, and what may be done with it.
    """

    X: Array
    y: Array
    names: tuple[str, ...]
    target: str
    source: str
    licence: str


def concrete() -> Sample:
    """Compressive strength of 1030 concrete mixtures, in MPa.

    Seven ingredients in kg per cubic metre and the age in days. 38 of the mixtures are repeats of
    another one, with a strength of their own.

    Returns
    -------
    Sample

    Examples
    --------
    >>> from mercer.data.samples import concrete
    >>> table = concrete()
    >>> table.X.shape, table.names[0], table.target
    ((1030, 8), 'cement', 'strength (MPa)')
    """
    names, numbers = _read("concrete.csv")
    return Sample(
        X=numbers[:, :-1],
        y=numbers[:, -1],
        names=names[:-1],
        target="strength (MPa)",
        source="I-Cheng Yeh, Concrete Compressive Strength, UCI Machine Learning Repository, 1998",
        licence="CC BY 4.0",
    )


def co2() -> Sample:
    """Carbon dioxide in the air over Mauna Loa, Hawaii: means of 521 months from 1958 to 2001, in ppm.

    The one column is the middle of the month as a decimal year. Five months have no measurement and are
    left out.

    Returns
    -------
    Sample

    Examples
    --------
    >>> from mercer.data.samples import co2
    >>> table = co2()
    >>> table.X.shape, float(table.y[0]), table.target
    ((521, 1), 316.1, 'CO2 (ppm)')
    """
    _, numbers = _read("co2.csv")
    year, month, concentration = numbers.T
    return Sample(
        X=(year + (month - 0.5) / 12.0)[:, None],
        y=concentration.copy(),
        names=("year",),
        target="CO2 (ppm)",
        source="C. D. Keeling and T. P. Whorf, Scripps Institution of Oceanography; weekly values from statsmodels",
        licence="public domain",
    )


def _read(name: str) -> tuple[tuple[str, ...], Array]:
    """Names and numbers of a table that lies beside this file."""
    header, *lines = files("mercer.data.samples").joinpath(name).read_text(encoding="ascii").splitlines()
    return tuple(header.split(",")), np.array([line.split(",") for line in lines], dtype=np.float64)
