"""Comparisons of models against their own cross-validation, and Holm's correction against its definition."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, ShuffleSplit

from mercer import KernelRidge, KernelRidgeClassifier, KernelRidgeCV, compare, cross_validate, nested_cross_validate
from mercer.errors import InputError
from mercer.inference.comparison import holm
from mercer.kernels import Gaussian, Linear
from refusals import refusal, tells

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, size=(60, 1))
Y = np.sin(X[:, 0]) + 0.2 * RNG.normal(size=60)
SEARCH = KernelRidgeCV([Gaussian(0.5), Gaussian(1.0)], [0.01, 0.1, 1.0], fit_intercept=True)


def test_scores_are_those_of_the_same_folds():
    models = {
        "search": SEARCH,
        "line": KernelRidge(0.1, kernel=Linear(), fit_intercept=True),
        "least": LinearRegression(),
    }
    found = compare(models, X, Y, cv=5, repeats=2, random_state=1)
    assert found.scores.shape == (3, 10)
    assert found.pairs == [("search", "line"), ("search", "least"), ("line", "least")]
    assert np.allclose(found.scores[1], found.scores[2], rtol=1e-2)
    d = found.scores[0] - found.scores[1]
    assert found.difference[0] == pytest.approx(d.mean())
    assert found.standard_error[0] == pytest.approx(d.std(ddof=1) * np.sqrt(1 / 10 + 1 / 4))
    assert found.pvalue[0] < 0.01 <= found.pvalue[2]
    assert np.array_equal(found.adjusted, holm(found.pvalue))
    assert str(found).startswith("Mean neg_mean_squared_error of 10 splits: search ")


def test_folds_without_a_seed_are_those_of_the_functions_themselves():
    found = compare([SEARCH, KernelRidge(0.1)], X, Y, cv=4)
    assert found.names == ["KernelRidgeCV", "KernelRidge"]
    assert np.allclose(found.scores[0], nested_cross_validate(SEARCH, X, Y, cv=4).scores.ravel())
    assert np.allclose(found.scores[1], cross_validate(KernelRidge(0.1), X, Y, cv=4).scores.ravel())


def test_a_model_compared_with_itself_does_not_differ():
    found = compare([KernelRidge(0.1), KernelRidge(0.1)], X, Y, cv=4)
    assert found.names == ["KernelRidge 1", "KernelRidge 2"]
    assert found.difference[0] == 0.0
    assert found.pvalue[0] == 1.0


def test_classifiers_are_compared_by_accuracy():
    labels = np.where(Y > 0, "a", "b")
    kernels = [Gaussian(1.0), Gaussian(100.0)]
    found = compare([KernelRidgeClassifier(0.1, kernel=k) for k in kernels], X, labels, cv=5, random_state=0)
    assert found.scoring == "accuracy"
    assert found.difference[0] > 0


def test_rejections_of_equal_models_are_rare():
    rejected = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        Z, y = rng.normal(size=(40, 4)), rng.normal(size=40)
        models = [KernelRidge(1.0, kernel=Linear().on([j])) for j in (0, 1)]
        rejected += compare(models, Z, y, cv=5).pvalue[0] < 0.05
    assert rejected <= 12


@pytest.mark.parametrize("given", [[KernelRidge()], {"a": KernelRidge()}, "ridge", [KernelRidge(), 3]])
def test_what_is_refused(given):
    with pytest.raises(InputError, match="models of compare must be a dict of names to at least two estimators"):
        compare(given, X, Y)


def test_scores_of_different_kinds_are_refused():
    with pytest.raises(InputError, match="The models of compare must be fitted with the same scoring"):
        compare([SEARCH, KernelRidgeCV(SEARCH.kernels, SEARCH.alphas, scoring="r2", cv=5)], X, Y, cv=5)


def test_the_result_shows_itself():
    found = compare([KernelRidge(0.1), KernelRidge(1.0)], X, Y, cv=4)
    assert list(found.to_frame()) == ["first", "second", "difference", "std. error", "p", "p, Holm"]
    assert "<svg" in found._repr_html_()


def test_every_model_gets_the_same_folds_from_splitters_and_generators():
    twice = {"a": KernelRidge(0.1), "b": KernelRidge(0.1)}
    for cv in (KFold(5, shuffle=True), KFold(5).split(X), ShuffleSplit(4)):
        assert compare(twice, X, Y, cv=cv).pvalue[0] == 1.0


def test_the_correction_knows_the_sizes_of_the_parts():
    models = {"a": KernelRidge(0.1), "b": KernelRidge(0.1, kernel=Gaussian(1.0))}
    found = compare(models, X, Y, cv=ShuffleSplit(10, test_size=0.5, random_state=0))
    d = found.scores[0] - found.scores[1]
    assert found.standard_error[0] == pytest.approx(d.std(ddof=1) * np.sqrt(1 / 10 + 1))
    with pytest.raises(InputError, match="cv of compare must be at least two splits; got 1"):
        compare(models, X, Y, cv=[(np.arange(40), np.arange(40, 60))])


def test_searches_need_three_folds_and_hear_nothing_of_inner_ones():
    message = refusal(compare, [SEARCH, KernelRidge(0.1)], X, Y, cv=2)
    assert tells(message, "cv of compare", "2-fold")
    assert "inner" not in message
    assert len(compare([KernelRidge(0.1), KernelRidge(1.0)], X, Y, cv=2).scores[0]) == 2
