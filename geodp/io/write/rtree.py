"""SQLite's R*Tree, packed: its tables are written directly, without inserting into the tree.

An insert searches its place and splits nodes; rows in the order of the grid's keys are
beside their neighbours already. The format of nodes is documented in SQLite's ``rtree.c``, which
cannot change it without breaking existing files; GDAL loads its indices in the same way.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from geodp.io.write.sqlite import insert, quote
from geodp.typing import FloatArray, IntArray

CELLS = 51
"""Largest number of cells in a node of SQLite, on pages of 2048 bytes and more."""

CELL = np.dtype([("id", ">i8"), ("box", ">f4", 4)])

NODE = np.dtype([("depth", ">u2"), ("cells", ">u2"), ("cell", CELL, CELLS)])
"""Node: boxes of rows or of nodes below it; only the root has a depth, 0 if it holds rows."""

ROOT = 1


class PackedTree:
    """A tree of boxes in two dimensions, filled from its leaves up in the order of the rows.

    Nodes are as full as they can be. Memory: the boxes of one call, and one for each leaf.

    Parameters
    ----------
    base : sqlite3.Connection
    name : str
        Name of the virtual table, which is created here.

    Attributes
    ----------
    nodes : int
        Number of nodes written so far.
    """

    def __init__(self, base: sqlite3.Connection, name: str) -> None:
        self._base, self._name, self._next = base, name, ROOT + 1
        self._leaves: list[NDArray[np.float32]] = []
        self.nodes = 0
        columns = "id, minx, maxx, miny, maxy"
        base.execute(f"CREATE VIRTUAL TABLE {quote(name)} USING rtree({columns})")

    def add(self, row: IntArray, box: list[FloatArray]) -> None:
        """Add rows by their increasing numbers: int64[n].

        ``box``: smallest and largest x, smallest and largest y, float64[n] each.
        """
        if not row.size:
            return
        rounded = round_boxes(box)
        leaf, around = self._write_nodes(row, rounded)
        insert(self._base, f"{self._name}_rowid", [row.tolist(), leaf.tolist()])
        self._leaves.append(around)

    def close(self) -> None:
        """Write the nodes above the leaves."""
        if not self._leaves:  # SQLite has created an empty root
            return
        around, depth = np.concatenate(self._leaves), 0
        if len(around) == 1:
            for table in ("node", "rowid"):
                stored = quote(f"{self._name}_{table}")
                self._base.execute(f"UPDATE OR REPLACE {stored} SET nodeno = {ROOT}")
        while len(around) > 1:
            depth += 1
            below = np.arange(self._next - len(around), self._next)
            if len(around) <= CELLS:
                # The last node is the root, whose number SQLite fixes.
                self._next = ROOT
            parent, around = self._write_nodes(below, around, depth)
            insert(self._base, f"{self._name}_parent", [below.tolist(), parent.tolist()])

    def _write_nodes(
        self, number: NDArray[np.int64], box: NDArray[np.float32], depth: int = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Write boxes into new nodes; return the node of each box, and the box of each node."""
        n = len(box)
        # Rows are spread evenly over the fewest possible nodes, so that no node is nearly empty.
        each = -(-n // -(-n // CELLS))
        starts, (node, at) = np.arange(0, n, each), np.divmod(np.arange(n), each)
        made = np.zeros(starts.size, NODE)
        made["cells"] = np.bincount(node)
        made["cell"]["id"][node, at], made["cell"]["box"][node, at] = number, box
        if self._next == ROOT:
            made["depth"] = depth
        data, size = made.tobytes(), made.itemsize
        pieces = (data[start : start + size] for start in range(0, len(data), size))
        self._base.executemany(
            f"INSERT OR REPLACE INTO {quote(f'{self._name}_node')} VALUES (?, ?)",
            zip(range(self._next, self._next + starts.size), pieces, strict=True),
        )
        node += self._next
        self._next += starts.size
        self.nodes += starts.size
        smallest, largest = np.minimum.reduceat(box, starts), np.maximum.reduceat(box, starts)
        return node, np.where(OUTWARD < 0, smallest, largest)


OUTWARD = np.array([-1, 1, -1, 1]) * np.inf
"""Outward direction of the sides of a box."""


def round_boxes(box: list[FloatArray]) -> NDArray[np.float32]:
    """Round boxes as the tree stores them, outward: float32[n, 4].

    ``box``: see :meth:`PackedTree.add`.
    """
    sides = [_round(side, outward) for side, outward in zip(box, OUTWARD, strict=True)]
    return np.stack(sides, axis=1)


def _round(side: FloatArray, outward: float) -> NDArray[np.float32]:
    """Round to the closest float32 that is not further inside."""
    rounded = side.astype(np.float32)
    inside = rounded > side if outward < 0 else rounded < side
    rounded[inside] = np.nextafter(rounded[inside], np.float32(outward))
    return rounded


def can_pack() -> bool:
    """Test whether this Python's SQLite has R*Trees, and allows writing their tables."""
    with closing(sqlite3.connect(":memory:")) as base:
        try:
            tree = PackedTree(base, "tree")
            tree.add(np.ones(1, np.int64), [np.zeros(1)] * 4)
            tree.close()
        except sqlite3.Error:
            return False
    return True
