"""A mixed table, and what an encoder says of a column."""

from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import mercer

HALF = 1 / np.sqrt(2)


def mixed(n=60, seed=0):
    rng = np.random.default_rng(seed)
    start = np.datetime64("2020-01-01")
    return pd.DataFrame(
        {
            "size": rng.normal(50, 10, n),
            "rooms": rng.integers(1, 5, n),
            "city": rng.choice(["Rome", "Bonn", "Oslo"], n),
            "garden": rng.random(n) < 0.5,
            "sold": start + rng.integers(0, 900, n).astype("timedelta64[D]"),
            "note": [f"a flat with number {i} and a view" for i in range(n)],
            "key": [f"K{i:05d}" for i in range(n)],
            "country": ["X"] * n,
        }
    )


def through_file(encoder):
    """The encoder, saved and loaded."""
    with TemporaryDirectory() as folder:
        mercer.save(encoder, f"{folder}/encoder.mercer")
        return mercer.load(f"{folder}/encoder.mercer")
