"""Settings every test shares."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.fixture
def rng(request):
    """A generator of its own for every test, seeded by the test's name."""
    return np.random.default_rng(list(request.node.name.encode()))
