"""Kernel ridge regression with exact cross-validation and nested cross-validation, in about the time of one fit each.

The names below are loaded when they are first used, so that importing mercer costs next to nothing.

Examples
--------
>>> import mercer
>>> model = mercer.KernelRidge(alpha=0.1, kernel=mercer.kernels.Gaussian(width=2.0))
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer import course, displays, kernels, report, testing
    from mercer.estimators import (
        AutoClassifier,
        AutoRegressor,
        KernelLogistic,
        KernelLogisticCV,
        KernelNeighborsClassifier,
        KernelNeighborsRegressor,
        KernelRegressor,
        KernelRegressorCV,
        KernelRidge,
        KernelRidgeClassifier,
        KernelRidgeClassifierCV,
        KernelRidgeCV,
        LocalRidge,
        LocalRidgeClassifier,
        LocalRidgeClassifierCV,
        LocalRidgeCV,
        NystroemRidge,
        NystroemRidgeClassifier,
        NystroemRidgeClassifierCV,
        NystroemRidgeCV,
        cross_validate,
        nested_cross_validate,
    )
    from mercer.estimators.pipelines import predict_interval, predict_set, with_rows, without
    from mercer.inference.comparison import compare
    from mercer.inference.effects import marginal_effects
    from mercer.inference.influence import influence
    from mercer.inference.permutation import permutation_test
    from mercer.insight import check_mercer, repair
    from mercer.insight.bias_variance import bias_variance
    from mercer.insight.noise import noise_estimate
    from mercer.models import load, save
    from mercer.report.effects import column_effect
    from mercer.report.evaluation import evaluate
    from mercer.runtime import thread_count, threads
    from mercer.tables import TableEncoder
    from mercer.tuning.tune import tune

# Where the names below are that are not in mercer.estimators.
_PLACES = {
    "TableEncoder": "mercer.tables",
    "bias_variance": "mercer.insight.bias_variance",
    "check_mercer": "mercer.insight",
    "column_effect": "mercer.report.effects",
    "compare": "mercer.inference.comparison",
    "evaluate": "mercer.report.evaluation",
    "influence": "mercer.inference.influence",
    "load": "mercer.models",
    "marginal_effects": "mercer.inference.effects",
    "noise_estimate": "mercer.insight.noise",
    "permutation_test": "mercer.inference.permutation",
    "predict_interval": "mercer.estimators.pipelines",
    "predict_set": "mercer.estimators.pipelines",
    "repair": "mercer.insight",
    "save": "mercer.models",
    "thread_count": "mercer.runtime",
    "threads": "mercer.runtime",
    "tune": "mercer.tuning.tune",
    "with_rows": "mercer.estimators.pipelines",
    "without": "mercer.estimators.pipelines",
}
_MODULES = ("course", "displays", "kernels", "report", "testing")

__all__ = [
    "AutoClassifier",
    "AutoRegressor",
    "KernelLogistic",
    "KernelLogisticCV",
    "KernelNeighborsClassifier",
    "KernelNeighborsRegressor",
    "KernelRegressor",
    "KernelRegressorCV",
    "KernelRidge",
    "KernelRidgeCV",
    "KernelRidgeClassifier",
    "KernelRidgeClassifierCV",
    "LocalRidge",
    "LocalRidgeCV",
    "LocalRidgeClassifier",
    "LocalRidgeClassifierCV",
    "NystroemRidge",
    "NystroemRidgeCV",
    "NystroemRidgeClassifier",
    "NystroemRidgeClassifierCV",
    "TableEncoder",
    "bias_variance",
    "check_mercer",
    "column_effect",
    "compare",
    "course",
    "cross_validate",
    "displays",
    "evaluate",
    "influence",
    "kernels",
    "load",
    "marginal_effects",
    "nested_cross_validate",
    "noise_estimate",
    "permutation_test",
    "predict_interval",
    "predict_set",
    "repair",
    "report",
    "save",
    "testing",
    "thread_count",
    "threads",
    "tune",
    "with_rows",
    "without",
]


def __getattr__(name: str) -> Any:
    value: object
    if name == "__version__":
        value = version("mercer")
    elif name in _MODULES:
        value = import_module(f"mercer.{name}")
    elif name in __all__:
        value = getattr(import_module(_PLACES.get(name, "mercer.estimators")), name)
    else:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
