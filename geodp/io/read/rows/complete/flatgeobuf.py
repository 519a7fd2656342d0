"""Completeness of FlatGeobuf files: number of features, index, and end of the last feature.

GDAL stops silently if the file ends between two features or in the index.
"""

from __future__ import annotations

import mmap
import os
import struct

import numpy as np

from geodp.errors import Rule
from geodp.io.read.rows.complete.error import incomplete

START = 12
"""Bytes before the header: the signature and the header's length."""

FEATURES, NODE_SIZE = 8, 9
"""Positions of two fields in the header's table."""

NODE = 40
"""Bytes of a node of the index: a box and an offset."""


def check_flatgeobuf(path: str | os.PathLike[str]) -> int:
    """Return the number of features in a file, all of which are complete.

    Raises
    ------
    InputError
        The file ends in its header, index or a feature, continues after the last feature, or has
        another number of features than its header declares.
    """
    name = os.fspath(path)
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        count, node_size, first = _header(data, name)
        if count and node_size > 1:
            leaves = first + NODE * _inner_nodes(count, node_size)
            first = leaves + NODE * count
            if first > len(data):
                raise incomplete(
                    name, Rule("flatgeobuf-ends-in-index", "The FlatGeobuf file ends in its index")
                )
            # Features stand in the order of the leaves, so that the last leaf names the last one.
            place = np.frombuffer(data[leaves:first], np.uint64)[4::5].astype(np.int64)
            rising = place[0] == 0 and (np.diff(place) > 0).all()
            if not rising or _behind(data, first + int(place[-1])) != len(data):
                raise incomplete(
                    name,
                    Rule(
                        "flatgeobuf-end-elsewhere",
                        "The FlatGeobuf file does not end where its index says",
                    ),
                )
            return count
        # Without an index, features are counted one by one along their lengths.
        features, at = 0, first
        while at < len(data):
            at, features = _behind(data, at), features + 1
        if at != len(data) or (count and count != features):
            raise incomplete(
                name,
                Rule(
                    "flatgeobuf-features-differ",
                    "The FlatGeobuf file has another number of features than its header says",
                ),
            )
        return features


def _header(data: mmap.mmap, name: str) -> tuple[int, int, int]:
    """Return the number of features (0 if not declared), the index's node size, and the end."""
    if len(data) > START:
        (size,) = struct.unpack_from("<L", data, 8)
        try:
            table = START + struct.unpack_from("<L", data, START)[0]
            # A flatbuffer stores the offsets of its fields in a table before its data.
            names = table - struct.unpack_from("<i", data, table)[0]
            (entries,) = struct.unpack_from("<H", data, names)
            count, node_size = 0, 16
            if at := _field(data, names, entries, FEATURES):
                (count,) = struct.unpack_from("<Q", data, table + at)
            if at := _field(data, names, entries, NODE_SIZE):
                (node_size,) = struct.unpack_from("<H", data, table + at)
        except (struct.error, ValueError):
            count = -1
        if count >= 0 and count * NODE < 1 << 62 and START + size <= len(data):
            return count, node_size, START + size
    raise incomplete(
        name, Rule("flatgeobuf-ends-in-header", "The FlatGeobuf file ends in its header")
    )


def _field(data: mmap.mmap, names: int, entries: int, number: int) -> int:
    """Return the offset of a field in its table; 0 if it has its default."""
    at = 4 + 2 * number
    return int(struct.unpack_from("<H", data, names + at)[0]) if at + 2 <= entries else 0


def _inner_nodes(count: int, node_size: int) -> int:
    """Return the number of nodes of the index that are not leaves."""
    nodes, level = 0, count
    while level > 1:
        level = -(-level // node_size)
        nodes += level
    return max(nodes, 1)


def _behind(data: mmap.mmap, at: int) -> int:
    """Return the end of the feature at an offset; beyond the file if there is none."""
    if at < 0 or at + 4 > len(data):
        return len(data) + 1
    return at + 4 + int(struct.unpack_from("<L", data, at)[0])
