"""The streaming estimators sit scikit-learn's exam."""

import os

import pytest
from sklearn.utils.estimator_checks import check_estimator

from mercer import NystroemRidge, NystroemRidgeClassifier, NystroemRidgeClassifierCV, NystroemRidgeCV
from mercer.kernels import Gaussian, Linear

pytestmark = pytest.mark.slow

CONFIGURATIONS = [
    NystroemRidge(),
    NystroemRidge(0.1, kernel=Gaussian(2.0) + Linear(), fit_intercept=True, method="uniform"),
    NystroemRidgeClassifier(0.1, fit_intercept=True),
    NystroemRidgeCV(Gaussian(), [0.1, 1.0]),
    NystroemRidgeClassifierCV(Gaussian(), [0.1, 1.0]),
    NystroemRidgeCV([Gaussian(1.0), Gaussian(4.0)], [0.1, 1.0], cv=2, landmarks=30),
    NystroemRidgeClassifierCV([Gaussian(1.0), Linear()], [0.1, 1.0], cv=2, fit_intercept=True),
]

# Only run where SciPy was imported with SCIPY_ARRAY_API=1, as `make test` does.
NEEDS_ARRAY_API = [] if os.environ.get("SCIPY_ARRAY_API") == "1" else ["check_array_api_input"]
ROWS_ARE_DRAWN = "landmarks and folds are drawn by row, so that a row given twice is not a row of weight two"
EXCUSED = {
    "NystroemRidgeCV": {"check_sample_weight_equivalence_on_dense_data": ROWS_ARE_DRAWN},
    "NystroemRidgeClassifierCV": {"check_sample_weight_equivalence_on_dense_data": ROWS_ARE_DRAWN},
}


@pytest.mark.parametrize("estimator", CONFIGURATIONS, ids=repr)
@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
def test_scikit_learns_exam_is_passed_by_the_streaming_estimators(estimator):
    excused = EXCUSED.get(type(estimator).__name__, {})
    results = check_estimator(estimator, on_fail=None, on_skip=None, expected_failed_checks=excused)
    failed = {found["check_name"]: found["exception"] for found in results if found["status"] == "failed"}
    assert failed == {}
    assert [found["check_name"] for found in results if found["status"] == "skipped"] == NEEDS_ARRAY_API
    assert len(results) >= 50
