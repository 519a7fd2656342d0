"""Background of a map, from public data only: land and water, the shore, names of places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.read.public.background import Town, find_towns, share_land, trace_shore
from geodp.io.read.public.land import PREFIX
from geodp.io.write.drawing.fonts import find_families, measure
from geodp.io.write.drawing.sheet import Box, Colour, Line, TextLine

NAMES, AREA_OF_NAME = 12, 50_000
"""Largest number of places on a map, and the area of the map for each, in square pixels."""

DOT, APART = 5.0, 4.0
"""Size of a place's dot, and its distance to the name, in pixels."""

Edges = tuple[float, float, float, float]
"""Left, top, width and height of a map in pixels."""


@dataclass(frozen=True)
class Ink:
    """Colours of names on a map: of their letters, and of the rim around these.

    Attributes
    ----------
    letters, halo : Colour
    """

    letters: Colour
    halo: Colour


def lies_somewhere(place: Lattice) -> bool:
    """Test whether a map lies on the Earth."""
    return place.crs is not None and place.transform is not None


def quarters_of_land(grid: Grid, place: Lattice, side: int) -> NDArray[np.uint8] | None:
    """Compute the quarters of each square of a map that are land: uint8[rows, cols].

    None if that is unknown, or known better: for a map without a place on the Earth, and for a
    domain with an office's own mask, all of which may be inhabited.

    Parameters
    ----------
    grid : Grid
    place : Lattice
        A map of the grid, or a part of it.
    side : int
        Number of cells along the side of a square.
    """
    has_office_mask = not grid.domain.is_box and PREFIX not in grid.domain.source
    if has_office_mask or not lies_somewhere(place):
        return None
    return share_land(place, side)


def draw_shore(place: Lattice, edges: Edges, colour: Colour) -> list[Line]:
    """Draw the shore as lines on a map."""
    left, top, width, height = edges
    west, south, east, north = place.bounds
    steps = round(max(width, height))
    numbers = trace_shore(place, steps)
    length = max(east - west, north - south) / steps
    # The shore is traced in steps along the longer side, and pixels need not be square.
    scale = np.array([length / (east - west) * width, length / (north - south) * height])
    lines, at = [], 0
    while at < numbers.size:
        points = int(numbers[at])
        moves = numbers[at + 1 : at + 1 + 2 * points].reshape(points, 2)
        line = np.cumsum(moves, axis=0) * scale + (left, top)
        inside = np.clip(line, (left, top), (left + width - 1, top + height - 1))
        lines.append(Line(tuple((float(x), float(y)) for x, y in inside), colour))
        at += 1 + 2 * points
    return lines


def draw_names(place: Lattice, edges: Edges, size: float, ink: Ink, language: str) -> list[
    Box | TextLine
]:  # fmt: skip
    """Draw a dot and the name of the most important places of a map, as far as there is space.

    Names are Japanese on a Japanese map, if they are known and a font has their letters.
    """
    left, top, width, height = edges
    west, south, east, north = place.bounds
    limit = min(NAMES, int(width * height / AREA_OF_NAME))
    taken: list[Edges] = []
    items: list[Box | TextLine] = []
    # The most important towns come first and take the space.
    for one in find_towns(place):
        if len(taken) >= limit:
            break
        text = _name(one, language)
        if not text:
            continue
        x = left + (one.x - west) / (east - west) * width
        y = top + (north - one.y) / (north - south) * height
        wide = measure(text, size)
        # To the right of the dot if there is space, otherwise to the left.
        for start in (x + APART, x - APART - wide):
            box = (start - 2, y - size, wide + 4, 2 * size)
            if _fits(box, edges, taken):
                taken.append(box)
                dot = (x - DOT / 2, y - DOT / 2, DOT, DOT)
                items.append(Box(*dot, ink.letters, ink.halo))
                items.append(TextLine(start, y + size / 3, text, size, ink.letters, halo=ink.halo))
                break
    return items


def _name(town: Town, language: str) -> str:
    """Return a town's name in a language; empty if no font has its letters."""
    names = [town.name] if language != "ja" else [town.japanese, town.name]
    return next((name for name in names if name and find_families(name) is not None), "")


def _fits(box: Edges, edges: Edges, taken: list[Edges]) -> bool:
    """Test whether a box lies on the map and overlaps no other one."""
    left, top, width, height = box
    right, bottom = left + width, top + height
    on_map = (
        left >= edges[0]
        and top >= edges[1]
        and right <= edges[0] + edges[2]
        and bottom <= edges[1] + edges[3]
    )
    return on_map and all(
        right <= x or x + wide <= left or bottom <= y or y + high <= top
        for x, y, wide, high in taken
    )
