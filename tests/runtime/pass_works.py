"""Works of passes for tests: importable by workers and other processes."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Moments:
    """Counts, sums and products of the columns, per parity of the row's number.

    Attributes
    ----------
    width : int
        Columns of X.
    pause : float
        Seconds that a block takes besides.
    diary : str
        A folder in which each block leaves a file.
    doom : str
        A file; the process that finds it when ten blocks are in the diary removes it and is killed.
    """

    width: int
    pause: float = 0.0
    diary: str = ""
    ballast: np.ndarray = field(default_factory=lambda: np.zeros(1))
    doom: str = ""

    def begin(self):
        d = self.width
        return {"n": np.zeros(1), "sum": np.zeros((2, d)), "square": np.zeros((d, d), order="F"), "xy": np.zeros(d)}

    def add(self, state, block):
        if self.diary:
            (Path(self.diary) / f"{block.start}-{time.monotonic_ns()}").touch()
        if self.doom and len(list(Path(self.diary).iterdir())) >= 10:
            with suppress(FileNotFoundError):
                Path(self.doom).unlink()  # only one process can
                os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.pause)
        state["n"] += len(block)
        parity = (block.start + np.arange(len(block))) % 2
        for side in (0, 1):
            state["sum"][side] += block.X[parity == side].sum(axis=0)
        in_place(state["square"])[:] += block.X.T @ block.X
        if block.Y is not None:
            state["xy"] += block.X.T @ block.Y[:, 0]

    def merge(self, a, b):
        for name, array in b.items():
            a[name] += array
        in_place(a["square"])
        return a


def in_place(array):
    """What LAPACK and BLAS update in place must stay as it was made: in columns, and writeable."""
    assert array.flags.f_contiguous
    assert array.flags.writeable
    return array


def expected(X, y):
    """The same without blocks."""
    return {"n": [len(X)], "sum": [X[::2].sum(axis=0), X[1::2].sum(axis=0)], "square": X.T @ X, "xy": X.T @ y}


def assert_same(found, X, y, tolerance=1e-12):
    in_place(found["square"])
    for name, array in expected(X, y).items():
        scale = np.abs(array).max()
        np.testing.assert_allclose(found[name], array, rtol=tolerance, atol=tolerance * scale)
