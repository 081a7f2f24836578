"""Searches on landmarks: scores, choice and attributes, from tables in memory, blocks and files."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from landmark_refits import folds_of, scores, squared, whitened
from mercer import (
    KernelRidgeCV,
    LocalRidgeCV,
    NystroemRidge,
    NystroemRidgeClassifier,
    NystroemRidgeClassifierCV,
    NystroemRidgeCV,
)
from mercer.data.hashing import words_of
from mercer.errors import EdgeOfGridWarning, InputError, MemoryRefusal, MercerWarning
from mercer.kernels import Gaussian, Laplacian, Precomputed
from refusals import tells

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.EdgeOfGridWarning")
KERNELS, ALPHAS = [Gaussian(w) for w in (0.2, 0.6, 1.2)], np.array([1e-3, 1e-1, 1.0, 100.0])


def table(rng, n=400):
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_search_scores_as_refitting_does_and_keeps_the_winner(intercept, rng):
    X, y = table(rng)
    search = NystroemRidgeCV(KERNELS, ALPHAS, cv=5, landmarks=X[:40], fit_intercept=intercept).fit(X, y)
    folds = folds_of(len(X), 5)
    expected = np.stack(
        [scores(squared, whitened(k, X[:40], X), y[:, None], ALPHAS, folds, intercept=intercept) for k in KERNELS]
    )
    np.testing.assert_allclose(search.table_.scores[..., 0], expected, rtol=1e-8)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected.mean(axis=2).ravel(), rtol=1e-8)
    k, a = np.unravel_index(expected.mean(axis=2).argmax(), (3, 4))
    assert (search.best_kernel_, search.alpha_, search.best_index_) == (KERNELS[k], ALPHAS[a], 4 * k + a)
    again = NystroemRidge(search.alpha_, kernel=search.best_kernel_, landmarks=X[:40], fit_intercept=intercept)
    np.testing.assert_allclose(search.predict(X), again.fit(X, y).predict(X), atol=1e-9)
    np.testing.assert_allclose(np.concatenate(list(search.predict_blocks(X))), search.predict(X))
    assert search.fold_rows_.tolist() == np.bincount(folds).tolist()
    assert "More landmarks would" in search.summary()


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [400, 58, 4])
def test_one_seven_and_a_hundred_blocks_give_the_same_search(at_once):
    X, y = table(np.random.default_rng(0))
    whole = NystroemRidgeCV(KERNELS, ALPHAS, landmarks=30, nested=True).fit(X, y)
    blocks = NystroemRidgeCV(KERNELS, ALPHAS, landmarks=30, nested=True, block_rows=at_once).fit(X, y)
    np.testing.assert_allclose(blocks.table_.scores, whole.table_.scores, rtol=1e-9)
    np.testing.assert_allclose(blocks.nested_scores_, whole.nested_scores_, rtol=1e-9)
    np.testing.assert_allclose(blocks.predict(X), whole.predict(X), atol=1e-9)
    assert (
        f"(one standard error). Cross-validation score of the best candidate: optimistic by {blocks.optimism_:.2g}."
        in (blocks.summary())
    )


def test_rows_of_a_group_stay_together(rng):
    X, y = table(rng)
    groups = np.array([f"group {i % 40}" for i in range(400)])
    search = NystroemRidgeCV(KERNELS, ALPHAS, cv=4, landmarks=X[:30]).fit(X, y, groups=groups)
    folds = folds_of(400, 4, keys=groups)
    expected = [scores(squared, whitened(k, X[:30], X), y[:, None], ALPHAS, folds) for k in KERNELS]
    np.testing.assert_allclose(search.table_.scores[..., 0], expected, rtol=1e-8)
    order = rng.permutation(400)  # with keys the order of rows does not matter
    other = NystroemRidgeCV(KERNELS, ALPHAS, cv=4, landmarks=X[:30]).fit(X[order], y[order], groups=groups[order])
    np.testing.assert_allclose(other.table_.scores, search.table_.scores, rtol=1e-7)


@pytest.mark.slow
def test_a_family_stands_for_a_ladder_and_comes_close_to_the_exact_search(rng):
    X, y = table(rng)
    search = NystroemRidgeCV("gaussian", fit_intercept=True).fit(X, y)
    exact = KernelRidgeCV(fit_intercept=True, cv=10, random_state=0).fit(X, y)
    assert (len(search.kernels_), len(search.alphas_)) == (10, 13)
    assert search.best_score_ == pytest.approx(exact.best_score_, rel=0.1)


def test_parquet_with_names_weights_and_groups_is_searched_as_the_array_is(rng, tmp_path):
    X, y = table(rng)
    w, groups = rng.uniform(0.5, 2.0, size=400), rng.integers(0, 60, size=400)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, w=w, g=groups)
    folder = tmp_path / "parts"
    folder.mkdir()
    for i, part in enumerate(np.array_split(np.arange(400), 3)):
        frame.iloc[part].to_parquet(folder / f"{i}.parquet", row_group_size=50)
    expected = NystroemRidgeCV(KERNELS, ALPHAS, cv=4, landmarks=X[:30]).fit(X, y, w, groups)
    found = clone(expected).fit(folder, "y", "w", "g")
    np.testing.assert_allclose(found.table_.scores, expected.table_.scores, rtol=1e-9)
    np.testing.assert_allclose(found.predict(frame[["a", "b"]]), expected.predict(X), atol=1e-9)


def test_a_search_goes_on_from_its_checkpoint(rng, tmp_path):
    X, y = table(rng)
    search = NystroemRidgeCV(
        KERNELS, ALPHAS, landmarks=20, scoring="neg_mean_absolute_error", checkpoint=tmp_path / "sums"
    ).fit(X, y)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sums", "sums.scores"]
    np.testing.assert_array_equal(clone(search).fit(X, y).table_.scores, search.table_.scores)


def test_one_se_takes_the_largest_alpha_within_one_standard_error(rng):
    X, y = table(rng)
    alphas = np.geomspace(1e-4, 10.0, 12)
    best = NystroemRidgeCV(KERNELS, alphas, landmarks=30).fit(X, y)
    plain = NystroemRidgeCV(KERNELS, alphas, landmarks=30, rule="one_se").fit(X, y)
    assert plain.best_kernel_ == best.best_kernel_
    assert plain.alpha_ >= best.alpha_


def test_several_targets_are_scored_by_their_mean(rng):
    X, y = table(rng)
    Y = np.column_stack([y, 3 * y, X[:, 0]])
    search = NystroemRidgeCV(KERNELS, ALPHAS, cv=4, landmarks=X[:30]).fit(X, Y)
    folds = folds_of(400, 4)
    expected = [scores(squared, whitened(k, X[:30], X), Y, ALPHAS, folds) for k in KERNELS]
    np.testing.assert_allclose(search.table_.scores[..., 0], expected, rtol=1e-8)
    assert search.predict(X).shape == (400, 3)


def test_explain_predicts_passes_time_and_memory(rng):
    X, y = table(rng)
    search = NystroemRidgeCV(KERNELS, ALPHAS, landmarks=30, scoring="neg_mean_absolute_error")
    plan = search.explain(X, y)
    assert (plan.rows, plan.passes, plan.folds, plan.alphas) == (400, 2, 10, 4)
    assert not hasattr(search, "n_features_in_")


def test_the_edge_of_the_grid_and_failing_scores_are_told(rng):
    X, y = table(rng)
    with pytest.warns(EdgeOfGridWarning, match=("The best candidate of NystroemRidgeCV is on the edge of the grid")):
        NystroemRidgeCV([Gaussian(1.0)], [1e3, 1e4, 1e5], landmarks=20).fit(X, y)

    def picky(truth, guess):
        if np.abs(guess).max() < 0.1:
            raise ValueError("nothing is predicted")
        return float(np.mean(np.abs(truth - guess)))

    with pytest.warns(MercerWarning, match="Scoring with minus picky failed .*: nothing is predicted"):
        search = NystroemRidgeCV([Gaussian(1.0)], [0.1, 1.0, 1e7], landmarks=20, scoring=picky).fit(X, y)
    assert search.alpha_ < 10
    with pytest.raises(InputError, match=r"All scores are NaN \(nothing is predicted\)"):
        NystroemRidgeCV([Gaussian(1.0)], [1e7], landmarks=20, scoring=picky).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": 1}, "cv of NystroemRidgeCV must be a number of folds of at least 2; got 1."),
        ({"cv": 2, "nested": True}, "cv of NystroemRidgeCV must be a number of folds of at least 3; got 2."),
        ({"cv": [([0], [1])]}, "Splitters are not supported: rows are assigned to folds by a hash."),
        ({"rule": "median"}, "rule of NystroemRidgeCV must be 'best' or 'one_se'; got 'median'."),
        ({"nested": "yes"}, "nested of NystroemRidgeCV must be True or False; got 'yes'."),
        ({"kernels": [Precomputed()]}, "must be a kernel for numeric rows; got Precomputed()."),
        ({"kernels": 3}, "kernels must be a kernel, a list of kernels or a kernel name; got 3."),
        ({"alphas": [-1.0]}, "alphas must be finite, non-negative numbers; got [-1.0]."),
    ],
)
def test_settings_that_will_not_do_are_refused(change, message, rng):
    X, y = table(rng)
    with pytest.raises(InputError, match=re.escape(message)):
        NystroemRidgeCV(**change).fit(X, y)


def test_too_few_rows_for_the_folds_are_refused_with_the_way_out(rng):
    X, y = table(rng, n=8)
    sentence = "The number of folds must be at most the number of rows, 8; got 10. Use a smaller cv, or more rows."
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        NystroemRidgeCV(KERNELS, ALPHAS).fit(X, y)
    X, y = table(rng, n=80)
    sentence = "The number of folds must be at most the number of groups, 8; got 10. Use a smaller cv, or more groups."
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        NystroemRidgeCV(KERNELS, ALPHAS).fit(X, y, groups=np.arange(80) % 8)


@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
@pytest.mark.parametrize("rows", [10, 11, 20])
def test_few_rows_are_dealt_evenly_and_scored_as_refitting_does(rows, rng):
    X, y = table(rng, n=rows)
    search = NystroemRidgeCV(KERNELS[:1], ALPHAS, landmarks=X[:5]).fit(X, y)
    assert np.ptp(search.fold_rows_) <= 1
    assert search.fold_rows_.sum() == rows
    assert search.folds_.label == "10 folds dealt in the order of a hash (seed 0)"
    folds = np.argsort(np.argsort(words_of(0, rows, 0))) % 10
    expected = scores(squared, whitened(KERNELS[0], X[:5], X), y[:, None], search.alphas_, folds)
    np.testing.assert_allclose(search.table_.scores[0, :, :, 0], expected, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
@given(
    groups=st.integers(4, 12), seed=st.integers(0, 50), cuts=st.sets(st.integers(1, 59)), text=st.booleans(),
    labels=st.booleans(),
)  # fmt: skip
def test_few_groups_stay_together_in_folds_that_no_partition_changes(groups, seed, cuts, text, labels):
    rng = np.random.default_rng(seed)
    X, y = table(rng, n=60)
    keys = np.concatenate([np.arange(groups), rng.integers(0, groups, 60 - groups)])
    keys = np.array([f"key {key}" for key in keys]) if text else keys
    y = np.where(y > np.median(y), "up", "down") if labels else y
    kind = NystroemRidgeClassifierCV if labels else NystroemRidgeCV
    search = kind(KERNELS[:1], ALPHAS[:2], cv=4, landmarks=X[:5], random_state=seed, nested=True)
    whole = clone(search).fit(X, y, groups=keys)
    pieces = np.split(np.arange(60), sorted(cuts))
    blocks = [(X[piece], y[piece], None, keys[piece]) for piece in pieces]
    cut = clone(search).set_params(block_rows=7).fit(blocks)
    assert (whole.fold_rows_ > 0).all()
    np.testing.assert_array_equal(cut.fold_rows_, whole.fold_rows_)
    np.testing.assert_allclose(cut.table_.scores, whole.table_.scores, rtol=1e-9)
    np.testing.assert_allclose(cut.nested_scores_, whole.nested_scores_, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
def test_groups_that_the_sample_missed_are_found_by_a_pass(rng, monkeypatch):
    monkeypatch.setattr("mercer.streaming.landmarks.sample_size", lambda rows, landmarks: 20)
    X, y = table(rng, n=300)
    keys = np.where(np.arange(300) < 280, 0, np.arange(300))  # 21 groups, of which the sample sees few
    search = NystroemRidgeCV(KERNELS[:1], ALPHAS, cv=15, landmarks=X[:5])
    found = [
        clone(search).fit([(X[:150], y[:150], None, keys[:150]), (X[150:], y[150:], None, keys[150:])]),
        search.fit(X, y, groups=keys),
    ]
    for each in found:
        assert each.fold_rows_.sum() == 300
        assert each.fold_rows_.max() in (280, 281)
        assert (each.fold_rows_ > 0).all()
    np.testing.assert_array_equal(found[0].fold_rows_, found[1].fold_rows_)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
@pytest.mark.parametrize("series", [pd.Series, pl.Series, lambda w: pd.Series(w, index=range(50, 70), dtype="Float64")])
def test_weights_may_be_a_series(series, rng):
    X, y = table(rng, n=20)
    weights = rng.uniform(1.0, 2.0, size=20)
    frame = pd.DataFrame(X).rename(columns=str)
    expected = NystroemRidgeCV().fit(X, y, sample_weight=weights).predict(X)
    np.testing.assert_allclose(NystroemRidgeCV().fit(X, y, sample_weight=series(weights)).predict(X), expected)
    named = NystroemRidgeCV().fit(frame.assign(y=y), "y", sample_weight=series(weights))
    np.testing.assert_allclose(named.predict(frame), expected)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.slow
def test_labels_are_searched_by_accuracy(classes, rng):
    X, _ = table(rng)
    y = np.array(["no", "yes", "why"])[:classes][np.digitize(X[:, 0] * X[:, 1], [0.0, 1.0][: classes - 1])]
    search = NystroemRidgeClassifierCV([Gaussian(1.0), Laplacian(2.0)], ALPHAS, cv=5, landmarks=60, nested=True)
    search.fit(X, y)
    assert search.classes_.tolist() == sorted(set(y.tolist()))
    assert search.best_score_ > 0.85
    assert np.mean(search.predict(X) == y) > 0.9
    assert search.table_.scoring == "accuracy"
    assert abs(search.nested_.mean - search.best_score_) < 0.1
    assert search.decision_function(X).shape == ((400,) if classes == 2 else (400, 3))
    assert (np.concatenate(list(search.predict_blocks(X))) == search.predict(X)).all()
    other = clone(search).set_params(scoring="balanced_accuracy", nested=False).fit(X, y)
    assert other.table_.scoring == "balanced_accuracy"


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "max_error"])
def test_losses_found_on_several_threads_are_those_of_one(scoring, rng):
    X, y = table(rng)
    search = NystroemRidgeCV(KERNELS, ALPHAS, cv=4, landmarks=X[:30], scoring=scoring)
    blocks = [(X[i::4], y[i::4]) for i in range(4)]
    here, there = (clone(search).set_params(backend=backend).fit(blocks) for backend in ("serial", "threads"))
    np.testing.assert_allclose(there.table_.scores, here.table_.scores, rtol=1e-9)


def test_passes_that_only_read_are_counted(rng):
    X, y = table(rng)
    labels = np.where(y > 0, "up", "down")
    assert NystroemRidgeCV(KERNELS, ALPHAS, landmarks=20).explain(X, y).passes == 1
    blocks = [(X[:200], y[:200]), (X[200:], y[200:])]
    assert NystroemRidgeCV(KERNELS, ALPHAS, landmarks=20).explain(blocks).passes == 2
    assert NystroemRidgeClassifierCV(KERNELS, ALPHAS, landmarks=20).explain(X, labels).passes == 3


def test_memory_is_promised_before_it_is_taken(rng, monkeypatch):
    X, y = table(rng)
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "3000000")
    with pytest.raises(MemoryRefusal, match="Drawing 400 landmarks from 400 rows needs"):
        NystroemRidge(landmarks=400).fit(X, y)
    with pytest.raises(
        MemoryRefusal, match=r"A search with up to 30 landmarks needs .* of memory; .*Use fewer landmarks or folds"
    ):
        NystroemRidgeCV(KERNELS, ALPHAS, landmarks=30).fit(X, y)


def waves(rng):
    X = rng.uniform(size=(1000, 1))
    return X, np.sin(300 * X[:, 0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("family", [NystroemRidgeCV, NystroemRidgeClassifierCV])
def test_default_ladders_grow_and_score_as_the_same_grid_given(family, rng, tmp_path):
    X, y = waves(rng)
    y = y if family is NystroemRidgeCV else y > 0
    search = family("gaussian", landmarks=150, cv=4, nested=True, checkpoint=tmp_path / "sums").fit(X, y)
    grown = len(search.kernels_) - 10, len(search.alphas_) - 13
    assert max(grown) >= 3
    assert all(count % 3 == 0 for count in grown)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        given = family(search.kernels_, search.alphas_, landmarks=150, cv=4, nested=True).fit(X, y)
    assert np.array_equal(search.table_.scores, given.table_.scores)
    assert np.array_equal(search.nested_scores_, given.nested_scores_)
    assert np.array_equal(search.predict(X), given.predict(X))
    assert search.plan_.landmarks == given.plan_.landmarks


@pytest.mark.filterwarnings("error")
def test_an_edge_that_default_ladders_still_have_is_in_the_summary(rng, monkeypatch):
    monkeypatch.setattr("mercer.estimators.nystroem_search._ROUNDS", 0)
    search = NystroemRidgeCV("gaussian", landmarks=150, cv=4).fit(*waves(rng))
    assert (len(search.kernels_), len(search.alphas_)) == (10, 13)
    assert tells(search.summary(), "edge of the default grid", "width")


def test_given_kernels_with_one_width_warn_of_columns_that_differ_in_scale(rng):
    X = rng.normal(size=(300, 2)) * [1.0, 1e4]
    y, kernel = X[:, 0] + X[:, 1] / 1e4, Gaussian(1.0)
    models = [NystroemRidge(kernel=kernel), NystroemRidgeCV(kernel, [0.1]), NystroemRidgeClassifier(kernel=kernel)]
    for model in (*models, NystroemRidgeClassifierCV(kernel, [0.1])):
        with pytest.warns(MercerWarning, match="columns of X differ in scale"):
            model.set_params(landmarks=20).fit(X, y > 0 if hasattr(model, "decision_function") else y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
def test_names_of_kernels_have_one_width_per_column(rng, name):
    X = rng.normal(size=(300, 2))
    y, units = np.sin(2 * X[:, 0]) + X[:, 1], np.array([1.0, 1e4])
    model = NystroemRidge(0.01, kernel=name, landmarks=60).fit(X * units, y)
    assert model.score(X * units, y) > 0.9
    plain = NystroemRidge(0.01, kernel=name, landmarks=60).fit(X, y)
    assert np.allclose(model.kernel_.width, plain.kernel_.width * units, rtol=1e-2)
    assert np.allclose(plain.kernel_.width, 1.0 if name == "gaussian" else 2.0, rtol=0.2)


@pytest.mark.slow
def test_tuned_kernels_have_a_width_per_column_and_predict_better_than_a_ladder_of_widths(rng):
    X = rng.uniform(-2.0, 2.0, size=(3000, 6)) * [1.0, 1.0, 1.0, 1.0, 100.0, 0.01]
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=3000)
    new, train = slice(2000, None), slice(0, 2000)
    errors = []
    for kernels in ("gaussian", "tuned"):
        search = NystroemRidgeCV(kernels, landmarks=150, cv=5, fit_intercept=True).fit(X[train], y[train])
        errors.append(np.sqrt(np.mean((search.predict(X[new]) - y[new]) ** 2)))
    assert errors[1] < 0.8 * errors[0]
    assert 2 <= len(search.kernels_) <= 3
    widths = np.asarray(search.best_kernel_.width)
    assert widths[3] / X[:, 3].std() > 3 * widths[0] / X[:, 0].std()
    weights = np.where(np.arange(2000) % 2, 0.0, 1.0)  # rows without weight have no part in tuning
    weighted = NystroemRidgeCV(landmarks=80, cv=4).fit(X[train], y[train], sample_weight=weights)
    y[train] = np.where(weights > 0, y[train], 1e3)
    again = NystroemRidgeCV(landmarks=80, cv=4).fit(X[train], y[train], sample_weight=weights)
    assert [type(each) for each in again.kernels_] == [type(each) for each in weighted.kernels_]


def test_tuned_kernels_of_labels_and_of_very_few_rows(rng):
    X = rng.normal(size=(300, 3))
    labels = np.where(X[:, 0] * X[:, 1] > 0, "same", "odd")
    assert NystroemRidgeClassifierCV(cv=4).fit(X, labels).score(X, labels) > 0.9
    few = NystroemRidgeCV(cv=2).fit(X[:6], X[:6, 0])
    assert np.isfinite(few.predict(X)).all()


@pytest.mark.filterwarnings("ignore:NystroemRidgeCV uses")  # so many landmarks on one wave are alike
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e6])
def test_tuned_kernels_without_an_intercept_reach_targets_far_from_zero(offset):
    rng = np.random.default_rng(3)
    X = rng.uniform(0.0, 10.0, size=(600, 2))
    y = offset + rng.normal(size=600)
    assert -NystroemRidgeCV(landmarks=50, cv=5).fit(X, y).best_score_ < 1.1
    signal = offset + np.sin(X[:, 0])
    assert -NystroemRidgeCV(landmarks=100, cv=5).fit(X, signal).best_score_ < 0.01
    with pytest.raises(InputError, match="positive for at least one row"):
        NystroemRidgeCV().fit(X, y, sample_weight=np.zeros(600))


@pytest.mark.parametrize("family", [NystroemRidgeCV, NystroemRidgeClassifierCV, LocalRidgeCV])
def test_tuned_stands_by_itself(family):
    with pytest.raises(InputError, match='either "tuned" alone'):
        family(["tuned", Gaussian(1.0)]).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
