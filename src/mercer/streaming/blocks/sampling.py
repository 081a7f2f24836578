"""Rows with the smallest hashed numbers: a random sample that no cutting of the table changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.data.hashing import row_words
from mercer.data.rows import Array
from mercer.streaming.blocks.table import Block, joined

_STRETCH = 2**20  # rows hashed together


def smallest(rows: int, count: int, seed: int) -> Array:
    """The numbers of the `count` rows whose words are smallest, in order."""
    best = np.empty(0, dtype=np.uint64)
    places = np.empty(0, dtype=np.intp)
    for start in range(0, rows, _STRETCH):
        stop = min(start + _STRETCH, rows)
        words = np.concatenate([best, row_words(start, stop - start, seed)])
        numbers = np.concatenate([places, np.arange(start, stop, dtype=np.intp)])
        kept = _least(words, count)
        best, places = words[kept], numbers[kept]
    return np.sort(places)


def _least(words: Array, count: int) -> Array:
    if len(words) <= count:
        return np.arange(len(words))
    return np.argpartition(words, count - 1)[:count]


@dataclass(frozen=True)
class Sampling:
    """Work of a pass that keeps `count` rows.

    Attributes
    ----------
    count : int
        How many.
    seed : int
        Of the hash.
    """

    count: int
    seed: int

    def begin(self) -> dict[str, Array]:
        """Nothing yet."""
        return {}

    def add(self, state: dict[str, Array], block: Block) -> None:
        """Look at the words of a block and keep the rows that are among the smallest so far."""
        words = row_words(block.start, len(block), self.seed)
        if len(state.get("words", ())) >= self.count:
            kept = np.flatnonzero(words < state["words"].max())
        else:
            kept = _least(words, self.count)
        columns = {"X": block.X, "Y": block.Y, "weights": block.weights, "keys": block.keys}
        fresh = {name: np.array(column[kept]) for name, column in columns.items() if column is not None}
        fresh |= {"words": words[kept], "rows": block.start + kept}
        self.merge(state, fresh)

    def merge(self, a: dict[str, Array], b: dict[str, Array]) -> dict[str, Array]:
        """The smallest of both, in the order of the table."""
        both = {name: joined([a[name], b[name]]) for name in b} if a and b else a or b
        if both:
            kept = _least(both["words"], self.count)
            kept = kept[np.argsort(both["rows"][kept])]
            a.update({name: column[kept] for name, column in both.items()})
        return a

    @staticmethod
    def block(state: dict[str, Array]) -> Block:
        """What was kept."""
        return Block(state["X"], state.get("Y"), state.get("weights"), state.get("keys"), 0)
