"""A map of a quantity that is no count, such as a mean: classes of its own over land and water."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodp.io.read.public.background import QUARTERS
from geodp.io.write.drawing.fonts import find_families
from geodp.io.write.drawing.sheet import Colour, Sheet
from geodp.io.write.frame import Frame
from geodp.io.write.map.look import OUTSIDE, PAPER, UNTOLD_LAND, Look
from geodp.io.write.map.page import (
    EDGE,
    SMALL,
    Page,
    draw_classes,
    draw_numbers,
    draw_scale_bar,
    label_width,
    min_width,
    number_land,
    write_foot,
    write_head,
)
from geodp.io.write.map.panel import Panel
from geodp.io.write.view import View

UNKNOWN, BEYOND = -1, -2
"""Numbers of classes where the quantity is not known, and outside the domain."""

BOX = 64
"""Width of a class in the legend, in pixels."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a quantity.

    Attributes
    ----------
    number : int64[rows, cols]
        Class of every block of a map in index order, or of every unit: int64[1, n]; -1 where the
        quantity is not known, -2 outside the domain.
    colours : sequence of Colour
        Of the classes.
    ends : sequence of str
        Limits between them.
    caption : str
        What they are of, with its unit.
    unknown : str
        Caption of places where the quantity is not known.
    land : uint8[rows, cols] or None
        Quarters of a block that are land; None if that is unknown, or all of it is.
    """

    number: NDArray[np.int64]
    colours: Sequence[Colour]
    ends: Sequence[str]
    caption: str
    unknown: str
    land: NDArray[np.uint8] | None = None


def compose_quantity(
    view: View, look: Look, frame: Frame, classes: Classes, notes: Sequence[str]
) -> Sheet:
    """Lay out the page of a map of a quantity.

    Parameters
    ----------
    view : View
        View of the release, for its guarantee.
    look : Look
        With a title.
    frame : Frame
    classes : Classes
    notes : sequence of str
        Sentences below the map.

    Raises UsageError for requested texts that no font can draw.
    """
    look.require_fonts()
    theme, captions = look.theme, look.captions
    panel = Panel(frame, classes.number.astype(np.float64), None, None, None, land=classes.land)
    page = Page(look, max(min_width(look), label_width(look) + frame.size[0]) + 2 * EDGE)
    write_head(page, view, [panel])
    page.y += 24 + 18 * bool(label_width(look))
    left = (page.width - frame.size[0] + label_width(look)) / 2
    # Where a quantity is not known, land and water are drawn as on maps of counts.
    number = number_land(classes.land, classes.number.shape).astype(np.int64)
    number[(classes.number == BEYOND) & (number != PAPER)] = OUTSIDE
    number = np.where(classes.number >= 0, classes.number + len(theme.colours), number)
    draw_numbers(page, frame, left, number.astype(np.uint8), (*theme.colours, *classes.colours))
    page.y += frame.size[1]
    top = page.y
    page.y = top + 27
    if find_families(classes.caption) is not None:
        page.write(classes.caption, SMALL + 0.5, theme.ink)
    # Also on narrow pages, the scale bar has room beside the classes.
    box = min(BOX, int(page.inner_width - 112) // max(len(classes.colours), 1))
    draw_classes(page, classes.colours, classes.ends, box)
    draw_scale_bar(page, frame, top, page.inner_width - box * len(classes.colours) - 24)
    page.y = top + 91
    untold = theme.colours[UNTOLD_LAND + QUARTERS - 1]
    shown = [(untold, classes.unknown)] if (classes.number == UNKNOWN).any() else []
    if classes.land is not None and (number == PAPER).any():
        shown.append((theme.paper, captions.water))
    # Around units there is always some outside.
    if frame.units is not None or (number == OUTSIDE).any():
        shown.append((theme.outside, captions.outside))
    page.write_samples(shown)
    write_foot(page, view, [panel], margin_lines=notes, is_quantity=True)
    return page.finish(look.title or view.name, view.table.event.statement, view.card.software)
