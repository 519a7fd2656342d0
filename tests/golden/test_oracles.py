"""What every oracle of local collection reports under the same coins is what its version is for.

Devices in the field go on reporting, and a server must go on understanding them: ``oracles.json``
has the settings that a round states of each oracle, and reports of eight devices.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from geodp.local.coins import Coins
from geodp.local.oracles import ORACLES
from tests.golden.fixed import fixed

FILE = Path(__file__).with_name("oracles.json")
CELLS, EPSILON = 6, 2


def pinned(name):
    """Return what is pinned of an oracle."""
    oracle = ORACLES[name](cells=CELLS, epsilon=EPSILON)
    with fixed():
        reports = oracle.draw(np.arange(8, dtype=np.uint64) % CELLS, Coins())
    settings = {
        key: value if isinstance(value, int) else str(value)
        for key, value in oracle.settings.items()
    }
    return {
        "settings": settings,
        "type": str(reports.dtype.descr),
        "reports": [one.tobytes().hex() for one in reports],
    }


def test_every_oracle_is_pinned():
    assert sorted(json.loads(FILE.read_text("utf-8"))) == sorted(ORACLES)


@pytest.mark.parametrize("name", ORACLES)
def test_an_oracle_reports_what_its_version_is_known_for(name):
    assert pinned(name) == json.loads(FILE.read_text("utf-8"))[name]
