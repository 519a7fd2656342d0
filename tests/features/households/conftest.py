import pytest

from tests.features.households.test_publish import publish, sizes_on


@pytest.fixture(scope="module", params=["person", "household"])
def release(request):
    """A release of either kind, that tests of one module share."""
    return publish(by_size=sizes_on(), protect=request.param)


@pytest.fixture
def public(release, tmp_path):
    """Its public folder."""
    release.write(tmp_path / "out", restricted={"told": 7})
    return tmp_path / "out" / "public"
