"""What the pyramid's first pass keeps for the second."""

import numpy as np
import pytest

from bench.inputs import synthetic
from bench.measure.refinement import Refinement
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees import traversal

TABLES = {
    "clustered": synthetic.clustered(37, 50_000),
    "isolated": synthetic.isolated(37, 5000, 60_000_000),
}


@pytest.mark.parametrize("name", TABLES)
def test_memory_is_that_of_the_open_cells(name):
    """Records have at most 52 bytes for each open cell, and are let go as the cells come."""
    one = Refinement("pyramid", TABLES[name])
    found = traversal.Traversal.of(one.table, Pyramid().descent(one.table.grid, one.event), one.key)
    front, uniform = found.roots(np.zeros(1, np.uint64))
    records, _ = found.measure(front, found.descent.last)
    kept = sum(piece.nbytes for piece in records.pieces)
    total = np.floor(front.z + uniform).astype(np.int64)
    key, count = found.share(front, found.descent.last, total, records)
    assert (key == one.run()[0]).all()
    assert (count == one.run()[1]).all()
    assert not records.pieces
    assert 8 * records.opened < kept < 52 * records.opened
    assert key.size <= records.opened
