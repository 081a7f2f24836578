"""Texts, token lists, sets and mixed tables in models: taken from whatever holds them, or refused in a sentence."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from object_cases import ALPHAS, HOLDERS, KERNELS, LABELS, NEW, TARGETS, TEXTS, by_hand
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from formulas import worst
from mercer import (
    KernelNeighborsClassifier,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    cross_validate,
    nested_cross_validate,
)
from mercer.errors import InputError
from mercer.kernels import Gaussian, Jaccard, Linear, Precomputed, Spectrum, Subsequence, Words
from oracles import kernel_ridge
from refusals import refusal, tells


def plain(X):
    """Texts that every holder can hold: surrogates are no business of Arrow's."""
    return [text for text in X if text.isprintable()]


# -- one model --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_texts_are_taken_from_whatever_holds_them(kernel, holder):
    hold, Z = HOLDERS[holder], plain(NEW)
    model = KernelRidge(0.1, kernel=kernel).fit(hold(TEXTS), TARGETS)
    assert worst(model.predict(hold(Z)), by_hand(kernel, TEXTS, TARGETS, Z, 0.1)) < 1e-10
    assert worst(kernel(hold(TEXTS), hold(Z)), kernel(TEXTS, Z)) == 0.0
    labels = KernelRidgeClassifier(0.1, kernel=kernel).fit(hold(TEXTS), LABELS).predict(hold(Z))
    assert labels.tolist() == KernelRidgeClassifier(0.1, kernel=kernel).fit(TEXTS, LABELS).predict(Z).tolist()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_kernel_can_be_normalized_in_a_model(kernel):
    model = KernelRidge(0.1, kernel=kernel.normalized()).fit(TEXTS, TARGETS)
    assert worst(model.predict(NEW), by_hand(kernel.normalized(), TEXTS, TARGETS, NEW, 0.1)) < 1e-10


@pytest.mark.parametrize("kernel", [Words(), Spectrum(2), Jaccard(), Subsequence(2)], ids=repr)
@pytest.mark.parametrize("make", [list, tuple, np.array], ids=["lists", "tuples", "arrays"])
def test_token_lists_of_one_length_are_no_table(kernel, make):
    X = [make(tokens) for tokens in (["a", "b"], ["b", "b"], ["c", "a"], ["a", "b"])]
    y = [1.0, 2.0, 3.0, 4.0]
    model = KernelRidge(0.5, kernel=kernel).fit(X, y)
    right = by_hand(kernel, [tuple(x) for x in X], y, [("a", "c"), ("b", "b")], 0.5)
    assert worst(model.predict([make(["a", "c"]), make(["b", "b"])]), right) < 1e-12
    assert cross_validate(KernelRidge(0.5, kernel=kernel), X, y, cv=2).predictions.shape == (1, 4)
    assert KernelRidgeCV([kernel], [0.5]).fit(X, y).predict(X[:1]).shape == (1,)


def test_numbers_may_be_tokens():
    X = [[1, 2], [2, 2], [3, 1]]
    assert KernelRidge(0.5, kernel=Words()).fit(X, [0, 1, 2]).predict([[1, 2]]).shape == (1,)


def test_bytes_are_sequences_of_numbers():
    assert Spectrum(2)([b"ab", b"abab"]).tolist() == Spectrum(2)(["ab", "abab"]).tolist()
    assert KernelRidge(kernel=Spectrum(1)).fit([b"ab", b"b"], [1.0, 2.0]).predict([b"ab"]).shape == (1,)


def test_sets_and_repeated_objects_are_fine():
    same = {"C", "H"}
    X = [same, same, {"C", "O"}, set(), frozenset("CHO")]
    model = KernelRidge(0.1, kernel=Jaccard()).fit(X, [1.0, 1.0, 2.0, 3.0, 4.0])
    assert worst(model.predict(X), by_hand(Jaccard(), X, [1.0, 1.0, 2.0, 3.0, 4.0], X, 0.1)) < 1e-12


def test_the_greetings_of_the_tutorial_by_features_and_by_kernel():
    X, y = ["hello", "morning", "hi", "hallo", "moin", "servus"], [1.0, 1.0, 1.0, -1.0, -1.0, -1.0]
    for penalty in (1e-4, 1.0):
        dual = KernelRidge(penalty, kernel=Words(), solver="cholesky").fit(X, y)
        assert dual.dual_coef_ == pytest.approx(np.array(y) / (1.0 + penalty))  # K = I
        primal = KernelRidge(penalty, kernel=Words(X), solver="primal").fit(X, y)
        assert primal.primal_coef_ == pytest.approx(np.array(y) / (1.0 + penalty))
        assert worst(primal.predict([*X, "salut"]), np.array([*y, 0.0]) / (1.0 + penalty)) < 1e-12
        assert worst(dual.predict([*X, "salut"]), primal.predict([*X, "salut"])) < 1e-12


@pytest.mark.parametrize("weights", [None, np.arange(16.0)], ids=["plain", "weighted"])
@pytest.mark.parametrize("intercept", [False, True])
def test_features_and_kernel_classify_greetings_alike(weights, intercept):
    kernel = Words(sorted({word for text in TEXTS for word in text.split()}))
    first, second = (
        KernelRidgeClassifier(0.1, kernel=kernel, solver=solver, fit_intercept=intercept).fit(TEXTS, LABELS, weights)
        for solver in ("primal", "cholesky")
    )
    assert worst(first.decision_function(NEW), second.decision_function(NEW)) < 1e-10
    assert first.predict(TEXTS).tolist() == second.predict(TEXTS).tolist()


def test_features_that_depend_on_the_rows_are_no_primal_solver():
    with pytest.raises(InputError, match="solver='primal' needs"):
        KernelRidge(kernel=Words(), solver="primal").fit(TEXTS, TARGETS)


def test_uncertainty_and_weights_go_with_objects(rng):
    weights = rng.uniform(0.5, 2.0, size=16)
    weights[3] = 0.0
    kernel = Spectrum(2).normalized()
    model = KernelRidge(0.1, kernel=kernel).fit(TEXTS, TARGETS, weights)
    given = KernelRidge(0.1, kernel=Precomputed()).fit(kernel(TEXTS), TARGETS, weights)
    mean, spread = model.predict(NEW, return_std=True)
    right, wide = given.predict(kernel(NEW, TEXTS), return_std=True, diag=kernel.diag(NEW))
    assert worst(mean, right) < 1e-10
    assert worst(spread, wide) < 1e-10
    assert model.effective_dof_ == pytest.approx(given.effective_dof_)


def test_a_fitted_model_can_be_pickled_and_cloned():
    model = KernelRidgeClassifier(0.1, kernel=Words(["good", "guten"])).fit(TEXTS, LABELS)
    assert pickle.loads(pickle.dumps(model)).predict(NEW).tolist() == model.predict(NEW).tolist()
    assert clone(model).kernel is model.kernel
    assert not hasattr(clone(model), "kernel_")


def test_models_see_more_texts_than_one_tile_holds(rng):
    X = ["".join(rng.choice(list("ab "), size=6)) for _ in range(700)]
    y = np.array([text.count("a") for text in X], dtype=float)
    model = KernelRidge(1e-3, kernel=Spectrum(1)).fit(X, y)
    assert worst(model.predict(X[::-1]), y[::-1]) < 1e-2


def test_inputs_are_never_changed():
    X = [["a", "b"], {"a"}, "a b", ("b",), "c"]
    array, before = np.empty(5, dtype=object), copy.deepcopy(X)
    array[:] = X
    array.flags.writeable = False
    for given in (X, array, pd.Series(X)):
        KernelRidge(kernel=Words()).fit(given, range(5)).predict(given)
        KernelRidgeCV([Words(), Jaccard()], [0.1]).fit(given, range(5)).predict(given)
        assert list(given) == before


# -- tags and names ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [KernelRidge, KernelRidgeClassifier, KernelNeighborsClassifier])
def test_tags_come_from_the_kernel(make):
    def tags(kernel):
        return make(kernel=kernel).__sklearn_tags__().input_tags

    for kernel in (Words(), Spectrum(2).normalized(), Words() + Jaccard() ** 2):
        assert (tags(kernel).string, tags(kernel).one_d_array, tags(kernel).two_d_array) == (True, True, False)
        assert not tags(kernel).sparse
        assert not tags(kernel).pairwise
    assert tags(Words().on("a") * Gaussian().on(["b"])).string
    assert tags(Words().on("a") * Gaussian().on(["b"])).two_d_array
    for kernel in (Gaussian(), "rbf"):
        assert (tags(kernel).string, tags(kernel).one_d_array, tags(kernel).two_d_array) == (False, False, True)


@pytest.mark.parametrize("make", [KernelRidgeCV, KernelRidgeClassifierCV])
def test_tags_of_a_search_come_from_all_kernels(make):
    assert make([Words(), Jaccard()]).__sklearn_tags__().input_tags.one_d_array
    assert make(Words()).__sklearn_tags__().input_tags.string
    assert not make([Gaussian()]).__sklearn_tags__().input_tags.string
    assert not make("gaussian").__sklearn_tags__().input_tags.string


def test_objects_have_no_columns_and_tables_do():
    model = KernelRidge(kernel=Words()).fit(TEXTS, TARGETS)
    assert not hasattr(model, "n_features_in_")
    assert not hasattr(model, "feature_names_in_")
    frame = table(5)
    model.set_params(kernel=MIXED).fit(frame, range(5))
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["text", "size", "weight"]
    one = KernelRidge(kernel=Words()).fit(frame[["text"]], range(5))
    assert one.feature_names_in_.tolist() == ["text"]


def test_a_second_fit_on_objects_forgets_the_columns_of_the_first():
    model = KernelRidge(kernel=MIXED).fit(table(5), range(5))
    model.set_params(kernel=Words()).fit(TEXTS, TARGETS)
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "n_features_in_")
    assert model.predict(NEW).shape == (5,)


# -- mixed tables -----------------------------------------------------------------------------------

MIXED = Words().on("text") * Gaussian().on([1, 2]) + Spectrum(2).on("text")


def table(count, kind=pd.DataFrame, **changes):
    rng = np.random.default_rng(count)
    columns = {"text": [TEXTS[i % 16] for i in range(count)], "size": rng.normal(size=count), "weight": range(count)}
    return kind({**columns, **changes})


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_mixed_tables_are_taken_column_by_column(kind):
    X, Z, y = table(12, kind), table(7, kind), np.arange(12.0)
    numbers = [np.column_stack([T["size"].to_numpy(), T["weight"].to_numpy()]).astype(float) for T in (X, Z)]

    def values(left, right):
        texts = [list(T["text"]) for T in (X, Z)]
        both = texts[left], texts[right]
        return Words()(*both) * Gaussian()(numbers[left], numbers[right]) + Spectrum(2)(*both)

    assert worst(MIXED(X), values(0, 0)) < 1e-14
    assert worst(MIXED(X, Z), values(0, 1)) < 1e-14
    dual, _ = kernel_ridge(values(0, 0), y[:, None], 0.1)
    assert worst(KernelRidge(0.1, kernel=MIXED).fit(X, y).predict(Z), (values(1, 0) @ dual)[:, 0]) < 1e-10
    search = KernelRidgeCV([MIXED, Words().on("text"), Gaussian().on(["size"])], ALPHAS, cv=3).fit(X, y)
    assert search.predict(Z).shape == (7,)


@pytest.mark.parametrize("dtype", ["string", "object", "category", "str"])
def test_text_columns_of_every_type_are_texts(dtype):
    X, y = table(12), np.arange(12.0)
    other = X.astype({"text": dtype})
    right = KernelRidge(0.1, kernel=MIXED).fit(X, y).predict(X)
    assert KernelRidge(0.1, kernel=MIXED).fit(other, y).predict(other).tolist() == right.tolist()


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "nan", "NA"])
@pytest.mark.parametrize("dtype", ["string", "object"])
def test_a_missing_text_is_refused_with_its_row(missing, dtype):
    X = table(5, text=pd.Series(["a", "b", missing, "c", "d"], dtype=dtype))
    where = r"^Rows of Words must be texts, lists or sets; got .* in row 2\.$"
    for kernel, rows in ((MIXED, X), (Words(), X["text"]), (Words(), X[["text"]])):
        with pytest.raises(InputError, match=where):
            kernel(rows)
        with pytest.raises(InputError, match=where):
            KernelRidge(kernel=kernel).fit(rows, range(5))
        with pytest.raises(InputError, match=where):
            KernelRidgeCV([kernel], [0.1]).fit(rows, range(5))


def test_a_missing_number_beside_texts_is_refused():
    X = table(5, size=[1.0, np.nan, 2.0, 3.0, 4.0])
    assert refusal(KernelRidge(kernel=MIXED).fit, X, range(5)).startswith("X must be finite; got nan in row 1")


def test_other_columns_may_hold_anything():
    X = table(5, weight=[None, "x", 3, [], {}])
    kernel = Words().on("text") + Linear().on("size")
    assert KernelRidge(kernel=kernel).fit(X, range(5)).predict(X).shape == (5,)


@pytest.mark.parametrize(
    "change",
    [lambda X: X[["weight", "text", "size"]], lambda X: X.drop(columns="text"), lambda X: X.assign(more=1)],
    ids=["reordered", "missing", "added"],
)
@pytest.mark.parametrize(
    "make", [lambda: KernelRidge(kernel=MIXED), lambda: KernelRidgeCV([MIXED], [0.1])], ids=["one", "search"]
)
def test_a_table_with_other_columns_is_refused_for_prediction(make, change):
    model = make().fit(table(6), range(6))
    with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
        model.predict(change(table(4)))


@pytest.mark.parametrize("hold", [list, lambda X: np.array(X, dtype=object)], ids=["lists", "object array"])
def test_mixed_tables_without_names_are_taken_by_number(hold):
    X = hold([["a b", 1.0, 2], ["b", 2.0, 3], ["", 3.0, 1]])
    kernel = Words().on(0) * Gaussian().on([1, 2])
    K = Words()(["a b", "b", ""]) * Gaussian()([[1.0, 2.0], [2.0, 3.0], [3.0, 1.0]])
    model = KernelRidge(0.1, kernel=kernel).fit(X, [1.0, 2.0, 3.0])
    assert worst(model.predict(X), (K @ kernel_ridge(K, [1.0, 2.0, 3.0], 0.1)[0])[:, 0]) < 1e-12


def test_a_column_is_found_by_name_even_if_it_is_the_only_one():
    X = table(6)[["text"]]
    model = KernelRidge(0.1, kernel=Words().on("text")).fit(X, range(6))
    assert worst(model.predict(X), by_hand(Words(), list(X["text"]), range(6), list(X["text"]), 0.1)) < 1e-12


def test_token_lists_and_sets_stand_in_columns():
    X = pd.DataFrame({"tokens": [["a", "b"], ["b", "b"], ["c", "a"]], "set": [{"a"}, set(), {"b"}], "n": [1, 2, 3]})
    kernel = Spectrum(1).on("tokens") * Jaccard().on("set") + Linear().on("n")
    right = Spectrum(1)(list(X["tokens"])) * Jaccard()(list(X["set"])) + np.outer(X["n"], X["n"])
    assert worst(kernel(X), right) < 1e-14
    assert KernelRidge(kernel=kernel).fit(X, range(3)).predict(X).shape == (3,)


# -- refusals ---------------------------------------------------------------------------------------


def test_kernels_of_different_kinds_do_not_mix():
    for mix in (lambda: Words() * Gaussian(), lambda: Gaussian() + Jaccard(), lambda: Spectrum() + Words().on("text")):
        assert (
            "cannot be combined: one takes objects such as texts, another rows of numbers. Select a column for each"
        ) in refusal(mix)
    with pytest.raises(InputError, match="Compute the matrices of all kernels, combine these, and use"):
        Words() + Precomputed()


@pytest.mark.parametrize("other", [Gaussian(), "gaussian"], ids=repr)
@pytest.mark.parametrize("make", [KernelRidgeCV, KernelRidgeClassifierCV])
def test_a_search_refuses_kernels_of_different_kinds(make, other):
    for X in (TEXTS, np.ones((16, 2))):
        assert tells(
            refusal(make([Words(), other], ALPHAS).fit, X, LABELS if make is KernelRidgeClassifierCV else TARGETS),
            "kernels",
            f"got both: {other!r} takes numbers",
        )


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ("hello", "X must be a table or a sequence of rows; got str."),
        ({"a", "b"}, "X must be a table or a sequence of rows; got set."),
        ((text for text in "ab"), "X must be a table or a sequence of rows; got generator."),
        (None, "X must be a table or a sequence of rows; got NoneType."),
        ([], "The number of rows of X must be at least 1; got 0."),
        ([1.0, 2.0], "Rows of Words must be texts, lists or sets; got 1.0 in row 0."),
        (["a", None], "Rows of Words must be texts, lists or sets; got None in row 1."),
        (
            [["a"], [["b"]]],
            (
                "Every item in the rows of Words must be hashable, such as a string, a number or a tuple; got an "
                "unhashable item in row 1."
            ),
        ),
        (np.ones((2, 3)), "Rows of Words must be objects such as texts; got a table of 3 columns."),
        (np.array([["a", "b"], ["c", "d"]]), "Rows of Words must be objects such as texts; got a table of 2 columns."),
    ],
    ids=["text", "set", "generator", "None", "empty", "numbers", "missing", "nested", "table", "text table"],
)
def test_what_is_no_sequence_of_objects_is_refused(X, sentence):
    assert refusal(KernelRidge(kernel=Words()).fit, X, [1.0, 2.0]).startswith(sentence)


def test_as_many_targets_as_objects():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        KernelRidge(kernel=Words()).fit(TEXTS, [1.0, 2.0])


def test_a_kernel_for_numbers_refuses_texts_in_a_model():
    with pytest.raises(ValueError):
        KernelRidge(kernel=Gaussian()).fit(TEXTS, TARGETS)


def test_a_part_without_columns_of_its_own_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="Gaussian needs rows of numbers"):
        KernelRidge(kernel=Words().on("text") * Gaussian()).fit(table(5), range(5))


def test_cross_validation_refuses_a_generator_in_a_sentence():
    with pytest.raises(InputError):
        cross_validate(KernelRidge(kernel=Words()), (text for text in TEXTS), TARGETS, cv=4)


# -- scikit-learn's tools ---------------------------------------------------------------------------


def test_a_grid_search_tries_every_length():
    lengths, alphas = [1, 2, 3], [0.1, 1.0]
    grids = {"kernel__length": lengths, "alpha": alphas}
    found = GridSearchCV(KernelRidge(kernel=Spectrum()), grids, cv=KFold(4)).fit(TEXTS, TARGETS)
    ours = KernelRidgeCV([Spectrum(n) for n in lengths], alphas, cv=KFold(4), scoring="r2").fit(TEXTS, TARGETS)
    scores = {
        (p["kernel__length"], p["alpha"]): s
        for p, s in zip(found.cv_results_["params"], found.cv_results_["mean_test_score"], strict=True)
    }
    mine = ours.table_.mean[:, :, 0]
    assert len(set(np.round(list(scores.values()), 10))) == 6
    for (length, alpha), score in scores.items():
        assert mine[lengths.index(length), alphas.index(alpha)] == pytest.approx(score, abs=1e-8)
    assert found.best_estimator_.kernel == ours.best_kernel_


@pytest.mark.parametrize("holder", ["list", "object array", "Series", "DataFrame", "polars Series"])
def test_cross_val_score_equals_our_cross_validation(holder):
    X, model, cv = HOLDERS[holder](TEXTS), KernelRidgeClassifier(0.1, kernel=Spectrum(2) + 0.1), StratifiedKFold(4)
    theirs = cross_val_score(model, X, LABELS, cv=cv)
    ours = cross_validate(model, X, LABELS, cv=cv)
    assert ours.scores[0] == pytest.approx(theirs)
    assert ours.route.startswith("closed form")


def test_a_pipeline_of_texts_is_searched_and_nested():
    steps = [("lower", FunctionTransformer(lambda X: [text.lower() for text in X]))]
    search = KernelRidgeClassifierCV([Spectrum(1), Spectrum(2) + 0.1], ALPHAS, cv=3)
    X = [text.upper() for text in TEXTS]
    nested = nested_cross_validate(Pipeline([*steps, ("search", search)]), X, LABELS, cv=4)
    assert nested.scores.shape == (1, 4)
    assert nested.route == "pipeline refitted in every outer fold"
    direct = nested_cross_validate(search, TEXTS, LABELS, cv=4, inner=3)
    assert worst(nested.scores, direct.scores) < 1e-12
    assert [c["kernel"] for c in nested.chosen] == [c["kernel"] for c in direct.chosen]
