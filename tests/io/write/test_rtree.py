"""Packed trees are what SQLite takes for its own: it finds, adds and removes as in any other."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from geodp.io.write.geopackage import CELLS, NODE, PackedTree, can_pack

FOUND = "SELECT id FROM tree WHERE maxx >= ? AND minx <= ? AND maxy >= ? AND miny <= ?"
CALL = 3000
"""Rows that are added at a time."""


def boxes(n, seed=0):
    """Boxes of unequal size, on both sides of 0, at numbers that no float32 is."""
    draw = np.random.default_rng(seed)
    low = np.sort(draw.uniform(-1e5, 1e5, (2, n)))
    high = low + draw.uniform(0, 1e3, (2, n))
    return np.stack([low[0], high[0], low[1], high[1]])


def packed(base, box):
    tree = PackedTree(base, "tree")
    for start in range(0, box.shape[1], CALL):
        some = box[:, start : start + CALL]
        tree.add(np.arange(start + 1, start + 1 + some.shape[1]), list(some))
    tree.close()
    return tree


def check(base):
    return base.execute("SELECT rtreecheck('tree')").fetchone()[0]


def inside(box, window):
    west, east, south, north = window
    return (box[1] >= west) & (box[0] <= east) & (box[3] >= south) & (box[2] <= north)


@pytest.mark.parametrize("n", [0, 1, 2, 50, 51, 52, 102, 2601, 2602, 3001, 140_000])
def test_sqlite_finds_what_a_search_of_all_boxes_does(n):
    box = boxes(n)
    with closing(sqlite3.connect(":memory:")) as base:
        tree = packed(base, box)
        assert check(base) == "ok"
        rows = base.execute("SELECT id, minx, maxx, miny, maxy FROM tree ORDER BY id").fetchall()
        held = np.array(rows).reshape(-1, 5).T
        assert np.array_equal(held[0], np.arange(1, n + 1))
        assert (held[[1, 3]] <= box[[0, 2]]).all()
        assert (held[[2, 4]] >= box[[1, 3]]).all()
        ulp = np.spacing(np.abs(box).astype(np.float32))
        assert (np.abs(held[1:] - box) <= ulp).all()
        for window in boxes(20, seed=1).T * 1.1:
            found = {row for (row,) in base.execute(FOUND, window.tolist())}
            assert found == {*(np.flatnonzero(inside(held[1:], window)) + 1).tolist()}
            assert found >= {*(np.flatnonzero(inside(box, window)) + 1).tolist()}
        ((nodes, size),) = base.execute("SELECT count(*), max(length(data)) FROM tree_node")
        assert size == NODE.itemsize
        assert nodes == max(1, tree.nodes)
        calls = -(-n // CALL)
        assert nodes <= 1.05 * n / CELLS + calls + 3


def test_a_tree_says_which_of_its_tables_it_wrote_once():
    """Nodes are written once each, not once for every row."""
    box = boxes(2 * CALL)
    with closing(sqlite3.connect(":memory:")) as base:
        said = []
        base.set_trace_callback(said.append)
        tree = packed(base, box)
        assert sum("_node" in one and "INSERT" in one for one in said) <= tree.nodes + 2


def test_a_sqlite_without_such_trees_is_known(monkeypatch):
    assert can_pack()

    def refuse(*_):
        raise sqlite3.OperationalError("no such module: rtree")

    monkeypatch.setattr(PackedTree, "__init__", refuse)
    assert not can_pack()
