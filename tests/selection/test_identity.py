"""What a value is: the same in every process, another one where anything in it differs, and never an address."""

import functools
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.metrics import get_scorer, make_scorer, mean_pinball_loss

from mercer.errors import InputError
from mercer.kernels import Custom, FromFeatures, Gaussian, Kernel, Linear
from mercer.selection.identity import identity

SCALE = 1.0


def pinball(truth, guess, q):
    return np.maximum(q * (truth - guess), (q - 1) * (truth - guess)).mean()


def closing(q):
    return lambda truth, guess: pinball(truth, guess, q)


def defaulting(q):
    def loss(truth, guess, *, share=q, also=q):
        return pinball(truth, guess, share)

    return loss


class Loss:
    def __init__(self, q):
        self.q = q

    def __call__(self, truth, guess):
        return pinball(truth, guess, self.q)

    def method(self, truth, guess):
        return self(truth, guess)


class Cauchy(Kernel):
    width: float = 1.0

    def block(self, pair):
        return 1.0 / (1.0 + pair.squared_distance(1.0 / self.width))


MAKERS = {
    "closure": closing,
    "default": defaulting,
    "partial": lambda q: functools.partial(pinball, q=q),
    "object": Loss,
    "method": lambda q: Loss(q).method,
    "scorer of a closure": lambda q: make_scorer(closing(q), greater_is_better=False),
    "scorer with an argument": lambda q: make_scorer(mean_pinball_loss, alpha=q),
    "kernel of a function": lambda q: Custom(lambda X, Z: q * X @ Z.T),
    "kernel of features": lambda q: 2.0 * FromFeatures(lambda X: q * X) + Linear(),
    "kernel of mapped rows": lambda q: Gaussian().map(lambda X: q * X),
    "kernel of one's own": Cauchy,
    "array": lambda q: [np.array([q]), {"a": q}, {q}, np.array([q, None], dtype=object)],
}


@pytest.mark.parametrize("make", sorted(MAKERS))
def test_what_is_held_counts(make):
    assert identity(MAKERS[make](0.1)) == identity(MAKERS[make](0.1))
    assert identity(MAKERS[make](0.1)) != identity(MAKERS[make](0.9))


def test_what_is_done_counts():
    assert identity(lambda y, p: max(y - p)) != identity(lambda y, p: min(y - p))
    assert identity(lambda y, p: sum(v for v in y)) != identity(lambda y, p: sum(v + 1 for v in y))
    assert identity(lambda y, p: [v * 2 for v in y]) == identity(lambda y, p: [v * 2 for v in y])


def test_globals_that_are_read_count(monkeypatch):
    def scaled(truth, guess):
        return SCALE * (truth - guess)

    before = identity(scaled)
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert identity(scaled) != before


def test_classes_are_told_by_what_is_in_them():
    def made(value):
        class Own:
            share = value

            @property
            def half(self):
                return value / 2

            @staticmethod
            def double(x):
                return 2 * x

        return Own()

    assert identity(made(1)) == identity(made(1)) != identity(made(2))


def test_what_is_installed_has_a_name():
    values = [np.mean, np.add, len, "a".join, get_scorer("r2"), np.random.RandomState(0), np]
    assert len({identity(value) for value in values}) == len(values)


def test_functions_that_call_each_other_come_to_an_end():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    assert identity(even) == identity(even) != identity(odd)


def test_what_cannot_be_known_again_is_refused():
    lock = threading.Lock()
    with pytest.raises(InputError) as refused:
        identity(lambda y, p: lock)
    assert str(refused.value) == (
        "checkpoint must be None where something cannot be known again in another run; "
        "got a lock in the score, the kernels or the rows."
    )


def test_every_process_says_the_same():
    """Generator expressions are code within code, and sets have no order: both were written by address or by chance."""
    program = (
        "from mercer.selection.identity import identity\n"
        "def loss(y, p): return sum(abs(v) for v in y if v in {'a', 'b', 'c'})\n"
        "print(identity([loss, {'a', 'b', 'c'}]))"
    )
    run = [
        subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True)  # noqa: S603
        for seed in ("1", "2")
    ]
    assert run[0].stdout == run[1].stdout != b""
