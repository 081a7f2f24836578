"""The data of the problem set: files of the published layout are read, others are refused in one sentence."""

import re

import numpy as np
import pytest
from scipy.io import savemat

from mercer import course
from mercer.course import Qm7, cv, krr, load_ida, load_qm7, zero_one_loss
from mercer.errors import InputError

ATOMS = 23


def molecules(count=20):
    """Arrays of the layout of qm7.mat: symmetric, padded, unsorted Coulomb-like matrices in single precision."""
    rng = np.random.default_rng(3)
    X = rng.uniform(1.0, 40.0, size=(count, ATOMS, ATOMS))
    X += X.transpose(0, 2, 1)
    for matrix, atoms in zip(X, rng.integers(5, ATOMS + 1, size=count), strict=True):
        matrix[atoms:] = matrix[:, atoms:] = 0.0
    return {
        "X": X.astype(np.float32),
        "T": rng.uniform(-2000.0, -400.0, size=(1, count)).astype(np.float32),
        "P": rng.permutation(count).reshape(5, -1),
        "Z": np.ones((count, ATOMS), np.float32),
        "R": np.ones((count, ATOMS, 3), np.float32),
    }


@pytest.mark.parametrize("compressed", [False, True])
def test_the_arrays_of_qm7_are_read(compressed, tmp_path):
    arrays = molecules()
    savemat(tmp_path / "qm7.mat", arrays, do_compression=compressed)
    data = load_qm7(str(tmp_path / "qm7.mat"))
    np.testing.assert_array_equal(data.matrices, arrays["X"])
    np.testing.assert_array_equal(data.energies, arrays["T"][0])
    np.testing.assert_array_equal(data.folds, arrays["P"])
    assert data.matrices.dtype == data.energies.dtype == np.float64


def test_any_name_of_the_file_will_do(tmp_path):
    with (tmp_path / "molecules").open("wb") as file:
        savemat(file, molecules())
    assert load_qm7(tmp_path / "molecules").matrices.shape == (20, ATOMS, ATOMS)


def test_rows_and_eigenvalues_do_not_depend_on_the_order_of_the_atoms():
    rng = np.random.default_rng(0)
    arrays = molecules()
    data = Qm7(arrays["X"].astype(float), arrays["T"][0], arrays["P"])
    order = rng.permutation(ATOMS)
    shuffled = Qm7(data.matrices[:, order][:, :, order], data.energies, data.folds)
    np.testing.assert_allclose(shuffled.sorted_rows(), data.sorted_rows(), rtol=1e-12)
    np.testing.assert_allclose(shuffled.eigenvalues(), data.eigenvalues(), rtol=1e-9, atol=1e-9)


def test_rows_are_sorted_by_norm_and_eigenvalues_by_magnitude():
    matrix = molecules()["X"][0].astype(float)
    data = Qm7(matrix[None], np.zeros(1), np.zeros((1, 1)))
    order = sorted(range(ATOMS), key=lambda atom: -np.sqrt((matrix[atom] ** 2).sum()))
    expected = [matrix[order[i], order[j]] for i in range(ATOMS) for j in range(i, ATOMS)]
    np.testing.assert_array_equal(data.sorted_rows()[0], expected)
    values = data.eigenvalues()[0]
    assert (np.diff(np.abs(values)) <= 1e-9).all()
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(matrix), atol=1e-9)


def changed(**arrays):
    return {name: value for name, value in (molecules() | arrays).items() if value is not None}


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        (changed(P=None), "{path!r} must be a file of X, T and P; got no P."),
        (changed(X=None, T=None), "{path!r} must be a file of X, T and P; got no X and T."),
        (changed(X=np.ones((20, 529))), "X of 'qm7.mat' must be molecules x atoms x atoms; got shape (20, 529)."),
        (changed(X=np.ones((20, 23, 3))), "X of 'qm7.mat' must be molecules x atoms x atoms; got shape (20, 23, 3)."),
        (
            changed(X=np.arange(20 * ATOMS**2).reshape(20, ATOMS, ATOMS)),
            "X of 'qm7.mat' must be symmetric matrices; got an asymmetric matrix (number 0).",
        ),
        (
            changed(T=np.ones((1, 19))),
            "T of 'qm7.mat' must be one energy for each molecule, of shape (1, 20); got shape (1, 19).",
        ),
        (changed(T=np.full((1, 20), np.nan)), "T of 'qm7.mat' must be finite; got NaN or infinity."),
        (changed(T=["low"]), "T of 'qm7.mat' must be real numbers; got values of type <U3."),
        (
            changed(P=np.arange(1, 21).reshape(5, 4)),
            (
                "P of 'qm7.mat' must be folds x molecules, with each number from 0 to 19 once; got shape (5, 4) with "
                "numbers from 1 to 20."
            ),
        ),
        (
            changed(P=np.zeros((0, 0))),
            "P of 'qm7.mat' must be folds x molecules, with each number from 0 to 19 once; got shape (0, 0).",
        ),
    ],
    ids=["no P", "no X, no T", "flat", "positions", "lopsided", "too few", "nan", "words", "from 1", "empty"],
)
def test_a_file_of_another_layout_is_refused(arrays, sentence, tmp_path):
    path = tmp_path / "qm7.mat"
    savemat(path, arrays)
    expected = f"{sentence.format(path=str(path))} Use qm7.mat as published."
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        load_qm7(path)


@pytest.mark.parametrize("content", [b"", b"X,T,P\n1,2,3\n" * 40, None], ids=["empty", "text", "half"])
def test_a_file_that_is_no_matlab_file_is_refused(content, tmp_path):
    path = tmp_path / "qm7.mat"
    savemat(path, molecules())
    path.write_bytes(path.read_bytes()[:20000] if content is None else content)
    expected = f"{str(path)!r} must be a MATLAB file; got a damaged file or another format. Use qm7.mat as published."
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        load_qm7(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    (tmp_path / "qm7.mat").write_bytes(b"")
    expected = f"There is no file {str(tmp_path / 'qm.mat')!r}. Did you mean 'qm7.mat'?"
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        load_qm7(tmp_path / "qm.mat")
    expected = f"{str(tmp_path)!r} must be a file; got a directory. Use qm7.mat as published."
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        load_qm7(tmp_path)


# -- the IDA benchmark -----------------------------------------------------------------------------------


def split(seed, train=30, test=50):
    rng = np.random.default_rng(seed)
    tables = {}
    for part, count in (("train", train), ("test", test)):
        X = rng.normal(size=(count, 2))
        tables[f"{part}_data"], tables[f"{part}_labels"] = X, np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    return tables


def write(folder, name="banana", numbers=(1, 2, 10), **changes):
    """Files as they are distributed; a change of None leaves a file out."""
    for number in numbers:
        for part, values in (split(number) | (changes if number == numbers[-1] else {})).items():
            if values is not None:
                np.savetxt(folder / f"{name}_{part}_{number}.asc", values, fmt=" %.7e")


@pytest.mark.parametrize("name", ["banana", "breast-cancer", "flare_solar"])
def test_the_splits_of_an_ida_set_are_read_in_the_order_of_their_numbers(name, tmp_path):
    write(tmp_path, name)
    (tmp_path / "README.txt").write_text("not a table")
    data = load_ida(str(tmp_path))
    assert data.name == name
    assert [each.number for each in data.splits] == [1, 2, 10]
    for each in data.splits:
        written = split(each.number)
        np.testing.assert_allclose(each.X_train, written["train_data"], rtol=1e-6)
        np.testing.assert_allclose(each.X_test, written["test_data"], rtol=1e-6)
        np.testing.assert_array_equal(each.y_train, written["train_labels"])
        np.testing.assert_array_equal(each.y_test, written["test_labels"])


def test_what_was_read_can_be_learned_by_krr(tmp_path):
    write(tmp_path, numbers=(1,), **split(0, train=150, test=300))
    (part,) = load_ida(tmp_path).splits
    grid = {"kernel": ["gaussian"], "kernelparameter": [0.3, 1.0], "regularization": [0.01, 0.1]}
    how = {"nfolds": 5, "nrepetitions": 1, "loss_function": zero_one_loss, "random_state": 0, "verbose": 0}
    best = cv(part.X_train, part.y_train, krr, grid, **how)
    assert zero_one_loss(part.y_test, best.predict(part.X_test)) < 0.15


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"train_labels": np.zeros(30)},
            (
                "'banana_train_labels_10.asc' must be one label, -1 or 1, for each of the 30 rows of data; got 30 x 1 "
                "numbers from 0 to 0."
            ),
        ),
        (
            {"test_labels": np.ones(49)},
            (
                "'banana_test_labels_10.asc' must be one label, -1 or 1, for each of the 50 rows of data; got 49 x 1 "
                "numbers from 1 to 1."
            ),
        ),
        ({"test_data": np.full((50, 2), np.nan)}, "'banana_test_data_10.asc' must be finite; got NaN or infinity."),
        (
            {"test_data": np.ones((50, 3))},
            "The number of columns of banana must be the same in all files of data; got 2 in some and 3 in others.",
        ),
        (
            {"test_data": np.ones((0, 2))},
            "'banana_test_data_10.asc' must be lines of equally many numbers; got an empty file.",
        ),
        (
            {"test_data": None},
            (
                "There is no file {folder}/banana_test_data_10.asc'. A split has four files: add the file, or remove "
                "the others of its split."
            ),
        ),
    ],
    ids=["zeros", "too few", "nan", "columns", "empty", "missing"],
)
def test_files_that_do_not_fit_together_are_refused(changes, sentence, tmp_path):
    write(tmp_path, **changes)
    expected = sentence.format(folder=repr(str(tmp_path))[:-1])
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        load_ida(tmp_path)


@pytest.mark.parametrize("text", ["1.0 2.0\n1.0\n", "1.0 two\n", "1.0 caf\u00e9\n"], ids=["ragged", "words", "accents"])
def test_files_that_hold_more_than_numbers_are_refused(text, tmp_path):
    write(tmp_path)
    (tmp_path / "banana_train_data_2.asc").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"'banana_train_data_2\.asc'.* got .*"):
        load_ida(tmp_path)


def test_a_folder_is_one_set(tmp_path):
    expected = f"{str(tmp_path)!r} must be a folder of one IDA set; got no file <name>_train_data_<i>.asc."
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        load_ida(tmp_path)
    write(tmp_path)
    write(tmp_path, "titanic")
    expected = (
        f"{str(tmp_path)!r} must be a folder of one IDA set; got banana and titanic. Use one folder for each set."
    )
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        load_ida(tmp_path)
    for path, got in ((tmp_path / "none", "no such folder"), (tmp_path / "banana_train_data_1.asc", "a file")):
        expected = f"{str(path)!r} must be a folder with the text files of an IDA set; got {got}."
        with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
            load_ida(path)


def test_everything_public_of_the_course_is_there():
    assert all(hasattr(course, name) for name in course.__all__)
