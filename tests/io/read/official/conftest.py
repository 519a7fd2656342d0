import pytest

from tests.io.read.official.forms import write_all


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Return the folder of all forms."""
    path = tmp_path_factory.mktemp("forms")
    write_all(path)
    return path
