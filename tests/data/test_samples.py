"""The samples that ship with mercer are the tables they say they are."""

import numpy as np

from mercer.data.samples import co2, concrete


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
