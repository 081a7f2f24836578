"""A report about a fitted model: one HTML file that opens anywhere, loads nothing and prints well."""

from __future__ import annotations

import os
from typing import Any

from mercer.data.checks import keyword_hints
from mercer.data.rows import Estimator, PerRow, XLike, YLike
from mercer.estimators.auto_members import refuse_extra
from mercer.report.evaluation import ModelEvaluation
from mercer.report.facts import Origin
from mercer.report.subject import Subject

__all__ = ["Origin", "write_report"]


@keyword_hints
def write_report(
    model: Estimator,
    X: XLike,
    y: YLike,
    path: str | os.PathLike[str],
    *,
    evaluation: Any = None,
    target: str = "y",
    sample_weight: PerRow = None,
    groups: PerRow = None,
    origin: Origin | None = None,
) -> None:
    """Write a report about a fitted model: summary, data, model selection, out-of-sample error, predictions, warnings.

    The file stands alone: it loads nothing from elsewhere and holds no script. It appears whole or not at all.

    Parameters
    ----------
    model : AutoRegressor, AutoClassifier, KernelRidgeCV or KernelRidgeClassifierCV
        Fitted to these rows.
    X, y : table and array-like of shape (n_samples,)
        The rows and targets of the fit.
    path : str or path
        Where to; a file that is there is replaced.
    evaluation : object, default=None
        The outer loop, if you have run it: what `evaluate` of an automatic model or `nested_cross_validate`
        returned. Without it a search is nested here, and an automatic model is judged by its out-of-fold error.
    target : str, default="y"
        What y is called, with its unit if it has one.
    sample_weight, groups : array-like of shape (n_samples,), default=None
        As given to the fit of a search.
    origin : Origin, default=None
        Where the table came from, for the last section.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV
    >>> from mercer.report import write_report
    >>> X = np.random.default_rng(0).uniform(0.0, 6.0, size=(40, 1))
    >>> y = np.sin(X[:, 0])
    >>> search = KernelRidgeCV("gaussian", [1e-3, 1e-2], cv=5, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(search, X, y, Path(folder) / "sine.html", target="height (m)")
    ...     (Path(folder) / "sine.html").read_text()[:15]
    '<!doctype html>'
    """
    from mercer.report.rendering import page
    from mercer.runtime.disk import check_path, write_whole

    place = check_path(path, "report")
    refuse_extra(model, "The report")
    subject = Subject(model, X, y, target=target, weights=sample_weight, groups=groups)
    text = page(ModelEvaluation(subject, evaluation, origin or Origin()))
    write_whole(place, [text.encode("utf-8", "replace")], "report")
