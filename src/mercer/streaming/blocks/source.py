"""A table that is read in passes, whatever it lies in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.data.hashing import row_words
from mercer.data.rows import Array
from mercer.errors import InputError, refuse_if
from mercer.runtime.dask import compute
from mercer.runtime.passes import Backend, run_pass
from mercer.runtime.resources import promise
from mercer.streaming.blocks.table import Block, Columns, Layout, join, pick, regroup

_AT_ONCE = 65_536  # rows read together where only a few of them are kept
_NONE: Columns = (None, None, None, None)
_STRETCH = 2**20  # rows hashed together


@dataclass(frozen=True, eq=False)
class Part:
    """One stretch of a table: small enough to be sent to a worker, which lets it read itself there.

    Attributes
    ----------
    start : int
        The number of its first row in the whole table.
    rows : int or None
        How many there are; None where only reading tells.
    layout : Layout
        The columns.
    read : callable
        `read(part, skip, at_once, *values)` gives blocks, made by `part.check`, that begin at row `skip` of the part or
        earlier.
    number : int
        What messages call the first row.
    pieces : tuple
        What Dask must compute first: `values` are what these Delayed objects, arrays and Nones stand for.
    """

    start: int
    rows: int | None
    layout: Layout
    read: Callable[..., Iterable[Block]]
    number: int = 0
    pieces: tuple[Any, ...] = ()

    def check(self, columns: Columns, first: int) -> Block:
        """A block of columns as they were read, of which the first row is row `first` of the part."""
        return self.layout.check(columns, self.start + first, self.number + first)

    def blocks(self, at_once: int, skip: int = 0, values: Sequence[Any] = ()) -> Iterator[Block]:
        """Its rows without the first `skip`, in order, at most `at_once` together."""
        blocks = self.read(self, skip, at_once, *(values or (self.pieces and compute(self.pieces))))
        first = self.start + skip
        return regroup((block.pick(slice(max(0, first - block.start), None)) for block in blocks), at_once)


@dataclass(eq=False)
class Source:
    """A table that is read in passes, one block of rows at a time; made by `as_source`.

    Parameters
    ----------
    parts : tuple of Part
        Its stretches in order.
    layout : Layout
        Its columns.
    rows : int or None
        How many there are; None where only a pass can tell.
    identity : callable
        Gives a fingerprint for checkpoints: arrays by contents, files by path, size and times of change.
    what : str, default="X"
        What to call it.
    whole : Part, default=None
        All of it as one part, where that reads in longer stretches.
    take : callable, default=None
        The columns of the rows with given numbers, where rows can be had by number.
    here_only : str, default=""
        Why it cannot be read on other machines; empty where it can.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.streaming.blocks import as_source
    >>> source = as_source(np.arange(20.0).reshape(10, 2), np.arange(10.0))
    >>> source.rows, source.width, source.targets
    (10, 2, 1)
    >>> [(block.start, len(block)) for block in source.blocks(4)]
    [(0, 4), (4, 4), (8, 2)]
    """

    parts: tuple[Part, ...]
    layout: Layout
    rows: int | None
    identity: Callable[[], str]
    what: str = "X"
    whole: Part | None = None
    take: Callable[[Array], Columns] | None = None
    here_only: str = ""

    def __post_init__(self) -> None:
        self.width, self.names, self.targets_1d = self.layout.width, self.layout.names, self.layout.flat
        self.targets, self.target_names = self.layout.targets, self.layout.target_names
        refuse_if(self.rows == 0, self.what, "a table with rows", "none")

    def blocks(self, at_once: int, start: int = 0) -> Iterator[Block]:
        """All rows in order from row `start` on, `at_once` together.

        A pass that ends with another number of rows than the one before is refused: the answer would be of neither.
        """
        self._promise(at_once, "A block", "Use a smaller block_rows, or a table with fewer columns.")
        rest = self.rest(start) if self.whole is None else [(self.whole, start)]
        end = start
        for block in regroup((block for part, skip in rest for block in part.blocks(at_once, skip)), at_once):
            end = block.start + len(block)
            yield block
        self.count(end)

    def rest(self, start: int) -> list[tuple[Part, int]]:
        """The parts with rows from row `start` on, each with how many of its rows come before."""
        parts = [part for part in self.parts if part.rows is None or start < part.start + part.rows]
        return [(part, max(0, start - part.start)) for part in parts]

    def _promise(self, rows: int, what: str, hint: str) -> None:
        """Room for so many rows twice: as they are read, and as a block."""
        rows = rows if self.rows is None else min(rows, self.rows)
        promise(16 * rows * (self.width + (self.targets or 0)), f"{what} of {rows} rows", hint)

    def count(self, rows: int) -> None:
        """A pass has found so many rows."""
        refuse_if(not rows, self.what, "a table with rows", "none")
        if self.rows not in (None, rows):
            words = f"{self.what} changed between passes: {self.rows} rows, then {rows}."
            raise InputError(f"{words} X must return the same rows every time it is read.")
        self.rows = rows

    def sample(self, count: int, rng: np.random.Generator, backend: Backend = "serial") -> Block:
        """Rows drawn without replacement, each with the same chance, in the order of the table.

        They are the rows whose hashed numbers are smallest, hence the same ones however the table is cut, read or
        stored. Where rows cannot be had by number this is a pass, which runs on `backend`.

        Parameters
        ----------
        count : int
            How many; all rows where there are not more.
        rng : Generator
            Draws the seed of the hash.
        backend : object, default="serial"
            As of `run_pass`.

        Returns
        -------
        Block
            Its `start` is 0 and says nothing.
        """
        refuse_if(count < 1, "The number of rows of a sample", "at least 1", count)
        self._promise(count, "A sample", "Draw fewer rows.")
        draw, n = Sampling(count, int(rng.integers(2**63))), int(self.rows or 0)
        if self.take is None:
            return Sampling.block(run_pass(self, draw, at_once=_AT_ONCE, backend=backend))
        drawn: dict[str, Array] = {}
        for start in range(0, n, _STRETCH):
            draw.keep(drawn, start, min(_STRETCH, n - start))
        return self.layout.check(self.take(drawn["rows"]), 0, drawn["rows"])


def _least(words: Array, count: int) -> Array:
    """The places of the `count` smallest words."""
    return np.argpartition(words, count - 1)[:count] if len(words) > count else np.arange(len(words))


@dataclass(frozen=True)
class Sampling:
    """Work of a pass that keeps the `count` rows with the smallest hashed numbers, however the table is cut.

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
        self.keep(state, block.start, len(block), block.columns())

    def keep(self, state: dict[str, Array], start: int, rows: int, columns: Columns = _NONE) -> None:
        """Keep those of some rows, with their columns, whose words are among the smallest so far."""
        words = row_words(start, rows, self.seed)
        full = len(state.get("words", ())) >= self.count
        kept = np.flatnonzero(words < state["words"].max()) if full else _least(words, self.count)
        named = zip(("X", "Y", "weights", "keys"), pick(columns, kept), strict=True)
        fresh = {name: np.array(column) for name, column in named if column is not None}
        self.merge(state, fresh | {"words": words[kept], "rows": start + kept})

    def merge(self, a: dict[str, Array], b: dict[str, Array]) -> dict[str, Array]:
        """The smallest of both, in the order of the table."""
        both = {name: join([a[name], b[name]]) for name in b} if a and b else a or b
        if both:
            kept = _least(both["words"], self.count)
            kept = kept[np.argsort(both["rows"][kept])]
            a.update({name: column[kept] for name, column in both.items()})
        return a

    @staticmethod
    def block(state: dict[str, Array]) -> Block:
        """What was kept."""
        return Block(state["X"], state.get("Y"), state.get("weights"), state.get("keys"), 0)
