"""Small tables for the command line, and how it is called."""

from inspect import signature

import numpy as np
from click.testing import CliRunner

# Until click 8.2 the runner mixes standard error into standard output unless it is told not to.
APART = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
FAST = ["--kernel", "gaussian(3)", "--alphas", "0.1,1", "--folds", "3"]


def houses(rows=40, seed=0):
    """A table with everything in it, as CSV."""
    rng = np.random.default_rng(seed)
    lines = ["house,size,heating,sold,town,price"]
    for i in range(rows):
        size = rng.uniform(40, 200)
        heating = ("gas", "oil", "heat pump")[int(rng.integers(3))]
        day = np.datetime64("2020-01-01") + int(rng.integers(0, 500))
        price = 50 + 2 * size + 30 * (heating == "oil") + rng.normal()
        lines.append(f"h-{i:03d},{size:.1f},{heating},{day},{'ABCDE'[i % 5]},{price:.1f}")
    return "\n".join(lines) + "\n"
