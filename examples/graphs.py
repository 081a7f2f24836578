"""A kernel for objects of your own: graphs, by the Weisfeiler-Lehman subtree kernel.

A graph can be any object; here it is a pair of lists, the label of each node and its neighbours. In every round
each node takes a new label that says what it is and what surrounds it; graphs are similar when they share many
labels. Words() does the counting, and everything else in mercer takes the kernel from there.
"""

from __future__ import annotations

from typing import Any, ClassVar

from mercer.data import as_rows
from mercer.kernels import Kernel, Words

Graph = tuple[list[str], list[list[int]]]  # labels, and the neighbours of each node


class WeisfeilerLehman(Kernel):
    """How many labels two graphs share after 0, 1, ... `rounds` rounds."""

    kind: ClassVar[str] = "objects"
    mercer: ClassVar[bool | None] = True
    because: ClassVar[str] = "it is a scalar product of explicit features: how often each label occurs"

    rounds: int = 2

    def block(self, pair: Any) -> Any:
        """Shared labels of all graphs on one side with all on the other; labels are made once."""
        return Words().values(pair.mapped(self, lambda graphs: as_rows(list(map(self.labels, graphs)), objects=True)))

    def labels(self, graph: Graph) -> list[str]:
        """All labels of a graph, in one bag."""
        labels, neighbours = graph
        bag = list(labels)
        for _ in range(self.rounds):
            around = [sorted(labels[other] for other in others) for others in neighbours]
            labels = [f"{label}({' '.join(others)})" for label, others in zip(labels, around, strict=True)]
            bag += labels
        return bag


def chain(atoms: str) -> Graph:
    """A molecule without branches."""
    return list(atoms), [[j for j in (i - 1, i + 1) if 0 <= j < len(atoms)] for i in range(len(atoms))]


def main() -> None:
    """Tell alcohols from ethers."""
    from mercer import KernelRidgeClassifierCV

    alcohols = [chain("C" * n + "O") for n in range(2, 8)]
    ethers = [chain("C" * n + "O" + "C" * m) for n in range(1, 4) for m in range(n, 4)]
    y = ["alcohol"] * len(alcohols) + ["ether"] * len(ethers)
    kernels = [WeisfeilerLehman(rounds).normalized() for rounds in (0, 1, 2)]
    search = KernelRidgeClassifierCV(kernels, alphas=[0.01, 0.1, 1.0]).fit(alcohols + ethers, y)
    print(search.summary())
    print("CCCCCCCCCCO:", search.predict([chain("C" * 10 + "O")])[0])


if __name__ == "__main__":
    main()
