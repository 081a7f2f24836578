"""Go through every kernel and alpha once; what to make of the held-out predictions is the caller's business."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from mercer.backends import run, single_threaded_blas, threads
from mercer.backends.progress import Progress
from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
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

    def _share_out(self, work: Callable[[tuple[int, int]], None], jobs: list[tuple[int, int]]) -> None:
        """Candidates to the threads; those that need them all one by one, from the best conditioned on."""
        if not self.iterated:
            run(work, jobs)
            return
        for job in sorted(jobs, key=lambda job: -float(self.alphas[job[1]])):
            work(job)

    def run(
        self,
        consume: Callable[[int, int, HeldOut], None],
        *,
        finished: Callable[[int], None] | None = None,
        skip: Sequence[bool] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Call `consume(kernel, alpha, held out)` for every candidate, and `finished(kernel)` after its last alpha.

        Candidates of a few kernels run side by side, each on one thread; with `finished`, one kernel is
        completed before the next begins.
        """
        wanted = [k for k in range(len(self.kernels)) if skip is None or not skip[k]]
        batch = 1 if finished is not None else self.plan.work.batch(self.plan.chosen.name)
        for start in range(0, len(wanted), batch):
            numbers = wanted[start : start + batch]
            systems: dict[int, Candidate] = {}

            def prepare(k: int, systems: dict[int, Candidate] = systems) -> None:
                systems[k] = self.system(self.kernels[k])

            # eigendecompositions side by side, one thread each; Gram matrices one by one, by tiles on all threads
            if self.plan.chosen.name == "spectral":
                run(prepare, numbers)
            else:
                for k in numbers:
                    prepare(k)

            def try_one(job: tuple[int, int], systems: dict[int, Candidate] = systems) -> None:
                k, a = job
                consume(k, a, self.held_out(systems[k], float(self.alphas[a])))
                if progress is not None:
                    progress.step()

            work = self.plan.work
            # hardly any arithmetic: threads would wait for each other
            with threads(1) if work.single and work.n <= _TINY else nullcontext():
                self._share_out(try_one, [(k, a) for k in numbers for a in range(len(self.alphas))])
            systems.clear()  # before the next ones are made
            if finished is not None:
                for k in numbers:
                    finished(k)
