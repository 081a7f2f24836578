"""Held-out predictions of every kernel and alpha, one after the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from typing import Protocol

from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.runtime import blas_for, each, single_threaded_blas, threads
from mercer.selection.heldout import HeldOut, KernelSystem
from mercer.selection.iterated import Generalized, Refitted
from mercer.selection.plan import Plan
from mercer.selection.problem import Problem, Removals, UsedSets

ITERATED: dict[str, type[Generalized | Refitted]] = {"gcv": Generalized, "cg": Refitted}
_TINY = 200  # rows, left out one by one


class TriedKernel(Protocol):
    """One kernel, tried with one alpha after the other: `KernelSystem`, `Generalized` or `Refitted`."""

    def at(self, alpha: float) -> HeldOut:
        """Held-out predictions."""


def _one_thread(rows: int, *, held: bool) -> AbstractContextManager[None]:
    return single_threaded_blas() if held else blas_for(rows)


class Candidates:
    """Kernels and alphas, and the rows and removals they are tried on.

    Parameters
    ----------
    kernels : sequence of Kernel
        Candidates.
    alphas : ndarray of shape (m,)
        Tried with each of them.
    rows : Rows
        All rows.
    problem : Problem
        Targets, weights, intercept of the same rows.
    removals : Removals
        What is left out; sets of consecutive rows are fastest.
    plan : Plan
        By which route.
    errors_only : bool, default=False
        Whether only differences between predictions and targets count where all candidates are tried.
    ranks : bool, default=False
        Whether the order and the equality of predictions count.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        alphas: Array,
        rows: Rows,
        problem: Problem,
        removals: Removals,
        plan: Plan,
        *,
        errors_only: bool = False,
        ranks: bool = False,
    ) -> None:
        self.ranks = ranks
        self.kernels, self.alphas = kernels, alphas
        self.rows, self.problem, self.removals = rows, problem, removals
        self.route, self.work, self.errors_only = plan.chosen.name, plan.work, errors_only

    @property
    def iterated(self) -> bool:
        """Whether nothing is factored, and every product is shared out to all threads."""
        return self.route in ITERATED

    @cached_property
    def _sets(self) -> UsedSets:
        return UsedSets(self.problem, self.removals)

    def system(self, kernel: Kernel, *, fast: bool = False) -> TriedKernel:
        """The matrices of one kernel; predictions have all their digits, or with `fast` those that the scores need."""
        data = kernel, self.rows, self.problem, self.removals
        if self.iterated:
            return ITERATED[self.route](*data)
        side_by_side = self.route == "spectral" and self.work.batch(self.route) > 1
        with _one_thread(self.work.n, held=side_by_side):
            whole, sets = self.work.whole, self._sets
            ranks = self.ranks or (self.problem.labels and not fast)
            errors_only = self.errors_only and fast
            return KernelSystem(*data, self.route, whole=whole, sets=sets, errors_only=errors_only, ranks=ranks)

    def held_out(self, system: TriedKernel, alpha: float) -> HeldOut:
        """Held-out predictions of one kernel and alpha.

        The plan says how many threads BLAS has: sums are taken in another order with more of them, and a candidate
        that is done again must come out the same to the last bit.
        """
        many = self.work.batch(self.route) * self.work.alphas > 1
        with _one_thread(self.work.n, held=many and not self.iterated):
            return system.at(alpha)

    def all_held_out(
        self, skip: Sequence[bool] | None = None, *, by_kernel: bool = False
    ) -> Generator[tuple[int, int, HeldOut]]:
        """The number of a kernel, that of an alpha, and what they predict, for every candidate.

        Candidates of a few kernels run side by side, each on one thread; `by_kernel`, one kernel is completed before
        the next begins.
        """
        make = partial(self.system, fast=True)
        wanted = [k for k in range(len(self.kernels)) if skip is None or not skip[k]]
        batch = 1 if by_kernel else self.work.batch(self.route)
        for start in range(0, len(wanted), batch):
            numbers = wanted[start : start + batch]
            kernels = [self.kernels[k] for k in numbers]
            # eigendecompositions side by side, one thread each; Gram matrices one by one, by tiles on all threads
            made = each(make, kernels) if self.route == "spectral" else map(make, kernels)
            systems = dict(zip(numbers, made, strict=True))
            jobs = [(k, a) for k in numbers for a in range(len(self.alphas))]
            if self.iterated:  # all threads for each, from the best conditioned on
                jobs.sort(key=lambda job: -float(self.alphas[job[1]]))

            def held_out(job: tuple[int, int], systems: dict[int, TriedKernel] = systems) -> HeldOut:
                return self.held_out(systems[job[0]], float(self.alphas[job[1]]))

            # hardly any arithmetic: threads would wait for each other
            with threads(1) if self.work.single and self.work.n <= _TINY else nullcontext():
                found = map(held_out, jobs) if self.iterated else each(held_out, jobs)
                yield from ((k, a, values) for (k, a), values in zip(jobs, found, strict=True))
            systems.clear()  # before the next ones are made
