import pytest

from geodp.release.opening import open_view
from tests.kinds.flows.test_publish import MESH, publish, trips_on


@pytest.fixture(scope="package")
def trips(tmp_path_factory):
    """The view of a written release of trips between the cells of a mesh."""
    folder = tmp_path_factory.mktemp("trips")
    publish(trips_on(MESH, number=3000)).flows.write(folder / "out", name="trips")
    return open_view(folder / "out" / "public")
