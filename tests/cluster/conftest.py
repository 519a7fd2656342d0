"""Clusters for all tests; the full matrix of runs only where it is asked for."""

import pytest

from geodp.privacy.key import has_owners

collect_ignore = ["clusters.py", "matrix.py"]  # no doctests; they need the extra dask


def pytest_collection_modifyitems(config, items):
    """Leave out what is marked ``matrix``, unless ``-m`` names it."""
    if "matrix" in config.getoption("-m"):
        return
    left = [item for item in items if item.get_closest_marker("matrix")]
    items[:] = [item for item in items if not item.get_closest_marker("matrix")]
    if left:
        config.hook.pytest_deselected(items=left)


def pytest_runtest_setup():
    """Run nothing here where no key file can be kept from others; that is refused elsewhere."""
    if not has_owners():
        pytest.skip("owners and permission bits of POSIX")


@pytest.fixture(scope="package")
def cluster(tmp_path_factory):
    """A client of a cluster with so many workers, which beat as long as they run: here alone."""
    from tests.cluster.clusters import Clusters

    clusters = Clusters(tmp_path_factory.mktemp("workers"))
    yield clusters
    clusters.close()
