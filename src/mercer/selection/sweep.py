"""Held-out predictions of every kernel and alpha, one after the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.runtime import each, single_threaded_blas, threads
from mercer.selection.heldout import HeldOut, KernelSystem
from mercer.selection.iterated import Candidate, Generalised, Refitted
from mercer.selection.plan import Plan
from mercer.selection.problem import Problem, Removals

ITERATED: dict[str, type[Generalised | Refitted]] = {"gcv": Generalised, "cg": Refitted}
_TINY = 200  # rows, left out one by one


def _one_thread(*, held: bool) -> AbstractContextManager[None]:
    return single_threaded_blas() if held else nullcontext()


@dataclass(frozen=True, eq=False)
class Sweep:
    """Candidates and what they are tried on.

    Attributes
    ----------
    kernels : sequence of Kernel
        Candidates.
    alphas : ndarray of shape (m,)
        Tried with each of them.
    rows : Rows
        All rows, in the order of the problem.
    problem : Problem
        Targets, weights, intercept.
    removals : Removals
        What is left out.
    plan : Plan
        By which route.
    """

    kernels: Sequence[Kernel]
    alphas: Array
    rows: Rows
    problem: Problem
    removals: Removals
    plan: Plan

    @property
    def iterated(self) -> bool:
        """Whether nothing is factored, and every product is shared out to all threads."""
        return self.plan.chosen.name in ITERATED

    def system(self, kernel: Kernel) -> Candidate:
        """The matrices of one kernel."""
        chosen = self.plan.chosen.name
        if chosen in ITERATED:
            return ITERATED[chosen](kernel, self.rows, self.problem, self.removals)
        side_by_side = chosen == "spectral" and self.plan.work.batch(chosen) > 1
        with _one_thread(held=side_by_side):
            return KernelSystem(kernel, self.rows, self.problem, self.removals, chosen, whole=self.plan.work.whole)

    def held_out(self, system: Candidate, alpha: float) -> HeldOut:
        """One candidate. How many threads BLAS has is the plan's business: sums are taken in another order with
        more, and a candidate that is done again must come out the same to the last bit.
        """
        work = self.plan.work
        with _one_thread(held=not self.iterated and work.batch(self.plan.chosen.name) * work.alphas > 1):
            return system.at(alpha)

    def run(
        self, skip: Sequence[bool] | None = None, *, by_kernel: bool = False
    ) -> Generator[tuple[int, int, HeldOut]]:
        """The number of a kernel, that of an alpha, and what they predict, for every candidate.

        Candidates of a few kernels run side by side, each on one thread; `by_kernel`, one kernel is completed before
        the next begins.
        """
        wanted = [k for k in range(len(self.kernels)) if skip is None or not skip[k]]
        work, name = self.plan.work, self.plan.chosen.name
        batch = 1 if by_kernel else work.batch(name)
        for start in range(0, len(wanted), batch):
            kernels = {k: self.kernels[k] for k in wanted[start : start + batch]}
            # eigendecompositions side by side, one thread each; Gram matrices one by one, by tiles on all threads
            made = (
                each(self.system, list(kernels.values())) if name == "spectral" else map(self.system, kernels.values())
            )
            systems = dict(zip(kernels, made, strict=True))
            jobs = [(k, a) for k in kernels for a in range(len(self.alphas))]
            if self.iterated:  # all threads for each, from the best conditioned on
                jobs.sort(key=lambda job: -float(self.alphas[job[1]]))

            def held_out(job: tuple[int, int], systems: dict[int, Candidate] = systems) -> HeldOut:
                return self.held_out(systems[job[0]], float(self.alphas[job[1]]))

            # hardly any arithmetic: threads would wait for each other
            with threads(1) if work.single and work.n <= _TINY else nullcontext():
                found = map(held_out, jobs) if self.iterated else each(held_out, jobs)
                yield from ((k, a, values) for (k, a), values in zip(jobs, found, strict=True))
            systems.clear()  # before the next ones are made
