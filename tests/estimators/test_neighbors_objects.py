"""Neighbours, the course and kernels of one's own on objects."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from object_cases import ALPHAS, HOLDERS, LABELS, TEXTS, by_hand
from sklearn.model_selection import GridSearchCV

from formulas import worst
from mercer import (
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
    course,
    nested_cross_validate,
)
from mercer.kernels import Gaussian, Jaccard, Kernel, Spectrum, Words
from oracles import kernel_ridge

# -- neighbours, the course, kernels of one's own -----------------------------------------------------


def test_neighbours_of_sets_are_those_that_share_most():
    X = [{"C", "H"}, {"C", "O"}, {"N"}, set(), {"C", "H", "O"}]
    model = KernelNeighborsClassifier(Jaccard(), n_neighbors=2).fit(X, ["a", "b", "c", "d", "a"])
    Z = [{"C", "H"}, set(), {"H", "O", "C"}]
    distances, places = model.kneighbors(Z)
    K = Jaccard()(Z, X)
    right = np.argsort(-K, axis=1, kind="stable")[:, :2]
    assert places.tolist() == right.tolist()
    assert worst(distances, np.sqrt(2 - 2 * np.take_along_axis(K, right, axis=1))) < 1e-12
    assert model.predict(Z)[0] == model.predict(Z)[2] == "a"
    assert KernelNeighborsRegressor(Jaccard()).fit(X, range(5)).predict([{"N"}, set()]).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("holder", HOLDERS)
def test_neighbours_are_taken_from_whatever_holds_them(holder):
    hold = HOLDERS[holder]
    model = KernelNeighborsClassifier(Spectrum(2).normalized()).fit(hold(TEXTS), LABELS)
    assert model.predict(hold(TEXTS)).tolist() == LABELS.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("holder", ["list", "object array", "text array", "Series", "DataFrame"])
def test_the_course_chooses_a_length(holder):
    best = course.cv(
        HOLDERS[holder](TEXTS), LABELS, KernelRidgeClassifier(kernel=Spectrum(2)),
        {"kernel__length": [1, 2, 9], "alpha": [0.1, 1.0]}, nfolds=4, nrepetitions=2,
        loss_function=course.zero_one_loss, random_state=0, verbose=0,
    )  # fmt: skip
    assert best.kernel in (Spectrum(1), Spectrum(2))
    assert 0.0 <= best.cvloss < 0.5
    assert best.predict(HOLDERS[holder](TEXTS)).tolist() == LABELS.tolist()


def test_the_course_takes_token_lists_of_one_length():
    X, y = [["a", "b"], ["b", "b"], ["c", "a"]] * 4, np.array([1.0, -1.0, 1.0] * 4)
    best = course.cv(X, y, KernelRidge(kernel=Words()), {"alpha": [0.1, 1.0]}, nfolds=3, nrepetitions=1, verbose=0)
    assert worst(best.predict(X), by_hand(Words(), X, y, X, best.alpha)) < 1e-10


def test_the_course_takes_token_lists_where_kernels_are_tried():
    X, y = [["a", "b"], ["b", "b"], ["c", "a"]] * 4, np.array([1.0, -1.0, 1.0] * 4)
    parameters = {"kernel": [Words(), Jaccard()]}
    assert course.cv(X, y, KernelRidge, parameters, nfolds=3, nrepetitions=1, verbose=0).predict(X).shape == (12,)


class Graph:
    """A user's own class: no length, no order, not hashable."""

    __hash__ = None

    def __init__(self, edges):
        self.edges = edges

    def __eq__(self, other):
        raise AssertionError("nobody needs to compare graphs")


class SharedEdges(Kernel):
    """A user's own kernel."""

    kind = "objects"
    mercer = True
    because = "it counts shared edges"

    def block(self, pair):
        return np.array([[float(len(x.edges & z.edges)) for z in pair.z.values] for x in pair.x.values])


GRAPHS = [
    Graph({(i, j) for i in range(n) for j in range(i + 1, n) if (i + j) % k}) for n in range(2, 6) for k in (2, 3, 5)
]


def test_graphs_of_ones_own_go_everywhere(rng):
    y = rng.normal(size=12)
    labels = np.where(y > np.median(y), "high", "low")
    kernel = SharedEdges()
    right = by_hand(kernel, GRAPHS, y, GRAPHS, 0.1)
    assert worst(KernelRidge(0.1, kernel=kernel).fit(GRAPHS, y).predict(GRAPHS), right) < 1e-10
    assert KernelRidgeClassifier(kernel=kernel.normalized()).fit(GRAPHS, labels).predict(GRAPHS).shape == (12,)
    search = KernelRidgeCV([kernel, kernel.normalized(), kernel + 1.0], ALPHAS, cv=3, verify=True).fit(GRAPHS, y)
    assert search.verified_ < 1e-8
    assert nested_cross_validate(search, GRAPHS, y, cv=3).scores.shape == (1, 3)
    found = GridSearchCV(KernelRidge(kernel=kernel), {"alpha": ALPHAS}, cv=3).fit(GRAPHS, y)
    assert found.predict(GRAPHS).shape == (12,)
    assert KernelNeighborsRegressor(kernel).fit(GRAPHS, y).predict(GRAPHS[:2]).shape == (2,)
    frame = pd.DataFrame({"graph": GRAPHS, "size": np.arange(12.0)})
    mixed = KernelRidge(0.1, kernel=kernel.on("graph") * Gaussian().on("size")).fit(frame, y)
    K = kernel(GRAPHS) * Gaussian()(np.arange(12.0)[:, None])
    assert worst(mixed.predict(frame), (K @ kernel_ridge(K, y, 0.1)[0])[:, 0]) < 1e-10
    best = course.cv(GRAPHS, y, KernelRidge(kernel=kernel), {"alpha": ALPHAS}, nfolds=3, nrepetitions=1, verbose=0)
    assert best.predict(GRAPHS).shape == (12,)


@pytest.mark.slow
def test_the_example_with_graphs_runs():
    example = Path(__file__).parents[2] / "examples" / "graphs.py"
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("CCCCCCCCCCO: alcohol")
