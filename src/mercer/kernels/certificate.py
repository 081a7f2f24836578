"""The argument that a kernel is (or is not) a Mercer kernel, as a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

_WORDS = {True: "valid", False: "not valid", None: "unknown"}


@dataclass(frozen=True)
class Certificate:
    """One step of the argument, and the steps it rests on.

    Attributes
    ----------
    kernel : Kernel
        What the step is about.
    valid : bool or None
        True: every Gram matrix is positive semi-definite. False: some are not. None: unknown.
    reason : str
        The rule or fact.
    parts : tuple of Certificate
        The same for each kernel it is made of.
    """

    kernel: Kernel
    valid: bool | None
    reason: str
    parts: tuple[Certificate, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._lines(0))

    def _lines(self, depth: int) -> list[str]:
        pad = "  " * depth
        lines = [f"{pad}{_WORDS[self.valid]}: {self.kernel!r}", f"{pad}  because {self.reason}"]
        for part in self.parts:
            lines += part._lines(depth + 1)
        return lines


def certify(kernel: Kernel) -> Certificate:
    """The proof tree of a kernel: its own verdict over those of its members."""
    valid, reason = kernel.verdict()
    parts = tuple(certify(member) for member in kernel.members().values())
    return Certificate(kernel, valid, reason, parts)
