"""Tables for demonstrations and tests: two small real ones that ship with mercer, and a generated one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

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
    source = "I-Cheng Yeh, Concrete Compressive Strength, UCI Machine Learning Repository, 1998"
    return Sample(numbers[:, :-1], numbers[:, -1], names[:-1], "strength (MPa)", source, "CC BY 4.0")


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
    moments = (year + (month - 0.5) / 12.0)[:, None]
    source = "C. D. Keeling and T. P. Whorf, Scripps Institution of Oceanography; weekly values from statsmodels"
    return Sample(moments, concentration.copy(), ("year",), "CO2 (ppm)", source, "public domain")


_DISTRICTS = ("harbour", "hill", "mill", "old town", "park", "station")
_RATES = np.array([4.2, 3.4, 2.1, 3.9, 3.0, 2.5])  # thousands for a square metre
_NOISE = 0.06  # standard deviation of the logarithm of a price


def houses(rows: int = 400, random_state: int = 0) -> tuple[dict[str, list[Any]], Array]:
    """Generated sales of houses: columns of numbers and categories with missing values, and prices in thousands.

    The price is the area times a rate of the district, which is highest for houses built around 1900 or 2020 and falls
    with the walk to the station and with each energy class; a garden adds 40 on the hill and at the park, and 15
    elsewhere. Prices scatter by 6 %. Of the years 4 % are missing, and of the energy classes 8 %.

    Parameters
    ----------
    rows : int, default=400
        Number of sales.
    random_state : int, default=0
        Random seed; another one gives other houses.

    Returns
    -------
    table : dict of str to list
        Columns by name; missing values are None.
    price : ndarray of shape (rows,)
        Prices in thousands.

    Examples
    --------
    >>> from mercer.data.samples import houses
    >>> table, price = houses()
    >>> {name: column[0] for name, column in table.items()}
    {'area': 109.0, 'built': 1905, 'district': 'station', 'energy': 'C', 'walk': 23.0, 'garden': 'no'}
    """
    rng = np.random.default_rng(random_state)
    district, energy = rng.integers(0, len(_DISTRICTS), rows), rng.choice(6, rows, p=[0.1, 0.2, 0.25, 0.2, 0.15, 0.1])
    area, built = np.round(rng.gamma(9.0, 13.0, rows)), rng.integers(1900, 2021, rows)
    walk, garden = np.round(1.0 + rng.exponential(12.0, rows)), rng.random(rows) < 0.5
    age = 0.75 + 0.25 * np.cos(2.0 * np.pi * (built - 1900) / 120.0)
    price = area * _RATES[district] * age * (0.75 + 0.25 * np.exp(-walk / 15.0)) * (1.06 - 0.03 * energy)
    price += garden * np.where(np.isin(district, (1, 4)), 40.0, 15.0)
    price = np.round(price * np.exp(_NOISE * rng.normal(size=rows)), 1)
    no_year, no_class = rng.random(rows) < 0.04, rng.random(rows) < 0.08
    table: dict[str, list[Any]] = {
        "area": area.tolist(),
        "built": [None if missing else int(year) for year, missing in zip(built, no_year, strict=True)],
        "district": [_DISTRICTS[place] for place in district],
        "energy": [None if missing else "ABCDEF"[place] for place, missing in zip(energy, no_class, strict=True)],
        "walk": walk.tolist(),
        "garden": np.where(garden, "yes", "no").tolist(),
    }
    return table, price


def _read(name: str) -> tuple[tuple[str, ...], Array]:
    """Names and numbers of a table that lies beside this file."""
    header, *lines = files("mercer.data.samples").joinpath(name).read_text(encoding="ascii").splitlines()
    return tuple(header.split(",")), np.array([line.split(",") for line in lines], dtype=np.float64)
