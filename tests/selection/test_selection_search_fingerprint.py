"""Fingerprints: another one where anything differs."""

import functools
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import get_scorer, make_scorer, mean_pinball_loss

from mercer.errors import InputError
from mercer.kernels import Custom, FromFeatures, Gaussian, Kernel, Linear
from mercer.selection.search import fingerprint
from refusals import tells


def test_fingerprints_differ_where_anything_differs(rng):
    X = rng.normal(size=(4, 2))
    S = sparse.csr_matrix(np.where(X > 0, X, 0.0))
    changed = X.copy()
    changed[3, 1] = np.nextafter(changed[3, 1], 9.0)
    parts = [
        (X,), (changed,), (X.astype(np.float32),), (X.ravel(),), (X.T.copy(),), (X, None), (X, "a"), (X, "b"), (S,),
        (S * 2,), (np.array(["a", "b"], dtype=object),), (np.array(["a", "c"], dtype=object),), (X, X), (),
    ]  # fmt: skip
    marks = [fingerprint(*part) for part in parts]
    assert len(set(marks)) == len(marks)
    assert fingerprint(X[::2]) == fingerprint(X[::2].copy())
    assert fingerprint(S) == fingerprint(S.tocsc())


def pinball(truth, guess):
    return np.maximum(0.1 * (truth - guess), -0.9 * (truth - guess)).mean()


def other(truth, guess):
    return 0.0


class Cauchy(Kernel):
    width: float = 1.0

    def block(self, pair):
        return 1.0 / (1.0 + pair.squared_distance(1.0 / self.width))


class Loss:
    def __call__(self, truth, guess):
        return 0.0

    def method(self, truth, guess):
        return 0.0


NAMED = [
    pinball, other, len, np.add, np.mean, Gaussian(1.0), Gaussian(2.0), Gaussian([1.0, 2.0]), Cauchy(), Cauchy(2.0),
    Custom(pinball), Custom(other), 2.0 * FromFeatures(pinball) + Linear(), Gaussian().map(pinball),
    make_scorer(pinball, greater_is_better=False), make_scorer(pinball), make_scorer(other), get_scorer("r2"),
    make_scorer(mean_pinball_loss, alpha=0.1), make_scorer(mean_pinball_loss, alpha=0.9),
    {"a": 1}, {"a": 2}, {1, 2}, {1, 3}, np.array([1, None], dtype=object), np.float64(1.0), np.float32(1.0), Loss,
]  # fmt: skip


def test_functions_and_kernels_count_by_their_names_and_parameters():
    marks = [fingerprint(value) for value in NAMED]
    assert len(set(marks)) == len(NAMED)
    assert marks == [fingerprint(value) for value in NAMED]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (lambda y, p: 0.0, "<lambda>"),
        (functools.partial(pinball), "a partial"),
        (Loss(), "a Loss"),
        (Loss().method, "a method"),
        (make_scorer(lambda y, p: 0.0), "<lambda>"),
        (Custom(lambda X, Z: X @ Z.T), "<lambda>"),
        (np.array([object()], dtype=object), "a object"),
    ],
)
def test_what_has_no_name_is_refused_with_advice(value, what):
    with pytest.raises(InputError) as refused:
        fingerprint(value)
    assert tells(str(refused.value), "checkpoint=", what)


@pytest.mark.slow
def test_every_process_gives_the_same_number():
    """Sets have no order."""
    program = (
        "from mercer.selection.search import fingerprint\n"
        "def loss(y, p): return 0.0\n"
        "print(fingerprint(loss, {'a', 'b', 'c'}))"
    )
    run = [
        subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True)  # noqa: S603
        for seed in ("1", "2")
    ]
    assert run[0].stdout == run[1].stdout != b""
