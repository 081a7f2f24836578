"""Searches that run while the page shows how far they are; each can be stopped."""

from __future__ import annotations

import secrets
import threading
import time
from typing import Any

import numpy as np

from mercer.data.rows import Estimator
from mercer.errors import InputError, MercerError
from mercer.estimators.evaluation import nested_cross_validate
from mercer.lab.answers import ALPHAS, WIDTHS, around, as_error, errors_of, quiet
from mercer.lab.questions import Answer, Question
from mercer.runtime.progress import Listener, listening
from mercer.text import round_numbers

_RUNNING, _KEPT = 2, 8
_FOLDS = 5
_ENDING = 1.0  # seconds that searches have to end in


class Stopped(MercerError):
    """The page does not want the result any more."""


class SearchJob:
    """A search with its nested cross-validation.

    Attributes
    ----------
    question : Question
        What is searched for.
    told : str
        How far it is, in words.
    share : float
        The share of the work that is done.
    result : dict or None
        What was found.
    error : str
        Why it failed.
    search : KernelRidgeCV or KernelRidgeClassifierCV or None
        Fitted.
    nested : Outcome or None
        Of that search.
    """

    def __init__(self, asked: object) -> None:
        self.question, self.told, self.share, self.error = Question(asked), "starting", 0.0, ""
        self.result: Answer | None = None
        self.search: Estimator = None
        self.nested: Any = None
        self.stop, self.thread = threading.Event(), threading.Thread(target=self.run, daemon=True)

    @property
    def running(self) -> bool:
        """True while the search runs."""
        return self.thread.is_alive()

    def state(self) -> Answer:
        """What the page shows."""
        shown = {name: getattr(self, name) for name in ("running", "told", "share", "result", "error")}
        return shown | {"stopped": self.stop.is_set()}

    def end(self) -> Answer:
        """Stop the search; what the page shows then."""
        self.stop.set()
        return self.state()

    def run(self) -> None:
        """Search, then nest the search."""
        try:
            with quiet, np.errstate(all="ignore"):
                self._run()
        except Stopped:
            self.told = "stopped"
        except MercerError as error:
            self.error = str(error)
        except Exception as error:  # noqa: BLE001 - a thread has nobody else to tell
            self.error = f"The search failed: {type(error).__name__}."

    def _heard(self, base: float, width: float) -> Listener:
        def heard(what: str, done: int, total: int | None) -> None:
            self._go_on()
            self.told = f"{what}: {done}" + (f" of {total}" if total else "")
            self.share = max(self.share, base + width * (done / total if total else 0.0))

        return heard

    def _run(self) -> None:
        question = self.question
        with listening(self._heard(0.0, 0.3)):
            search, errors = errors_of(question, around(question.kernel))
        self._go_on()
        self.search, self.share = search, 0.3
        with listening(self._heard(0.3, 0.7)):
            folds = min(_FOLDS, len(question.y))
            nested = nested_cross_validate(search, question.X, question.y, cv=folds, random_state=0)
        self._go_on()
        error, best = float(as_error(nested.mean, question)), float(errors.ravel()[search.best_index_])
        slope = 1.0 if question.labels else 0.5 / max(error, 1e-300)
        self.nested = nested
        self.result = {
            "kernel": round_numbers(repr(search.best_kernel_)),
            "alpha": float(search.alpha_),
            "kernels": [repr(kernel) for kernel in search.kernels_],
            "factors": WIDTHS,
            "alphas": ALPHAS,
            "errors": errors,
            "best": best,
            "nested": error,
            "standard_error": slope * float(nested.standard_error),
            "optimism": error - best,
        }
        self.share, self.told = 1.0, "done"

    def _go_on(self) -> None:
        if self.stop.is_set():
            raise Stopped("stopped")


class Jobs:
    """The searches of a session: few run at once, and few are kept."""

    def __init__(self) -> None:
        self._jobs: dict[str, SearchJob] = {}  # the oldest first
        self._lock = threading.Lock()

    def start(self, asked: object) -> str:
        """A new search; its name."""
        job, name = SearchJob(asked), secrets.token_hex(8)
        with self._lock:
            if sum(each.running for each in self._jobs.values()) >= _RUNNING:
                raise InputError(f"{_RUNNING} searches are running. Stop one of them, or wait.")
            while len(self._jobs) >= _KEPT:
                oldest = next(key for key, each in self._jobs.items() if not each.running)
                del self._jobs[oldest]
            job.thread.start()
            self._jobs[name] = job
        return name

    def get(self, name: object) -> SearchJob:
        """The search of this name."""
        job = self._jobs.get(name) if isinstance(name, str) else None
        if job is None:
            raise InputError("This search is not kept any more. Run it again.")
        return job

    def close(self) -> None:
        """Stop all of them, and wait a moment for them to end."""
        for job in self._jobs.values():
            job.stop.set()
        end = time.monotonic() + _ENDING
        for job in self._jobs.values():
            job.thread.join(timeout=max(0.0, end - time.monotonic()))
