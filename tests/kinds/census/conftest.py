import pytest

from tests.kinds.census.offices import publish_mesh


@pytest.fixture(scope="module")
def release(shared):
    """A release of the columns of mesh statistics, in two primary meshes, that tests share."""
    return shared.make("census", publish_mesh)
