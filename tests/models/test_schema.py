"""Model files that lie: refused without trust, without memory, without running anything."""

import os
import subprocess
import sys
import threading
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_cases import changed
from scipy import sparse

import mercer
from mercer import (
    AutoRegressor,
    KernelNeighborsClassifier,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
)
from mercer.errors import MemoryRefusal, MercerWarning, ModelFileError
from mercer.estimators.table_model import TableModel
from mercer.kernels import (
    Gaussian,
    Jaccard,
    Polynomial,
    Words,
)
from mercer.models import inspect
from model_mutants import joined, mutant, renamed, resealed, same_content, split, written_again
from refusals import tells

# what fits say about themselves is not what is tried here
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")


# -- files that lie ---------------------------------------------------------------------------------

WAY_OUT = " Use another copy of the file, or save the model again."


def refused(path, data):
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        mercer.load(path)
    return str(caught.value).split("cannot be read: ")[1]


@pytest.mark.slow
def test_every_flipped_byte_is_detected(small):
    data = small.read_bytes()
    for place in range(len(data)):
        mask = 1 + 37 * place % 255
        refused(small, data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :])


def test_every_length_but_its_own_is_detected(small):
    data = small.read_bytes()
    for length in {*range(0, len(data), 7), *range(100), *range(len(data) - 100, len(data))}:
        refused(small, data[:length])
    assert "the file was truncated" in refused(small, data[:-1])
    refused(small, data + b"\0")
    refused(small, data + data)


def test_a_newer_version_says_so(small):
    data = small.read_bytes().replace(rb"\"version\":1", rb"\"version\":2")
    words = "it has format version 2; this version of mercer reads up to 1. Update mercer."
    assert refused(small, data) == words
    with pytest.raises(ModelFileError, match="it has format version 2; this version of mercer reads up to 1"):
        inspect(small)


def test_other_files_are_no_models(small):
    for data in (b"a,b\n1,2\n" * 10, b"\x80\x04\x95" + bytes(40), b"PK\x03\x04" + bytes(100), bytes(1000)):
        refused(small, data)
    from safetensors.numpy import save as others

    words = refused(small, others({"weight": np.zeros((2, 2))}, {"format": "np"}))
    assert words == "it is not a model file. Use another file."


NAN, INF = ({"is": "float", "of": text} for text in ("nan", "inf"))
FITTED, WITH = ("model", "fitted"), ("model", "params", "kernel", "with")
RIDGE = (*FITTED, "fitted_", "with")


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        (("model", "params", "alpha"), NAN, "alpha must be finite, not negative."),
        (("model", "params", "alpha"), INF, "alpha must be finite, not negative."),
        (("model", "params", "alpha"), -1, "alpha must be finite, not negative."),
        (("model", "params", "fit_intercept"), 2**62, "its parts are inconsistent (fit_intercept of KernelRidge must"),
        ((*WITH, "width"), NAN, "its parts are inconsistent (width of Gaussian must be"),
        ((*WITH, "width"), {"is": "tuple", "of": "x"}, "a collection is invalid."),
        (("model", "params", "kernel", "class"), "os.system", "its parts are inconsistent."),
        (
            ("model", "class"),
            "subprocess.Popen",
            "it contains a model of the class 'subprocess.Popen', which is unknown.",
        ),
        (("model", "class"), ["KernelRidge"], "its parts are inconsistent."),
        (("model", "is"), "pickle", "it holds 'pickle', which is unknown."),
        (("model", "is"), ["model"], "its parts are inconsistent."),
        (("model",), 3, "it does not contain a model."),
        ((*FITTED, "predict"), 1, "the attributes of its KernelRidge are invalid."),
        ((*FITTED, "__class__"), 1, "the attributes of its KernelRidge are invalid."),
        ((*FITTED, "alpha"), 1, "the attributes of its KernelRidge are invalid."),
        ((*FITTED, "dual_coef_"), 1, "the attributes of its KernelRidge are invalid."),
        ((*RIDGE, "primal"), 1, "primal of a FittedRidge must not be '1'."),
        ((*RIDGE, "intercept"), 1, "intercept of a FittedRidge must not be '1'."),
        ((*RIDGE, "spare"), 1, "spare of a FittedRidge must not be '1'."),
        ((*FITTED, "n_features_in_"), 3, "its parts are inconsistent"),
        ((*FITTED, "feature_names_in_"), ["a", "b"], "feature_names_in_ must have one name for each column"),
        ((*RIDGE, "kernel"), {"is": "kernel", "class": "Precomputed", "with": {}}, "the kernel matrix must be square"),
        ((*RIDGE, "kernel"), {"is": "kernel", "class": "Jaccard", "with": {}}, "its parts are inconsistent"),
        ((*RIDGE, "route", "with", "rank"), "x", "rank of a Route must not be 'x'."),
        ((*RIDGE, "choice", "class"), "eval", "its parts are inconsistent."),
        (("when",), "now", "its date is missing or invalid."),
        (("versions", "numpy"), "1\x1b[31m", "its list of versions is invalid."),
        (("account", "rows"), 4, "its content is not in the form that mercer writes; the file may have been edited."),
        (("extra",), 1, "its content is not in the form that mercer writes; the file may have been edited."),
        (("model", "params", "extra"), 1, "its parts are inconsistent."),
    ],
)
def test_records_that_cannot_be_are_refused(small, where, value, words):
    assert refused(small, changed(small.read_bytes(), where, value)).startswith(words)


def array_at(data, attribute):
    _, record, arrays = split(data)
    name = record["model"]["fitted"]["fitted_"]["with"][attribute]["name"]
    return record, arrays, name, arrays[name]


@pytest.mark.parametrize("attribute", ["X", "dual", "constant", "alphas", "targets"])
def test_arrays_must_be_finite_and_fit_one_another(small, attribute):
    record, arrays, name, array = array_at(small.read_bytes(), attribute)
    for value in (np.nan, np.inf):
        spoilt = array.copy()
        spoilt.reshape(-1)[-1] = value
        assert "finite" in refused(small, renamed(record, arrays, name, spoilt))
    for other in (array[:-1], array[None], array.astype(np.float32), array.view(np.int64), array[..., None]):
        refused(small, renamed(record, arrays, name, np.ascontiguousarray(other)))


def test_arrays_that_nobody_asks_for_are_refused(small):
    _, record, arrays = split(small.read_bytes())
    data = joined(record, arrays | {"spare": np.arange(5.0)})
    assert tells(refused(small, data), "it contains unused arrays", WAY_OUT)


def in_place_of(data, old, new):
    header, _, _ = split(data)
    assert old in header
    return resealed(header.replace(old, new, 1), data[8 + len(header) :])


def test_json_in_another_spelling_is_refused(small):
    data = small.read_bytes()
    name = rb"\"is\":\"model\""
    spellings = {
        "twice": (name, name + b"," + name),
        "blanks": (rb"\"alpha\":0.1", rb"\"alpha\": 0.1"),
        "other digits": (rb"\"alpha\":0.1", rb"\"alpha\":0.10"),
        "NaN": (rb"\"alpha\":0.1", rb"\"alpha\":NaN"),
        "1e999": (rb"\"alpha\":0.1", rb"\"alpha\":1e999"),
        "huge": (rb"\"alpha\":0.1", rb"\"alpha\":" + b"9" * 30),
        "enormous": (rb"\"alpha\":0.1", rb"\"alpha\":" + b"9" * 10_000),
        "deep": (rb"\"alpha\":0.1", rb"\"alpha\":" + b"[" * 100_000 + b"]" * 100_000),
        "deep objects": (rb"\"alpha\":0.1", rb"\"alpha\":" + rb"{\"a\":" * 50_000 + b"1" + b"}" * 50_000),
    }
    words = "its record is not valid JSON in mercer's format." + WAY_OUT
    for old, new in spellings.values():
        assert refused(small, in_place_of(data, old, new)) == words
    deep = b'{"is":"tuple","of":['.replace(b'"', rb"\"") * 200 + b"]}" * 200
    assert "its parts do not fit" in refused(small, in_place_of(data, rb"\"alpha\":0.1", rb"\"alpha\":" + deep)) or deep
    for new in (b'"shape":[-3', b'"shape":[3.0', b'"shape":[1,1,1,1,1,3', b'"shape":[1' + b"0" * 17):
        assert refused(small, in_place_of(data, b'"shape":[3', new)).endswith(WAY_OUT)


def test_a_small_file_that_claims_much_is_refused_without_memory(small):
    data = small.read_bytes()
    text = {"is": "objects", "shape": [2**33], "name": array_at(data, "X")[2]}
    table = {"is": "sparse", "kind": "matrix", "shape": [2**33, 2], "parts": [[0.0], [0], [0, 1]]}
    folds = {"is": "part", "class": "StoredFolds", "with": {"n": 2**33, "label": "", "numbers": []}}
    lies = [
        (2**33).to_bytes(8, "little") + data[8:] + bytes(8000),
        in_place_of(data, b'"shape":[3,2]', b'"shape":[1073741824,1]'),
        in_place_of(data, b'"shape":[3,2]', b'"shape":[1073741824,0]'),
        changed(data, (*RIDGE, "X"), text),
        changed(data, (*RIDGE, "X"), table),
        changed(data, (*RIDGE, "route"), folds),
        changed(data, (*RIDGE, "kernel", "class"), "Polynomial"),
    ]
    refused(small, lies[0])
    for lie in lies:
        small.write_bytes(lie)
        assert len(lie) < 12_000
        tracemalloc.start()
        with pytest.raises(ModelFileError):
            mercer.load(small)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 5e6


def test_a_file_larger_than_memory_is_refused_before_it_is_read(small, monkeypatch):
    from mercer.runtime import container

    def none_left(needed, what, way_out):
        raise MemoryRefusal(what)

    monkeypatch.setattr(container, "promise", none_left)
    with pytest.raises(MemoryRefusal):
        mercer.load(small)


def test_sparse_tables_that_point_outside_are_refused(data, path):
    X, y, _ = data
    mercer.save(KernelRidge(0.1, kernel="linear").fit(sparse.csr_matrix(X), y), path)
    record, arrays = split(path.read_bytes())[1:]
    parts = [part["name"] for part in record["model"]["fitted"]["fitted_"]["with"]["X"]["parts"]]
    for part, place, value in ((1, 0, 2), (1, 0, -1), (2, 1, 10**6), (2, 0, 1), (2, 5, 0)):
        spoilt = arrays[parts[part]].copy()
        spoilt[place] = value
        words = "a sparse matrix is inconsistent." + WAY_OUT
        assert refused(path, renamed(record, arrays, parts[part], spoilt)) == words


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    """Small files of several kinds of models."""
    X, y, labels = data
    X, y, labels = X[:12], y[:12], labels[:12]
    place = tmp_path_factory.mktemp("files") / "model.mercer"
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        models = [
            KernelRidge(0.1, kernel=Gaussian([1.0, 2.0]) + 2.0 * Polynomial(2).on([0])).fit(X, y),
            KernelRidgeClassifier(0.1, kernel=Polynomial(2)).fit(X, labels),
            KernelRidge(0.1, kernel=Words() + Jaccard()).fit(["a b", "c d", "a", "d"], [1.0, 2.0, 3.0, 4.0]),
            KernelRidge(0.1, kernel="linear", solver="cholesky").fit(sparse.csr_matrix(X), y),
            KernelNeighborsClassifier("rbf", 2).fit(X, labels),
            KernelRidgeCV([Gaussian(1.0)], [0.1, 1.0], cv=3).fit(X, y),
            KernelRidgeClassifierCV([Gaussian(1.0)], [0.1, 1.0], cv=2).fit(X, labels),
            AutoRegressor().fit(X, y),
        ]
    models.append(TableModel(models[-1], None, "y"))
    for model in models:
        mercer.save(model, place)
        found.append(place.read_bytes())
    return found


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
def test_mutants_with_good_digests_are_refused_or_are_what_they_say(files, seed, tmp_path_factory):
    rng = np.random.default_rng(seed)
    place = tmp_path_factory.getbasetemp() / f"mutant-{threading.get_ident()}-{os.getpid()}.mercer"
    for _ in range(100):
        data = mutant(rng, files[rng.integers(len(files))])
        place.write_bytes(data)
        try:
            model = mercer.load(place)
        except ModelFileError:
            continue
        assert same_content(written_again(model, data), data)


AUDIT = """
import sys
import mercer
paths = sys.argv[1:]
for path in paths:
    mercer.load(path)
seen = []
watched = ("import", "exec", "compile", "marshal.", "pickle.", "os.system", "os.exec", "os.spawn", "subprocess.",
           "ctypes.", "socket.", "code.", "os.remove", "os.rename", "shutil.", "tempfile.")
def hook(event, args):
    if event.startswith(watched):
        seen.append(event)
    if event == "open" and (args[1] or "r") not in ("r", "rb"):
        seen.append(f"open {args[1]}")
sys.addaudithook(hook)
for path in paths:
    mercer.load(path)
found = list(seen)
compile("1", "", "eval")
assert seen != found, "the hook must work"
print(found)
"""


@pytest.mark.slow
def test_loading_imports_and_executes_nothing(files, tmp_path):
    paths = []
    for number, data in enumerate(files):
        paths.append(tmp_path / f"{number}.mercer")
        paths[-1].write_bytes(data)
    command = [sys.executable, "-c", AUDIT, *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)  # noqa: S603 - our own code
    assert done.stdout.strip() == "[]"
