import pytest

from tests.features.series.test_publish import publish


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A series that tests of one module read."""
    found = tmp_path_factory.mktemp("series") / "out"
    publish().write(found)
    return found
