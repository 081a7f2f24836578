"""Searches over streams: every score, nested ones included, equals refitting the same landmarks from raw rows.

Covers: streaming.landmarks, streaming.scores, streaming.scores.
"""

import numpy as np
import pytest

from landmark_refits import absolute, fitted, folds_of, predicted, scores, squared, whitened
from mercer import KernelRidgeClassifierCV, NystroemRidgeClassifierCV
from mercer.data.hashing import fold_of
from mercer.errors import InputError, MemoryRefusal
from mercer.kernels import Gaussian
from mercer.selection.scoring import resolve_scoring
from mercer.streaming.blocks import as_source
from mercer.streaming.landmarks import (
    FindDistinct,
    LandmarkChoice,
    draw_sample,
    landmark_count,
    numbers_of,
    sample_size,
    sides_of,
)
from mercer.streaming.scores import HeldOutLosses, LandmarkCheck, classes_left, landmark_check
from mercer.streaming.search import StreamedSearch, block_rows, group_kernels
from mercer.streaming.sums import FoldSums, LabelLosses, Numbers

KERNELS, ALPHAS, FOLDS = [Gaussian(1.0), Gaussian(3.0)], np.array([1e-3, 0.1, 10.0]), 5


def table(rng, n=240, t=1):
    X = rng.normal(size=(n, 3))
    Y = np.column_stack([np.sin(X[:, j] * 2) + X[:, 1] + 0.1 * rng.normal(size=n) for j in range(t)])
    return X, Y


def searching(source, *, scoring=None, classifier=False, labels=None, intercept=False, nested=False, at_once=None,
              landmarks=25, rule="best", weighted=False):  # fmt: skip
    choice = LandmarkChoice(landmarks, "pivoted", 120.0)
    sample = draw_sample(source, choice, 2, FOLDS, 0, "serial")
    targets = numbers_of(sample) if labels is None else LabelLosses(labels)
    features = [choice.features(kernel, sample.X, None, landmarks, 0) for kernel in KERNELS]
    sides = sides_of(features, source.rows, ALPHAS[0], sample, targets, intercept=intercept)
    first = FoldSums(sides, targets, FOLDS, 0, intercept, weighted)
    how = resolve_scoring(scoring, classifier=classifier)
    return StreamedSearch(source, KERNELS, ALPHAS, first, how, rule, nested, at_once=at_once)


def oracle(search, X, Y, loss, **how):
    folds = folds_of(len(X), FOLDS)
    return np.stack(
        [scores(loss, whitened(side.features.kernel, side.features.landmarks, X), Y, ALPHAS, folds, **how)
         for side in search.first.sides]
    )  # fmt: skip


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_from_sums_are_those_of_refitting_every_fold(intercept, weighted, rng):
    X, Y = table(rng, t=2)
    w = rng.uniform(0.0, 2.0, size=len(X)) if weighted else None
    search = searching(as_source(X, Y, sample_weight=w), intercept=intercept, weighted=weighted)
    found = search.run()
    expected = oracle(search, X, Y, squared, weights=w, intercept=intercept)
    np.testing.assert_allclose(found.table.scores[..., 0], expected, rtol=1e-8)
    folds = folds_of(len(X), FOLDS)
    assert found.totals.rows.tolist() == np.bincount(folds).tolist()
    pooled = (expected * np.bincount(folds)).sum(axis=2) / len(X)
    np.testing.assert_allclose(found.table.pooled[..., 0], pooled, rtol=1e-8)


def test_nested_scores_are_those_of_refitting_every_pair_of_folds(rng):
    X, Y = table(rng)
    search = searching(as_source(X, Y), nested=True)
    found = search.run().nested
    folds = folds_of(len(X), FOLDS)
    for o in range(FOLDS):
        rest = folds != o
        inner = np.stack(
            [scores(squared, whitened(s.features.kernel, s.features.landmarks, X)[rest], Y[rest], ALPHAS, folds[rest])
             for s in search.first.sides]
        ).mean(axis=2)  # fmt: skip
        k, a = np.unravel_index(inner.argmax(), inner.shape)
        assert found.chosen[o] == {"kernel": search.kernels[k], "alpha": ALPHAS[a]}
        assert found.inner_scores[0, o] == pytest.approx(inner[k, a], rel=1e-8)
        phi = whitened(search.kernels[k], search.first.sides[k].features.landmarks, X)
        refit = fitted(phi[rest], Y[rest], ALPHAS[a])
        assert found.scores[0, o] == pytest.approx(-squared(Y[~rest], predicted(phi[~rest], refit)), rel=1e-8)
    assert found.optimism == pytest.approx(found.inner_scores.mean() - found.mean)
    assert 0 < found.standard_error < 1
    means = [np.mean((Y[folds == o] - Y[folds != o].mean(axis=0)) ** 2) for o in range(FOLDS)]
    assert found.base == pytest.approx(-np.mean(means))


@pytest.mark.parametrize("scoring", ["r2", "neg_root_mean_squared_error", "neg_mean_absolute_error", "max_error"])
@pytest.mark.slow
def test_other_scores_agree_with_refitting(scoring, rng):
    X, Y = table(rng, t=2)
    losses = {
        "r2": lambda y, p: -np.mean(1 - ((y - p) ** 2).sum(axis=0) / ((y - y.mean(axis=0)) ** 2).sum(axis=0)),
        "neg_root_mean_squared_error": lambda y, p: np.sqrt(((y - p) ** 2).mean(axis=0)).mean(),
        "neg_mean_absolute_error": absolute,
        "max_error": lambda y, p: np.abs(y - p).max(axis=0).mean(),
    }
    search = searching(as_source(X, Y), scoring=scoring, at_once=50)
    found = search.run()
    np.testing.assert_allclose(found.table.scores[..., 0], oracle(search, X, Y, losses[scoring]), rtol=1e-7)
    assert search.plan().passes == (1 if scoring in ("r2", "neg_root_mean_squared_error") else 2)


def test_nested_scores_by_another_loss_take_one_more_pass_and_no_refit(rng):
    X, Y = table(rng, n=120)
    search = searching(as_source(X, Y), scoring="neg_mean_absolute_error", nested=True)
    found = search.run().nested
    folds = folds_of(len(X), FOLDS)
    rest = folds != 2
    phi = [whitened(s.features.kernel, s.features.landmarks, X) for s in search.first.sides]
    inner = np.stack([scores(absolute, each[rest], Y[rest], ALPHAS, folds[rest]) for each in phi]).mean(axis=2)
    assert found.inner_scores[0, 2] == pytest.approx(inner.max(), rel=1e-7)


def test_any_other_metric_keeps_held_out_predictions(rng):
    def median_loss(y, p):
        return float(np.median(np.abs(y - p)))

    X, Y = table(rng)
    source = as_source(X, Y[:, 0])
    search = searching(source, scoring=median_loss, at_once=64)
    found = search.run()
    expected = oracle(search, X, Y, median_loss)
    np.testing.assert_allclose(found.table.scores[..., 0], expected, rtol=1e-7)
    assert found.table.scoring == "minus median_loss"
    with pytest.raises(InputError, match="where nested=True; got 'minus median_loss'"):
        searching(source, scoring=median_loss, nested=True).run()


def test_accuracy_counts_decisions_of_models_that_have_not_seen_the_row(rng):
    X, _ = table(rng, n=300)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-0.5, 0.5])]
    labels = np.array(["a", "b", "c"])
    search = searching(as_source(X, y, labels=True), classifier=True, labels=labels, nested=True, at_once=70)
    found = search.run()
    Y = (y[:, None] == labels).astype(float)
    expected = oracle(search, X, Y, lambda t, p: -np.mean(t.argmax(axis=1) == p.argmax(axis=1)))
    np.testing.assert_allclose(found.table.scores[..., 0], expected, atol=1e-12)
    assert found.nested.scores.shape == (1, FOLDS)


def test_a_class_that_is_missing_in_training_is_never_chosen(rng):
    X, _ = table(rng, n=100)
    folds = folds_of(100, FOLDS)
    y = np.where(X[:, 0] > 0, "x", "y").astype(object)
    y[folds == 0] = "only here"
    labels = np.array(["only here", "x", "y"], dtype=object)
    found = searching(as_source(X, y, labels=True), classifier=True, labels=labels).run()
    assert (found.table.scores[:, :, 0] == 0.0).all()
    assert (found.table.scores[:, :, 1:] > 0.4).all()


def test_classes_left_are_counted_from_sums():
    numbers, folds = np.array([0, 0, 1, 1, 2, 0]), np.array([0, 0, 1, 1, 1, 2])
    sums = np.array([np.eye(3)[numbers[folds == f]].sum(axis=0) for f in range(3)])
    left = classes_left(sums, np.bincount(folds).astype(float), 3, paired=True)
    assert left[0, 0].tolist() == [True, True, True]
    assert left[1, 1].tolist() == [True, False, False]
    assert left[0, 2].tolist() == [False, True, True]
    two = classes_left(np.array([[2.0], [-1.0]]), np.array([2.0, 1.0]), 2, paired=False)
    assert two[:, 0].tolist() == [[True, False], [False, True]]


def test_labels_are_found_in_a_pass_and_others_are_refused():
    work = FindDistinct()
    first, second = work.begin(), work.begin()
    for block in as_source(np.zeros((4, 1)), np.array(["b", "a", "b", "a"]), labels=True).blocks(3):
        work.add(first, block)
    for block in as_source(np.zeros((2, 1)), np.array(["c", "a"]), labels=True).blocks(3):
        work.add(second, block)
    labels = LabelLosses(work.merge(first, second)["distinct"])
    assert labels.classes.tolist() == ["a", "b", "c"]
    with pytest.raises(InputError, match="Every label in y must be one of 'a', 'b', 'c'; got "):
        labels.table(np.array(["a", "d"]))


def test_an_empty_fold_is_refused_with_the_way_out(rng):
    X, Y = table(rng, n=12)
    keys = np.repeat(["one", "other"], 6)
    with pytest.raises(InputError, match=r"^Fold . of 5 is empty\. .*use fewer folds"):
        searching(as_source(X, Y, groups=keys), landmarks=5).run()


def test_kernels_whose_sums_do_not_fit_together_take_a_pass_each(rng, monkeypatch):
    X, Y = table(rng)
    together = searching(as_source(X, Y)).run().table.scores
    monkeypatch.setattr("mercer.streaming.search.available_bytes", lambda: 2.2 * 8 * FOLDS * 27 * 27)
    search = searching(as_source(X, Y))
    assert search.groups == [[0], [1]]
    assert search.plan().passes == 2
    np.testing.assert_allclose(search.run().table.scores, together, rtol=1e-12)


def test_sums_that_fit_nowhere_are_refused():
    assert group_kernels([10, 10, 30], 80) == [[0, 1], [2]]
    with pytest.raises(
        MemoryRefusal,
        match=(
            "Fitting one kernel needs 50 bytes of memory for its landmarks and folds; at most half of the available 80 "
            "bytes is used"
        ),
    ):
        group_kernels([50], 80)


def test_half_of_the_landmarks_are_checked_against_all_of_them(rng):
    X, Y = table(rng)
    search = searching(as_source(X, Y))
    found = search.run()
    check = landmark_check(found.swept[1], found.totals, 25)
    features, folds = search.first.sides[1].features, folds_of(len(X), FOLDS)
    half = scores(squared, whitened(KERNELS[1], features.landmarks[:12], X), Y, ALPHAS, folds).mean(axis=1)
    assert (check.landmarks, check.half) == (25, 12)
    assert check.half_error == pytest.approx(-half.max(), rel=1e-8)
    assert check.error == pytest.approx(-found.table.mean[1].max(), rel=1e-8)
    assert "More landmarks would still help" in str(LandmarkCheck(100, 50, 1.0, 2.0, 0.1))
    assert "More landmarks would hardly help" in str(LandmarkCheck(100, 50, 1.0, 1.001, 0.1))


def test_the_plan_says_what_it_will_take(rng):
    X, Y = table(rng)
    text = str(searching(as_source(X, Y), nested=True).plan())
    assert text.startswith("2 kernels x 3 alphas on 240 rows with 25 landmarks, 5 folds\n")
    assert "1 pass " in text
    assert "pairs of folds held out" in text


def test_the_number_of_landmarks_follows_rows_memory_and_time():
    assert landmark_count(50, 1, 10, 1e12, 120.0) == 50
    assert landmark_count(10**6, 1, 10, 1e12, 1e9) == 2000
    assert landmark_count(10**6, 1, 10, 1.6e8, 1e9) == 1000
    assert landmark_count(10**9, 10, 10, 1e12, 1.0) == 100
    assert sample_size(None, 1000) == 5000
    assert sample_size(300, 1000) == 300
    assert block_rows(10) == 16_384
    assert block_rows(10_000, 10) == 3000


@pytest.mark.parametrize(("scoring", "expected"), [("max_error", [3.0, 5.0]), ("neg_mean_absolute_error", [4.0, 7.0])])
def test_losses_of_two_parts_are_put_together(scoring, expected):
    work = HeldOutLosses(FoldSums((), Numbers(np.zeros(2)), 1, 0, intercept=False), (), (), 1, 1, scoring)
    a, b = {"loss0": np.array([1.0, 5.0])}, {"loss0": np.array([3.0, 2.0])}
    assert work.merge(a, b)["loss0"].tolist() == expected


@pytest.mark.parametrize("alphas", [[0.1], [0.1, 1.0]])
@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
def test_narrow_kernels_decide_labels_as_the_model_of_all_rows_does(alphas):
    """With every row a landmark the model without a fold is that of its training rows, however small its decisions."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 10, (90, 2))
    y = (X[:, 0] > 5).astype(int)
    folds = fold_of(0, 90, 5, 0)
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in range(5)]
    for width in (0.05, 0.1, 0.3):
        found = NystroemRidgeClassifierCV([Gaussian(width)], alphas, landmarks=X, cv=5, random_state=0).fit(X, y)
        whole = KernelRidgeClassifierCV([Gaussian(width)], alphas, cv=splits).fit(X, y)
        np.testing.assert_allclose(found.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"])
