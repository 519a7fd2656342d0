import pytest

from tests.kinds.amounts.made import EDGES
from tests.kinds.amounts.series.made import publish, tables


@pytest.fixture(scope="session")
def series():
    """A series of means and classes that tests share."""
    return publish(tables(classes=EDGES))


@pytest.fixture(scope="session")
def written(series, shared):
    """Its folder, for tests that only read it."""
    return shared.write(series, restricted={"told": 7})
