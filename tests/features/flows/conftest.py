import pytest

from tests.features.flows.test_publish import publish


@pytest.fixture(scope="session")
def release():
    """A release that tests share."""
    return publish()
