import pytest

from tests.kinds.amounts.made import EDGES, publish

SHAPES = {
    "means": {},
    "classes": {"classes": EDGES, "means": False},
    "both": {"classes": EDGES},
    "gaussian": {"epsilon": None, "rho": "1/8", "delta": "1e-6", "classes": EDGES},
    "notches": {"step": "0.0001"},
    "debts": {"clip": (-500, 1000)},
}


@pytest.fixture(scope="module", params=SHAPES)
def release(request, shared):
    """A release of every shape, that tests share."""
    return shared.make(f"amounts, {request.param}", publish, **SHAPES[request.param])
