"""Progress with the time left, on stderr, only where a person is looking."""

from __future__ import annotations

import sys
import threading
import time


class Progress:
    """Counts finished pieces of work and says how long the rest will take.

    Parameters
    ----------
    what : str
        The work.
    total : int
        How many pieces there are.
    verbose : int
        0: silent. 1: on a terminal only. 2: always.
    """

    def __init__(self, what: str, total: int, verbose: int) -> None:
        self.what, self.total, self.done = what, max(total, 1), 0
        self.terminal = sys.stderr.isatty()
        self.shown = verbose >= 2 or (verbose == 1 and self.terminal)
        self.started = self.last = time.monotonic()
        self.lock = threading.Lock()

    def step(self, pieces: int = 1) -> None:
        """So many pieces more are finished."""
        with self.lock:
            self.done += pieces
            now = time.monotonic()
            if self.shown and (self.done >= self.total or now - self.last >= 0.5):
                self.last = now
                self._show(now - self.started)

    def _show(self, spent: float) -> None:
        left = spent / self.done * (self.total - self.done)
        text = f"{self.what}: {self.done} of {self.total}, {duration(spent)} spent, {duration(left)} left"
        end = "\n" if self.done >= self.total or not self.terminal else ""
        start = "\r" if self.terminal else ""
        sys.stderr.write(f"{start}{text:<70}{end}")
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
