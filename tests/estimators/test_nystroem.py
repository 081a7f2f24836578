"""Ridge regression on landmarks from one pass: against refits from raw rows and against kernel ridge regression.

Covers: estimators.nystroem_base.
"""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import mercer
from landmark_refits import fitted, predicted, whitened
from mercer import (
    KernelRidge,
    KernelRidgeClassifier,
    NystroemRidge,
    NystroemRidgeClassifier,
    NystroemRidgeClassifierCV,
    NystroemRidgeCV,
)
from mercer.errors import IllConditionedWarning, InputError, NotMercerWarning, SingularSystemWarning
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid, Words
from refusals import refusal, tells
from views import read_only

KERNEL = Gaussian(1.5)


def table(rng, n=300, t=None):
    X = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, j] for j in range(t or 1)])
    return X, Y if t else Y[:, 0]


def refit(X, Y, Z, alpha, new, **how):
    Y = Y.reshape(len(Y), -1)
    return predicted(whitened(KERNEL, Z, new), fitted(whitened(KERNEL, Z, X), Y, alpha, **how))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_are_those_of_refitting_with_the_same_landmarks(intercept, weighted, rng):
    X, Y = table(rng, t=2)
    new = rng.normal(size=(700, 3))
    weights = rng.uniform(0.0, 3.0, size=len(X)) if weighted else None
    model = NystroemRidge(0.1, kernel=KERNEL, landmarks=30, fit_intercept=intercept).fit(
        read_only(X), read_only(Y), weights
    )
    expected = refit(X, Y, model.landmarks_, 0.1, new, weights=weights, intercept=intercept)
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-8)
    np.testing.assert_allclose(KERNEL(new, model.landmarks_) @ model.dual_coef_ + model.intercept_, expected, atol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
def test_with_every_row_a_landmark_it_is_kernel_ridge_regression(intercept, rng):
    X, y = table(rng, n=120)
    full = KernelRidge(0.3, kernel=KERNEL, fit_intercept=intercept).fit(X, y)
    for landmarks in (None, 500, X):  # more landmarks than rows are no more than the rows
        model = NystroemRidge(0.3, kernel=KERNEL, landmarks=landmarks, fit_intercept=intercept).fit(X, y)
        np.testing.assert_allclose(model.predict(X), full.predict(X), atol=1e-9)


@pytest.mark.parametrize("at_once", [300, 43, 3])
def test_one_seven_and_a_hundred_blocks_give_the_same_model(at_once, rng):
    X, y = table(np.random.default_rng(0))
    whole = NystroemRidge(1e-3, kernel=KERNEL, landmarks=40).fit(X, y)
    blocks = NystroemRidge(1e-3, kernel=KERNEL, landmarks=40, block_rows=at_once).fit(X, y)
    np.testing.assert_allclose(blocks.predict(X), whole.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("backend", ["serial", "threads", None])
def test_where_the_work_runs_changes_nothing(backend, rng):
    X, y = table(np.random.default_rng(0))
    whole = NystroemRidge(1e-3, kernel=KERNEL, landmarks=40).fit(X, y)
    other = NystroemRidge(1e-3, kernel=KERNEL, landmarks=40, backend=backend, block_rows=50).fit(X, y)
    np.testing.assert_allclose(other.predict(X), whole.predict(X), atol=1e-9)


def test_seven_pieces_one_after_the_other_are_the_whole(rng):
    X, Y = table(rng, n=350, t=2)
    w = rng.uniform(0.5, 2.0, size=350)
    whole = NystroemRidge(0.01, kernel=KERNEL, landmarks=X[:25]).fit(X, Y, w)
    pieces = NystroemRidge(0.01, kernel=KERNEL, landmarks=X[:25])
    for part in np.array_split(np.arange(350), 7):
        pieces.partial_fit(X[part], Y[part], w[part])
    np.testing.assert_allclose(pieces.predict(X), whole.predict(X), atol=1e-8)
    begun = NystroemRidge(0.01, kernel=KERNEL, landmarks=X[:25]).fit(X[:200], Y[:200], w[:200])
    np.testing.assert_allclose(begun.partial_fit(X[200:], Y[200:], w[200:]).predict(X), whole.predict(X), atol=1e-8)
    with pytest.raises(InputError, match="The number of targets must be 2, as in the first fit; got 1"):
        pieces.partial_fit(X, Y[:, 0])


@pytest.mark.parametrize("method", ["pivoted", "kmeans", "uniform"])
def test_duplicates_and_constant_columns_do_no_harm(method, rng):
    X, y = table(rng, n=60)
    X = np.repeat(np.column_stack([X, np.full(60, 7.0)]), 3, axis=0)
    y = np.repeat(y, 3)
    model = NystroemRidge(0.1, kernel=KERNEL, landmarks=100, method=method).fit(X, y)
    full = KernelRidge(0.1, kernel=KERNEL).fit(X, y)
    bound = 1e-8 if method != "uniform" else 0.2  # by chance some rows are not drawn at all
    assert np.abs(model.predict(X) - full.predict(X)).max() < bound


def test_targets_far_from_zero_are_fitted_to_the_same_digits(rng):
    X, y = table(rng)
    near = NystroemRidge(1e-2, kernel=KERNEL, landmarks=40, fit_intercept=True).fit(X, y)
    far = NystroemRidge(1e-2, kernel=KERNEL, landmarks=40, fit_intercept=True).fit(X, y + 1e6)
    np.testing.assert_allclose(far.predict(X) - 1e6, near.predict(X), atol=1e-8)
    without = NystroemRidge(1e-2, kernel=KERNEL, landmarks=X).fit(X, y + 1e6)
    full = KernelRidge(1e-2, kernel=KERNEL).fit(X, y + 1e6)
    np.testing.assert_allclose(without.predict(X), full.predict(X), rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 1e-12, 1e12])
@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
def test_alphas_from_nothing_to_huge_are_solved(alpha, rng):
    X, y = table(rng)
    model = NystroemRidge(alpha, kernel=KERNEL, landmarks=20).fit(X, y)
    expected = refit(X, y, model.landmarks_, alpha, X)[:, 0]
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-6, atol=1e-7)


def test_alpha_may_differ_between_targets(rng):
    X, Y = table(rng, t=3)
    alphas = [0.1, 10.0, 0.1]
    together = NystroemRidge(alphas, kernel=KERNEL, landmarks=X[:20]).fit(X, Y)
    for j, alpha in enumerate(alphas):
        alone = NystroemRidge(alpha, kernel=KERNEL, landmarks=X[:20]).fit(X, Y[:, j])
        np.testing.assert_allclose(together.predict(X)[:, j], alone.predict(X), atol=1e-9)


def test_single_precision_frames_and_lists_are_taken(rng):
    X, y = table(rng)
    model = NystroemRidge(kernel=KERNEL, landmarks=X[:20])
    expected = model.fit(X, y).predict(X)
    np.testing.assert_allclose(clone(model).fit(X.tolist(), y.tolist()).predict(X.tolist()), expected, atol=1e-9)
    single = clone(model).fit(X.astype(np.float32), y.astype(np.float32))
    np.testing.assert_allclose(single.predict(X), expected, atol=1e-4)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = NystroemRidge(kernel=KERNEL.on(["c", "a"]), landmarks=X[:20]).fit(frame, y)
    plain = NystroemRidge(kernel=KERNEL.on([2, 0]), landmarks=X[:20]).fit(X, y)
    np.testing.assert_allclose(named.predict(frame), plain.predict(X), atol=1e-9)


def test_tables_on_disk_and_blocks_give_the_model_of_the_array(rng, tmp_path):
    X, y = table(rng)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(target=y, other=1.0)
    frame.drop(columns="other").to_parquet(tmp_path / "train.parquet", row_group_size=77)
    frame.to_parquet(tmp_path / "new.parquet")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    model = NystroemRidge(0.1, kernel=KERNEL, landmarks=X[:20])
    expected = clone(model).fit(X, y).predict(X)
    stored = clone(model).fit(tmp_path / "train.parquet", "target")
    assert stored.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(stored.predict(frame[["a", "b", "c"]]), expected, atol=1e-9)
    np.testing.assert_allclose(stored.predict(tmp_path / "new.parquet"), expected, atol=1e-9)
    mapped = clone(model).fit(tmp_path / "X.npy", tmp_path / "y.npy")
    np.testing.assert_allclose(mapped.predict(tmp_path / "X.npy"), expected, atol=1e-9)
    blocks = [(X[:100], y[:100]), (X[100:], y[100:])]
    np.testing.assert_allclose(clone(model).fit(blocks).predict(X), expected, atol=1e-9)
    columns = frame[["a", "b", "c", "target"]]
    np.testing.assert_allclose(clone(model).fit(columns, "target").predict(frame[["a", "b", "c"]]), expected, atol=1e-9)
    frame.drop(columns="b").to_parquet(tmp_path / "less.parquet")
    with pytest.raises(InputError, match="The rows to predict need the column 'b'"):
        stored.predict(tmp_path / "less.parquet")
    with pytest.raises(InputError, match="X must be a table of 3 columns; got 4 columns"):
        mapped.predict(lambda: iter([np.zeros((5, 4))]))
    with pytest.raises(InputError, match=r"X.* got 2"):
        mapped.partial_fit(lambda: iter([(X[:9, :2], y[:9])]))
    with pytest.raises(InputError, match="y of NystroemRidge must be given to fit; got None"):
        clone(model).fit(tmp_path / "X.npy")


def test_predictions_come_in_blocks(rng):
    X, y = table(rng)
    model = NystroemRidge(kernel=KERNEL, landmarks=20).fit(X, y)
    new = rng.normal(size=(40_000, 3))
    blocks = list(model.predict_blocks(new))
    assert [len(block) for block in blocks] == [32_768, 7232]
    np.testing.assert_allclose(np.concatenate(blocks), model.predict(new))


def test_a_pass_that_ended_is_not_made_again(rng, tmp_path):
    X, y = table(rng)
    path = tmp_path / "sums"
    model = NystroemRidge(kernel=KERNEL, landmarks=20, checkpoint=path).fit(X, y)
    assert path.exists()
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))
    with pytest.raises(InputError, match="belongs to other data or settings"):
        clone(model).fit(X, y + 1)
    with pytest.raises(InputError, match="random_state of NystroemRidge must be an integer when checkpoint is given"):
        NystroemRidge(checkpoint=path, random_state=None).fit(X, y)


def test_the_seed_draws_the_landmarks(rng):
    X, y = table(rng)

    def landmarks(seed):
        return NystroemRidge(kernel=KERNEL, landmarks=10, random_state=seed).fit(X, y).landmarks_

    assert np.array_equal(landmarks(0), landmarks(0))
    assert not np.array_equal(landmarks(0), landmarks(1))
    assert np.array_equal(landmarks(np.random.RandomState(3)), landmarks(np.random.RandomState(3)))


def test_explain_predicts_without_fitting(rng):
    X, y = table(rng)
    model = NystroemRidge(kernel=KERNEL, landmarks=20)
    plan = model.explain(X, y)
    assert (plan.rows, plan.landmarks, plan.passes, plan.folds) == (300, (20,), 1, 1)
    assert plan.seconds > 0
    assert plan.bytes > 0
    assert not hasattr(model, "n_features_in_")
    assert str(plan).startswith("1 kernel x 1 alpha on 300 rows with 20 landmarks\n")


def test_a_grid_search_over_the_width_scores_different_kernels(rng):
    X, y = table(rng)
    search = GridSearchCV(NystroemRidge(kernel=KERNEL, landmarks=20), {"kernel__width": [0.1, 1.0, 10.0]}, cv=3)
    assert len(set(search.fit(X, y).cv_results_["mean_test_score"])) == 3


def test_a_pickled_model_goes_on(rng):
    X, y = table(rng)
    model = NystroemRidge(kernel=KERNEL, landmarks=X[:20]).fit(X[:200], y[:200])
    copy = pickle.loads(pickle.dumps(model)).partial_fit(X[200:], y[200:])
    whole = NystroemRidge(kernel=KERNEL, landmarks=X[:20]).fit(X, y)
    np.testing.assert_allclose(copy.predict(X), whole.predict(X), atol=1e-9)


def test_warnings_say_what_is_wrong(rng):
    X, y = table(rng)
    with pytest.warns(SingularSystemWarning, match="has rank 3 of 4; the minimum-norm solution was used"):
        NystroemRidge(0.0, kernel=Linear(), landmarks=np.eye(4)).fit(np.column_stack([X, X[:, 0]]), y)
    nearly = np.column_stack([X, X[:, 0] + 1e-6 * X[:, 1] ** 2])
    with pytest.warns(IllConditionedWarning, match="The linear system of NystroemRidge is nearly singular"):
        NystroemRidge(1e-13, kernel=Linear(), landmarks=np.eye(4)).fit(nearly, y)
    with pytest.warns(NotMercerWarning, match="is not a Mercer kernel"):
        NystroemRidge(1.0, kernel=Sigmoid(1.0, -1.0)).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"landmarks": 0}, "must be None, an integer above 0, or a table of rows; got 0."),
        ({"landmarks": "many"}, "landmarks of NystroemRidge must be None, an integer above 0"),
        ({"landmarks": np.eye(2)}, "must be rows of 3 finite numbers, as X has; got a table of 2 x 2"),
        ({"landmarks": np.full((1, 3), np.nan)}, "got a table of 1 x 3 with NaN or inf"),
        ({"method": "pivot"}, "must be 'pivoted', 'kmeans' or 'uniform'; got 'pivot'. Did you mean 'pivoted'?"),
        ({"method": 3}, "method of NystroemRidge must be 'pivoted', 'kmeans' or 'uniform'; got 3"),
        ({"kernel": Precomputed()}, (
            "must be a kernel for numeric rows; got Precomputed(). Use KernelRidge for this kernel."
        )),
        ({"kernel": Words()}, "must be a kernel for numeric rows; got Words()"),
        ({"block_rows": 0}, "block_rows of NystroemRidge must be an integer above 0, or None; got 0"),
        ({"time_budget": -1.0}, "time_budget of NystroemRidge must be a positive number of seconds, or None; got -1.0"),
        ({"verbose": "yes"}, "verbose of NystroemRidge must be 0, 1 or 2; got 'yes'"),
        ({"backend": "cloud"}, "backend must be"),
        ({"alpha": -1.0}, "alpha of NystroemRidge must be a finite, non-negative number; got -1.0"),
        ({"fit_intercept": 1}, "fit_intercept of NystroemRidge must be True or False; got 1"),
        ({"kernel": Linear().map(np.zeros_like)}, "k(x, x) of Linear().map(<zeros_like>) is 0 for all rows."),
    ],
)  # fmt: skip
def test_settings_that_will_not_do_are_refused_in_a_sentence(change, message, rng):
    X, y = table(rng)
    with pytest.raises(InputError, match=re.escape(message)):
        NystroemRidge(**change).fit(X, y)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_row_too_large_for_the_kernel_may_have_weight_zero_but_is_not_predicted(intercept, rng):
    X, y = table(rng, 24)
    X[7] = 1e200
    kept = np.arange(24) != 7
    model = NystroemRidge(kernel=Polynomial(3), landmarks=X[:4], fit_intercept=intercept)
    whole = clone(model).fit(X, y, kept + 0.0)
    np.testing.assert_allclose(whole.predict(X[kept]), clone(model).fit(X[kept], y[kept]).predict(X[kept]), rtol=1e-9)
    with pytest.raises(InputError, match=r"must be finite; got NaN or infinity\. Scale X\."):
        whole.predict(X)


def test_weights_that_are_all_zero_are_refused(rng):
    X, y = table(rng)
    with pytest.raises(InputError, match="must be positive for at least one row; got only zeros"):
        NystroemRidge(kernel=KERNEL).fit([(X, y, np.zeros(300))])


def test_a_classifier_with_every_row_a_landmark_is_the_kernel_classifier(rng):
    X = rng.normal(size=(150, 2))
    for y in (np.where(X[:, 0] > X[:, 1], "up", "down"), np.digitize(X[:, 0], [-0.5, 0.5])):
        full = KernelRidgeClassifier(0.1, kernel=Laplacian(2.0), fit_intercept=True).fit(X, y)
        model = NystroemRidgeClassifier(0.1, kernel=Laplacian(2.0), fit_intercept=True).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), full.decision_function(X), atol=1e-8)
        assert (model.predict(X) == full.predict(X)).all()
        assert model.classes_.tolist() == full.classes_.tolist()
        pieces = NystroemRidgeClassifier(0.1, kernel=Laplacian(2.0), fit_intercept=True, landmarks=X)
        pieces.partial_fit(X[:2], y[:2], classes=np.unique(y)).partial_fit(X[2:], y[2:])
        np.testing.assert_allclose(pieces.decision_function(X), full.decision_function(X), atol=1e-8)
        streamed = NystroemRidgeClassifier(0.1, kernel=Laplacian(2.0), fit_intercept=True)
        streamed.fit([(X[:50], y[:50]), (X[50:], y[50:])])
        assert (streamed.predict(X) == full.predict(X)).all()


def test_one_class_is_refused(rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(
        InputError,
        match=(
            "y of NystroemRidgeClassifier must be labels of at least two classes with positive sample weight; got 1 "
            "class, 'a'"
        ),
    ):
        NystroemRidgeClassifier().fit(X, ["a"] * 20)
    with pytest.raises(
        InputError, match=("must be labels of at least two classes with positive sample weight; got 1 class, 'b'")
    ):
        NystroemRidgeClassifier().fit(X, ["a", "b"] * 10, [0.0, 1.0] * 10)


@pytest.mark.parametrize("targets", [None, 2])
def test_a_saved_model_keeps_landmarks_alone_and_predicts_the_same(targets, rng, tmp_path):
    X, y = table(rng, t=targets)
    model = NystroemRidge(0.1, kernel=KERNEL, landmarks=20, fit_intercept=True).fit(X, y)
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    assert again.dual_coef_.tobytes() == model.dual_coef_.tobytes()
    assert (tmp_path / "model").stat().st_size < X.nbytes
    with pytest.raises(InputError, match="partial_fit of NystroemRidge is not available after load or after a search"):
        again.partial_fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.filterwarnings("ignore::mercer.errors.EdgeOfGridWarning")
@pytest.mark.slow
def test_saved_searches_and_classifiers_predict_the_same(classes, rng, tmp_path):
    X, y = table(rng)
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [0.0, 1.0][: classes - 1])]
    search = NystroemRidgeCV([KERNEL], [0.1, 1.0], landmarks=20).fit(X, y)
    for model, truth in (
        (search, y),
        (NystroemRidgeClassifier(kernel=KERNEL, landmarks=20), labels),
        (NystroemRidgeClassifierCV([KERNEL], [0.1, 1.0], landmarks=20, cv=4), labels),
    ):
        mercer.save(model.fit(X, truth), tmp_path / "model")
        again = mercer.load(tmp_path / "model")
        assert (again.predict(X) == model.predict(X)).all()
        if hasattr(model, "summary"):
            assert again.summary() == model.summary()
        if hasattr(model, "classes_"):
            assert again.classes_.tolist() == model.classes_.tolist()


def test_labels_that_were_promised_are_those_of_the_first_call(rng):
    X, y = rng.normal(size=(40, 2)), np.array(["a", "b"] * 20)
    model = NystroemRidgeClassifier(landmarks=10).partial_fit(X, y, classes=["a", "b", "c"])
    model.partial_fit(X, y, classes=["c", "b", "a"])
    assert model.n_rows_ == 80
    assert tells(refusal(model.partial_fit, X, y, classes=["a", "b"]), "classes of NystroemRidgeClassifier")
