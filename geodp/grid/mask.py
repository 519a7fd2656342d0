"""Public masks: the part of a grid where people can be, built without looking at data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.axes import Mask
from geodp.grid.codes import CodeSystem, JISMesh, code_system, infer_jis_level
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice

Blocks = NDArray[np.int64]
"""int64[4, n]: first row, first column, rows, columns of rectangles of cells."""


def blocks_of_codes(lattice: Lattice, codes: Iterable[str]) -> Blocks:
    """Return the blocks of published codes of the lattice's system, of its level or coarser.

    Raises CodeError, whose position is the index of the code.
    """
    system = lattice.system
    if system is None:
        raise UsageError(
            "A mask of codes needs a grid with a code system.", code="mask-needs-codes"
        )
    texts = [str(code) for code in codes]
    groups: dict[str, list[int]] = {}
    for position, text in enumerate(texts):
        try:
            groups.setdefault(_level_of(text, system), []).append(position)
        except CodeError as error:
            raise CodeError(position, error.rule) from None
    blocks = np.empty((4, len(texts)), np.int64)
    for level, positions in groups.items():
        coarse: CodeSystem = JISMesh(level, system.crs) if level else system
        tall, wide = (coarse.step[i] / system.step[i] for i in (0, 1))
        if tall.denominator != 1 or wide.denominator != 1:
            raise CodeError(
                positions[0],
                f"A code of the mask is finer than {system.name}.",
                code="mask-code-too-fine",
            )
        try:
            row, col = coarse.parse([texts[position] for position in positions])
        except CodeError as error:
            raise CodeError(positions[error.position], error.rule) from None
        height, width = int(tall), int(wide)
        blocks[0, positions] = row * height - lattice.row0
        blocks[1, positions] = col * width - lattice.col0
        blocks[2, positions], blocks[3, positions] = height, width
    return blocks


def _level_of(code: str, system: CodeSystem) -> str:
    """Return the level of a mask's code; "" for that of the grid."""
    if not isinstance(system, JISMesh):
        return ""
    if len(code) == 10 and system.level in ("quarter", "eighth"):
        # The 100 m cells that look alike do not nest in cells of this grid.
        return "quarter"
    return infer_jis_level(code)


def blocks_of_array(inside: NDArray[np.bool_]) -> Blocks:
    """Return the cells where a boolean array [rows, cols] in index order is true."""
    row, col = np.nonzero(inside)
    return np.stack([row, col, np.ones_like(row), np.ones_like(col)]).astype(np.int64)


def grid_of_primaries(spec: str | CodeSystem, primaries: str | int | Sequence[str | int]) -> Grid:
    """Create the grid of a JIS code system inside primary meshes (80 km), which need not touch.

    Raises UsageError for another code system or a code that is not a primary mesh.

    Examples
    --------
    >>> grid_of_primaries("jis:half", [5339, 5340]).shape
    (160, 320)
    >>> grid_of_primaries("jis:half", [5239, 5340]).size
    51200
    """
    system = code_system(spec) if isinstance(spec, str) else spec
    if isinstance(primaries, str | int):
        primaries = [primaries]
    if not isinstance(system, JISMesh) or not primaries:
        raise UsageError(
            "Primary meshes define the domain of a jis: grid only.", code="primary-needs-jis"
        )
    try:
        row, col = JISMesh("primary", system.crs).parse([str(code) for code in primaries])
    except CodeError as error:
        raise UsageError(
            f"Primary mesh {error.position + 1}: {error.rule}", code=error.code
        ) from None
    # Primary meshes have the same number of cells both ways at every level.
    each = int(JISMesh("primary").step[0] / system.step[0])
    south, west, north, east = row.min(), col.min(), row.max() + 1, col.max() + 1
    edges = [
        (system.origin[i % 2] + int(at) * each * system.step[i % 2])
        for i, at in ((1, west), (0, south), (1, east), (0, north))
    ]
    grid = Grid.mesh(system, bounds=edges)
    if np.unique(row * 1000 + col).size == (north - south) * (east - west):
        return grid
    blocks = np.stack([(row - south) * each, (col - west) * each, 0 * row + each, 0 * row + each])
    names = " ".join(sorted(str(code) for code in primaries))
    return grid.with_mask(mask_of_blocks(grid, blocks, f"primary meshes {names} (JIS X 0410)"))


def mask_of_blocks(grid: Grid, blocks: Blocks, source: str) -> Mask:
    """Create a mask from rectangles of cells, clipped to the grid's extent.

    Parameters
    ----------
    grid : Grid
        One map, without a mask, with or without attributes.
    blocks : int64[4, n]
        Rectangles; they may overlap.
    source : str
        Where the mask comes from, as text; published with every release. By naming it you assert
        that the mask is public and was not made from the data.
    """
    place = grid.require_map(Rule("mask-needs-one-map", "A mask needs a grid of one map."))
    low = np.maximum(blocks[:2], 0)
    high = np.minimum(blocks[:2] + blocks[2:], np.array([[place.rows], [place.cols]]))
    overlaps = (low < high).all(axis=0)
    low, high = low[:, overlaps], high[:, overlaps]
    if not low.size:
        raise UsageError(
            "The mask contains no cell of the grid; check its codes and the bounds.",
            code="mask-leaves-no-cell",
        )
    # Rectangles on a common coarser lattice are few aligned blocks, each one range of keys.
    together = int(np.bitwise_or.reduce(np.concatenate([low, high]), axis=None))
    # The lowest bit set in any edge: all rectangles consist of squares of this size.
    shift = (together & -together).bit_length() - 1
    low, high = low >> shift, high >> shift
    tall, wide = high - low
    each = tall * wide
    block = np.repeat(np.arange(each.size), each)
    within = np.arange(block.size) - np.repeat(np.cumsum(each) - each, each)
    row = low[0][block] + within // wide[block]
    col = low[1][block] + within % wide[block]
    index = np.zeros((len(grid.shape), row.size), np.int64)
    index[0], index[1] = row << shift, col << shift
    under = sum(1 for axis in grid.order.axes if axis > 1)
    start = np.unique(grid.order.encode(index))
    step = np.uint64(1 << (2 * shift + under))
    # Blocks that follow each other in key order are merged: kernels search few ranges.
    first = np.flatnonzero(np.append(True, start[1:] != start[:-1] + step))
    last = np.append(first[1:], start.size) - 1
    ranges = np.stack([start[first], start[last] + step], axis=1)
    cells = int((ranges[:, 1] - ranges[:, 0]).sum()) >> under
    # The digest of a mask is cached with its grid, so ranges must not change any more.
    ranges.setflags(write=False)
    return Mask(ranges, cells, source.strip())
