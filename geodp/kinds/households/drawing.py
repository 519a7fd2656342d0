"""The map of mean sizes of households, by places of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from geodp.grid.region import Region
from geodp.io.write.drawing.sheet import Sheet, parse_colours
from geodp.io.write.frame import Frame, UnitFrame
from geodp.io.write.map.ground import quarters_of_land
from geodp.io.write.map.look import Look
from geodp.io.write.map.quantity import BEYOND, UNKNOWN, Classes, compose_quantity
from geodp.io.write.view import View
from geodp.kinds.households.english import PAGE
from geodp.kinds.households.estimates import HouseholdEstimate
from geodp.release.report.translation import translate_texts

CLASSES = (1.5, 2.0, 2.5, 3.0, 4.0)
"""Limits of the classes of mean sizes: public constants, never taken from data."""

TINTS = ("#fee6ce", "#fdc38d", "#f79646", "#d9651c", "#a63f07", "#6b2503")
"""Colours of these classes, from small to large households."""

MAX_WIDTH = 1.0
"""Widest 95 % interval of a size that is coloured, of which classes have half."""

Line = tuple[str, Region, HouseholdEstimate]
"""Name of a place, its region, and its estimates."""


def draw_sizes(lines: Sequence[Line], view: View, look: Look) -> Sheet:
    """Lay out the map of mean sizes of places, the smallest places above those that hold them.

    Parameters
    ----------
    lines : sequence of Line
    view : View
        Of the households.
    look : Look

    Raises UsageError for requested texts that no font can draw.
    """
    grid, texts = view.table.grid, translate_texts(PAGE, look.language, "households")
    if grid.outlines is not None:
        frame: Frame = UnitFrame.of_units(grid.outlines, look.size)
    else:
        frame = Frame.of_place(grid.places[0], grid.maps.share(look.size))
    number = np.full(frame.blocks, BEYOND, np.int64)
    # Places of several levels lie above each other: the smallest are drawn last.
    for _, region, one in sorted(lines, key=lambda line: -line[1].cells):
        size = None if one.is_below(view.limit) else one.mean_size
        index = grid.decode(region.key)[:2]
        at = tuple(index if frame.units else index // frame.block)
        number[at] = UNKNOWN
        if size is not None and size.high - size.low <= MAX_WIDTH:
            number[at] = np.searchsorted(CLASSES, size.value, "right")
    land = None if frame.units else quarters_of_land(grid, frame.place, frame.block)
    if land is not None:
        # A place is coloured as a whole, and nobody lives in its water.
        number[land == 0] = UNKNOWN
    some = bool((number >= 0).any())
    classes = Classes(
        number,
        parse_colours(TINTS) if some else (),
        [f"{end:g}" for end in CLASSES] if some else (),
        texts["heading_sizes"],
        texts["sizes_unknown"],
        land,
    )
    notes = [] if some else [texts["sizes_none"]]
    look = replace(look, title=look.title or texts["heading_sizes"])
    return compose_quantity(view, look, frame, classes, notes)
