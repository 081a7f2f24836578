"""What is no search: fits, evaluations, intervals, tuning, committees, landmarks, neighbours and verdicts."""

import numpy as np
from golden_records import Case, case
from golden_searches import FEW, KERNELS, MANY, absolute, told
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import KernelRidge, KernelRidgeClassifier, KernelRidgeClassifierCV, KernelRidgeCV
from mercer.data import as_rows
from mercer.kernels import Custom, Gaussian, Laplacian, Linear, Matern, Polynomial, Sigmoid, SquaredDistance, parse
from mercer.solvers.problem import Problem
from mercer.tuning.descent import per_column
from mercer.tuning.tune import Settings, tune_rows

EVALUATIONS: dict[str, Case] = {}


def fitted(model, data, y="y", new="new", X="X", **how):
    model.fit(data[X], data[y], **how)
    values, std = model.predict(data[new], return_std=True)
    return {
        "predictions": values,
        "std": std,
        "dual": model.dual_coef_,
        "intercept": model.intercept_,
        "prior_variance": model.prior_variance_,
        "evidence": model.log_marginal_likelihood_,
        "dof": model.effective_dof_,
        "route": str(model.route_),
        "scale": np.abs(data[y]).max(),
    }


@case(EVALUATIONS)
def a_fit_by_cholesky(data):
    return fitted(KernelRidge(0.25, kernel=Gaussian(1.5), solver="cholesky"), data)


@case(EVALUATIONS)
def a_fit_by_the_spectrum_with_an_alpha_for_each_target(data):
    return fitted(KernelRidge([0.25, 2.0], kernel=Gaussian(1.5), solver="spectral", fit_intercept=True), data, "Y")


@case(EVALUATIONS, rtol=1e-7)
def a_fit_by_conjugate_gradients(data):
    model = KernelRidge(0.25, kernel=Gaussian(1.5), solver="cg", fit_intercept=True).fit(data["X"], data["y"])
    return {"predictions": model.predict(data["new"]), "intercept": model.intercept_}


@case(EVALUATIONS)
def a_fit_of_features(data):
    model = KernelRidge(0.25, kernel=Polynomial(2), fit_intercept=True)
    return fitted(model, data, "tall_y", "tall_new", "tall") | {"primal": model.primal_coef_}


@case(EVALUATIONS)
def a_fit_with_weights_and_an_intercept(data):
    model = KernelRidge(0.25, kernel="laplacian", gamma=0.5, fit_intercept=True)
    return fitted(model, data, sample_weight=data["weights"])


@case(EVALUATIONS, rtol=1e-7)
def a_singular_fit(data):
    model = KernelRidge(0.0, kernel=Gaussian(1.0)).fit(data["twice"], data["twice_y"])
    return {"predictions": model.predict(data["new"]), "scale": 1.0}


@case(EVALUATIONS)
def a_classifier_of_three_classes(data):
    model = KernelRidgeClassifier(0.25, kernel=Gaussian(1.5), class_weight="balanced", fit_intercept=True)
    model.fit(data["X"], data["three_labels"], data["weights"])
    return {"predictions": model.predict(data["new"]), "decision": model.decision_function(data["new"])}


# -- intervals --------------------------------------------------------------------------------------


def bounds(model, new, y, methods, **how):
    found = {}
    for method in methods:
        lower, upper = model.predict_interval(new, 0.8, method, **how)
        found |= {f"{method} lower": lower, f"{method} upper": upper}
        found[f"{method} coverage"] = str(model.coverage(new, y[: len(new)], 0.8, method, **how))
    return found


METHODS = ("jackknife+", "cv+", "gaussian")


@case(EVALUATIONS)
def intervals_of_a_fit(data):
    model = KernelRidge(0.25, kernel=Gaussian(1.5), fit_intercept=True).fit(data["X"], data["y"])
    return bounds(model, data["new"], data["y"], METHODS, cv=6, random_state=1)


@case(EVALUATIONS)
def intervals_of_a_fit_of_features_with_weights_and_two_targets(data):
    model = KernelRidge(0.25, kernel=Polynomial(2)).fit(data["X"], data["Y"], data["weights"])
    return bounds(model, data["new"], data["Y"], METHODS)


@case(EVALUATIONS)
def intervals_of_a_precomputed_kernel(data):
    model = KernelRidge(0.5, kernel="precomputed").fit(data["gram"], data["y"])
    return bounds(model, data["gram_new"], data["y"], METHODS, diag=data["gram_diagonal"])


@case(EVALUATIONS)
def intervals_of_a_search(data):
    search = KernelRidgeCV(KERNELS, FEW, cv=4).fit(data["X"], data["y"])
    values, std = search.predict(data["new"], return_std=True)
    return bounds(search, data["new"], data["y"], METHODS) | {"predictions": values, "std": std}


# -- cross-validation -------------------------------------------------------------------------------


def evaluated(result):
    found = {name: getattr(result, name) for name in ("scores", "mean", "standard_error", "predictions")}
    return found | {"words": str(result), "route": result.route, "scoring": result.scoring, "folds": result.folds}


@case(EVALUATIONS)
def a_fixed_model_cross_validated_in_repeated_folds(data):
    model = KernelRidge(0.25, kernel=Gaussian(1.5), fit_intercept=True)
    return evaluated(mercer.cross_validate(model, data["X"], data["Y"], cv=5, repeats=2, random_state=1))


@case(EVALUATIONS)
def a_fixed_model_cross_validated_with_weights_and_groups(data):
    how = {"groups": data["groups"], "sample_weight": data["weights"], "scoring": absolute, "cv": 4}
    return evaluated(mercer.cross_validate(KernelRidge(0.25, kernel=Matern(1.5)), data["X"], data["y"], **how))


@case(EVALUATIONS)
def a_fixed_classifier_cross_validated_one_row_left_out(data):
    model = KernelRidgeClassifier(0.25, kernel=Gaussian(1.5))
    return evaluated(mercer.cross_validate(model, data["X"], data["three_labels"], cv=None))


@case(EVALUATIONS)
def a_model_of_scikit_learn_cross_validated_by_refitting(data):
    return evaluated(mercer.cross_validate(Ridge(0.5), data["X"], data["y"], cv=KFold(4), scoring="r2"))


def nested(search, data, y="y", **how):
    result = mercer.nested_cross_validate(search, data["X"], data[y], **how)
    chosen = "\n".join(f"{each['kernel']!r} {each['alpha']}" for each in result.chosen)
    found = {"inner": result.inner_scores, "optimism": result.optimism, "chosen": chosen}
    return evaluated(result) | found


@case(EVALUATIONS)
def nested_cross_validation_by_pairs_of_folds(data):
    return nested(KernelRidgeCV(KERNELS, FEW), data, cv=5)


@case(EVALUATIONS)
def nested_cross_validation_by_pairs_of_folds_repeated_with_weights(data):
    search = KernelRidgeCV(KERNELS, MANY, fit_intercept=True, rule="one_se")
    return nested(search, data, cv=4, repeats=2, random_state=3, sample_weight=data["weights"])


@case(EVALUATIONS)
def nested_cross_validation_with_an_alpha_for_each_target(data):
    return nested(KernelRidgeCV(KERNELS, FEW, alpha_per_target=True), data, "Y", cv=4)


@case(EVALUATIONS)
def nested_cross_validation_with_rows_left_out_inside(data):
    return nested(KernelRidgeCV(KERNELS, FEW, cv=None), data, cv=4, inner="leave-one-out")


@case(EVALUATIONS)
def nested_cross_validation_with_folds_drawn_inside(data):
    return nested(KernelRidgeCV(KERNELS, FEW), data, cv=4, inner=3, groups=data["groups"])


@case(EVALUATIONS)
def nested_cross_validation_of_few_features(data):
    found = {"X": data["tall"], "y": data["tall_y"]}
    return nested(KernelRidgeCV([Linear(), Polynomial(2)], FEW, scoring="r2"), found, cv=4)


@case(EVALUATIONS)
def nested_cross_validation_with_splits_that_overlap(data):
    return nested(KernelRidgeCV(KERNELS, FEW), data, cv=ShuffleSplit(4, random_state=1), inner=3)


@case(EVALUATIONS)
def nested_cross_validation_of_a_pipeline(data):
    pipeline = make_pipeline(StandardScaler(), KernelRidgeCV("gaussian", FEW, cv=3))
    return nested(pipeline, data, cv=3)


@case(EVALUATIONS)
def nested_cross_validation_of_a_classifier(data):
    search = KernelRidgeClassifierCV(KERNELS, FEW, class_weight="balanced")
    return nested(search, data, "three_labels", cv=4)


# -- bias, variance, noise, tuning ------------------------------------------------------------------


def parts(result):
    names = ("bias_squared_at", "variance_at", "noise_at", "risk")
    return {name: getattr(result, name) for name in names} | {"words": str(result)}


def truth(X):
    return X[:, 0] * X[:, 1] - X[:, 0]


@case(EVALUATIONS)
def bias_and_variance_in_closed_form(data):
    model = KernelRidge(kernel=Gaussian(1.0), fit_intercept=True)
    return parts(mercer.bias_variance(model, data["X"], truth, 0.3, X_test=data["new"], alphas=FEW))


@case(EVALUATIONS)
def bias_and_variance_of_drawn_targets(data):
    how = {"method": "monte_carlo", "draws": 12, "random_state": 4}
    return parts(mercer.bias_variance(KernelRidge(0.5, kernel=Gaussian(1.0)), data["X"], truth, 0.3, **how))


@case(EVALUATIONS)
def the_noise_of_repeated_inputs_and_of_residuals(data):
    repeated = mercer.noise_estimate(data["twice"], data["twice_y"])
    residual = mercer.noise_estimate(data["X"], data["y"], KernelRidge(0.25, kernel=Gaussian(1.5)))
    search = mercer.noise_estimate(data["X"], data["y"], KernelRidgeCV(KERNELS, FEW, cv=4))
    return {
        "values": [float(each) for each in (repeated, residual, search)],
        "words": "\n".join(map(str, (repeated, residual, search))),
    }


def tuned(data, kernel, **how):
    rows, problem = as_rows(data["X"]), Problem(data["y"][:, None], None, intercept=how.pop("fit_intercept", False))
    begin = per_column(kernel, rows.width) if how.pop("per_column_widths", False) else kernel
    found = tune_rows(begin, rows, problem.subtract_mean(), Settings(**how), random_state=0)
    words = str(found).partition(" steps,")[0].rpartition("(")[0]  # the number of steps may differ by rounding
    values = KernelRidge(found.alpha, kernel=found.kernel).fit(data["X"], data["y"]).predict(data["new"])
    return {"words": words, "score": found.score, "alpha": found.alpha, "predictions": values, "before": found.before}


@case(EVALUATIONS, rtol=1e-5)
def a_kernel_tuned_by_leave_one_out(data):
    return tuned(data, Gaussian(1.0))


@case(EVALUATIONS, rtol=1e-5)
def a_kernel_tuned_by_its_evidence_with_a_width_for_each_column(data):
    return tuned(data, Matern(1.0, nu=2.5), objective="evidence", per_column_widths=True, starts=1)


# -- committees -------------------------------------------------------------------------------------


@case(EVALUATIONS, rtol=1e-5)
def a_committee_for_numbers(data):
    model = mercer.AutoRegressor(random_state=1).fit(data["X"], data["y"])
    values, std = model.predict(data["new"], return_std=True)
    found = {"predictions": values, "std": std, "error": model.error_, "relevance": list(model.relevance().values())}
    found |= bounds(model, data["new"], data["y"], ("residuals", *METHODS))
    return found | {"weights": [each.weight for each in model.members_], "summary": model.summary()}


@case(EVALUATIONS, rtol=1e-5)
def one_kernel_for_a_mixed_table_evaluated_in_an_outer_loop(data):
    columns = {
        "size": data["X"][:, 0],
        "heating": np.array(["gas", "oil", "pump"])[data["groups"] % 3],
        "sold": np.datetime64("2020-01-01") + (64 * (data["X"][:, 1] + 2)).astype(int),
    }
    model = mercer.AutoRegressor(committee=False, random_state=1).fit(columns, data["y"])
    result = mercer.AutoRegressor(committee=False, random_state=1).evaluate(columns, data["y"], cv=3)
    found = {name: getattr(result, name) for name in ("error", "standard_error", "baseline", "errors", "predictions")}
    words = {"summary": model.summary(), "evaluation": str(result), "encoder": model.encoder_.describe()}
    return found | words | {"coverage": result.coverage, "fitted": model.predict(columns)}


@case(EVALUATIONS, rtol=1e-5)
def a_committee_for_three_classes_evaluated_in_an_outer_loop(data):
    model = mercer.AutoClassifier(class_weight="balanced", random_state=1).fit(data["X"], data["three_labels"])
    result = mercer.AutoClassifier(committee=False).evaluate(data["X"], data["three_labels"], cv=3)
    return {
        "predictions": model.predict(data["new"]),
        "proba": model.predict_proba(data["new"]),
        "summary": model.summary(),
        "evaluation": str(result),
        "errors": result.errors[0],
        "held_out": result.predictions[0],
    }


# -- the course -------------------------------------------------------------------------------------


@case(EVALUATIONS)
def krr_of_the_course(data):
    found = {}
    for kernel, parameter in (("linear", 1.0), ("polynomial", 2), ("gaussian", 0.75)):
        for amount in (0.0, 0.5):
            model = mercer.course.krr(kernel, parameter, amount).fit(data["X"], data["y"])
            name = f"{kernel} {amount}"
            found |= {name: model.predict(data["new"]), f"{name} alpha": model.alpha_}
            found[f"{name} regularization"] = model.regularization_
    return found


def both_errors(y_true, y_pred):
    return np.array([np.mean((y_true - y_pred) ** 2), np.abs(y_true - y_pred).mean()])


@case(EVALUATIONS)
def cv_of_the_course(data):
    found = {}
    for name, amounts, loss in (
        ("few", [0.125, 1.0], mercer.course.mean_absolute_error),
        ("many", list(MANY[:8]), mercer.course.squared_error),
        ("curve", [0.5, 0.0], both_errors),
    ):
        tried = {"kernel": ["gaussian"], "kernelparameter": [0.5, 1.5], "regularization": amounts}
        how = {"nfolds": 4, "nrepetitions": 2, "loss_function": loss, "random_state": 3, "verbose": 0}
        best = mercer.course.cv(data["X"], data["y"], mercer.course.krr, tried, **how)
        found |= {f"{name} loss": best.cvloss, f"{name} std": best.cvloss_std, f"{name} best": repr(best)}
        found[f"{name} predictions"] = best.predict(data["new"])
    return found


# -- landmarks --------------------------------------------------------------------------------------


@case(EVALUATIONS)
def landmarks_chosen_in_three_ways(data):
    found = {}
    for method in ("pivoted", "kmeans", "uniform"):
        model = mercer.NystroemRidge(0.25, kernel=Gaussian(1.5), landmarks=12, method=method, fit_intercept=True)
        model.fit(data["X"], data["Y"], data["weights"])
        found |= {f"{method} landmarks": model.landmarks_, f"{method} predictions": model.predict(data["new"])}
    return found


@case(EVALUATIONS)
def landmarks_fitted_in_parts(data):
    X, y = data["X"], data["y"]
    model = mercer.NystroemRidge(0.25, kernel=Gaussian(1.5), landmarks=X[:10])
    model.partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    streamed = mercer.NystroemRidge(0.25, kernel=Gaussian(1.5), landmarks=10, block_rows=7)
    streamed.fit([(X[:20], y[:20]), (X[20:], y[20:])])
    labels = mercer.NystroemRidgeClassifier(0.25, kernel=Gaussian(1.5), landmarks=10).fit(X, data["three_labels"])
    return {
        "predictions": model.predict(data["new"]),
        "streamed": streamed.predict(data["new"]),
        "labels": labels.predict(data["new"]),
        "decision": labels.decision_function(data["new"]),
    }


def streamed(search, data, y, **how):
    search.fit(data["X"], data[y], **how)
    return {
        "best_score": search.best_score_,
        "mean_scores": search.cv_results_["mean_test_score"],
        "alpha": search.alpha_,
        "kernel": repr(search.best_kernel_),
        "fold_rows": search.fold_rows_,
        "predictions": search.predict(data["new"]),
        "summary": search.summary(),
    }


@case(EVALUATIONS)
def a_search_on_landmarks_with_groups_and_weights(data):
    search = mercer.NystroemRidgeCV(KERNELS, FEW, cv=4, landmarks=14, nested=True, fit_intercept=True)
    found = streamed(search, data, "y", sample_weight=data["weights"], groups=data["groups"])
    return found | {"nested": search.nested_scores_, "optimism": search.optimism_}


@case(EVALUATIONS)
def a_search_on_landmarks_scored_by_absolute_errors(data):
    search = mercer.NystroemRidgeCV(KERNELS, FEW, cv=4, landmarks=14, scoring="neg_mean_absolute_error", rule="one_se")
    return streamed(search, data, "Y")


@case(EVALUATIONS)
def a_classifying_search_on_landmarks_with_groups_and_weights(data):
    search = mercer.NystroemRidgeClassifierCV(KERNELS, FEW, cv=3, landmarks=14, nested=True)
    found = streamed(search, data, "three_labels", sample_weight=data["weights"], groups=data["groups"])
    return found | {"nested": search.nested_scores_, "decision": search.decision_function(data["new"])}


# -- neighbours, kernels and verdicts ---------------------------------------------------------------


@case(EVALUATIONS)
def nearest_neighbours(data):
    labels = mercer.KernelNeighborsClassifier(Gaussian(1.5), 5).fit(data["X"], data["three_labels"])
    values = mercer.KernelNeighborsRegressor(Polynomial(2), 3).fit(data["X"], data["Y"])
    distances, places = values.kneighbors(data["new"])
    return {
        "labels": labels.predict(data["new"]),
        "proba": labels.predict_proba(data["new"]),
        "values": values.predict(data["new"]),
        "distances": distances,
        "places": places,
    }


WRITTEN = (
    "gaussian(2)", "gaussian(1.5, per_dimension=True)", "laplacian(2)", "matern(1.5, nu=0.5)", "matern(1.5)",
    "matern(1.5, nu=2.5)", "rational_quadratic(1, 2)", "periodic(1, 3)", "linear()", "polynomial(3)", "cosine()",
    "constant(2)", "sigmoid(0.5)", "squared_distance()", "gaussian(2) * linear() + 0.5 * polynomial(2)",
    "(0.25 * linear()).exp()", "polynomial(2).normalized()", "gaussian(1).on(0) ** 2 * laplacian(1).on(1)",
)  # fmt: skip


@case(EVALUATIONS)
def kernels_and_their_proofs(data):
    kernels = [parse(text) for text in WRITTEN]
    found = {text: kernel(data["new"], data["X"][:4]) for text, kernel in zip(WRITTEN, kernels, strict=True)}
    return found | {"proofs": "\n".join(str(kernel.certificate()) for kernel in kernels)}


@case(EVALUATIONS)
def kernels_of_words(data):
    texts = [str(text) for text in data["texts"][:8]]
    written = ("spectrum(2)", "spectrum(3, 1)", "subsequence(2, 0.25)", "jaccard()", "words()")
    return {text: parse(text)(texts) for text in written}


@case(EVALUATIONS)
def verdicts_on_kernels_and_matrices(data):
    K = np.asarray(Laplacian(1.0)(data["X"][:12])) - 0.25
    repaired, report = mercer.repair(K, return_report=True)
    asked = {
        "proved": mercer.check_mercer(Gaussian(2.0) * Linear()),
        "rows": mercer.check_mercer(Custom(lambda X, Z: (X @ Z.T) ** 2), data["X"]),
        "refuted": mercer.check_mercer(Sigmoid(2.0), data["X"]),
        "distances": mercer.check_mercer(SquaredDistance(), data["X"]),
        "matrix": mercer.check_mercer(K),
        "repaired": mercer.check_mercer(repaired),
        "gram": mercer.check_mercer(data["gram"]),
    }
    found = {name: str(verdict) for name, verdict in asked.items()}
    return found | {
        "valid": [verdict.valid is True for verdict in asked.values()],
        "repair": str(report),
        "K": repaired,
    }


@case(EVALUATIONS)
def plans_of_searches(data):
    asked = {
        "inverse": KernelRidgeCV(KERNELS, [0.5]).explain(data["X"], data["y"]),
        "spectral": KernelRidgeCV(KERNELS, MANY, cv=5).explain(data["X"], data["Y"]),
        "primal": KernelRidgeCV([Linear()], MANY).explain(data["tall"], data["tall_y"]),
        "refit": KernelRidgeClassifierCV(KERNELS, FEW, cv=4, class_weight="balanced").explain(
            data["X"], data["two_labels"]
        ),
        "landmarks": mercer.NystroemRidgeCV(KERNELS, FEW, cv=4, landmarks=14).explain(data["X"], data["y"]),
    }
    return {name: str(plan) for name, plan in asked.items()}


@case(EVALUATIONS)
def a_searched_kernel_survives_its_text(data):
    search = KernelRidgeCV("gaussian(2) * linear() + 0.5 * matern(1.5)", FEW, cv=4).fit(data["X"], data["y"])
    again = KernelRidgeCV(repr(search.best_kernel_), FEW, cv=4).fit(data["X"], data["y"])
    return told(again, data["new"], data["y"])
