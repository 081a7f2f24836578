"""The samples that ship with mercer are the tables they say they are."""

import numpy as np
import pytest

from mercer.data.samples import co2, concrete, houses


def test_concrete_is_the_table_of_its_source():
    table = concrete()
    assert table.X.shape == (1030, 8)
    assert table.y.shape == (1030,)
    assert len(table.names) == 8
    assert table.names[-1] == "age"
    assert np.isfinite(table.X).all()
    assert (table.X >= 0).all()
    assert table.X[:, -1].min() == 1
    assert table.X[:, -1].max() == 365
    np.testing.assert_allclose([table.y.min(), table.y.max(), table.y.mean()], [2.33, 82.6, 35.82], atol=0.005)


def test_38_mixtures_repeat_another_one():
    assert 1030 - len(np.unique(concrete().X, axis=0)) == 38


def test_every_call_gives_arrays_of_its_own():
    concrete().X[:] = 0.0
    assert concrete().X.max() > 0


def test_its_source_and_licence_are_named():
    table = concrete()
    assert "UCI" in table.source
    assert table.licence == "CC BY 4.0"
    assert table.target == "strength (MPa)"


def test_co2_rises_and_breathes_once_a_year():
    table = co2()
    assert table.X.shape == (521, 1)
    year, ppm = table.X[:, 0], table.y
    assert (np.diff(year) > 0).all()
    np.testing.assert_allclose([year[0], year[-1]], [1958 + 2.5 / 12, 2001 + 11.5 / 12])
    trend = np.polynomial.Polynomial.fit(year, ppm, 2)
    assert 1.0 < trend.deriv()(1980.0) < 2.0
    month = np.rint((year % 1) * 12 + 0.5).astype(int)
    rest = ppm - trend(year)
    assert rest[month == 5].mean() > 2.0  # before the northern summer
    assert rest[month == 10].mean() < -2.0  # after it
    assert table.licence == "public domain"


def test_houses_are_the_same_for_the_same_seed_and_have_the_stated_gaps_and_prices():
    table, price = houses(20_000, random_state=3)
    again, same = houses(20_000, random_state=3)
    assert table == again
    assert (price == same).all()
    assert (houses(20_000)[1] != price).any()
    missing = {name: np.mean([cell is None for cell in column]) for name, column in table.items()}
    assert missing == pytest.approx(
        {"area": 0, "built": 0.04, "district": 0, "energy": 0.08, "walk": 0, "garden": 0}, abs=0.01
    )
    assert all(len(column) == 20_000 for column in table.values())
    assert (price > 0).all()
    rate = np.array([by == "harbour" for by in table["district"]])
    assert price[rate].mean() > 1.5 * price[[by == "mill" for by in table["district"]]].mean()
