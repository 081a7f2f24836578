"""Searches that are killed, resumed, interrupted and watched."""

import io
import sys

import numpy as np
import pytest
from search_cases import ALPHAS, PINNED, quietly, regression
from sklearn.exceptions import NotFittedError

import model_mutants
from mercer import KernelRidgeCV
from mercer.errors import InputError
from mercer.kernels import Custom, Gaussian


@pytest.fixture
def data(rng):
    return regression(rng)


# -- long work ----------------------------------------------------------------------------------------------


class Interrupted(Exception):
    pass


FUSE = []  # an error, and a file that must be there for it


def bomb(X, Z):
    """A kernel's function that goes off when it is first used, as long as its fuse is there: then it is a Gaussian."""
    error, fuse = FUSE
    if fuse is None or fuse.exists():
        raise error
    return np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


def test_a_killed_search_resumes_where_it_was(data, tmp_path):
    path, fuse = tmp_path / "search", tmp_path / "fuse"
    fuse.touch()
    FUSE[:] = Interrupted(), fuse
    kernels = [Gaussian(0.5), Gaussian(1.0), Custom(bomb), Gaussian(4.0)]
    search = KernelRidgeCV(kernels, ALPHAS, cv=4, checkpoint=path)
    with pytest.raises(Interrupted):
        search.fit(*data)
    _, _, stored = model_mutants.split(path.read_bytes())
    assert stored["finished"].tolist() == [True, True, False, False]
    fuse.unlink()
    resumed = quietly(search, *data)
    plain = quietly(KernelRidgeCV(kernels, ALPHAS, cv=4), *data)
    for name, column in plain.cv_results_.items():
        if name != "params" and column.dtype != object:
            assert resumed.cv_results_[name].tobytes() == column.tobytes(), name
    assert resumed.alpha_ == plain.alpha_
    assert [entry.name for entry in tmp_path.iterdir()] == ["search"]
    with pytest.raises(InputError, match="belongs to other data or settings"):
        search.fit(data[0], data[1] + 1)


def test_a_checkpoint_serves_an_extended_search_too(data, tmp_path):
    how = {"kernels": [Gaussian(1.5)], "alphas": [100.0, 1000.0, 1e4], "cv": 5, "extend_grid": True}
    plain = KernelRidgeCV(**how).fit(*data)
    for _ in range(2):
        kept = KernelRidgeCV(checkpoint=tmp_path / "search", **how).fit(*data)
        np.testing.assert_array_equal(kept.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])


def test_ctrl_c_leaves_the_finished_rows_readable(data):
    FUSE[:] = KeyboardInterrupt(), None
    kernels = [Gaussian(0.5), Gaussian(1.0), Custom(bomb)]
    search = KernelRidgeCV(kernels, np.geomspace(1e-3, 10, 9), cv=4)
    with pytest.raises(KeyboardInterrupt):
        search.fit(*data)
    found = search.cv_results_["mean_test_score"].reshape(3, 9)
    whole = quietly(KernelRidgeCV(kernels[:2], np.geomspace(1e-3, 10, 9), cv=4), *data)
    np.testing.assert_allclose(found[:2].ravel(), whole.cv_results_["mean_test_score"])
    assert np.isnan(found[2]).all()
    with pytest.raises(NotFittedError):
        search.predict(data[0])


def test_progress_goes_to_stderr_and_only_to_a_terminal_unless_asked_for(data, capsys, monkeypatch):
    for verbose, cls, words in ((0, KernelRidgeCV, False), (1, KernelRidgeCV, False), (2, KernelRidgeCV, True)):
        cls(verbose=verbose, cv=3, **PINNED).fit(*data)
        out, err = capsys.readouterr()
        assert out == ""
        assert ("model selection: 2 of 2" in err) is words
        assert (" left" in err) is words

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    KernelRidgeCV(verbose=1, cv=3, **PINNED).fit(*data)
    assert "model selection: 2 of 2" in stream.getvalue()
