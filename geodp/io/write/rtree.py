"""SQLite's R*Tree, packed: its tables are written as they lie, without an insert into the tree.

An insert looks for its place and splits nodes; rows that come in the order of the grid's keys lie
beside their neighbours already. How nodes are written is documented in SQLite's ``rtree.c``, which
cannot change it without giving up the files that there are; GDAL loads its indices so, too.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from geodp.io.write.sqlite import insert, quote
from geodp.typing import FloatArray

CELLS = 51
"""Most of a node, as SQLite has them on pages of 2048 bytes and more."""

CELL = np.dtype([("id", ">i8"), ("box", ">f4", 4)])

NODE = np.dtype([("depth", ">u2"), ("cells", ">u2"), ("cell", CELL, CELLS)])
"""Of a row's or of a node's box below it; the root alone has a depth, 0 where it holds rows."""

ROOT = 1


class PackedTree:
    """A tree of boxes in two dimensions, filled from its leaves up in the order of the rows.

    Nodes are as full as they can be. Memory: the boxes of one call, and one for each leaf.

    Parameters
    ----------
    base : sqlite3.Connection
    name : str
        Of the virtual table, which is made here.

    Attributes
    ----------
    nodes : int
        Written so far.
    """

    def __init__(self, base: sqlite3.Connection, name: str) -> None:
        self._base, self._name, self._next = base, name, ROOT + 1
        self._leaves: list[NDArray[np.float32]] = []
        self.nodes = 0
        columns = "id, minx, maxx, miny, maxy"
        base.execute(f"CREATE VIRTUAL TABLE {quote(name)} USING rtree({columns})")

    def add(self, first: int, box: list[FloatArray]) -> None:
        """Add rows that are numbered on from ``first``: at least one.

        ``box``: least and largest x, least and largest y, float64[n] each.
        """
        found = np.stack(
            [_round(side, outward) for side, outward in zip(box, OUTWARD, strict=True)]
        )
        row = np.arange(first, first + found.shape[1])
        leaf, around = self._write_nodes(row, found.T)
        insert(self._base, f"{self._name}_rowid", [row.tolist(), leaf.tolist()])
        self._leaves.append(around)

    def close(self) -> None:
        """Write the nodes above the leaves."""
        if not self._leaves:  # the root that SQLite made is empty
            return
        around, depth = np.concatenate(self._leaves), 0
        if len(around) == 1:
            for table in ("node", "rowid"):
                own = quote(f"{self._name}_{table}")
                self._base.execute(f"UPDATE OR REPLACE {own} SET nodeno = {ROOT}")
        while len(around) > 1:
            depth += 1
            below = np.arange(self._next - len(around), self._next)
            if len(around) <= CELLS:
                self._next = ROOT
            parent, around = self._write_nodes(below, around, depth)
            insert(self._base, f"{self._name}_parent", [below.tolist(), parent.tolist()])

    def _write_nodes(
        self, number: NDArray[np.int64], box: NDArray[np.float32], depth: int = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Write boxes into new nodes; return which one each is in, and the box of each node."""
        n = len(box)
        each = -(-n // -(-n // CELLS))
        starts, (node, at) = np.arange(0, n, each), np.divmod(np.arange(n), each)
        made = np.zeros(starts.size, NODE)
        made["cells"] = np.bincount(node)
        made["cell"]["id"][node, at], made["cell"]["box"][node, at] = number, box
        if self._next == ROOT:
            made["depth"] = depth
        whole, size = made.tobytes(), made.itemsize
        pieces = (whole[start : start + size] for start in range(0, len(whole), size))
        self._base.executemany(
            f"INSERT OR REPLACE INTO {quote(f'{self._name}_node')} VALUES (?, ?)",
            zip(range(self._next, self._next + starts.size), pieces, strict=True),
        )
        node += self._next
        self._next += starts.size
        self.nodes += starts.size
        least, largest = np.minimum.reduceat(box, starts), np.maximum.reduceat(box, starts)
        return node, np.where(OUTWARD < 0, least, largest)


OUTWARD = np.array([-1, 1, -1, 1]) * np.inf
"""Where the sides of a box look to."""


def _round(side: FloatArray, outward: float) -> NDArray[np.float32]:
    """Return the closest float32 that is not further inside."""
    found = side.astype(np.float32)
    inside = found > side if outward < 0 else found < side
    found[inside] = np.nextafter(found[inside], np.float32(outward))
    return found


def can_pack() -> bool:
    """Whether this Python's SQLite has such trees, and lets their tables be written."""
    with closing(sqlite3.connect(":memory:")) as base:
        try:
            tree = PackedTree(base, "tree")
            tree.add(1, [np.zeros(1)] * 4)
            tree.close()
        except sqlite3.Error:
            return False
    return True
