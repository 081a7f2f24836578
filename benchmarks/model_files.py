"""Model files and checkpoints that lie: 100 000 mutants of either, and the price of saving and loading.

python benchmarks/model_files.py [COUNT] [SEED]

A mutant with good digests must be refused in one sentence, or be a model or checkpoint that, written again, is that
very file. A checkpoint that was damaged and has its old digests must be refused.
"""

import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import mercer
from mercer.errors import MercerWarning, ModelFileError
from mercer.kernels import Gaussian, Jaccard, Polynomial, Words
from mercer.runtime.container import Checkpoint
from mercer.text import text_table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from model_mutants import damaged, load_damaged, mutant, small_checkpoints, written_again

MUTANTS = 100_000


def small_models(rng):
    X = rng.normal(size=(12, 2))
    y = X[:, 0] ** 2 + X[:, 1]
    labels = np.where(y > 0.5, "much", "little")
    table = {"a": X[:, 0], "b": X[:, 1], "c": np.array(["x", "y", "z"] * 4, dtype=object)}
    return [
        mercer.KernelRidge(0.1, kernel=Gaussian([1.0, 2.0]) + 2.0 * Polynomial(2).on([0])).fit(X, y),
        mercer.KernelRidgeClassifier(0.1, kernel=Polynomial(2)).fit(X, labels),
        mercer.KernelRidge(0.1, kernel=Words() + Jaccard()).fit(["a b", "c d", "a", "d"], [1.0, 2.0, 3.0, 4.0]),
        mercer.KernelNeighborsClassifier("rbf", 2).fit(X, labels),
        mercer.KernelRidgeCV([Gaussian(1.0)], [0.1, 1.0], cv=3).fit(X, y),
        mercer.KernelRidgeClassifierCV([Gaussian(1.0)], [0.1, 1.0], cv=2).fit(X, labels),
        mercer.AutoRegressor().fit(table, y),
        mercer.AutoClassifier().fit(table, labels),
    ]


def tried(count: int, seed: int, place: Path) -> tuple[Counter[str], float]:
    """What became of so many mutants, and the seconds the slowest took to load."""
    rng = np.random.default_rng(seed)
    files = []
    for model in small_models(rng):
        mercer.save(model, place)
        files.append(place.read_bytes())
    found: Counter[str] = Counter()
    slowest = 0.0
    for number in range(count):
        original = files[number % len(files)]
        data = mutant(rng, original)
        place.write_bytes(data)
        start = time.perf_counter()
        try:
            model = mercer.load(place)
        except ModelFileError:
            found["refused"] += 1
        else:
            assert written_again(model, data) == data, "a model that is not what its file says"
            found["unchanged" if data == original else "the model that the file says"] += 1
        slowest = max(slowest, time.perf_counter() - start)
    return found, slowest


def checkpoints(count: int, seed: int, folder: Path) -> Counter[str]:
    """What became of so many checkpoints, every other one with its digests made good."""
    rng = np.random.default_rng(seed)
    kept = [
        (Checkpoint(path, mark), arrays, path.read_bytes()) for path, mark, arrays in small_checkpoints(rng, folder)
    ]
    found: Counter[str] = Counter()
    for number in range(count):
        checkpoint, arrays, original = kept[number // 2 % len(kept)]
        data = (mutant if number % 2 else damaged)(rng, original)
        fate = load_damaged(checkpoint, data, arrays)
        assert number % 2 or fate == ("unchanged" if data == original else "refused"), "damage that nobody noticed"
        found[fate] += 1
    return found


def prices(place: Path) -> list[list[object]]:
    rows = []
    for n in (1000, 10_000):
        X = np.random.default_rng(0).normal(size=(n, 50))
        model = mercer.KernelRidge(1.0, kernel="linear", solver="primal").fit(X, X[:, 0])
        start = time.perf_counter()
        mercer.save(model, place)
        middle = time.perf_counter()
        mercer.load(place)
        end = time.perf_counter()
        rows.append(
            [f"{n} x 50", f"{place.stat().st_size / 1e6:.1f} MB", f"{middle - start:.3f} s", f"{end - middle:.3f} s"]
        )
    return rows


def main() -> None:
    count, seed = (*map(int, sys.argv[1:]), *(MUTANTS, 0)[len(sys.argv) - 1 :])
    warnings.simplefilter("ignore", MercerWarning)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model.mercer"
        print(text_table(["rows", "file", "save", "load"], prices(place)))
        found, slowest = tried(count, seed, place)
        others = checkpoints(count, seed, Path(folder))
    for what, fates in (("model files", found), ("checkpoints", others)):
        print(f"{count} {what}: {', '.join(f'{number} {fate}' for fate, number in fates.most_common())}")
    print(f"slowest to load: {slowest:.3f} s")


if __name__ == "__main__":
    main()
