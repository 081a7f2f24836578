"""scikit-learn estimators over the solvers: thin, and drop-in where scikit-learn has the same."""

from mercer.estimators.auto import AutoRegressor
from mercer.estimators.auto_classifier import AutoClassifier
from mercer.estimators.evaluation import CrossValidation, cross_validate
from mercer.estimators.local import LocalRidge, LocalRidgeClassifier
from mercer.estimators.local_search import LocalRidgeClassifierCV, LocalRidgeCV
from mercer.estimators.loss_models import KernelLogistic, KernelRegressor
from mercer.estimators.loss_search import KernelLogisticCV, KernelRegressorCV
from mercer.estimators.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.estimators.nesting import NestedCrossValidation, nested_cross_validate
from mercer.estimators.nystroem import NystroemRidge, NystroemRidgeClassifier
from mercer.estimators.nystroem_search import NystroemRidgeClassifierCV, NystroemRidgeCV
from mercer.estimators.ridge import KernelRidge, KernelRidgeClassifier
from mercer.estimators.search import KernelRidgeClassifierCV, KernelRidgeCV

__all__ = [
    "AutoClassifier",
    "AutoRegressor",
    "CrossValidation",
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
    "NestedCrossValidation",
    "NystroemRidge",
    "NystroemRidgeCV",
    "NystroemRidgeClassifier",
    "NystroemRidgeClassifierCV",
    "cross_validate",
    "nested_cross_validate",
]
