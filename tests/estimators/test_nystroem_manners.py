"""Streaming estimators and what would lead them astray: other columns, other settings, rows a kernel cannot take."""

import re
import tracemalloc
import weakref

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from landmark_refits import folds_of, scores, squared, whitened
from mercer import (
    AutoClassifier,
    KernelNeighborsClassifier,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    NystroemRidge,
    NystroemRidgeClassifier,
    NystroemRidgeClassifierCV,
    NystroemRidgeCV,
)
from mercer.errors import InputError, NotMercerWarning
from mercer.kernels import Chi2, Constant, Gaussian, Linear, Polynomial, Sigmoid
from mercer.streaming.search import StreamedSearch

KERNEL = Gaussian(1.5)


@pytest.fixture
def frame(rng):
    frame = pd.DataFrame(rng.normal(size=(120, 3)), columns=["u", "v", "w"])
    return frame.assign(y=np.sin(frame["u"]) + frame["w"])


def test_pieces_whose_columns_stand_otherwise_are_refused(frame, tmp_path):
    frame[:60].to_parquet(tmp_path / "first.parquet")
    frame.loc[60:, ["w", "v", "u", "y"]].to_parquet(tmp_path / "second.parquet")
    model = NystroemRidge(kernel=KERNEL, landmarks=9).partial_fit(tmp_path / "first.parquet", "y")
    message = "Column 0 of X must be 'u', as in the first fit; got 'w'. Use the columns in the same order."
    with pytest.raises(InputError, match=re.escape(message)):
        model.partial_fit(tmp_path / "second.parquet", "y")


def test_landmarks_with_names_are_read_by_name(frame):
    X, y = frame[["u", "v", "w"]], frame["y"]
    plain, turned = (
        NystroemRidge(kernel=KERNEL, landmarks=landmarks).fit(X, y).predict(X)
        for landmarks in (X[:9].to_numpy(), X.loc[:8, ["w", "u", "v"]])
    )
    np.testing.assert_allclose(turned, plain, atol=1e-12)


@pytest.mark.parametrize(
    ("landmarks", "message"),
    [
        (pd.DataFrame({"u": [0.0], "v": [0.0], "W": [0.0]}), "landmarks of NystroemRidge need the column 'w'."),
        (
            [["a", "b", "c"]],
            ("landmarks of NystroemRidge must be rows of 3 finite numbers, as X has; got text or objects."),
        ),
    ],
)
def test_landmarks_that_will_not_do_are_refused(landmarks, message, frame):
    with pytest.raises(InputError, match=re.escape(message)):
        NystroemRidge(kernel=KERNEL, landmarks=landmarks).fit(frame[["u", "v", "w"]], frame["y"])


def test_rows_that_overflow_leave_the_sums_as_they_were(rng):
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model = NystroemRidge(kernel=KERNEL, landmarks=X[:9]).partial_fit(X[:30], y[:30])
    with pytest.raises(InputError, match="must be finite"), np.errstate(over="ignore", invalid="ignore"):
        model.partial_fit(X[:3], np.full(3, 1e200))
    model.partial_fit(X[30:], y[30:])
    whole = NystroemRidge(kernel=KERNEL, landmarks=X[:9]).fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-12)


@pytest.mark.parametrize("change", [{"kernel": Gaussian(3.0)}, {"kernel__width": 3.0}, {"fit_intercept": True}])
def test_another_model_does_not_go_on_from_these_sums(change, rng):
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model = NystroemRidge(kernel=KERNEL, landmarks=9).partial_fit(X, y).set_params(**change)
    with pytest.raises(InputError, match="must be the same as in the first fit, "):
        model.partial_fit(X, y)
    assert model.set_params(alpha=3.0, kernel=KERNEL, fit_intercept=False).partial_fit(X, y).n_rows_ == 120


def test_rows_beyond_the_sample_are_checked_as_well(rng):
    X, y = np.abs(rng.normal(size=(40, 2))), rng.normal(size=40)
    model = NystroemRidge(kernel=Chi2(), landmarks=X[:9]).fit(X, y)
    with pytest.raises(InputError, match="X for Chi2 must be non-negative"):
        model.predict(-X)
    with pytest.raises(InputError, match="X for Chi2 must be non-negative"):
        model.partial_fit(-X, y)


def test_a_search_says_that_its_winner_is_no_mercer_kernel(rng):
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    with pytest.warns(NotMercerWarning, match="is not a Mercer kernel"):
        NystroemRidgeCV([Sigmoid(1.0, -1.0)], [1e-3, 1.0, 1e6], cv=3, landmarks=9).fit(X, y)


def test_without_a_penalty_targets_far_from_zero_have_the_shortest_solution(rng):
    X, y = rng.normal(size=(20, 3)), 1000.0 + rng.normal(size=20)
    Z, new = rng.normal(size=(40, 3)), rng.normal(size=(50, 3))
    with pytest.warns(match="the minimum-norm solution was used"):
        model = NystroemRidge(0.0, kernel=KERNEL, landmarks=Z).fit(X, y)
    root = np.linalg.cholesky(KERNEL(Z))
    phi, phi_new = (np.linalg.solve(root, KERNEL(Z, rows)).T for rows in (X, new))
    expected = phi_new @ np.linalg.lstsq(phi, y, rcond=1e-12)[0]
    np.testing.assert_allclose(model.predict(new), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_a_label_that_nobody_promised_is_named(rng):
    X = rng.normal(size=(20, 2))
    model = NystroemRidgeClassifier(landmarks=5).partial_fit(X, ["a", "b"] * 10)
    with pytest.raises(InputError, match=re.escape("Every label in y must be one of 'a', 'b'; got 'z'.")):
        model.partial_fit(X[:1], ["z"])


def test_a_clone_has_the_same_client(rng):
    class Client:
        def scheduler_info(self):
            raise AssertionError

        def __deepcopy__(self, memo):
            raise TypeError

    client = Client()
    for estimator in (NystroemRidge(backend=client), NystroemRidgeCV(backend=client)):
        assert clone(estimator).backend is client
        assert estimator.backend is client


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mercer.errors.EdgeOfGridWarning")
def test_models_kept_for_a_second_pass_are_in_the_promise(rng):
    X, labels = rng.normal(size=(1500, 2)), rng.integers(0, 8, size=1500)
    kernels = [Gaussian(0.5), Gaussian(1.0), Gaussian(2.0)]
    search = NystroemRidgeClassifierCV(kernels, np.geomspace(1e-4, 1e2, 40), cv=5, landmarks=60, nested=True)
    promised = search.explain(X, labels).bytes
    tracemalloc.start()
    search.fit(X, labels)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < promised


@pytest.mark.filterwarnings("ignore::mercer.errors.EdgeOfGridWarning")
@pytest.mark.parametrize("kernel", [Constant(1.0) + Linear(), Polynomial(2)])
def test_a_kernel_of_low_rank_scores_targets_far_from_zero_as_refitting_does(kernel, rng):
    X, alphas = rng.normal(size=(300, 3)), np.array([1e-6, 1e-4, 1e-2])
    y = 1e6 + X[:, 0] + 0.1 * rng.normal(size=300)
    search = NystroemRidgeCV([kernel], alphas, cv=4, landmarks=X[:30]).fit(X, y)
    phi = whitened(kernel, X[:30], X)
    expected = scores(squared, phi, y[:, None], alphas, folds_of(300, 4))
    np.testing.assert_allclose(search.table_.scores[0, :, :, 0], expected, rtol=1e-6)
    kept = search.best_estimator_.landmarks_
    half = NystroemRidgeCV([kernel], alphas, cv=4, landmarks=kept[: len(kept) // 2]).fit(X, y)
    assert search.landmark_check_.half_error == pytest.approx(-half.best_score_, rel=1e-6)


@pytest.mark.filterwarnings("ignore::mercer.errors.EdgeOfGridWarning")
def test_the_sums_of_one_pass_are_gone_before_the_next(rng, monkeypatch):
    seen, still_there = [], []

    def run(self, *arguments):
        still_there.extend(each() is not None for each in seen)
        state = read(self, *arguments)
        seen.append(weakref.ref(state["train0"]))
        return state

    read = StreamedSearch.read
    monkeypatch.setattr(StreamedSearch, "read", run)
    monkeypatch.setattr("mercer.streaming.search.group_kernels", lambda sizes, memory: [[0], [1]])
    NystroemRidgeCV([Gaussian(1.0), Gaussian(2.0)], [0.1, 1.0], landmarks=9).fit(
        rng.normal(size=(200, 2)), rng.normal(size=200)
    )
    assert still_there == [False]


MIXED = " must be of one type; got numbers in row 0 and text in row 1. Convert all values to strings or all to numbers."


@pytest.mark.parametrize("make", [list, lambda cells: np.array(cells, dtype=object)], ids=["list", "objects"])
def test_groups_and_labels_of_two_kinds_are_refused_alike_by_every_estimator(make, rng):
    X, mixed = rng.normal(size=(40, 2)), make([1, "1"] * 20)
    for search in (
        KernelRidgeCV([Gaussian(1.0)], [0.1, 1.0], cv=2),
        NystroemRidgeCV([Gaussian(1.0)], [0.1, 1.0], cv=2),
    ):
        with pytest.raises(InputError, match=f"^groups{re.escape(MIXED)}$"):
            search.fit(X, X[:, 0], groups=mixed)
    for classifier in (
        KernelRidgeClassifier(),
        KernelRidgeClassifierCV([Gaussian(1.0)], [0.1]),
        KernelNeighborsClassifier(Gaussian(1.0)),
        NystroemRidgeClassifier(),
        NystroemRidgeClassifierCV([Gaussian(1.0)], [0.1], cv=2),
        AutoClassifier(),
    ):
        with pytest.raises(InputError, match=f"^y{re.escape(MIXED)}$"):
            classifier.fit(X, mixed)


@pytest.mark.parametrize("more", [["0", "1"], np.array(["0", "1"], dtype=object)], ids=["text", "objects"])
def test_labels_of_another_kind_than_the_classes_are_refused(more, rng):
    X = rng.normal(size=(20, 2))
    model = NystroemRidgeClassifier(landmarks=5).partial_fit(X, [0, 1] * 10)
    sentence = "y must be of one type; got numbers in the classes and text in these rows. "
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}Convert all values to strings or all to numbers\\.$"):
        model.partial_fit(X[:2], more)
    sentence = "classes must be of one type; got numbers in row 0 and text in row 1. "
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}Convert all values to strings or all to numbers\\.$"):
        NystroemRidgeClassifier(landmarks=5).partial_fit(X, [0, 1] * 10, classes=[0, "1"])
