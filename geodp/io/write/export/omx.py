"""Export as OMX (open matrix), which programs of transport planning read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from geodp.errors import require_library
from geodp.grid.grid import Grid
from geodp.io.write.format import Export
from geodp.io.write.public_tables import count_zones, list_zones, number_zones
from geodp.io.write.tables import chunks
from geodp.io.write.view import View
from geodp.typing import CountArray, IntArray

MOST_ZONES, MOST_MATRICES = 20_000, 200
"""Most zones, all pairs of which are written, and most matrices of a file."""

BLOCK = 1 << 22
"""Pairs that are held and compressed at once."""

VERSION = b"0.2"
"""Version of the format."""

LARGEST = (1 << 31) - 1


class OMX(Export):
    """One matrix of all pairs of zones, or one for each of the labels."""

    name: ClassVar[str] = "omx"
    ending: ClassVar[str] = "omx"
    help: ClassVar[str] = "OMX matrices: programs of transport planning, openmatrix, R"

    def why_not(self, view: View) -> str | None:
        """Require pairs of not too many zones."""
        grid = view.table.grid
        if len(grid.places) != 2 or view.regions is not None:
            return "OMX is written of origins and destinations"
        zones, matrices = count_zones(grid), math.prod(grid.shape[4:])
        if zones > MOST_ZONES:
            return f"OMX lists all pairs of zones, of which there may be {MOST_ZONES:,}"
        if matrices > MOST_MATRICES:
            return f"OMX is written of up to {MOST_MATRICES:,} combinations of labels"
        if len({*_name_matrices(view)}) < matrices:
            return "OMX has one matrix of a name, and / in labels is written as _"
        return None

    def write(self, view: View, path: Path) -> None:
        """Write one file."""
        require_library("h5py", "OMX", "omx")
        import h5py

        grid = view.table.grid
        zones = count_zones(grid)
        with h5py.File(path, "w", libver=("earliest", "v110")) as file:
            for name, value in _describe(view, zones).items():
                file.attrs[name] = value
            lookup = file.create_group("lookup")
            for name, values in _list_zones(grid).items():
                lookup.create_dataset(name, data=values)
            data = file.create_group("data")
            for name, flows in _split(view):
                _write_matrix(data, name, flows, zones)


def _describe(view: View, zones: int) -> dict[str, Any]:
    """Return the attributes of a file: those of the format, and what the release is."""
    card = view.card
    return {
        "OMX_VERSION": np.bytes_(VERSION),
        "SHAPE": np.array([zones, zones], np.int32),
        "geodp_title": np.bytes_(card.name.encode()),
        "geodp_comment": np.bytes_(card.guarantee.in_words.encode()),
        "geodp_spends": np.bytes_(card.guarantee.spends.encode()),
        "geodp_private": np.bytes_(b"yes" if card.private else b"NO"),
        "geodp_release_id": np.bytes_(card.release_id.encode()),
    }


def _list_zones(grid: Grid) -> dict[str, Any]:
    """Return the lookups of zones, in the order of rows and columns of matrices.

    By code where the grid has codes: as integers where all codes are, as programs expect.
    Otherwise by row and column.
    """
    index = list_zones(grid)
    if grid.names.on_map and grid.places[0].system is None:
        return {"row": index[0], "column": index[1]}
    every = np.zeros((len(grid.shape), index.shape[1]), np.int64)
    every[:2] = index
    codes = [str(code) for code in grid.names.format(0, every)]
    # A leading 0 would be lost.
    if all(code.isdecimal() and code[0] != "0" and len(code) < 19 for code in codes):
        return {"zone": np.array([*map(int, codes)], np.int64)}
    return {"zone": np.array([code.encode() for code in codes])}


def _name_matrices(view: View) -> list[str]:
    """Name the matrices, one for each combination of labels."""
    every = product(*(one.labels for one in view.table.grid.attributes))
    # A name with / would be a path in HDF5.
    return [" ".join((view.name, *labels)).replace("/", "_") for labels in every]


def _split(view: View) -> Iterator[tuple[str, tuple[IntArray, IntArray, CountArray]]]:
    """Yield the name of every matrix, and its pairs, sorted by origin."""
    grid, parts = view.table.grid, []
    shape = grid.shape
    for _, index, count in chunks(view.table):
        ends = [number_zones(grid, index[at : at + 2]) for at in (0, 2)]
        label = np.ravel_multi_index(tuple(index[4:]), shape[4:]) if shape[4:] else 0 * ends[0]
        parts.append((label, *ends, count))
    columns = [np.concatenate([part[n] for part in parts]) for n in range(4)] if parts else []
    for number, name in enumerate(_name_matrices(view)):
        if not columns:
            yield name, (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
            continue
        some = np.flatnonzero(columns[0] == number)
        order = some[np.argsort(columns[1][some], kind="stable")]
        yield name, (columns[1][order], columns[2][order], columns[3][order])


def _write_matrix(
    data: Any, name: str, flows: tuple[IntArray, IntArray, CountArray], zones: int
) -> None:
    """Write one matrix, a few rows at a time."""
    origin, destination, count = flows
    whole = count.dtype.kind in "iu" and not (count.size and np.abs(count).max() > LARGEST)
    rows = max(1, min(zones, BLOCK // zones))
    matrix = data.create_dataset(
        name,
        (zones, zones),
        np.int32 if whole else np.float64,
        chunks=(max(1, rows // 64), zones),
        compression="gzip",
        compression_opts=1,
        shuffle=True,
    )
    for first in range(0, zones, rows):
        block = np.zeros((min(rows, zones - first), zones), matrix.dtype)
        begin, end = np.searchsorted(origin, (first, first + rows))
        block[origin[begin:end] - first, destination[begin:end]] = count[begin:end]
        matrix[first : first + rows] = block


EXPORTS = (OMX(),)
