"""Work that was killed half-way: its checkpoint, what finishing it gives, and proof that the stored part is used."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
from golden_records import FOLDER, inputs
from golden_searches import MANY, told

import mercer
from mercer.kernels import Gaussian, Matern

WIDTHS = [0.5, 8.0, 0.25, 1.0, 1.5, 4.0]
FINISHED = 3  # of these widths
BLOCK = 6  # rows
STORED = 4  # blocks that are in the checkpoint for certain


def search(data, checkpoint=None):
    kernels = [Matern(width) for width in WIDTHS]
    return mercer.KernelRidgeCV(kernels, MANY, cv=5, checkpoint=checkpoint).fit(data["X"], data["y"])


def searched(data, checkpoint=None):
    return told(search(data, checkpoint), data["new"], data["y"])


class Blocks:
    """The table in blocks, which are the same in every pass; `later` may change those of passes after the first."""

    def __init__(self, data, later=None):
        self.data, self.later, self.passes = data, later, 0

    def __iter__(self):
        later = self.later if self.passes else None
        for place, start in enumerate(range(0, len(self.data["y"]), BLOCK)):
            rows = slice(start, start + BLOCK)
            block = self.data["X"][rows], self.data["y"][rows]
            yield block if later is None else later(place, block)
        self.passes += 1


def blanked(place, block):
    """Zeros for the blocks that a pass need not add again; the first one is what a stream is known by."""
    return tuple(np.zeros_like(part) for part in block) if 0 < place < STORED else block


def fatal(place, block):
    """Slowly, so that each block is saved, and no further than a block beyond those that must be."""
    time.sleep(0.2)
    if place == STORED + 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def landmark_search(blocks, checkpoint=None):
    return mercer.NystroemRidgeCV(
        [Gaussian(0.75), Gaussian(1.5)], MANY[::2], cv=4, landmarks=10, block_rows=BLOCK, checkpoint=checkpoint
    ).fit(blocks)


def summed(data, checkpoint=None, later=None):
    found = landmark_search(Blocks(data, later), checkpoint)
    return {
        "mean_scores": found.cv_results_["mean_test_score"],
        "alpha": found.alpha_,
        "kernel": repr(found.best_kernel_),
        "fold_rows": found.fold_rows_,
        "predictions": found.predict(data["new"]),
    }


CHECKPOINTS = {"search": searched, "landmarks": summed}


def widths_used(noted, fatal_after=None):
    """A block method of Matern that notes every width it is asked for, and ends the process after so many."""
    block = Matern.block

    def noting(kernel, pair):
        noted.add(kernel.width)
        if fatal_after is not None and len(noted) > fatal_after:
            os.kill(os.getpid(), signal.SIGKILL)
        return block(kernel, pair)

    return noting


def die(name, path):
    """Start the work and be killed half-way, with what was finished in the checkpoint `path`."""
    data = inputs()
    with mercer.threads(1):
        if name == "search":
            Matern.block = widths_used(set(), FINISHED)
            search(data, path)
        else:
            landmark_search(Blocks(data, fatal), path)


def interrupt(name):
    """Write the checkpoint of work that is killed in a process of its own."""
    path = FOLDER / f"{name}.checkpoint"
    path.unlink(missing_ok=True)
    command = [sys.executable, str(FOLDER / "make_golden.py"), name, str(path)]
    done = subprocess.run(command, check=False, timeout=120)  # noqa: S603 - our own script
    assert done.returncode == -signal.SIGKILL, done.returncode
    assert path.exists()
