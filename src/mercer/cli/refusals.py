"""What the command line writes, safe for a terminal; what goes wrong is one sentence on stderr and an exit code."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from mercer.errors import printable

# Data, settings, files and memory that are refused end with 2, as click's usage errors do; Ctrl-C, and what is no
# fault of the input, with 1.
REFUSED, BROKEN_OFF = 2, 1


def say(text: str, *, head: str = "", colour: str = "", err: bool = False, file: IO[Any] | None = None) -> None:
    """Write text to stdout or stderr: the one place where the command line writes words and JSON.

    Names, cells, paths and strings of model files come from strangers. What cannot be printed in them is escaped here,
    so that no terminal takes it for a command; only `head`, which is ours, has a colour.
    """
    styled = f"{click.style(head, fg=colour)} " if head else ""
    click.echo(styled + printable(text, lines=True), err=err, file=file)


class Refusal(click.ClickException):
    """One sentence, and the end."""

    exit_code = REFUSED

    def show(self, file: IO[Any] | None = None) -> None:
        """Say it on stderr."""
        say(self.message, head="mercer:", colour="red", err=True, file=file)


class BrokenOff(Refusal):
    """An end that is no fault of the input."""

    exit_code = BROKEN_OFF


class Told(click.Group):
    """A group of commands that end with a sentence where something is refused."""

    def make_context(self, *given: Any, **named: Any) -> click.Context:
        """Read the words before the command."""
        with _printable_usage():
            return super().make_context(*given, **named)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        from mercer.errors import MercerError

        try:
            with _printable_usage():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            raise BrokenOff("Stopped; nothing was written.") from None
        except BrokenPipeError:
            raise  # whoever read has heard enough; click ends quietly
        except Exception as error:
            if os.environ.get("MERCER_TRACEBACK"):
                raise
            ours = isinstance(error, MercerError | OSError | MemoryError | ValueError)
            raise (Refusal(words(error)) if ours else BrokenOff(words(error))) from error


@contextmanager
def _printable_usage() -> Iterator[None]:
    """Escape what click quotes from the command line, such as options that do not exist."""
    try:
        yield
    except click.ClickException as error:
        vars(error)["message"] = printable(error.message)  # click's own `show` prints it
        raise


def words(error: Exception) -> str:
    """One sentence for an error.

    >>> words(OSError(28, "No space left on device", "model.mercer"))
    "'model.mercer' cannot be written: no space left on device."
    """
    from mercer.errors import MercerError

    said = " ".join(str(error).split())
    if isinstance(error, MercerError):
        return said
    if isinstance(error, MemoryError):
        return "There is not enough memory. Use fewer rows or columns, or --memory-limit to be told beforehand."
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror[0].lower() + error.strerror[1:]
        place = repr(str(error.filename)) if error.filename else "the output"
        act = "read" if error.errno == errno.ENOENT else "written"
        return f"{place} cannot be {act}: {reason}."
    if isinstance(error, ValueError) and said:
        return said
    return (
        f"An error of mercer's own, {type(error).__name__}: {said}. Please report it; "
        "MERCER_TRACEBACK=1 shows where it happened."
    )
