import pytest

from tests.kinds.flows.test_publish import publish


@pytest.fixture(scope="session")
def release():
    """A release that tests share."""
    return publish()
