"""Mutated tables and bad places for outputs, 10 000 of either.

python benchmarks/bad_tables.py [COUNT] [SEED]

A table is read right, as a slow reader reads it, or refused with one sentence. An output (predictions, models,
checkpoints, saves that are killed or fail; onto files, links, directories, devices and names of all kinds) is written
whole and read back the same, or refused with one sentence and nothing changed. Prints how many of each there were; ends
with an error at the first that was misread or got a traceback.
"""

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from mercer.errors import InputError
from mercer.tables.reading import Rules, read_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "tables"))
from bad_tables import GOOD, QUOTED, SEMICOLONS, agrees, mutant

from bad_outputs import tried

COUNT = 10_000


def told(what, count, seconds, counts):
    print(f"{count} {what} in {seconds:.0f} s: " + ", ".join(f"{number} {name}" for name, number in counts.items()))


def outputs(count, seed):
    rng, counts, begin = np.random.default_rng([seed, 1]), Counter(), time.perf_counter()
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            counts[tried(rng, Path(folder))] += 1
    told("outputs", count, time.perf_counter() - begin, counts)


def tables(count, seed):
    originals = [GOOD, SEMICOLONS, QUOTED, GOOD.replace(b",", b"\t"), GOOD.replace(b"\n", b"\r\n")]
    rng, counts, begin = np.random.default_rng(seed), Counter(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        for number in range(count):
            raw = mutant(rng, originals[number % len(originals)])
            path.write_bytes(raw)
            try:
                found = read_table(str(path), Rules(strict=number // len(originals) % 2 == 0))
            except InputError as refusal:
                counts["refused" if "\n" not in str(refusal) else "refused in more than one line"] += 1
            else:
                assert agrees(found, raw), f"misread: {raw!r}"
                counts["read right"] += 1
    told("mutated tables", count, time.perf_counter() - begin, counts)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tables(count, seed)
    outputs(count, seed)
    print("misread: 0, tracebacks: 0")


if __name__ == "__main__":
    main()
