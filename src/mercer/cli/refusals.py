"""What the command line writes, safe for a terminal; what goes wrong is one sentence on stderr and an exit code."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from mercer.errors import KINDS_IN_HINTS, MercerError, printable

# Data, settings, files and memory that are refused end with 2, as click's usage errors do; Ctrl-C, and what is no
# fault of the input, with 1.
REFUSED, BROKEN_OFF = 2, 1


def say(text: str, *, head: str = "", colour: str = "", err: bool = False, file: IO[Any] | None = None) -> None:
    """Write text to stdout or stderr: the one place where the command line writes words and JSON.

    Names, cells, paths and strings of model files come from strangers. What cannot be printed in them is escaped here,
    so that no terminal takes it for a command; only `head`, which is ours, has a colour.
    """
    shown = printable(text, lines=True)
    if file is None and (sys.stderr if err else sys.stdout).isatty():
        shown = wrap_lines(shown, shutil.get_terminal_size().columns, len(head) + 1 if head else 0)
    click.echo((f"{click.style(head, fg=colour)} " if head else "") + shown, err=err, file=file)


def warn(text: str) -> None:
    """Write a warning to stderr."""
    say(text, head="Warning:", colour="yellow", err=True)


def wrap_lines(text: str, width: int, before: int = 0) -> str:
    r"""Sentences in lines of this width, the first after so many letters; tables, which have gaps, stay as they are.

    >>> print(wrap_lines("a long sentence\ncolumn  kind  missing", 10))
    a long
    sentence
    column  kind  missing
    """
    lines = []
    for place, line in enumerate(text.split("\n")):
        indent = " " * before if not place else ""
        prose = len(indent) + len(line) > width and "  " not in line.strip()
        folded = textwrap.wrap(indent + line, width, break_long_words=False, break_on_hyphens=False) if prose else []
        lines += [folded[0][before:] if before and not place else folded[0], *folded[1:]] if folded else [line]
    return "\n".join(lines)


class Refusal(click.ClickException):
    """One sentence, and the end."""

    exit_code = REFUSED

    def show(self, file: IO[Any] | None = None) -> None:
        """Say it on stderr."""
        with contextlib.suppress(OSError):  # the exit code says it where stderr cannot
            say(self.message, head="mercer:", colour="red", err=True, file=file)


class BrokenOff(Refusal):
    """An end that is no fault of the input."""

    exit_code = BROKEN_OFF


class CommandGroup(click.Group):
    """A group of commands that end with a sentence where something is refused."""

    def make_context(self, *given: Any, **named: Any) -> click.Context:
        """Read the words before the command."""
        with _printable_usage():
            return super().make_context(*given, **named)

    def main(self, *given: Any, **named: Any) -> Any:
        """Run the command line; where even its help cannot be written, say why."""
        try:
            return super().main(*given, **named)
        except OSError as error:
            Refusal(words(error)).show()
            sys.exit(REFUSED)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        _refuse_tight_limit()
        try:
            with _printable_usage():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # BrokenPipeError: whoever read has heard enough; click ends quietly
        except KeyboardInterrupt:
            raise BrokenOff("Stopped; nothing was written.") from None
        except Exception as error:
            if os.environ.get("MERCER_TRACEBACK"):
                raise
            ours = isinstance(error, MercerError | OSError | ValueError) or _is_out_of_memory(error) or _of_arrow(error)
            raise (Refusal if ours else BrokenOff)(words(error)) from error


@contextmanager
def _printable_usage() -> Iterator[None]:
    """Escape what click quotes from the command line, such as options that do not exist."""
    try:
        yield
    except click.ClickException as error:
        vars(error)["message"] = printable(error.message)  # click's own `show` prints it
        raise


def _refuse_tight_limit() -> None:
    """Refuse an address space in which numpy and scipy cannot be loaded: OpenBLAS would wait there for ever."""
    try:
        import resource
    except ImportError:  # pragma: no cover - not on every system
        return
    asked = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    count = int(asked) if asked.isascii() and asked.isdigit() and int(asked) else os.cpu_count() or 1
    needed = 10**6 * (900 + 85 * min(count, 64))  # measured, with pyarrow and the buffers of OpenBLAS's threads
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY and soft < needed:
        raise Refusal(
            f"The address space limit (ulimit -v) is {soft // 10**6} MB; mercer and its dependencies need "
            f"{needed // 10**6} MB with {count} thread{'s' * (count > 1)}. Raise the limit, or set "
            "OPENBLAS_NUM_THREADS=1."
        )


@contextmanager
def report_interrupts(outputs: Mapping[str, str | None]) -> Iterator[None]:
    """Let Ctrl-C say which files of a command were written; `outputs` are their paths by what they hold."""
    paths = {f"the {what}": path for what, path in outputs.items() if path}
    before = {what: _stamps(path) for what, path in paths.items()}
    try:
        yield
    except KeyboardInterrupt:
        written = {what for what, path in paths.items() if _stamps(path) != before[what]}
        raise BrokenOff(_interrupt_words(paths, written)) from None


def _stamps(path: str) -> list[tuple[Any, ...]]:
    """What changes when a file, or a later part of a checkpoint beside it, is written."""
    place, stamps = Path(path), []
    for file in sorted({place, *place.parent.glob(f"{glob.escape(place.name)}.*")}):
        with contextlib.suppress(OSError):
            status = file.stat()
            stamps.append((file, status.st_ino, status.st_mtime_ns, status.st_size))
    return stamps


def _interrupt_words(paths: dict[str, str], written: set[str]) -> str:
    """Which files were written when a command was interrupted.

    >>> _interrupt_words({"the model": "m", "the report": "r.html"}, {"the model"})
    'Stopped; written: the model m; not written: the report r.html.'
    """
    if "-" in paths.values():
        return "Stopped; what went to standard output may be incomplete."
    if not written:
        return "Stopped; nothing was written."
    done = [f"{what} {path}" for what, path in paths.items() if what in written]
    left = [f"{what} {path}" for what, path in paths.items() if what not in written]
    again = left and "the checkpoint" in written
    text = f"Stopped; written: {', '.join(done)}" + (f"; not written: {', '.join(left)}." if left else ".")
    return text + (" Run the same command again to continue from the checkpoint." if again else "")


def _is_out_of_memory(error: BaseException) -> bool:
    """Whether the machine, or a limit of the process, refused memory or a thread."""
    signs = ("cannot allocate memory", "failed to map segment", "can't start new thread", "unable to allocate")
    known = isinstance(error, ImportError | RuntimeError | OSError | SystemError)
    return isinstance(error, MemoryError) or (known and any(sign in str(error).lower() for sign in signs))


def _of_arrow(error: BaseException) -> bool:
    return any(str(cls.__module__).startswith("pyarrow") for cls in type(error).__mro__)


def flags(column: str) -> dict[str, str]:
    """What hints call the settings that would help, for those who type commands.

    >>> flags("price")["category"]
    '--as price=category'
    """
    return {name: f"--as {column}={kind}" for name, kind in KINDS_IN_HINTS.items()} | {
        "comma_or_point": "--decimal ',' or --decimal '.'",
        "date_format": "--date-format, such as %d/%m/%Y or %m/%d/%Y",
        "decimal": "--decimal",
        "drop": "--drop",
        "encoding": "--encoding",
        "grid": "Extend the grid with --kernel or --alphas",
        "kind": "--as COLUMN=KIND",
        "new_sign": "Set the decimal sign of this table: --decimal ',' or --decimal '.'",
        "missing": "; for fit there is also --missing drop, mean or mark",
        "others": "Extend the grid with --kernel or --alphas",
        "rows": "Fit it without --without-data",
        "separator": "--separator",
        "style": "--decimal",
        "without": " with --drop",
    }


def words(error: Exception) -> str:
    """One sentence for an error.

    >>> words(OSError(28, "No space left on device", "model.mercer"))
    "'model.mercer' cannot be written: no space left on device."
    """
    if isinstance(error, MercerError):
        return " ".join(error.in_terms(flags).split())
    said = " ".join(str(error).split())
    if _is_out_of_memory(error):
        return (
            "Out of memory. Use fewer rows or columns, or set --memory-limit to less than the free memory: a fit that "
            "is too large then stops before it starts."
        )
    if _of_arrow(error):
        return f"pyarrow cannot read or write this table: {said.rstrip('.')}. Drop or convert the column that it names."
    if isinstance(error, OSError) and error.strerror:
        place = repr(str(error.filename)) if error.filename else "the output"
        act, reason = "read" if error.errno == errno.ENOENT else "written", error.strerror
        reason = reason[0].lower() + reason[1:]
        return f"{place} cannot be {act}: {reason}."
    if isinstance(error, ValueError) and said:
        return said
    return (
        f"Internal error, {type(error).__name__}: {said}. Please report it; MERCER_TRACEBACK=1 shows where it happened."
    )
