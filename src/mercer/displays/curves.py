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
from mercer.displays.look import BLACK, BLUE, GREEN, GREY, VERMILION, Display, fill_band, grid_lines, label_axes
from mercer.errors import refuse_if
from mercer.estimators import cross_validate
from mercer.insight.bias_variance import BiasVariance, bias_variance
from mercer.runtime.progress import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _Curves(Display):
    """Two curves over the same values."""

    values: Array
    train: Array
    held_out: Array
    held_out_error: Array
    x_label: str
    y_label: str

    def _draw(self, ax: Axes) -> None:
        grid_lines(ax)
        low, high = self.held_out - self.held_out_error, self.held_out + self.held_out_error
        if np.isfinite(self.held_out_error).all():
            fill_band(ax, self.values, low, high, VERMILION, "one standard error")
        ax.plot(self.values, self.held_out, "-o", color=VERMILION, markersize=4, linewidth=1.8, label="held out")
        ax.plot(self.values, self.train, "--s", color=BLUE, markersize=4, linewidth=1.8, label="training")
        label_axes(ax, self.x_label, self.y_label)
        self._mark_best(ax)
        ax.legend(frameon=False)

    def _mark_best(self, ax: Axes) -> None:
        """Nothing, where there is no best value."""


class ComplexityDisplay(_Curves):
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
        points = np.asarray(values, dtype=np.float64)
        refuse_if(points.ndim != 1 or not points.size, "values of ComplexityDisplay", "a list of numbers", repr(values))
        errors, progress = np.empty((3, len(points))), Progress("complexity", len(points), verbose=0)
        inner = isinstance(estimator, Pipeline) and parameter not in estimator.get_params()
        full_name = f"{estimator.steps[-1][0]}__{parameter}" if inner else parameter
        for i, value in enumerate(points):
            model = clone(estimator).set_params(**{full_name: float(value)})
            result = cross_validate(model, X, y, cv=cv, repeats=repeats, random_state=random_state)
            held_out = 1.0 - result.mean if is_classifier(estimator) else -result.mean
            errors[:, i] = _loss(model.fit(X, y), X, y), held_out, result.standard_error
            progress.step()
        order = np.argsort(points, kind="stable")
        train, held, error = errors[:, order]
        names = x_label or parameter, y_label or _loss_name(estimator)
        return cls(points[order], train, held, error, *names).plot(ax)

    def _mark_best(self, ax: Axes) -> None:
        best = self.values[int(np.argmin(self.held_out))]
        label = f"least held-out loss, at {self.x_label} = {best:.3g}"
        ax.axvline(best, color=BLACK, linestyle=":", linewidth=1.2, label=label)
        if self.values[0] > 0 and self.values[-1] / self.values[0] > 20:
            ax.set_xscale("log")


class LearningCurveDisplay(_Curves):
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
        classifier = is_classifier(estimator)
        folds, sizes = check_cv(cv, y, classifier=classifier), np.linspace(0.1, 1.0, 8) if sizes is None else sizes
        scorer = get_scorer("accuracy" if classifier else "neg_mean_squared_error")
        progress = Progress("learning curve", 2 * np.size(sizes) * folds.get_n_splits(X, y), verbose=0)

        def score(model: Estimator, rows: XLike, targets: YLike) -> float:
            progress.step()
            return float(scorer(model, rows, targets))

        counts, train, test = learning_curve(
            estimator, X, y, train_sizes=sizes, cv=folds, shuffle=True, random_state=random_state, scoring=score,
            error_score="raise",
        )[:3]  # fmt: skip
        progress.finish()
        base = 1.0 if classifier else 0.0
        error = test.std(axis=1, ddof=1) / np.sqrt(test.shape[1])
        means = base - train.mean(axis=1), base - test.mean(axis=1)
        return cls(counts, *means, error, x_label, y_label or _loss_name(estimator)).plot(ax)


def _loss(model: Estimator, X: XLike, y: YLike) -> float:
    """Mean squared error, or the share of wrong labels."""
    predicted = model.predict(X)
    if is_classifier(model):
        return float(np.mean(predicted != np.asarray(y)))
    return float(np.mean((predicted - np.asarray(y)) ** 2))


def _loss_name(estimator: Estimator) -> str:
    return "share of wrong labels" if is_classifier(estimator) else "mean squared error"


_LINES = (
    ("risk", "risk", BLACK, "-", "o"),
    ("bias_squared", "bias squared", BLUE, "--", "s"),
    ("variance", "variance", VERMILION, "-.", "^"),
    ("noise", "noise", GREEN, ":", ""),
)


class BiasVarianceDisplay(Display):
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

    def _draw(self, ax: Axes) -> None:
        grid_lines(ax)
        alphas = self.result.alphas
        single = alphas is None
        m = self.result.risk_at.shape[-1]
        x = (np.arange(1, m + 1) if self.x is None else self.x) if alphas is None else alphas
        order = np.argsort(x, kind="stable")
        for name, label, colour, style, marker in _LINES:
            values = np.broadcast_to(getattr(self.result, f"{name}_at" if single else name), x.shape)[order]
            ax.plot(
                x[order], values, linestyle=style, marker="" if single else marker, color=colour,
                linewidth=1.8, markersize=4, label=label,
            )  # fmt: skip
            errors = (self.result.standard_errors or {}).get(name)
            if errors is not None and not single:
                fill_band(ax, x[order], values - errors[order], values + errors[order], colour)
        if alphas is not None:
            best = float(alphas[np.argmin(self.result.risk)])
            label = f"least risk, at alpha = {best:.3g}"
            ax.axvline(best, color=GREY, linestyle=(0, (1, 2)), linewidth=1.4, label=label, zorder=1)
            if x.min() > 0:
                ax.set_xscale("log")
        own = "alpha" if not single else "test row" if self.x is None else "x"
        label_axes(ax, self.x_label or own, self.y_label or "expected squared loss")
        ax.legend(frameon=False)
