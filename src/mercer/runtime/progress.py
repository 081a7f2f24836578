"""Progress with the time left, on stderr: a line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Listener: TypeAlias = Callable[[str, int, int | None], None]  # the work, pieces done, and how many there are

_listener: ContextVar[Listener | None] = ContextVar("_listener", default=None)
_OFTEN, _SELDOM = 0.5, 10.0  # seconds between two lines
_PATIENCE = 5.0  # seconds after which long work shows itself on a terminal, unasked


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell a function of every finished piece of the work that is begun in this block; it may raise to stop the work.

    >>> with listening(lambda what, done, total: print(what, done, "of", total)):
    ...     Progress("folds", 2, verbose=0).step()
    folds 1 of 2
    """
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


class Progress:
    """Counts finished pieces of work and says how long the rest will take.

    Parameters
    ----------
    what : str
        The work.
    total : int or None
        How many pieces there are; None where that is not known.
    verbose : int
        0: on a terminal after five seconds, silent elsewhere. 1: twice a second on a terminal; elsewhere, such as in
        notebooks and log files, a line every ten seconds. 2: twice a second everywhere.
    unit : str, default=""
        What the pieces are called, if their rate is worth telling.
    done : int, default=0
        How many were finished before.
    """

    def __init__(self, what: str, total: int | None, verbose: int, unit: str = "", done: int = 0) -> None:
        self.what, self.total, self.unit = what, None if total is None else max(total, 1), unit
        self.before = self.done = done
        self.terminal = sys.stderr is not None and sys.stderr.isatty()
        self.shown = sys.stderr is not None and (verbose >= 1 or self.terminal)
        self.wait = 0.0 if verbose >= 1 else _PATIENCE
        self.pause = _OFTEN if verbose >= 2 or self.terminal else _SELDOM
        self.told = False
        self.started = self.last = time.monotonic()
        self.lock = threading.Lock()
        self.listener = _listener.get()

    def begin(self) -> None:
        """The work begins only now."""
        self.started = self.last = time.monotonic()

    def step(self, pieces: int = 1) -> None:
        """So many pieces more are finished."""
        with self.lock:
            self.done += pieces
            now = time.monotonic()
            due = now - self.started >= self.wait and now - self.last >= self.pause
            if self.shown and (due or (self._complete() and self._is_wanted())):
                self.last, self.told = now, True
                self._show(now - self.started, last=self._complete())
        if self.listener is not None:
            self.listener(self.what, self.done, self.total)

    def finish(self) -> None:
        """There are no more pieces; says so where their number was not known before."""
        with self.lock:
            if self.shown and self._is_wanted() and self.total is None and self.done > self.before:
                self._show(time.monotonic() - self.started, last=True)
            elif self.told and self.terminal and not self._complete():  # stopped early: leave the line
                sys.stderr.write("\n")

    def _complete(self) -> bool:
        return self.total is not None and self.done >= self.total

    def _is_wanted(self) -> bool:
        return self.told or (self.pause == _OFTEN and not self.wait)

    def _show(self, spent: float, *, last: bool) -> None:
        fresh = self.done - self.before
        parts = [f"{self.what}: {self.done}" + ("" if self.total is None else f" of {self.total}")]
        if self.unit:
            parts[0] += f" {self.unit}"
            parts.append(f"{fresh / max(spent, 1e-9):.3g} {self.unit}/s")
        parts.append(f"{duration(spent)} spent")
        if self.total is not None:
            parts.append(f"{duration(spent / max(fresh, 1) * (self.total - self.done))} left")
        end = "\n" if last or not self.terminal else ""
        start = "\r" if self.terminal else ""
        sys.stderr.write(f"{start}{', '.join(parts):<70}{end}")
        sys.stderr.flush()


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(0.025), duration(2.5), duration(75), duration(7300)
    ('25 ms', '2.5 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 0.95:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
