"""A table that is read in passes, whatever it lies in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.errors import InputError, sentence
from mercer.runtime.memory import promise
from mercer.runtime.passes import run_pass
from mercer.streaming.blocks.sampling import Sampling, smallest
from mercer.streaming.blocks.table import Block, Part, join, regroup

_AT_ONCE = 65_536  # rows read together where only a few of them are kept


@dataclass(frozen=True)
class BlockLayout:
    """What the columns of a table are.

    Attributes
    ----------
    width : int
        Columns of X.
    names : tuple of str or None
        What they are called.
    targets : int or None
        Columns of Y; None without targets.
    target_names : tuple of str or None
        What they are called.
    flat : bool
        Whether y was one-dimensional.
    """

    width: int
    names: tuple[str, ...] | None = None
    targets: int | None = None
    target_names: tuple[str, ...] | None = None
    flat: bool = True


class Source:
    """A table that is read in passes, one block of rows at a time; made by `as_source`.

    Parameters
    ----------
    parts : tuple of Part
        Its stretches in order.
    layout : BlockLayout
        Its columns.
    rows : int or None
        How many there are; None where only a pass can tell.
    identity : callable
        Gives the fingerprint of its contents.
    what : str, default="X"
        What to call it.
    whole : Part, default=None
        All of it as one part, where that reads in longer stretches.
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

    def __init__(
        self,
        parts: tuple[Part, ...],
        layout: BlockLayout,
        *,
        rows: int | None,
        identity: Callable[[], str],
        what: str = "X",
        whole: Part | None = None,
        here_only: str = "",
    ) -> None:
        self.parts, self.layout, self.rows, self.what = parts, layout, rows, what
        self.here_only = here_only
        self._identity, self._whole = identity, whole
        if rows == 0:
            raise InputError(sentence(what, "a table with rows", "none"))

    @property
    def width(self) -> int:
        """Number of columns of X."""
        return self.layout.width

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the columns of X are called."""
        return self.layout.names

    @property
    def targets(self) -> int | None:
        """Number of targets; None without."""
        return self.layout.targets

    @property
    def target_names(self) -> tuple[str, ...] | None:
        """What the targets are called."""
        return self.layout.target_names

    @property
    def targets_1d(self) -> bool:
        """Whether y was one-dimensional."""
        return self.layout.flat

    def blocks(self, at_once: int, start: int = 0) -> Iterator[Block]:
        """All rows in order from row `start` on, `at_once` together.

        A pass that ends with another number of rows than the one before is refused: the answer would be of neither.
        """
        self._promise(at_once, "A block", "Use a smaller block_rows, or a table with fewer columns.")
        end = start
        for block in regroup(self._pieces(at_once, start), at_once):
            end = block.start + len(block)
            yield block
        self.count(end)

    def _pieces(self, at_once: int, start: int) -> Iterator[Block]:
        parts = self.parts if self._whole is None else (self._whole,)
        for part in parts:
            if part.rows is None or start < part.start + part.rows:
                yield from part.blocks(at_once, max(0, start - part.start))

    def _promise(self, rows: int, what: str, way_out: str) -> None:
        """Room for so many rows twice: as they are read, and as a block."""
        rows = rows if self.rows is None else min(rows, self.rows)
        promise(16 * rows * (self.width + (self.targets or 0)), f"{what} of {rows} rows", way_out)

    def count(self, rows: int) -> None:
        """A pass has found so many rows."""
        if not rows:
            raise InputError(sentence(self.what, "a table with rows", "none"))
        if self.rows is None:
            self.rows = rows
        if self.rows != rows:
            raise InputError(
                f"{self.what} changed between passes: {self.rows} rows, then {rows}. X must return the same rows every "
                "time it is read."
            )

    def sample(self, count: int, rng: np.random.Generator, backend: Any = "serial") -> Block:
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
        if count < 1:
            raise InputError(sentence("The number of rows of a sample", "at least 1", count))
        self._promise(count, "A sample", "Draw fewer rows.")
        seed = int(rng.integers(2**63))
        if self.rows is not None and all(hasattr(part, "take") for part in self.parts):
            rows = smallest(self.rows, count, seed)
            starts = [part.start for part in self.parts]
            pieces = np.split(rows, np.searchsorted(rows, starts[1:]))
            taken = [part.take(own - part.start) for part, own in zip(self.parts, pieces, strict=True) if len(own)]  # type: ignore[attr-defined]
            return Block(*join(taken).columns(), 0)
        return Sampling.block(run_pass(self, Sampling(count, seed), at_once=_AT_ONCE, backend=backend))

    def identity(self) -> str:
        """A fingerprint for checkpoints: arrays by contents, files by path, size and times of change."""
        return self._identity()
