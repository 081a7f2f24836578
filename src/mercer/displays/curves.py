"""Error against complexity and against the number of rows, and its parts: bias, variance and noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv, learning_curve
from sklearn.pipeline import Pipeline

from mercer.data.rows import AlphaLike, Array, Estimator, Seed, SplitsLike, XLike, YLike
from mercer.displays.look import BLACK, BLUE, GREEN, GREY, VERMILION, Display, fill_band
from mercer.errors import refuse_if
from mercer.estimators import cross_validate
from mercer.insight.bias_variance import BiasVariance, bias_variance
from mercer.runtime.progress import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _Curves(Display):
    """Losses in training and on rows held out, over the same values."""

    values: Array
    train: Array
    held_out: Array
    held_out_error: Array
    x_label: str
    y_label: str

    def _draw(self, ax: Axes) -> tuple[str, str]:
        low, high = self.held_out - self.held_out_error, self.held_out + self.held_out_error
        if np.isfinite(self.held_out_error).all():
            fill_band(ax, self.values, low, high, VERMILION, "one standard error")
        ax.plot(self.values, self.held_out, "-o", color=VERMILION, markersize=4, linewidth=1.8, label="held out")
        ax.plot(self.values, self.train, "--s", color=BLUE, markersize=4, linewidth=1.8, label="training")
        self._mark_best(ax)
        return self.x_label, self.y_label

    def _mark_best(self, ax: Axes) -> None:
        """Nothing, where there is no best value."""


def _measure(estimator: Estimator) -> tuple[str, float, Any]:
    """The name of the loss, the score of a model without loss, and the scorer."""
    if is_classifier(estimator):
        return "share of wrong labels", 1.0, get_scorer("accuracy")
    return "mean squared error", 0.0, get_scorer("neg_mean_squared_error")


class ComplexityDisplay(_Curves, grid="both", legend={}):
    """Error in training and on rows held out, over alpha or another parameter: the U-shaped curve.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Of the parameter.
    train, held_out, held_out_error : ndarray of shape (k,)
        Errors, and the standard error of those held out.
    x_label, y_label : str
        Names of the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.displays import ComplexityDisplay
    >>> X = np.linspace(0.0, 6.0, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.3 * np.cos(25.0 * X[:, 0])
    >>> display = ComplexityDisplay.from_estimator(KernelRidge(kernel="rbf"), X, y, np.logspace(-6, 2, 9))
    >>> bool((display.train < display.held_out).all())
    True
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: XLike,
        y: YLike,
        values: Sequence[float] | Array,
        *,
        parameter: str = "alpha",
        cv: SplitsLike = 10,
        repeats: int = 1,
        random_state: Seed = None,
        x_label: str | None = None,
        y_label: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Fit and cross-validate at every value, and draw.

        Parameters
        ----------
        estimator : estimator
            Cross-validated in closed form where it is ours.
        X, y : array-like
            Rows and targets.
        values : sequence of float
            Of the parameter.
        parameter : str, default="alpha"
            As `set_params` knows it, such as "kernel__width"; of a Pipeline also that of its last step.
        cv, repeats, random_state
            As for `mercer.cross_validate`.
        x_label, y_label : str, default=None
            With units.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        ComplexityDisplay
        """
        points = np.array(values, dtype=np.float64)
        refuse_if(points.ndim != 1 or not points.size, "values of ComplexityDisplay", "a list of numbers", repr(values))
        points.sort()
        losses, progress = [], Progress("complexity", len(points), verbose=0)
        inner = isinstance(estimator, Pipeline) and parameter not in estimator.get_params()
        full_name = f"{estimator.steps[-1][0]}__{parameter}" if inner else parameter
        name, base, score = _measure(estimator)
        for value in points:
            model = clone(estimator).set_params(**{full_name: float(value)})
            result = cross_validate(model, X, y, cv=cv, repeats=repeats, random_state=random_state)
            losses.append((base - score(model.fit(X, y), X, y), base - result.mean, result.standard_error))
            progress.step()
        train, held_out, error = np.transpose(losses)
        return cls(points, train, held_out, error, x_label or parameter, y_label or name).plot(ax)

    def _mark_best(self, ax: Axes) -> None:
        best = self.values[int(np.argmin(self.held_out))]
        label = f"least held-out loss, at {self.x_label} = {best:.3g}"
        ax.axvline(best, color=BLACK, linestyle=":", linewidth=1.2, label=label)
        if self.values[0] > 0 and self.values[-1] / self.values[0] > 20:
            ax.set_xscale("log")


class LearningCurveDisplay(_Curves, grid="both", legend={}):
    """Error in training and on rows held out, over the number of rows trained on.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Rows trained on.
    train, held_out, held_out_error : ndarray of shape (k,)
        Errors, and the standard error of those held out.
    x_label, y_label : str
        Names of the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.displays import LearningCurveDisplay
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> display = LearningCurveDisplay.from_estimator(
    ...     KernelRidge(0.1, kernel="rbf"), X, np.sin(X[:, 0]), sizes=[10, 20, 40], random_state=0
    ... )
    >>> display.values.tolist()
    [10, 20, 40]
    """

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: XLike,
        y: YLike,
        *,
        sizes: Sequence[float] | Array | None = None,
        cv: SplitsLike = 5,
        random_state: Seed = None,
        x_label: str = "rows trained on",
        y_label: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Fit to more and more rows, and draw.

        Parameters
        ----------
        estimator : estimator
            Refitted for every size and fold.
        X, y : array-like
            Rows and targets.
        sizes : sequence of int, or of shares of the training rows, default=None
            None: eight shares from 0.1 to 1.
        cv : int or splitter, default=5
            Folds.
        random_state : int or None, default=None
            Of the order in which rows are taken.
        x_label, y_label : str
            With units.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        LearningCurveDisplay
        """
        name, base, scorer = _measure(estimator)
        folds = check_cv(cv, y, classifier=is_classifier(estimator))
        sizes = np.linspace(0.1, 1.0, 8) if sizes is None else sizes
        progress = Progress("learning curve", 2 * np.size(sizes) * folds.get_n_splits(X, y), verbose=0)

        def score(model: Estimator, rows: XLike, targets: YLike) -> float:
            progress.step()
            return float(scorer(model, rows, targets))

        counts, train, test = learning_curve(
            estimator, X, y, train_sizes=sizes, cv=folds, shuffle=True, random_state=random_state, scoring=score,
            error_score="raise",
        )[:3]  # fmt: skip
        progress.finish()
        error = test.std(axis=1, ddof=1) / np.sqrt(test.shape[1])
        means = base - train.mean(axis=1), base - test.mean(axis=1)
        return cls(counts, *means, error, x_label, y_label or name).plot(ax)


_LINES = (
    ("risk", "risk", BLACK, "-", "o"),
    ("bias_squared", "bias squared", BLUE, "--", "s"),
    ("variance", "variance", VERMILION, "-.", "^"),
    ("noise", "noise", GREEN, ":", ""),
)


class BiasVarianceDisplay(Display, grid="both", legend={}):
    """The parts of the risk as curves.

    Parameters
    ----------
    result : BiasVariance
        Of `mercer.bias_variance`.
    x : ndarray or None
        What the test rows are drawn over where there is one alpha; None is their number.
    x_label, y_label : str or None
        Names of the axes, with units.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, bias_variance
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> result = bias_variance(
    ...     KernelRidge(kernel="rbf"), X, lambda X: np.sin(X[:, 0]), 0.3, alphas=np.logspace(-3, 2, 11)
    ... )
    >>> result.plot().ax_.get_xlabel()
    'alpha'
    """

    result: BiasVariance
    x: Array | None = None
    x_label: str | None = None
    y_label: str | None = None

    @classmethod
    def from_result(
        cls,
        result: BiasVariance,
        *,
        x: Sequence[float] | Array | None = None,
        x_label: str | None = None,
        y_label: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """A decomposition that is there already.

        Parameters
        ----------
        result : BiasVariance
            Of `mercer.bias_variance`.
        x : array-like of shape (m,), default=None
            Where the test rows lie, for a result of one alpha.
        x_label, y_label : str, default=None
            With units.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        BiasVarianceDisplay
        """
        place = None if x is None else np.asarray(x, dtype=np.float64).ravel()
        return cls(result, place, x_label, y_label).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: XLike,
        truth: Any,
        noise: Any,
        *,
        alphas: AlphaLike = None,
        X_test: XLike = None,
        ax: Axes | None = None,
    ) -> Self:
        """Decompose and draw.

        Parameters
        ----------
        estimator, X, truth, noise, alphas, X_test
            As for `mercer.bias_variance`.
        ax : matplotlib Axes, default=None
            Where; None is a new figure.

        Returns
        -------
        BiasVarianceDisplay
        """
        return cls.from_result(bias_variance(estimator, X, truth, noise, alphas=alphas, X_test=X_test), ax=ax)

    def _draw(self, ax: Axes) -> tuple[str, str]:
        result, alphas = self.result, self.result.alphas
        m = result.risk_at.shape[-1]
        x = alphas if alphas is not None else np.arange(1, m + 1) if self.x is None else self.x
        order = np.argsort(x, kind="stable")
        for name, label, colour, style, marker in _LINES:
            values = np.broadcast_to(getattr(result, f"{name}_at" if alphas is None else name), x.shape)[order]
            ax.plot(
                x[order], values, linestyle=style, marker="" if alphas is None else marker, color=colour,
                linewidth=1.8, markersize=4, label=label,
            )  # fmt: skip
            errors = (result.standard_errors or {}).get(name)
            if errors is not None and alphas is not None:
                fill_band(ax, x[order], values - errors[order], values + errors[order], colour)
        own = "test row" if self.x is None else "x"
        if alphas is not None:
            best, own = float(alphas[np.argmin(result.risk)]), "alpha"
            label = f"least risk, at alpha = {best:.3g}"
            ax.axvline(best, color=GREY, linestyle=(0, (1, 2)), linewidth=1.4, label=label, zorder=1)
            if x.min() > 0:
                ax.set_xscale("log")
        return self.x_label or own, self.y_label or "expected squared loss"
