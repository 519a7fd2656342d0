import pytest

from tests.features.amounts.made import EDGES, publish

SHAPES = {
    "means": {},
    "classes": {"classes": EDGES, "means": False},
    "both": {"classes": EDGES},
    "gaussian": {"epsilon": None, "rho": "1/8", "delta": "1e-6", "classes": EDGES},
    "notches": {"step": "0.0001"},
    "debts": {"clip": (-500, 1000)},
}


@pytest.fixture(scope="module", params=SHAPES)
def release(request):
    """A release of every shape, that tests of one module share."""
    return publish(**SHAPES[request.param])


@pytest.fixture
def public(release, tmp_path):
    """Its public folder."""
    release.write(tmp_path / "out", restricted={"told": 7})
    return tmp_path / "out" / "public"
