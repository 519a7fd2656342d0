import pytest

from tests.features.flows.test_publish import publish


@pytest.fixture(scope="module")
def release():
    """A release that tests of one module share."""
    return publish()


@pytest.fixture
def public(release, tmp_path):
    """Its public folder."""
    release.write(tmp_path / "out", restricted={"told": 7})
    return tmp_path / "out" / "public"
