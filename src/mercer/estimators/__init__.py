"""scikit-learn estimators over the solvers: thin, and drop-in where scikit-learn has the same."""

from mercer.estimators.auto import AutoRegressor as AutoRegressor
from mercer.estimators.auto_classifier import AutoClassifier as AutoClassifier
from mercer.estimators.evaluation import cross_validate as cross_validate
from mercer.estimators.evaluation import nested_cross_validate as nested_cross_validate
from mercer.estimators.local import LocalRidge as LocalRidge
from mercer.estimators.local import LocalRidgeClassifier as LocalRidgeClassifier
from mercer.estimators.local_search import LocalRidgeClassifierCV as LocalRidgeClassifierCV
from mercer.estimators.local_search import LocalRidgeCV as LocalRidgeCV
from mercer.estimators.loss_models import KernelLogistic as KernelLogistic
from mercer.estimators.loss_models import KernelRegressor as KernelRegressor
from mercer.estimators.loss_search import KernelLogisticCV as KernelLogisticCV
from mercer.estimators.loss_search import KernelRegressorCV as KernelRegressorCV
from mercer.estimators.neighbors import KernelNeighborsClassifier as KernelNeighborsClassifier
from mercer.estimators.neighbors import KernelNeighborsRegressor as KernelNeighborsRegressor
from mercer.estimators.nystroem import NystroemRidge as NystroemRidge
from mercer.estimators.nystroem import NystroemRidgeClassifier as NystroemRidgeClassifier
from mercer.estimators.nystroem_search import NystroemRidgeClassifierCV as NystroemRidgeClassifierCV
from mercer.estimators.nystroem_search import NystroemRidgeCV as NystroemRidgeCV
from mercer.estimators.ridge import KernelRidge as KernelRidge
from mercer.estimators.ridge import KernelRidgeClassifier as KernelRidgeClassifier
from mercer.estimators.search import KernelRidgeClassifierCV as KernelRidgeClassifierCV
from mercer.estimators.search import KernelRidgeCV as KernelRidgeCV
from mercer.selection.outcome import Outcome as Outcome
