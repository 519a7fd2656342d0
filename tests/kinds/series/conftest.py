import pytest

from tests.kinds.series.test_publish import publish


@pytest.fixture(scope="session")
def series():
    """A series that tests share."""
    return publish()


@pytest.fixture(scope="session")
def written(series, shared):
    """Its folder, for tests that only read it."""
    return shared.write(series, restricted={"told": 7})
