"""Cells in a folder: as in memory, from files, resumed after an interruption, refused where they would be wrong."""

import numpy as np
import pandas as pd
import pytest

from mercer import LocalRidge, load, save
from mercer.kernels import Gaussian, Matern
from refusals import refusal

KERNEL = Matern([1.0, 2.0, 3.0], nu=1.5)


def table(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def model(folder=None, **more):
    return LocalRidge(0.01, kernel=KERNEL, core_rows=32, system_rows=96, folder=folder, **more)


@pytest.fixture
def small_leaves(monkeypatch):
    """Tables of more than 256 rows have several leaves."""
    monkeypatch.setattr("mercer.local.storage.LEAF_ROWS", 256)


def test_one_leaf_gives_the_model_of_memory(tmp_path):
    X, y = table()
    here, there = model().fit(X, y), model(tmp_path / "cells").fit(X, y)
    new = table(200, 1)[0]
    np.testing.assert_allclose(there.predict(new), here.predict(new), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(there.residuals_, here.residuals_, rtol=1e-9, atol=1e-11)
    assert there.loo_error_ == pytest.approx(here.loo_error_)
    np.testing.assert_allclose(there.predict_interval(new), here.predict_interval(new), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(there.predict(new, return_std=True)[1], here.predict(new, return_std=True)[1], rtol=1e-7)


@pytest.mark.parametrize("mix", [1, 2])
def test_held_out_predictions_equal_refits_with_the_same_partition(small_leaves, tmp_path, mix):
    X, y = table()
    Y = np.column_stack([y, X[:, 2] * y])
    weights = np.random.default_rng(0).uniform(0.0, 2.0, size=900)
    weights[::7] = 0.0
    fitted = model(tmp_path, mix=mix).fit(X, Y, sample_weight=weights)
    inner, used = fitted.fitted_, np.flatnonzero(weights > 0)
    assert (np.sort(fitted._order) == used).all()
    assert np.isnan(fitted.residuals_[::7]).all()
    assert np.isfinite(fitted.residuals_[used]).all()
    for row in range(0, len(used), 40):
        np.testing.assert_allclose(inner.refit_row(row, None), inner.held_out[row], rtol=1e-8, atol=1e-8)
    order = fitted._order
    np.testing.assert_array_equal(np.asarray(inner.cells.rows.values), X[order])
    np.testing.assert_allclose(inner.held_out - Y[order], fitted.residuals_[order], atol=1e-12)


def test_the_partition_is_a_tree_whose_leaves_are_the_cores(small_leaves, tmp_path):
    X, y = table(2000)
    partition = model(tmp_path).fit(X, y).partition_
    routed = partition.route(np.asarray(partition.points))
    assert partition.cells == 64
    for cell in range(partition.cells):
        assert (routed[partition.core(cell)] == cell).all()
    sizes = np.diff(partition.starts)
    assert sizes.sum() == 2000
    assert sizes.max() <= 2 * sizes.mean()


def test_files_are_read_and_models_saved(small_leaves, tmp_path):
    X, y = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    frame.to_parquet(tmp_path / "table.parquet")
    frame.to_csv(tmp_path / "table.csv", index=False)
    expected = model(tmp_path / "0").fit(X, y).predict(X)
    for place, name in enumerate(("table.parquet", "table.csv"), 1):
        fitted = model(tmp_path / str(place)).fit(tmp_path / name, "y")
        np.testing.assert_allclose(fitted.predict(frame[["a", "b", "c"]]), expected, rtol=1e-9, atol=1e-11)
        assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    save(fitted, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    assert (again.predict(frame[["a", "b", "c"]]) == fitted.predict(frame[["a", "b", "c"]])).all()


def test_an_interrupted_fit_goes_on_where_it_stopped(small_leaves, tmp_path, monkeypatch):
    from mercer.local import cells

    X, y = table()
    expected = model(tmp_path / "whole").fit(X, y).predict(X)
    solved, original = [], cells.CellSystem.__init__

    def system(self, problem, cell, kernel):
        if len(solved) == 12:
            raise KeyboardInterrupt
        solved.append(cell)
        original(self, problem, cell, kernel)

    monkeypatch.setattr(cells.CellSystem, "__init__", system)
    with pytest.raises(KeyboardInterrupt):
        model(tmp_path / "cells").fit(X, y)
    before = set(solved)
    with (tmp_path / "cells" / "cells.bin").open("r+b") as file:  # as if the process was killed while it wrote
        size = (tmp_path / "cells" / "cells.bin").stat().st_size // 32
        file.seek(min(before) * size + size // 2)
        file.write(b"\1" * 40)
    solved.clear()
    monkeypatch.setattr(cells.CellSystem, "__init__", lambda *given: solved.append(given[2]) or original(*given))
    resumed = model(tmp_path / "cells").fit(X, y)
    assert (resumed.predict(X) == expected).all()
    assert min(before) in solved
    assert len(before & set(solved)) <= 3  # the damaged one, and those under way on two threads
    assert len(solved) <= 32 - 9


def test_folders_of_other_fits_and_files_are_refused(tmp_path):
    X, y = table(200)
    model(tmp_path / "cells").fit(X, y)
    assert "Use another folder" in refusal(model(tmp_path / "cells").fit, X, y + 1.0)
    assert "Use another folder" in refusal(model(tmp_path / "cells", mix=2).fit, X, y)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    assert "thesis.txt" in refusal(model(tmp_path / "mine").fit, X, y)
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    (tmp_path / "file").write_text("")
    assert "must be a directory; got a file" in refusal(model(tmp_path / "file").fit, X, y)


def test_values_that_cannot_be_split_are_refused(small_leaves, tmp_path):
    X = np.zeros((2000, 1))
    X[:3] = [[1.0], [2.0], [3.0]]
    narrow = LocalRidge(1.0, kernel=Gaussian(1.0), core_rows=32, system_rows=64, folder=tmp_path)
    assert "Fit the table in memory" in refusal(narrow.fit, X, X[:, 0])


def test_one_cell_and_checks_are_those_of_memory(tmp_path):
    X, y = table(80)
    linear = [LocalRidge(1e-6, kernel="linear", core_rows=32, system_rows=96, folder=f) for f in (None, tmp_path / "a")]
    far = [[100.0, 100.0, 100.0]]
    values = [each.fit(X, 3.0 * X[:, 0]).predict(far)[0] for each in linear]
    assert values[0] == pytest.approx(values[1])
    scaled = [model(folder).fit(X, y, 4.0).predict(X) for folder in (None, tmp_path / "b")]
    np.testing.assert_allclose(*scaled, rtol=1e-8, atol=1e-10)
    assert "system_rows" in refusal(LocalRidge(core_rows=9, system_rows=5, folder=tmp_path / "c").fit, X, y)
    assert "y of LocalRidge" in refusal(model(tmp_path / "d").fit, X, 1e150 * y)
    assert "only zeros" in refusal(model(tmp_path / "e").fit, X, y, np.zeros(80))
    model(tmp_path / "e").fit(X, y)  # the folder is empty again


def test_weights_of_zero_and_columns_of_two_values_are_split(small_leaves, tmp_path):
    X, y = table(1200)
    few = (X[:, 0] > 1.0).astype(float)
    assert np.isfinite(model(tmp_path / "a").fit(X, y, few).predict(X)).all()
    X[:, 0] = np.arange(1200) % 5 < 3
    binary = LocalRidge(0.01, kernel=Gaussian([0.1, 1.0, 1.0]), core_rows=32, system_rows=96, folder=tmp_path / "b")
    assert np.isfinite(binary.fit(X, y).predict(X)).all()


def test_changed_files_are_noticed(small_leaves, tmp_path, monkeypatch):
    X, y = table()
    monkeypatch.chdir(tmp_path)
    fitted = model("cells").fit(X, y)
    monkeypatch.chdir("/")
    expected = fitted.predict(X)
    with (tmp_path / "cells" / "rows.bin").open("r+b") as file:
        file.seek(800)
        file.write(np.array([3.3]).tobytes())
    assert "was changed" in refusal(fitted.predict, X)
    assert "was changed" in refusal(model(tmp_path / "cells").fit, X, y)
    for each in (tmp_path / "cells").iterdir():
        each.unlink()
    again = model(tmp_path / "cells").fit(X, y)
    assert (again.predict(X) == expected).all()
    (tmp_path / "cells" / "cells.bin").unlink()
    assert "cannot be read" in refusal(again.predict, X)
