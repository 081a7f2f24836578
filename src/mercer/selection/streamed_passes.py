"""How a table is read: where the work runs, how much at once, what is told and what is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.backends.checkpoint import PassCheckpoint
from mercer.backends.passes import Work, run_pass
from mercer.data.blocks import Source
from mercer.selection.checkpoint import fingerprint
from mercer.solvers.fold_sums import State


@dataclass(frozen=True, eq=False)
class Reading:
    """A table and how it is read.

    Attributes
    ----------
    source : Source
        The table.
    backend : object
        As of `mercer.backends.passes.run_pass`.
    checkpoint : path or None
        Where a pass is kept; later passes add a suffix.
    at_once : int or None
        Rows of a block; None leaves it to the widths of the sums.
    verbose : int
        Whether progress is told.
    """

    source: Source
    backend: Any = None
    checkpoint: Any = None
    at_once: int | None = None
    verbose: int = 0

    def run(self, work: Work, at_once: int, words: str, suffix: str, settings: list[Any]) -> State:
        """One pass; `settings` must be the same for a checkpoint to be gone on from."""
        kept = None
        if self.checkpoint is not None:
            mark = fingerprint(self.source.identity(), settings)
            kept = PassCheckpoint(f"{self.checkpoint}{suffix}", mark)
        return run_pass(
            self.source,
            work,
            at_once=self.at_once or at_once,
            backend=self.backend,
            progress=words,
            checkpoint=kept,
            verbose=self.verbose,
        )
