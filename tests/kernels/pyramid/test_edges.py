"""What of a node is part of the domain, against every key of it."""

from math import prod

import numpy as np
import pytest

from geodp.grid.tree import edges_of, overlaps
from geodp.kernels.pyramid.edges import ALL, NOTHING, ROWS, SOME, STEP, cut
from tests.grids import FORMS


@pytest.mark.parametrize("name", [name for name in FORMS if FORMS[name].size < 1 << 20])
def test_nodes_of_every_level(name):
    grid = FORMS[name]
    radices = grid.order.radices
    ends = [*range(0, len(radices), 3), len(radices)]
    strides = tuple(prod(radices[end:]) for end in ends)
    edges = edges_of(grid, strides)
    keys = grid.contains_keys(np.arange(strides[0], dtype=np.uint64))
    if keys.all():
        assert edges.limit.size == 0
        return
    above = np.zeros(1, np.int64)
    for level in range(1, len(ends)):
        stride, fanout = strides[level], strides[level - 1] // strides[level]
        held = keys.reshape(-1, stride).sum(axis=1)
        expected = np.select([held == 0, held == stride], [NOTHING, ALL], SOME)
        parent = keys.reshape(-1, strides[level - 1]).all(axis=1)[above]
        parts = -(-fanout // ROWS)
        places = parts * above.size
        noisy = np.full(ROWS * (-(-places // STEP) * STEP), 5, np.int32)
        lost = np.full(above.size, 9, "i4")
        part = np.full(fanout * above.size, 9, np.uint8)
        cut(edges, level, (above, parent.astype(np.int64)), (fanout, stride), noisy, lost, part)
        children = above[:, None] * fanout + np.arange(fanout)
        found = part.reshape(-1, fanout)
        assert (found[~parent] == expected[children[~parent]]).all()
        assert (found[parent] == 9).all()
        here = noisy.reshape(ROWS, -1)[:, :places].reshape(ROWS, parts, -1)
        here = here.T.reshape(-1, parts * ROWS)[:, :fanout] == 5
        assert (here == (expected[children] != NOTHING)).all()
        assert (lost == fanout - here.sum(axis=1)).all()
        nodes = children.reshape(-1).astype(np.uint64)
        assert (here.reshape(-1) == overlaps(grid, nodes, stride)).all()
        above = np.flatnonzero(held)
