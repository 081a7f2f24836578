"""How a column acts: against loops over the model's own predictions, and where it must be refused."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from mercer import AutoClassifier, AutoRegressor, KernelRidgeCV, column_effect
from mercer.errors import InputError
from mercer.kernels import Gaussian

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")


def houses(n=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": rng.uniform(40, 200, n),
            "heating": rng.choice(["gas", "oil", "pump"], n),
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "noise": np.where(np.arange(n) % 9 == 0, np.nan, rng.normal(size=n)),
        }
    )
    return X, (50 + 2 * X["size"] + 30 * (X["heating"] == "oil") + rng.normal(size=n)).to_numpy()


@pytest.fixture(scope="module")
def model():
    X, y = houses()
    return X, y, AutoRegressor().fit(X, y)


def test_the_average_is_that_of_the_predictions_of_changed_tables(model):
    X, y, fitted = model
    effect = column_effect(fitted, X, y, "size", kind="average")
    for value, found in zip(effect.values[::7], effect.effect[::7], strict=True):
        assert found == pytest.approx(fitted.predict(X.assign(size=value)).mean(), rel=1e-9)


def test_the_average_of_levels_and_the_same_less_its_mean(model):
    X, y, fitted = model
    average = column_effect(fitted, X, y, "heating", kind="average")
    assert average.values.tolist() == ["gas", "oil", "pump"]
    said = [fitted.predict(X.assign(heating=level)).mean() for level in average.values]
    assert np.allclose(average.effect, said, rtol=1e-9)
    local = column_effect(fitted, X, y, "heating")
    shares = X["heating"].value_counts(normalize=True)[average.values].to_numpy()
    assert np.allclose(local.effect, average.effect - shares @ average.effect, rtol=1e-9)


def test_local_effects_add_up_the_changes_between_neighbouring_values(model):
    X, y, fitted = model
    effect = column_effect(fitted, X, y, "size")
    ends = effect.values
    found, rows = [0.0], []
    for low, high in itertools.pairwise(ends):
        first = low == ends[0]
        part = X[(X["size"] > low - 1e-9 * first) & (X["size"] <= high + 1e-9)]
        change = fitted.predict(part.assign(size=high)) - fitted.predict(part.assign(size=low))
        found.append(found[-1] + change.mean())
        rows.append(len(part))
    assert sum(rows) >= len(X) - 2
    assert np.allclose(effect.effect, np.array(found) - np.interp(X["size"], ends, found).mean(), rtol=0.02, atol=1.0)


def test_a_sum_has_the_effect_of_each_term(model):
    X, y, fitted = model
    effect = column_effect(fitted, X, y, "size")
    assert np.polyfit(effect.values, effect.effect, 1)[0] == pytest.approx(2.0, rel=0.05)
    assert (effect.standard_error < 0.1 * np.ptp(effect.effect)).all()


def test_the_standard_error_is_that_of_the_jackknife_of_folds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=40)
    search = KernelRidgeCV("linear", [1e-6], fit_intercept=True).fit(X, y)
    effect = column_effect(search, X, y, "x1")
    slope = np.linalg.lstsq(np.column_stack([X, np.ones(40)]), y, rcond=None)[0][0]
    spread = np.linalg.inv(np.column_stack([X, np.ones(40)]).T @ np.column_stack([X, np.ones(40)]))[0, 0] ** 0.5
    ratio = (effect.effect[-1] - effect.effect[0]) / (effect.values[-1] - effect.values[0])
    assert ratio == pytest.approx(slope, rel=1e-6)
    # a straight line through the middle of the rows: its error at the ends is that of the slope times the distance
    distance = abs(effect.values[-1] - np.average(X[:, 0]))
    assert 0.3 < effect.standard_error[-1] / (0.3 * spread * distance) < 2.0


def test_dates_and_missing_cells(model):
    X, y, fitted = model
    assert column_effect(fitted, X, y, "sold").values.dtype.kind == "M"
    effect = column_effect(fitted, X, y, "noise")
    assert effect.values.min() == pytest.approx(X["noise"].min())
    assert np.abs(effect.effect).max() < 0.1 * y.std()


def test_the_probability_of_a_label():
    X, y = houses()
    labels = np.where(y > np.median(y), "dear", "cheap")
    fitted = AutoClassifier(committee=False).fit(X, labels)
    effect = column_effect(fitted, X, labels, "size", kind="average")
    assert effect.of == "the probability of dear"
    assert effect.effect[0] < 0.2
    assert effect.effect[-1] > 0.8
    other = column_effect(fitted, X, labels, "size", kind="average", label="cheap")
    assert np.allclose(effect.effect + other.effect, 1.0)
    with pytest.raises(InputError, match="label of column_effect must be one of cheap, dear; got 'free'"):
        column_effect(fitted, X, labels, "size", label="free")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"column": "sise"}, "There is no column 'sise'. Did you mean 'size'"),
        ({"column": 9}, "There is no column 9"),
        ({"column": "size", "kind": "ale"}, "kind of column_effect must be 'local' or 'average'; got 'ale'"),
        ({"column": "size", "label": "a"}, "label of column_effect needs a classifier"),
    ],
)
def test_what_is_refused(model, how, said):
    X, y, fitted = model
    with pytest.raises(InputError, match=said):
        column_effect(fitted, X, y, **how)


def test_a_result_prints_and_has_a_table_and_a_picture(model):
    X, y, fitted = model
    effect = column_effect(fitted, X, y, 0, target="price")
    assert str(effect).startswith("Change of price along size: from ")
    assert list(effect.to_frame()) == ["size", "effect", "standard error"]
    assert "<svg" in effect._repr_html_()
    assert effect.plot(Figure().subplots()).ax_.get_xlabel() == "size"


def test_a_column_of_two_numbers_is_centred_by_its_rows_and_a_constant_one_has_no_effect():
    rng = np.random.default_rng(0)
    rare = (np.arange(100) % 12 == 0).astype(float)
    Z = np.column_stack([rare, rng.normal(size=100), np.ones(100)])
    y = 5.0 * rare + 0.1 * rng.normal(size=100)
    search = KernelRidgeCV([Gaussian(1.0)], [0.01, 0.1], fit_intercept=True).fit(Z, y)
    effect = column_effect(search, Z, y, 0)
    assert abs(np.interp(rare, effect.values, effect.effect).mean()) < 1e-10
    assert column_effect(search, Z, y, 2).effect.tolist() == [0.0]


def test_targets_and_groups_that_do_not_fit_are_refused(model):
    X, y, fitted = model
    with pytest.raises(InputError, match="groups of a report must be one for each row"):
        column_effect(fitted, X, y, "size", groups=[1, 2])
    with pytest.raises(InputError, match="y of a report must be numbers"):
        column_effect(fitted, X, np.array(["a"] * len(y)), "size")
    labels = np.where(y > np.median(y), "dear", "cheap")
    with pytest.raises(InputError, match="labels that the model knows"):
        column_effect(AutoClassifier(committee=False).fit(X, labels), X, np.char.add(labels, "!"), "size")
    Z = X[["size"]].to_numpy()
    several = KernelRidgeCV([Gaussian(50.0)], [0.1, 1.0]).fit(Z, np.column_stack([y, y]))
    with pytest.raises(InputError, match="about one target"):
        column_effect(several, Z, y, 0)
