"""Model files: one of every kind of model that can be saved, and what each predicts."""

from contextlib import chdir
from tempfile import TemporaryDirectory

from golden_commands import houses, run
from golden_records import FOLDER
from golden_searches import FEW, KERNELS

import mercer
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial, Spectrum

MODELS = {
    "ridge": lambda d: mercer.KernelRidge(0.25, kernel=Gaussian(1.5)).fit(d["X"], d["Y"], d["weights"]),
    "ridge_of_features": lambda d: mercer.KernelRidge(0.25, kernel=Polynomial(2), fit_intercept=True).fit(
        d["X"], d["y"]
    ),
    "ridge_of_texts": lambda d: mercer.KernelRidge(0.25, kernel=Spectrum(2)).fit(texts(d), d["text_y"]),
    "ridge_of_a_gram_matrix": lambda d: mercer.KernelRidge(0.25, kernel="precomputed").fit(d["gram"][:, :24], d["y"]),
    "ridge_classifier": lambda d: mercer.KernelRidgeClassifier(0.25, kernel=Laplacian(1.5)).fit(
        d["X"], d["three_labels"]
    ),
    "search": lambda d: mercer.KernelRidgeCV(KERNELS, FEW, cv=4, fit_intercept=True).fit(d["X"], d["y"]),
    "search_of_classes": lambda d: mercer.KernelRidgeClassifierCV(KERNELS, FEW, cv=4, class_weight="balanced").fit(
        d["X"], d["three_labels"]
    ),
    "neighbours_of_classes": lambda d: mercer.KernelNeighborsClassifier(Gaussian(1.5), 5).fit(
        d["X"], d["three_labels"]
    ),
    "neighbours": lambda d: mercer.KernelNeighborsRegressor(Gaussian(1.5), 3).fit(d["X"], d["Y"]),
    "committee": lambda d: mercer.AutoRegressor(random_state=0).fit(d["X"], d["y"]),
    "committee_of_classes": lambda d: mercer.AutoClassifier(random_state=3).fit(d["X"], d["two_labels"]),
    "landmarks": lambda d: mercer.NystroemRidge(0.25, kernel=Gaussian(1.5), landmarks=8).fit(d["X"], d["Y"]),
    "landmarks_of_classes": lambda d: mercer.NystroemRidgeClassifier(0.25, kernel=Gaussian(1.5), landmarks=8).fit(
        d["X"], d["three_labels"]
    ),
    "landmark_search": lambda d: mercer.NystroemRidgeCV(KERNELS, FEW, cv=4, landmarks=8).fit(d["X"], d["y"]),
    "landmark_search_of_classes": lambda d: mercer.NystroemRidgeClassifierCV(KERNELS, FEW, cv=4, landmarks=8).fit(
        d["X"], d["two_labels"]
    ),
    "features_without_rows": lambda d: mercer.KernelRidge(0.25, kernel=Polynomial(2)).fit(d["X"], d["Y"]),
    "classifier_without_rows": lambda d: mercer.KernelRidgeClassifierCV([Linear()], FEW, cv=4, fit_intercept=True).fit(
        d["X"], d["two_labels"]
    ),
    "table": ("fit", "houses.csv", "--target", "price", "--kernel", "gaussian(3)", "--alphas", "0.1,1", "--folds", "3"),
    "table_of_a_committee": ("fit", "houses.csv", "--target", "heating", "--drop", "house", "--folds", "3"),
    "table_without_rows": ("fit", "houses.csv", "--target", "price", "--kernel", "linear", "--without-data"),
}


def texts(data):
    return [str(text) for text in data["texts"]]


def write(data):
    """Fit all of them to half of the rows, and save them."""
    data = {name: array[:24] for name, array in data.items()}
    for name, make in MODELS.items():
        path = FOLDER / f"{name}.mercer"
        with TemporaryDirectory() as folder, chdir(folder), mercer.threads(1):
            if callable(make):
                mercer.save(make(data), path, rows="without_rows" not in name)
            else:
                houses(folder)
                assert run(*make, "--quiet", "--out", str(path))[0] == 0


def predictions(path, data):
    """What the model in a file predicts, in every way it can; the file's name says which model it is."""
    name, model = path.stem, mercer.load(path)
    new = {
        "ridge_of_texts": texts(data)[24:],
        "ridge_of_a_gram_matrix": data["gram_new"][:, :24],
    }.get(name, data["new"])
    if name.startswith("table"):
        new = {"house": ["a", "b", "c"], "size": [55.5, 120.0, 180.25], "heating": ["oil", "gas", "heat pump"]}
        new |= {"sold": ["2020-02-03", "2020-12-24", "2021-04-05"], "town": ["A", "C", "E"], "price": [150, 300, 420]}
        del new["heating" if "committee" in name else "price"]
        if "committee" in name:
            del new["house"]
    found = {"predictions": model.predict(new), "class": type(model).__name__}
    for method in ("predict_proba", "decision_function", "predict_interval"):
        if hasattr(model, method):
            try:
                found[method] = getattr(model, method)(new)
            except (AttributeError, ValueError) as refusal:
                found[method] = str(refusal)
    if hasattr(model, "summary"):
        found["summary"] = model.summary()
    if isinstance(model, mercer.KernelRidge) and name != "ridge_of_a_gram_matrix":
        found["std"] = model.predict(new, return_std=True)[1]
    return found
