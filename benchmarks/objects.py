"""Kernels on texts and graphs: real data by nested cross-validation, and speed against plain Python loops."""

import csv
import gzip
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from timing import Comparison, show

from mercer import KernelRidgeClassifierCV, nested_cross_validate
from mercer.kernels import Spectrum, Subsequence
from mercer.text import text_table

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from graphs import WeisfeilerLehman

DATA = Path(__file__).parents[2] / "shared" / "data"


def table(name: str) -> list[list[str]]:
    with gzip.open(DATA / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def promoters():
    rows = table("promoters")
    kernels = [Spectrum(length).normalized() for length in (3, 4, 5, 6)]
    return "promoters", [row[2] for row in rows], [row[0] for row in rows], kernels, None, "at most 5 of 106"


def names(count: int = 3000):
    rows = table("names_language")
    chosen = np.random.default_rng(0).permutation(len(rows))[:count]
    kernels = [Spectrum(4, shortest=1).map(framed).normalized() ** power for power in (1, 2, 4)]
    X, y = [rows[i][1] for i in chosen], [rows[i][0] for i in chosen]
    return f"language of {count} names (18 languages)", X, y, kernels, np.geomspace(1e-2, 10, 7), "none"


def framed(values) -> list[str]:
    """Beginnings and ends of names are telling."""
    return [f"^{value.lower()}$" for value in values]


def spam():
    rows = table("sms_spam")
    kernels = [Spectrum(length, shortest=3).normalized() for length in (3, 4, 5)]
    return "SMS spam", [r[1] for r in rows], [r[0] for r in rows], kernels, np.geomspace(1e-2, 10, 4), "at most 1.3 %"


def mutag():
    stored = np.load(DATA / "mutag.npz", allow_pickle=False)
    places = [np.flatnonzero(stored["node_graph"] == g) for g in range(len(stored["y"]))]
    graphs = []
    for nodes in places:
        first = nodes[0]
        neighbours: list[list[int]] = [[] for _ in nodes]
        for a, b in stored["edges"]:
            if first <= a <= nodes[-1]:
                neighbours[a - first].append(int(b - first))
                neighbours[b - first].append(int(a - first))
        graphs.append(([str(label) for label in stored["node_label"][nodes]], neighbours))
    kernels = [WeisfeilerLehman(rounds).normalized() ** power for rounds in (1, 2, 3, 4) for power in (1, 2, 4)]
    return "MUTAG", graphs, stored["y"], kernels, None, "accuracy 85 %"


def judged(name, X, y, kernels, alphas, wanted) -> list[object]:
    y = np.asarray(y)
    start = time.perf_counter()
    search = KernelRidgeClassifierCV(kernels, alphas, fit_intercept=True)
    repeats = 10 if len(y) < 500 else 1  # one draw of the folds says little about few rows
    result = nested_cross_validate(search, X, y, cv=10, repeats=repeats, random_state=0)
    wrong = (result.predictions != y).sum(axis=1)
    took = time.perf_counter() - start
    listed = ", ".join(map(str, wrong))
    error = f"{100 * wrong.mean() / len(y):.2f} % +- {100 * result.standard_error:.2f}"
    return [name, len(y), listed, error, wanted, f"{took:.1f} s"]


def texts(count: int, length: int = 60) -> list[str]:
    rng = np.random.default_rng(0)
    return ["".join(row) for row in rng.choice(list("abcdefghijklmnopqrstuvwxyz"), size=(count, length))]


def plain_spectrum(X: list[str], length: int = 3) -> np.ndarray:
    """Counts once for each text, then a double loop."""
    counts = [Counter(x[i : i + length] for i in range(len(x) - length + 1)) for x in X]
    return np.array([[sum(n * b[u] for u, n in a.items() if u in b) for b in counts] for a in counts], dtype=float)


def plain_subsequence(s: str, t: str, length: int = 3, decay: float = 0.5) -> float:
    """The recursion of Lodhi et al., one pair of texts."""
    before = [[1.0] * (len(t) + 1) for _ in range(len(s) + 1)]
    for _ in range(length - 1):
        now = [[0.0] * (len(t) + 1) for _ in range(len(s) + 1)]
        for a in range(1, len(s) + 1):
            run = 0.0
            for b in range(1, len(t) + 1):
                run = decay * run + (decay**2 * before[a - 1][b - 1] if s[a - 1] == t[b - 1] else 0.0)
                now[a][b] = decay * now[a - 1][b] + run
        before = now
    return sum(
        decay**2 * before[a][b] for a in range(len(s)) for b in range(len(t)) if s[a] == t[b]
    )  # fmt: skip


def best_of(work, turns: int = 3) -> float:
    found = []
    for _ in range(turns):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def speed() -> list[Comparison]:
    X, part = texts(5000), 200
    ours = best_of(lambda: Spectrum(3)(X))
    start = time.perf_counter()
    slow = plain_spectrum(X[:part])
    theirs = (time.perf_counter() - start) * (5000 / part) ** 2  # a double loop: time goes with the square
    np.testing.assert_allclose(Spectrum(3)(X[:part]), slow)
    found = [
        Comparison("Spectrum(3), 5000 texts of 60 letters", f"double loop (from {part} texts)", theirs, ours, 50.0)
    ]
    X, part = texts(500), 25
    ours = best_of(lambda: Subsequence(3)(X))
    start = time.perf_counter()
    slow = np.array([[plain_subsequence(s, t) for t in X[:part]] for s in X[:part]])
    theirs = (time.perf_counter() - start) * (500 / part) ** 2
    np.testing.assert_allclose(Subsequence(3)(X[:part]), slow, rtol=1e-10)
    name = "Subsequence(3), 500 texts of 60 letters"
    return [*found, Comparison(name, f"double loop (from {part} texts)", theirs, ours, 50.0)]


def main() -> None:
    warnings.filterwarnings("ignore", message="The (winner of|least populated class)")
    show(speed())
    if not DATA.exists():
        print(f"{DATA} is not there; real data are not judged.")
        return
    rows = [judged(*make()) for make in (promoters, mutag, names, spam)]
    print(text_table(["nested 10-fold", "n", "errors", "share", "wanted", "time"], rows))


if __name__ == "__main__":
    main()
