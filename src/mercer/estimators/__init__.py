"""scikit-learn estimators over the solvers: thin, and drop-in where scikit-learn has the same."""

from mercer.estimators.classifier import KernelRidgeClassifier
from mercer.estimators.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.estimators.ridge import KernelRidge

__all__ = ["KernelNeighborsClassifier", "KernelNeighborsRegressor", "KernelRidge", "KernelRidgeClassifier"]
