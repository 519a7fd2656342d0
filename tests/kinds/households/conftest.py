import pytest

from tests.kinds.households.test_publish import publish, sizes_on


@pytest.fixture(scope="module", params=["person", "household"])
def release(request, shared):
    """A release of either kind, that tests share."""
    given = {"by_size": sizes_on(), "protect": request.param}
    return shared.make(f"households, {request.param}", publish, **given)
