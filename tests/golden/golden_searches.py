"""Searches over kernels and alphas, by every route, kind of split, score and rule."""

import numpy as np
import scipy.sparse
from golden_records import Case, case
from sklearn.metrics import make_scorer, median_absolute_error
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

from mercer import KernelRidgeClassifierCV, KernelRidgeCV
from mercer.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Spectrum,
    Subsequence,
)

SEARCHES: dict[str, Case] = {}
KERNELS = [Gaussian(0.5), Gaussian(1.5), Gaussian(4.0)]
MANY = np.array([2.0**k for k in range(-9, 7)])
FEW = [0.0078125, 0.0625, 0.5]


def absolute(truth, guess):
    """A loss of one's own."""
    return float(np.abs(truth - guess).mean())


def told(search, new, y):
    """Everything that a fitted search has to say."""
    results = search.cv_results_
    found = {
        "best_score": search.best_score_,
        "best_index": search.best_index_,
        "mean_scores": results["mean_test_score"],
        "std_scores": results["std_test_score"],
        "pooled_scores": results["pooled_test_score"],
        "refits": results["refits"],
        "alphas": search.alphas_,
        "alpha": search.alpha_,
        "kernel": repr(search.best_kernel_),
        "route": search.plan_.chosen.name,
        "summary": search.summary(),
        "cv_predictions": search.cv_predictions_,
        "predictions": search.predict(new),
    }
    if np.asarray(y).dtype.kind == "f":
        found["scale"] = np.abs(y).max()
    return found


def tried(search):
    return {"kernels": "\n".join(map(repr, search.kernels_))}


def searched(search, data, y="y", **how):
    return told(search.fit(data["X"], data[y], **how), data["new"], data[y])


@case(SEARCHES)
def leave_one_out_by_the_spectral_route(data):
    return searched(KernelRidgeCV(KERNELS, MANY), data)


@case(SEARCHES)
def leave_one_out_by_the_inverse_route(data):
    return searched(KernelRidgeCV([Gaussian(0.75), Matern(1.5), Laplacian(2.0)], [0.125]), data)


@case(SEARCHES)
def folds_verified_by_refitting(data):
    search = KernelRidgeCV([Gaussian(1.5), Matern(2.0, nu=2.5)], FEW, cv=5, verify=True, random_state=3)
    return searched(search, data) | {"verified": search.verified_ < 1e-9}


@case(SEARCHES)
def repeated_folds_of_many_alphas(data):
    return searched(KernelRidgeCV(KERNELS, MANY, cv=4, repeats=3, random_state=7), data)


@case(SEARCHES)
def folds_of_whole_groups(data):
    return searched(KernelRidgeCV(KERNELS, FEW, cv=GroupKFold(4)), data, groups=data["groups"])


@case(SEARCHES)
def groups_with_a_number_of_folds(data):
    return searched(KernelRidgeCV(KERNELS, FEW, cv=3), data, groups=data["groups"])


@case(SEARCHES)
def splits_that_overlap_and_leave_rows_untested(data):
    return searched(KernelRidgeCV(KERNELS, FEW, cv=ShuffleSplit(5, test_size=0.2, random_state=5)), data)


@case(SEARCHES)
def splits_given_as_a_list_that_train_on_some_rows_alone(data):
    rows = np.arange(len(data["y"]))
    splits = [(rows[rows % 4 == k], rows[rows % 4 == (k + 1) % 4]) for k in range(4)]
    return searched(KernelRidgeCV(KERNELS, FEW, cv=splits), data)


@case(SEARCHES)
def an_alpha_for_each_of_two_targets(data):
    return searched(KernelRidgeCV(KERNELS, MANY, cv=5, alpha_per_target=True), data, "Y")


@case(SEARCHES)
def one_alpha_for_two_targets(data):
    return searched(KernelRidgeCV(KERNELS, MANY, fit_intercept=True), data, "Y")


@case(SEARCHES)
def an_intercept_and_weights_with_zeros_in_folds(data):
    search = KernelRidgeCV(KERNELS, MANY, cv=6, fit_intercept=True)
    return searched(search, data, sample_weight=data["weights"])


@case(SEARCHES)
def an_intercept_and_weights_with_zeros_one_row_left_out(data):
    search = KernelRidgeCV(KERNELS, FEW, fit_intercept=True)
    return searched(search, data, sample_weight=data["weights"])


def tall(search, data, **how):
    return told(search.fit(data["tall"], data["tall_y"], **how), data["tall_new"], data["tall_y"])


@case(SEARCHES)
def many_rows_of_few_features_in_folds(data):
    return tall(KernelRidgeCV([Linear(), Polynomial(2)], FEW, cv=5, fit_intercept=True), data)


@case(SEARCHES)
def many_rows_of_few_features_one_row_left_out(data):
    return tall(KernelRidgeCV([Linear(), Polynomial(2, offset=0.5)], FEW), data)


@case(SEARCHES)
def many_rows_of_few_features_with_weights(data):
    weights = 0.5 + np.arange(len(data["tall"])) % 3
    return tall(KernelRidgeCV([Linear()], MANY, cv=4, repeats=2, random_state=1), data, sample_weight=weights)


@case(SEARCHES)
def a_sparse_table(data):
    X, new = (scipy.sparse.csr_array(np.where(data[name] > 0, data[name], 0.0)) for name in ("tall", "tall_new"))
    return told(KernelRidgeCV([Linear(), Gaussian(2.0)], FEW, cv=5).fit(X, data["tall_y"]), new, data["tall_y"])


@case(SEARCHES, rtol=1e-7)
def a_singular_system_of_rows_that_come_twice(data):
    search = KernelRidgeCV([Gaussian(1.0)], [0.0, 0.5], cv=KFold(5)).fit(data["twice"], data["twice_y"])
    return told(search, data["new"], data["twice_y"])


@case(SEARCHES, rtol=1e-7)
def a_singular_system_of_rows_that_come_twice_left_out_one_by_one(data):
    search = KernelRidgeCV([Gaussian(1.0)], [0.0, 0.5]).fit(data["twice"], data["twice_y"])
    return told(search, data["new"], data["twice_y"])


@case(SEARCHES)
def scoring_by_r2_in_folds(data):
    return searched(KernelRidgeCV(KERNELS, MANY, cv=5, scoring="r2"), data)


@case(SEARCHES)
def scoring_by_r2_one_row_left_out(data):
    return searched(KernelRidgeCV(KERNELS, FEW, scoring="r2"), data)


@case(SEARCHES)
def scoring_by_a_scorer_made_of_a_metric(data):
    scorer = make_scorer(median_absolute_error, greater_is_better=False)
    return searched(KernelRidgeCV(KERNELS, FEW, cv=5, scoring=scorer), data)


@case(SEARCHES)
def scoring_by_a_loss_function(data):
    return searched(KernelRidgeCV(KERNELS, FEW, cv=5, scoring=absolute), data)


@case(SEARCHES)
def the_largest_alpha_within_one_standard_error(data):
    return searched(KernelRidgeCV(KERNELS, MANY, cv=5, rule="one_se"), data)


@case(SEARCHES)
def a_grid_that_is_extended(data):
    kernels = [Gaussian(2.0), Gaussian(3.0), Gaussian(4.5)]
    search = KernelRidgeCV(kernels, [0.25, 1.0, 4.0], cv=5, extend_grid=True)
    return searched(search, data) | tried(search)


@case(SEARCHES, rtol=1e-6)
def a_winner_that_tuning_makes_better(data):
    search = KernelRidgeCV([Laplacian(0.3), RationalQuadratic(20.0)], [0.0625, 0.5], cv=5, tune=True, random_state=0)
    return searched(search, data)


@case(SEARCHES, rtol=1e-6)
def a_winner_that_tuning_would_make_worse(data):
    return searched(KernelRidgeCV([Gaussian(0.75)], FEW, cv=5, tune=True, random_state=0), data)


@case(SEARCHES)
def a_precomputed_kernel(data):
    search = KernelRidgeCV([Precomputed(), Precomputed() ** 2], FEW, cv=5, fit_intercept=True)
    return told(search.fit(data["gram"], data["y"]), data["gram_new"], data["y"])


@case(SEARCHES)
def a_precomputed_kernel_with_weights_one_row_left_out(data):
    search = KernelRidgeCV("precomputed", MANY).fit(data["gram"], data["y"], data["weights"])
    return told(search, data["gram_new"], data["y"])


@case(SEARCHES)
def families_of_kernels_by_name(data):
    search = KernelRidgeCV(["gaussian", "laplacian", "polynomial"], FEW, cv=5)
    return searched(search, data) | tried(search)


@case(SEARCHES)
def a_ladder_of_alphas_from_the_data(data):
    search = KernelRidgeCV("laplacian", cv=5)
    found = searched(search, data)
    names = ("alphas", "alpha", "kernel", "best_score", "predictions", "route")  # some candidates are nearly singular
    return {name: found[name] for name in names} | tried(search)


@case(SEARCHES)
def kernels_written_as_text(data):
    kernels = ["gaussian(2) * linear() + 0.5 * matern(1.5)", "(0.25 * cosine()).exp()", "periodic(1, 3)"]
    return searched(KernelRidgeCV(kernels, FEW, cv=4), data)


@case(SEARCHES)
def kernels_of_strings(data):
    kernels = [Spectrum(2), Subsequence(2, 0.5).normalized(), Spectrum(3, 1).normalized()]
    texts = [str(text) for text in data["texts"]]
    search = KernelRidgeCV(kernels, FEW, cv=4).fit(texts[:24], data["text_y"])
    return told(search, texts[24:], data["text_y"])


def classified(search, data, y, **how):
    found = searched(search, data, y, **how)
    proba, decision = search.predict_proba(data["new"]), search.decision_function(data["new"])
    return found | {"proba": proba, "decision": decision, "classes": search.classes_}


@case(SEARCHES)
def two_classes_one_row_left_out(data):
    return classified(KernelRidgeClassifierCV(KERNELS, MANY), data, "two_labels")


@case(SEARCHES)
def two_classes_scored_by_the_area_under_the_curve_with_weights(data):
    search = KernelRidgeClassifierCV(KERNELS, FEW, cv=4, scoring="roc_auc", fit_intercept=True)
    return classified(search, data, "two_labels", sample_weight=data["weights"])


@case(SEARCHES)
def three_balanced_classes_in_repeated_folds(data):
    search = KernelRidgeClassifierCV(KERNELS, FEW, cv=4, repeats=2, class_weight="balanced", random_state=4)
    return classified(search, data, "three_labels")


@case(SEARCHES)
def three_balanced_classes_in_folds_of_whole_groups(data):
    search = KernelRidgeClassifierCV(KERNELS, FEW, cv=GroupKFold(3), class_weight="balanced", fit_intercept=True)
    return classified(search, data, "three_labels", groups=data["groups"])


@case(SEARCHES)
def three_classes_with_weights_of_their_own(data):
    costs = {"a": 1.0, "b": 2.0, "c": 0.5}
    search = KernelRidgeClassifierCV(KERNELS, MANY, class_weight=costs, rule="one_se")
    return classified(search, data, "three_labels")
