"""Peer and mercer in one process, best of several turns taken in alternation, printed as ratios."""

import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mercer.text import text_table


@dataclass(frozen=True)
class Comparison:
    """One job done by two programs."""

    job: str
    peer: str
    peer_seconds: float
    seconds: float
    target: float

    def row(self) -> list[object]:
        ratio = self.peer_seconds / self.seconds
        met = "yes" if ratio >= self.target else "no"
        return [self.job, self.peer, self.peer_seconds, self.seconds, f"{ratio:.2f} x", f"{self.target:g} x", met]


def compare(
    job: str, peer: str, theirs: Callable[[], object], ours: Callable[[], object], target: float, turns: int = 5
) -> Comparison:
    """Best of several turns each, one after the other so that both meet the same weather."""
    best = [float("inf"), float("inf")]
    for _ in range(turns):
        for place, work in enumerate((theirs, ours)):
            start = time.perf_counter()
            work()
            best[place] = min(best[place], time.perf_counter() - start)
    return Comparison(job, peer, best[0], best[1], target)


def show(comparisons: Sequence[Comparison]) -> None:
    header = ["job", "peer", "peer (s)", "mercer (s)", "ratio", "wanted", "met"]
    print(text_table(header, [comparison.row() for comparison in comparisons]))


def peak_bytes(work: Callable[[], object]) -> int:
    """Most memory that Python and NumPy held at once during the work, beyond what was there before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
