"""scikit-learn estimators over the solvers: thin, and drop-in where scikit-learn has the same."""

from mercer.estimators.auto import AutoRegressor
from mercer.estimators.auto_classifier import AutoClassifier
from mercer.estimators.evaluation import cross_validate, nested_cross_validate
from mercer.estimators.local import LocalRidge, LocalRidgeClassifier
from mercer.estimators.local_search import LocalRidgeClassifierCV, LocalRidgeCV
from mercer.estimators.loss_models import KernelLogistic, KernelRegressor
from mercer.estimators.loss_search import KernelLogisticCV, KernelRegressorCV
from mercer.estimators.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.estimators.nystroem import NystroemRidge, NystroemRidgeClassifier
from mercer.estimators.nystroem_search import NystroemRidgeClassifierCV, NystroemRidgeCV
from mercer.estimators.ridge import KernelRidge, KernelRidgeClassifier
from mercer.estimators.search import KernelRidgeClassifierCV, KernelRidgeCV
from mercer.selection.outcome import Outcome

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
    "Outcome",
    "cross_validate",
    "nested_cross_validate",
]
