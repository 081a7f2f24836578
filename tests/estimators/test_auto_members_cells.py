"""Automatic models of many rows: members in cells and on landmarks, weighted on the same folds."""

import contextlib

import numpy as np
import pandas as pd
import pytest

from mercer import AutoClassifier, AutoRegressor, LocalRidge, NystroemRidge, load, marginal_effects, save
from mercer.errors import InputError
from mercer.estimators import auto_members
from mercer.estimators.auto_core import correct_digits
from mercer.local.cells import CellSystem
from refusals import tells


@pytest.fixture
def in_cells(monkeypatch):
    """Tables of more than 300 rows are many."""
    monkeypatch.setattr("mercer.estimators.auto_core.FULL_SYSTEMS", 300)


def table(n=700, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.uniform(0.0, 6.0, size=(n, 2)), columns=["a", "b"])
    frame["kind"] = rng.choice(["x", "y", "z"], size=n)
    y = np.sin(frame.a) + (frame.kind == "x") + noise * rng.normal(size=n)
    return frame, y.to_numpy()


def test_members_are_in_cells_and_on_landmarks_and_the_error_is_that_of_new_rows(in_cells, tmp_path):
    X, y = table(1500)
    new, truth = table(1500, seed=1)
    model = AutoRegressor().fit(X, y)
    assert {type(each) for each in model.models_} <= {LocalRidge, NystroemRidge}
    assert isinstance(model.models_[0], LocalRidge)
    assert sum(member.weight for member in model.members_) == pytest.approx(1.0)
    error = np.sqrt(np.mean((model.predict(new) - truth) ** 2))
    assert error == pytest.approx(model.error_, rel=0.1)
    assert 0.87 < float(model.coverage(new, truth)) < 0.93
    assert tells(model.summary(), "in cells", "on landmarks", "5 folds, widths tuned on rows of all folds")
    assert list(model.relevance())[:2] == ["a", "kind"]
    assert all(correct_digits(each) > 4 for each in model.models_)
    save(model, tmp_path / "cells.mercer")
    again = load(tmp_path / "cells.mercer")
    assert (again.predict(new) == model.predict(new)).all()
    np.testing.assert_array_equal(again.predict_interval(new[:9]), model.predict_interval(new[:9]))
    values, std = model.predict(new[:50], return_std=True)
    assert (values == model.predict(new[:50])).all()
    assert (std > 0).all()


def test_labels_have_calibrated_probabilities(in_cells, tmp_path):
    X, y = table(900)
    new, truth = table(900, seed=1)
    model = AutoClassifier().fit(X, np.where(y > 0.5, "high", "low"))
    assert model.in_cells
    assert model.score(new, np.where(truth > 0.5, "high", "low")) == pytest.approx(1.0 - model.error_, abs=0.04)
    save(model, tmp_path / "labels.mercer")
    assert (load(tmp_path / "labels.mercer").predict_proba(new) == model.predict_proba(new)).all()


def test_weights_times_and_several_targets_are_taken(in_cells):
    X, y = table(500)
    weights = np.ones(500)
    weights[:50] = 0.0
    changed = np.where(weights > 0, y, 1e3)
    model = AutoRegressor(committee=False).fit(X, changed, sample_weight=weights)
    assert model.error_ < 0.2
    assert len(model.models_) == 1
    later = AutoRegressor(committee=False).fit(X, y, time=np.arange(500))
    assert "on earlier rows" in later.summary()
    both = AutoRegressor(committee=False).fit(X, np.column_stack([y, -y]))
    assert both.predict(X).shape == (500, 2)
    assert both.error_.shape == (2,)


def test_what_needs_one_system_of_all_rows_is_refused(in_cells):
    X, y = table(400)
    model = AutoRegressor(committee=False).fit(X, y)
    for method in ("jackknife+", "cv+", "gaussian"):
        with pytest.raises(InputError) as refused:
            model.predict_interval(X, method=method)
        assert tells(str(refused.value), "method of AutoRegressor.predict_interval", "'residuals'", method)
    with pytest.raises(InputError, match="400 rows into cells"):
        marginal_effects(model)


def test_the_outer_loop_repeats_everything(in_cells):
    X, y = table(450)
    result = AutoRegressor(committee=False).evaluate(X, y, cv=2)
    assert result.errors.shape == (1, 2)
    assert result.error < result.baseline


@pytest.mark.parametrize("ordered", [False, True])
def test_a_fit_that_was_stopped_goes_on_where_it_was(in_cells, tmp_path, monkeypatch, ordered):
    monkeypatch.setattr(auto_members, "_SYSTEMS", (128, 128))
    X, y = table(700)
    time = np.arange(700) if ordered else None
    whole = AutoRegressor().fit(X, y, time=time)
    solved, solve = [], CellSystem.at

    def interrupted(self, alpha, *, last=False):
        solved.append(self.cell)
        if self.cells.splits is not None and len(solved) > most:
            raise KeyboardInterrupt
        return solve(self, alpha, last=last)

    monkeypatch.setattr(CellSystem, "at", interrupted)
    model, most = AutoRegressor(checkpoint=tmp_path / "kept"), 0
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, time=time)
    kernels = (tmp_path / "kept" / "kernels.json").read_bytes()
    for step in (6, 20, 10**6):
        solved.clear()
        most = step
        with contextlib.suppress(KeyboardInterrupt):
            model.fit(X, y, time=time)
        assert (tmp_path / "kept" / "kernels.json").read_bytes() == kernels
    assert len(solved) < 32 * len(model.committee_.tried)  # the cells of the runs before are not solved again
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    assert model.error_ == whole.error_
    solved.clear()
    again = AutoRegressor(checkpoint=tmp_path / "kept").fit(X, y, time=time)
    assert not solved
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))


def test_a_checkpoint_of_another_fit_or_of_other_files_is_refused(in_cells, tmp_path):
    X, y = table(400)
    AutoRegressor(committee=False, checkpoint=tmp_path / "kept").fit(X, y)
    with pytest.raises(InputError) as refused:
        AutoRegressor(committee=False, checkpoint=tmp_path / "kept").fit(X, 2.0 * y + X.a)
    assert tells(str(refused.value), "The checkpoint", "same table with the same settings", "Use another checkpoint.")
    kernels = tmp_path / "kept" / "kernels.json"
    kernels.write_text(kernels.read_text().replace("width=[", "width=[1"))
    with pytest.raises(InputError, match=r"was changed\. Use another checkpoint"):
        AutoRegressor(committee=False, checkpoint=tmp_path / "kept").fit(X, y)
    (tmp_path / "file").write_text("of somebody")
    with pytest.raises(InputError, match="must be a directory; got a file"):
        AutoRegressor(committee=False, checkpoint=tmp_path / "file").fit(X, y)
    assert (tmp_path / "file").read_text() == "of somebody"
    with pytest.raises(InputError, match="random_state of AutoRegressor must be an integer when checkpoint is given"):
        AutoRegressor(committee=False, checkpoint=tmp_path / "new", random_state=None).fit(X, y)
    with pytest.raises(InputError, match="checkpoint must be the path of a file"):
        AutoRegressor(checkpoint=3).fit(X[:50], y[:50])
