"""A small real table that ships with mercer, for demonstrations and tests."""

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
    text = files("mercer.data.samples").joinpath("concrete.csv").read_text(encoding="ascii")
    header, *lines = text.splitlines()
    numbers = np.array([line.split(",") for line in lines], dtype=np.float64)
    return Sample(
        X=numbers[:, :-1],
        y=numbers[:, -1],
        names=tuple(header.split(",")[:-1]),
        target="strength (MPa)",
        source="I-Cheng Yeh, Concrete Compressive Strength, UCI Machine Learning Repository, 1998",
        licence="CC BY 4.0",
    )
