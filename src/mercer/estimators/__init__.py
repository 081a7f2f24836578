"""scikit-learn estimators over the solvers: thin, and drop-in where scikit-learn has the same."""

from mercer.estimators.classifier import KernelRidgeClassifier
from mercer.estimators.evaluation import cross_validate, nested_cross_validate
from mercer.estimators.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.estimators.ridge import KernelRidge
from mercer.estimators.search import KernelRidgeClassifierCV, KernelRidgeCV

__all__ = [
    "KernelNeighborsClassifier",
    "KernelNeighborsRegressor",
    "KernelRidge",
    "KernelRidgeCV",
    "KernelRidgeClassifier",
    "KernelRidgeClassifierCV",
    "cross_validate",
    "nested_cross_validate",
]
