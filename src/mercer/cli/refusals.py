"""Whatever goes wrong becomes one sentence on stderr and an exit code, never a traceback."""

from __future__ import annotations

import errno
import os
from typing import IO, Any

import click

# Data, settings, files and memory that are refused end with 2, as click's usage errors do; Ctrl-C, and what is no
# fault of the input, with 1.
REFUSED, BROKEN_OFF = 2, 1


class Refusal(click.ClickException):
    """One sentence, and the end."""

    exit_code = REFUSED

    def show(self, file: IO[Any] | None = None) -> None:
        """Say it on stderr."""
        click.echo(f"{click.style('mercer:', fg='red')} {self.message}", err=True, file=file)


class BrokenOff(Refusal):
    """An end that is no fault of the input."""

    exit_code = BROKEN_OFF


class Told(click.Group):
    """A group of commands that end with a sentence where something is refused."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        from mercer.errors import MercerError

        try:
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
