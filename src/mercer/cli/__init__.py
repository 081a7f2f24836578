"""The command line: `mercer fit | predict | score | explain | certify | inspect | demo | lab`."""

from __future__ import annotations

import errno
import io
import os
import sys
import time

clock: dict[str, float] = {}  # when the command began: a time budget counts imports, too


class _Closed(io.TextIOBase):
    """Standard output that was closed: writing to it is refused in words."""

    def write(self, text: str) -> int:
        """Refuse to write."""
        raise OSError(errno.EBADF, "standard output is closed")


def _mend_streams() -> None:
    """Make the standard streams the same everywhere.

    A stream that was closed (as by `2>&-`) gets the null device, lest the next file that is opened take its number and
    get what is meant for the stream. Files and pipes are written in UTF-8 whatever the locale says; a terminal has an
    encoding of its own, and shows what is not in it as escapes.
    """
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            descriptor = os.open(os.devnull, os.O_RDWR)  # stays open
            streams = {"stdin": (descriptor, "r"), "stderr": (descriptor, "w")}
            setattr(sys, name, open(*streams[name], encoding="utf-8") if name in streams else _Closed())  # noqa: PTH123, SIM115
        elif name != "stdin":
            encoding = None if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def main() -> None:
    """Run the command line; where its packages are missing, say how to install them."""
    clock["begun"] = time.monotonic()
    _mend_streams()
    try:
        import click  # noqa: F401 - only to see whether it is there
    except ImportError:
        sys.stderr.write("mercer: the command line needs click. Install it with: pip install 'mercer[cli]'\n")
        sys.exit(1)
    from mercer.cli.commands import cli

    cli(prog_name="mercer")
