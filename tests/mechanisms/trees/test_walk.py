"""What the pyramid's first pass keeps for the second."""

import numpy as np
import pytest

from bench.inputs import synthetic
from bench.measure.refinement import Refinement
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees import walk


@pytest.mark.parametrize("kind", ["clustered", "isolated"])
def test_memory_is_that_of_the_output(kind):
    """Records and output have at most 48 bytes a cell that is released."""
    table = (
        synthetic.clustered(37, 3000) if kind == "clustered" else synthetic.isolated(37, 60, 10**6)
    )
    one = Refinement("pyramid", table)
    found = walk.Walk.of(table, Pyramid().descent(table.grid, one.event), one.key)
    front, _ = found.roots(np.zeros(1, np.uint64))
    records, _ = found.measure(front, found.descent.last)
    released = one.run()[0].size
    kept = sum(piece.nbytes for piece in records.pieces)
    assert released < records.opened < 2 * released
    assert 8 < kept / released < 40
