"""Ten thousand mutated tables: each is read right, as a slow reader reads it, or refused with one sentence.

Prints how many were read and refused; ends with an error at the first that was misread or got a traceback.
"""

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from mercer.data.reading import read_table
from mercer.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "data"))
from bad_tables import GOOD, QUOTED, SEMICOLONS, agrees, mutant

COUNT = 10_000


def main():
    originals = [GOOD, SEMICOLONS, QUOTED, GOOD.replace(b",", b"\t"), GOOD.replace(b"\n", b"\r\n")]
    rng, counts, begin = np.random.default_rng(0), Counter(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        for number in range(COUNT):
            raw = mutant(rng, originals[number % len(originals)])
            path.write_bytes(raw)
            try:
                found = read_table(str(path))
            except InputError as refusal:
                counts["refused" if "\n" not in str(refusal) else "refused in more than one line"] += 1
            else:
                assert agrees(found, raw), f"misread: {raw!r}"
                counts["read right"] += 1
    seconds = time.perf_counter() - begin
    print(f"{COUNT} mutated tables in {seconds:.0f} s: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    print("misread: 0, tracebacks: 0")


if __name__ == "__main__":
    main()
