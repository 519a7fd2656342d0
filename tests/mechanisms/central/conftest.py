import numpy as np
import pytest


@pytest.fixture(scope="module")
def people():
    """A town: many adults, few old people, and nobody in half of the cells."""
    rng = np.random.default_rng(1)
    size = rng.gamma(0.4, 400, (32, 32)) * (rng.random((32, 32)) < 0.5)
    shares = np.outer([0.49, 0.51], [0.2, 0.75, 0.05])
    return rng.poisson(size[:, :, None, None] * shares)
