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
    from mercer import course as course
    from mercer import displays as displays
    from mercer import kernels as kernels
    from mercer import report as report
    from mercer import testing as testing
    from mercer.estimators import AutoClassifier as AutoClassifier
    from mercer.estimators import AutoRegressor as AutoRegressor
    from mercer.estimators import KernelLogistic as KernelLogistic
    from mercer.estimators import KernelLogisticCV as KernelLogisticCV
    from mercer.estimators import KernelNeighborsClassifier as KernelNeighborsClassifier
    from mercer.estimators import KernelNeighborsRegressor as KernelNeighborsRegressor
    from mercer.estimators import KernelRegressor as KernelRegressor
    from mercer.estimators import KernelRegressorCV as KernelRegressorCV
    from mercer.estimators import KernelRidge as KernelRidge
    from mercer.estimators import KernelRidgeClassifier as KernelRidgeClassifier
    from mercer.estimators import KernelRidgeClassifierCV as KernelRidgeClassifierCV
    from mercer.estimators import KernelRidgeCV as KernelRidgeCV
    from mercer.estimators import LocalRidge as LocalRidge
    from mercer.estimators import LocalRidgeClassifier as LocalRidgeClassifier
    from mercer.estimators import LocalRidgeClassifierCV as LocalRidgeClassifierCV
    from mercer.estimators import LocalRidgeCV as LocalRidgeCV
    from mercer.estimators import NystroemRidge as NystroemRidge
    from mercer.estimators import NystroemRidgeClassifier as NystroemRidgeClassifier
    from mercer.estimators import NystroemRidgeClassifierCV as NystroemRidgeClassifierCV
    from mercer.estimators import NystroemRidgeCV as NystroemRidgeCV
    from mercer.estimators import cross_validate as cross_validate
    from mercer.estimators import nested_cross_validate as nested_cross_validate
    from mercer.estimators.pipelines import predict_interval as predict_interval
    from mercer.estimators.pipelines import predict_set as predict_set
    from mercer.estimators.pipelines import with_rows as with_rows
    from mercer.estimators.pipelines import without as without
    from mercer.inference.comparison import compare as compare
    from mercer.inference.effects import marginal_effects as marginal_effects
    from mercer.inference.influence import influence as influence
    from mercer.inference.permutation import permutation_test as permutation_test
    from mercer.insight import check_mercer as check_mercer
    from mercer.insight import repair as repair
    from mercer.insight.bias_variance import bias_variance as bias_variance
    from mercer.insight.noise import noise_estimate as noise_estimate
    from mercer.models import load as load
    from mercer.models import save as save
    from mercer.report.effects import column_effect as column_effect
    from mercer.report.evaluation import evaluate as evaluate
    from mercer.runtime import thread_count as thread_count
    from mercer.runtime import threads as threads
    from mercer.tables import TableEncoder as TableEncoder
    from mercer.tuning.tune import tune as tune


# Where the public names are.
_NAMES = {
    "mercer": "course displays kernels report testing",
    "mercer.estimators": (
        "AutoClassifier AutoRegressor KernelLogistic KernelLogisticCV KernelNeighborsClassifier "
        "KernelNeighborsRegressor KernelRegressor KernelRegressorCV KernelRidge KernelRidgeCV KernelRidgeClassifier "
        "KernelRidgeClassifierCV LocalRidge LocalRidgeCV LocalRidgeClassifier LocalRidgeClassifierCV NystroemRidge "
        "NystroemRidgeCV NystroemRidgeClassifier NystroemRidgeClassifierCV cross_validate nested_cross_validate"
    ),
    "mercer.estimators.pipelines": "predict_interval predict_set with_rows without",
    "mercer.inference.comparison": "compare",
    "mercer.inference.effects": "marginal_effects",
    "mercer.inference.influence": "influence",
    "mercer.inference.permutation": "permutation_test",
    "mercer.insight": "check_mercer repair",
    "mercer.insight.bias_variance": "bias_variance",
    "mercer.insight.noise": "noise_estimate",
    "mercer.models": "load save",
    "mercer.report.effects": "column_effect",
    "mercer.report.evaluation": "evaluate",
    "mercer.runtime": "thread_count threads",
    "mercer.tables": "TableEncoder",
    "mercer.tuning.tune": "tune",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_PLACES)  # noqa: PLE0605 - a list all the same


def __getattr__(name: str) -> Any:
    value: object
    if name == "__version__":
        value = version("mercer")
    elif name not in _PLACES:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    elif _PLACES[name] == "mercer":
        value = import_module(f"mercer.{name}")
    else:
        value = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
