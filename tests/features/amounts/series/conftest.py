import pytest

from tests.features.amounts.made import EDGES
from tests.features.amounts.series.made import publish, tables


@pytest.fixture(scope="module")
def series():
    """A series of means and classes that tests of one module share."""
    return publish(tables(classes=EDGES))


@pytest.fixture
def public(series, tmp_path):
    """Its public folder."""
    series.write(tmp_path / "out", restricted={"told": 7})
    return tmp_path / "out" / "public"
