"""What can be taken from the page: a model file, a report, lines of Python, and the page itself without a server."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import numpy as np

from mercer import models
from mercer.errors import InputError, sentence
from mercer.lab.answers import estimator_of, fitted_model
from mercer.lab.jobs import Job
from mercer.lab.questions import Question, read_question
from mercer.report import write_report
from mercer.runtime.disk import write_whole

EXPORTS = ("model", "report", "python")
# The modules of the page, each after those that it imports.
MODULES = (
    "samples.js", "problems.js", "state.js", "kernels.js", "algebra.js", "systems.js", "losses.js", "local.js",
    "draw.js", "views.js", "hand.js", "play.js", "select.js", "tours.js", "app.js",
)  # fmt: skip
_LINKED = re.compile(r"^import [^;]*;\n|^export (?=const|class|function|async)", re.MULTILINE)
_SCRIPT = '<script type="module" src="app.js"></script>'


def export(what: str, asked: object, job: Job | None, folder: Path | None = None) -> bytes:
    """The bytes of a file, which is written to `folder` for the moment if it must be one."""
    question = read_question(asked)
    if what == "report" and question.loss != "squared":
        way = "Choose the squared loss, or export a model file or Python code."
        raise InputError(sentence("The loss of reports", "'squared'", repr(question.loss), way))
    if what == "report":
        return _report(job, folder)
    return _python_lines(question) if what == "python" else _model_file(question, folder)


def _through_file(folder: Path | None, write: Callable[[Path], None]) -> bytes:
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        path = Path(inside, "export")
        write(path)
        return path.read_bytes()


def _model_file(question: Question, folder: Path | None) -> bytes:
    """The model of the sliders, as `mercer.save` writes it."""
    model = fitted_model(question)
    return _through_file(folder, lambda path: models.save(model, path))


def _report(job: Job | None, folder: Path | None) -> bytes:
    """The report of a search that is done."""
    if job is None or job.result is None:
        raise InputError("There is no report before a search is done. Run the search first.")
    points = job.question.points
    if points.words:
        raise InputError("A report needs rows of numbers; these points are words.")
    X, search, nested = np.asarray(points.X), job.search, job.nested
    return _through_file(folder, lambda path: write_report(search, X, points.y, path, evaluation=nested, target="y"))


def _python_lines(question: Question) -> bytes:
    """Lines of Python that fit the same model to the same points."""
    points, (kind, settings) = question.points, estimator_of(question)
    more = ", ".join(f"{name}={value!r}" for name, value in ({"fit_intercept": question.intercept} | settings).items())
    x = points.X if points.words else np.asarray(points.X).tolist()
    lines = [
        "import numpy as np",
        f"from mercer import {kind.__name__}",
        "from mercer.kernels import parse",
        "",
        f"X = {x!r}" if points.words else f"X = np.array({x!r})",
        f"y = np.array({points.y.tolist()!r})",
        f"kernel = parse({repr(question.kernel)!r})",
        f"model = {kind.__name__}({question.alpha!r}, kernel=kernel, {more}).fit(X, y)",
        "print(model.predict(X))",
        "",
    ]
    return "\n".join(lines).encode()


def write_static(folder: Path) -> list[str]:
    """The page and its tours as plain files that need no server; the names of what was written.

    Nothing that is there is replaced: the folder must be new or empty. Either all of it is written or nothing.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{str(folder)!r} must be a new or an empty folder, so that nothing is replaced.")
    page = page_text("index.html").replace('data-edition="server"', 'data-edition="static"')
    written = {
        "index.html": page.replace(_SCRIPT, '<script defer src="lab.js"></script>'),
        "style.css": page_text("style.css"),
        "lab.js": bundle_modules(),
    }
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in written.items():
            write_whole(folder / name, [text.encode()], "page")
    except BaseException as problem:  # a page of which a part is missing is none
        for name in written:
            (folder / name).unlink(missing_ok=True)
        for each in new:
            with suppress(OSError):
                each.rmdir()
        if isinstance(problem, OSError):
            raise InputError(f"The folder {str(folder)!r} cannot be made: {problem.strerror or problem}.") from None
        raise
    return list(written)


def page_text(name: str) -> str:
    """A file of the page."""
    return files("mercer.lab").joinpath("page", name).read_text(encoding="utf-8")


def bundle_modules() -> str:
    """All modules as one script, which a browser also runs from a disk: modules it takes from servers alone."""
    parts = [_LINKED.sub("", page_text(name)) for name in MODULES]
    return "\n".join(['"use strict";', "(() => {", "const remoteEngine = null;", *parts, "})();", ""])
