"""A release's measurements that were changed are found out."""

import json
import re

import numpy as np
import pytest

import geodp
from geodp.errors import VerificationError
from geodp.io.verify.verify import verify
from tests.io.verify.forging import sign

GRID = geodp.Grid.regular((12, 9))


def publish(counts):
    return geodp.publish(
        geodp.CountTable.from_dense(counts, GRID),
        method="pyramid:setting=R",
        epsilon=1,
        key=geodp.NoiseKey(bytes(32)),
        measurements=16,
        contribution=1,
    )


@pytest.fixture(scope="module")
def release():
    return publish(np.random.default_rng(1).integers(0, 30, GRID.shape))


@pytest.fixture
def folder(release, shared, tmp_path):
    shared.copy(release, tmp_path / "out")
    return tmp_path / "out" / "public"


def refuse_or_name(folder, said):
    """Refuse to read the measurements, or name their file."""
    sign(folder)
    detail = " ".join(check.detail for check in verify(folder) if not check.ok)
    assert re.search(said, detail), detail


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("keys", 3),
        ("keys", 1 << 62),
        ("keys_above", "1"),
        ("variance", "x"),
        ("parameter", "1/0"),
        ("nodes", -1),
        ("complete", None),
        ("measures", []),
        ("simulated", {"people": 1}),
    ],
)
def test_a_damaged_codebook_is_a_failed_check_and_refused(folder, name, value):
    path = folder / "population.measurements.json"
    book = json.loads(path.read_text())
    book["levels"][1][name] = value
    path.write_text(json.dumps(book))
    refuse_or_name(folder, "Measurements in")
    with pytest.raises(VerificationError, match="Measurements in"):
        geodp.open(folder)
