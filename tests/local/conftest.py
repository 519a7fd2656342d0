from fractions import Fraction

import numpy as np
import pytest

from geodp.grid.grid import Grid
from geodp.local.planning import plan
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP

GRID = Grid.mesh("jis:half", bounds=(138, 35, 138.4, 35.2666666667))


@pytest.fixture(scope="session")
def index():
    """Rows and columns of 5,000 devices, more of them in one corner."""
    rng = np.random.default_rng(1)
    return (rng.random((2, 5000)) ** 2 * 64).astype(np.int64)


@pytest.fixture(params=["haar", "counts:chain=2-2"])
def planned(request):
    return plan(GRID, devices=5000, epsilon=1, protocol=request.param, depth=4)


@pytest.fixture
def ledger(tmp_path):
    found = Ledger.create(tmp_path / "phones.ledger")
    cap = PureDP(Fraction(3, 2))
    found.add_dataset("phones", cap, unit="device", neighbours="replace-one", model="local")
    found.add_dataset("census", cap, unit="device", neighbours="replace-one")
    found.add_dataset("people", cap, neighbours="replace-one", model="local")
    return found
