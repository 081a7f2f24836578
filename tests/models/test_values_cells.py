"""Models in cells in files: the same bits after loading, and damaged records are refused."""

import numpy as np
import pytest

from mercer import LocalRidge, LocalRidgeClassifierCV, LocalRidgeCV, load, save
from mercer.errors import ModelFileError
from mercer.kernels import Matern
from mercer.models.values import StoredCells

SMALL = {"core_rows": 32, "system_rows": 96}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 6.0, size=(300, 2))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)


@pytest.mark.parametrize(
    "model",
    [
        LocalRidge(0.1, kernel=Matern(1.0), mix=2, **SMALL),
        LocalRidgeCV([Matern(1.0)], [0.1, 1.0], **SMALL),
        LocalRidgeCV([Matern(1.0)], [0.1, 1.0], cv=4, **SMALL),
    ],
    ids=["model", "search", "folds"],
)
def test_a_loaded_model_predicts_the_same_bits(model, data, tmp_path):
    X, y = data
    weights = np.ones(300)
    weights[::9] = 0.0
    fitted = model.fit(X, np.column_stack([y, y**2]), sample_weight=weights)
    save(fitted, tmp_path / "cells.mercer")
    again = load(tmp_path / "cells.mercer")
    assert (again.predict(X) == fitted.predict(X)).all()
    assert (again.residuals_ == fitted.residuals_).all()
    np.testing.assert_array_equal(again.predict_interval(X[:9]), fitted.predict_interval(X[:9]))
    assert again.summary() == fitted.summary()


def test_rows_are_added_to_a_loaded_model(data, tmp_path):
    X, y = data
    model = LocalRidge(0.1, kernel=Matern(1.0), **SMALL).fit(X[:250], y[:250])
    save(model, tmp_path / "cells.mercer")
    grown = load(tmp_path / "cells.mercer").with_rows(X[250:], y[250:])
    assert np.allclose(grown.predict(X), model.with_rows(X[250:], y[250:]).predict(X), atol=1e-12)


def test_labels_and_probabilities_are_kept(data, tmp_path):
    X, y = data
    model = LocalRidgeClassifierCV([Matern(1.0)], [0.1], **SMALL).fit(X, np.where(y > 0, "up", "down"))
    save(model, tmp_path / "labels.mercer")
    assert (load(tmp_path / "labels.mercer").predict_proba(X) == model.predict_proba(X)).all()


DAMAGE = {
    "a row that is not there": lambda record: record["members"].__setitem__(0, 300),
    "a negative row": lambda record: record["members"].__setitem__(0, -1),
    "a core twice": lambda record: record["order"].__setitem__(0, record["order"][1]),
    "a column that is not there": lambda record: record["columns"].__setitem__(0, 2),
    "a coefficient that is not finite": lambda record: record["dual"].__setitem__((0, 0), np.nan),
    "a scale of zero": lambda record: record["scale"].__setitem__(0, 0.0),
    "too few coefficients": lambda record: record.update(dual=record["dual"][1:]),
    "another type": lambda record: record.update(order=record["order"].astype(float)),
    "no kernel": lambda record: record.update(kernel="gaussian"),
    "a missing part": lambda record: record.pop("low"),
    "starts out of order": lambda record: record["starts"].__setitem__(1, 200),
    "a weight that is not positive": lambda record: record.update(weights=np.r_[0.0, np.ones(299)]),
    "a count too large": lambda record: record["counts"].__setitem__(0, record["counts"][0] + 1),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_record_is_refused(damage, data):
    X, y = data
    record = StoredCells.of(LocalRidge(0.1, kernel=Matern(1.0), **SMALL).fit(X, y).fitted_).record
    record = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in record.items()}
    assert (StoredCells(record).restore().solutions[0].members == record["members"][: record["counts"][0]]).all()
    damage(record)
    with pytest.raises(ModelFileError):
        StoredCells(record).restore()
