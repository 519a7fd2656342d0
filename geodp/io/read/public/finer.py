"""Public maps of land or people that are finer than the cells of a grid."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from geodp.errors import InputError, Rule, UsageError
from geodp.grid.crs import same_plane
from geodp.grid.cuts import FinerMap
from geodp.grid.lattice import Lattice
from geodp.grid.region import boxes_of_polygons, shapes_on
from geodp.io.read.public.land import PREFIX, draw_shapes, find_near, read_land, read_lands
from geodp.io.read.public.polygons import read_shapes_in
from geodp.io.read.rows.input_files import RASTER, FilePath, kind_of
from geodp.io.read.rows.pixels import align_blocks, grid_like

PARTS, MAX_SQUARES = 8, 1 << 26
"""Squares of land along the side of a cell, and most squares in all."""

BEYOND = 1000.0
"""Metres around the cells, within which land is read."""

NOT_FINER = Rule(
    "finer-not-finer",
    "The squares of the map are no smaller than the cells of the release, so that it does not say "
    "where in a cell people live; give one with smaller squares, or polygons of land.",
)

NEGATIVE = Rule(
    "finer-negative", "The map has a negative number; state what stands for nothing as nodata."
)


def read_finer(path: FilePath, place: Lattice, shapes: Sequence[Any]) -> FinerMap:
    """Read a public map of land or people around polygons.

    Parameters
    ----------
    path : path
        Raster of people, or of any weight, in the CRS of the lattice, with smaller squares than its
        cells; polygons of land in any CRS; or land by name (``land:japan``), without a buffer.
    place : Lattice
        With a CRS and a transform.
    shapes : sequence of shapely Polygon or MultiPolygon, or None
        In the CRS of the lattice.

    Raises
    ------
    InputError
        The file is none of these, or has another CRS.
    UsageError
        The map is not finer than the cells, or there is no land of the name.
    """
    boxes = boxes_of_polygons(place, shapes_on(place, shapes))
    some = [box for box in boxes if all(one.start < one.stop for one in box)]
    rows, cols = (
        slice(
            max(min((box[axis].start for box in some), default=0) - 1, 0),
            min(max((box[axis].stop for box in some), default=0) + 1, size),
        )
        for axis, size in enumerate((place.rows, place.cols))
    )
    is_named = str(path).startswith(PREFIX)
    read = _read_people if not is_named and kind_of(path) in RASTER else _read_land
    return read(path, place, (rows, cols))


def _read_land(path: FilePath, place: Lattice, window: tuple[slice, slice]) -> FinerMap:
    """Draw land on squares of a part of a lattice."""
    a, _, c, _, e, f = place.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    rows, cols = ((one.stop - one.start) for one in window)
    parts = max(min(PARTS, int((MAX_SQUARES / max(rows * cols, 1)) ** 0.5)), 2)
    transform = a / parts, 0.0, c + a * window[1].start, 0.0, e / parts, f + e * window[0].start
    part = Lattice(max(rows * parts, 1), max(cols * parts, 1), None, 0, 0, place.crs, transform)
    if str(path).startswith(PREFIX):
        name, _, _ = read_land(str(path))
        shapes = find_near(part, np.array(read_lands(name)), BEYOND)
    else:
        assert place.crs is not None  # as polygons were read in it
        shapes = shapes_on(place, read_shapes_in(path, place.crs)[0])
    drawn = draw_shapes(shapes, (part.rows, part.cols), transform, touched=False)
    return FinerMap(*part.edges(), drawn, is_people=False)


def _read_people(path: FilePath, place: Lattice, window: tuple[slice, slice]) -> FinerMap:
    """Read the squares of a raster in a part of a lattice."""
    fine = grid_like(path).places[0]
    if not same_plane(fine.crs, place.crs):
        raise InputError(
            f"The map must have the CRS of the release ({place.crs}); move it (gdalwarp -t_srs).",
            file=os.fspath(path),
            code="finer-crs-differs",
        )
    sizes = (abs(one[1] - one[0]) for each in (fine, place) for one in each.edges())
    width, height, *cell = sizes
    if width >= cell[0] or height >= cell[1]:
        raise UsageError(NOT_FINER)
    edges, ranges = [], []
    for squares, cells, some in zip(fine.edges(), place.edges(), window[::-1], strict=True):
        ends = np.sort(cells[[some.start, some.stop]])
        sides = np.sort(np.stack([squares[1:], squares[:-1]]), axis=0)
        here = np.flatnonzero((sides[1] > ends[0]) & (sides[0] < ends[1]))
        part = slice(int(here[0]), int(here[-1]) + 1) if here.size else slice(0, 1)
        edges.append(squares[part.start : part.stop + 1])
        ranges.append(part)
    mass = np.zeros((edges[1].size - 1, edges[0].size - 1))
    for block in align_blocks(path, fine, counted=False):
        if (block.valid & (block.values < 0)).any():
            raise InputError(NEGATIVE, file=os.fspath(path))
        values = np.where(block.valid, block.values, 0)
        rows, cols = block.rows - ranges[1].start, block.cols - ranges[0].start
        down, right = (rows >= 0) & (rows < len(mass)), (cols >= 0) & (cols < mass.shape[1])
        mass[np.ix_(rows[down], cols[right])] = values[np.ix_(down, right)]
    return FinerMap(edges[0], edges[1], mass, is_people=True)
