"""The page of a map: title, maps, legend and footer, laid out for any size and any words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodp.io.write.drawing.fonts import families, find_families
from geodp.io.write.drawing.lines import measure, shorten, wrap
from geodp.io.write.drawing.sheet import Box, CellRaster, Colour, Line, Patches, Sheet, Words
from geodp.io.write.frame import crs_of
from geodp.io.write.map.captions import tell_margin
from geodp.io.write.map.look import (
    CLASSES,
    FADED,
    NEGATIVE,
    OUTSIDE,
    PAPER,
    SMALL_COUNT,
    Look,
)
from geodp.io.write.map.panel import Panel
from geodp.io.write.map.polygons import UnitFrame
from geodp.io.write.scale import BEGINS, area_of, classify
from geodp.io.write.view import View

LEAST_WIDTH = 640
"""Pixels that the words need."""

EDGE, GAP = 36, 28
"""Pixels around and between the maps."""

SEGMENT, SCALE_BAR = 46, 220
"""Pixels of a class in the legend; of the scale bar at most."""

LARGE, MEDIUM, SMALL = 23.5, 14.5, 12.5
"""Sizes of letters in pixels."""

LATITUDES = 62.0
"""Pixels for degrees on the left of a map."""

LONGEST_CODE = 24
"""Letters of a code of a CRS; definitions are longer."""

TITLE_LINES, NAME_ROOM = 3, 560
"""Lines of a title that are drawn; pixels of a name within a line."""


@dataclass
class Page:
    """A page that grows downwards: ``y`` is where it ends so far."""

    look: Look
    width: float
    y: float = 0.0
    items: list[Words | Box | Line | CellRaster | Patches] = field(default_factory=list)

    @property
    def room(self) -> float:
        """Pixels between the edges."""
        return self.width - 2 * EDGE

    def write(self, text: str, size: float, colour: Colour, x: float = EDGE) -> None:
        """Write a line whose base is where the page ends."""
        self.items.append(Words(x, self.y, text, size, colour))

    def write_lines(self, text: str, size: float, step: float) -> None:
        """Write a text in as many lines as it needs, each a step further down."""
        for line in wrap(text, self.room, size):
            self.y += step
            self.write(line, size, self.look.theme.soft)


def compose(view: View, look: Look) -> Sheet:
    """Lay out the page of a released map, or of origins and destinations side by side.

    Raises UsageError for bounds without a cell, and for asked words that no font can draw.
    """
    look.require_fonts()
    panels = [
        Panel.of(view, number, look.bounds, look.size)
        for number, _ in enumerate(view.table.grid.places)
    ]
    room = find_room(look)
    wide = sum(room + panel.frame.size[0] for panel in panels) + GAP * (len(panels) - 1)
    page = Page(look, max(LEAST_WIDTH, wide) + 2 * EDGE)
    write_head(page, view, panels)
    page.y += 24 + 18 * bool(room)
    left = (page.width - wide) / 2 + room
    for panel in panels:
        draw_panel(page, panel, left)
        left += panel.frame.size[0] + GAP + room
    page.y += max(panel.frame.size[1] for panel in panels)
    draw_legend(page, view, panels)
    write_foot(page, view, panels)
    software = str(view.card.software)
    return Sheet(
        width=math.ceil(page.width),
        height=math.ceil(page.y + 24),
        paper=look.theme.paper,
        title=look.title or view.name,
        description=view.table.event.words,
        software=software,
        items=(*page.items,),
    )


def write_head(page: Page, view: View, panels: list[Panel]) -> None:
    """Write title and subtitle, and in red what is no private release."""
    event, look = view.table.event, page.look
    words, theme = look.words, look.theme
    symbols = {"ε": event.epsilon, "ρ": event.rho, "δ": event.delta}
    budget = [f"{s} = {shorten_amount(n)}" for s, n in symbols.items() if n is not None]
    spent = ", ".join(budget) + f" · {event.mechanism}"
    title = look.title or view.name
    lines = [spent]
    if title and families(title) is not None:
        lines = [f"{title} · {spent}"]
        if look.title or find_families(lines[0]) is None:
            lines = [title, spent]
    flag = 0.0 if view.card.private else measure(words.flag, LARGE, bold=True) + 24
    page.y = 16
    place, block = panels[0].frame.place, panels[0].frame.block
    drawn = wrap(lines[0], page.room - flag, LARGE, bold=True)
    if len(drawn) > TITLE_LINES:
        drawn[TITLE_LINES - 1 :] = [
            shorten(" ".join(drawn[TITLE_LINES - 1 :]), page.room - flag, LARGE, bold=True)
        ]
    for line in drawn:
        page.y += 30
        page.items.append(Words(EDGE, page.y, line, LARGE, theme.ink, bold=True))
    if flag:
        right = page.width - EDGE
        page.items.append(Words(right, 46, words.flag, LARGE, theme.alarm, True, at_end=True))
    units = panels[0].frame.units
    size = words.cells.format(rows=place.rows, cols=place.cols)
    grid = [*lines[1:], size if units is None else words.units.format(units=units)]
    if place.system is not None:
        grid.insert(-1, place.system.name)
    if block > 1:
        grid.append(words.blocks.format(block=block))
    if len(panels) == 2:
        grid.append(words.pairs)
    page.y += 5
    page.write_lines(" · ".join(grid), MEDIUM, 21)


def draw_panel(page: Page, panel: Panel, left: float) -> None:
    """Draw one map and the line around it."""
    frame, theme = panel.frame, page.look.theme
    width, height = frame.size
    number = number_colours(panel, fade=page.look.fade)
    if isinstance(frame, UnitFrame):
        colours = theme.colours if panel.few is None else (*theme.colours, theme.few)
        around, line = theme.outside, theme.line if frame.has_borders else None
        drawn = (*frame.size, frame.shapes, number[0], colours)
        page.items.append(Patches(left, page.y, *drawn, around, line))
        draw_box(page, panel, left)
        return
    shown = frame.place.rows / frame.block, frame.place.cols / frame.block
    up = frame.place.northwards
    if up:
        number = number[::-1]
    colours = theme.colours if panel.few is None else (*theme.colours, theme.few)
    cells = CellRaster(left, page.y, width, height, number, colours, shown, cut_above=up)
    page.items.append(cells)
    draw_box(page, panel, left)


def draw_box(page: Page, panel: Panel, left: float) -> None:
    """Draw the line around a map and, if asked for, latitudes and longitudes over it."""
    (width, height), theme = panel.frame.size, page.look.theme
    page.items.append(Box(left - 1, page.y - 1, width + 2, height + 2, None, theme.line))
    if not page.look.graticule:
        return
    from geodp.io.write.map.graticule import list_lines, touches

    reached = left - find_room(page.look)
    lowest = math.inf
    for line, text, meridian in list_lines(panel.frame.place, (left, page.y, width, height)):
        page.items.append(line)
        at = touches(line, page.y if meridian else left, top=meridian)
        if at is None:
            continue
        wide = measure(text, SMALL)
        if meridian:
            x = min(max(at[0] - wide / 2, left), left + width - wide)
            if x > reached:
                page.items.append(Words(x, page.y - 7, text, SMALL, theme.soft))
                reached = x + wide + 6
        elif at[1] + 15 < lowest:
            y = min(max(at[1] + 4, page.y + 10), page.y + height)
            page.items.append(Words(left - 6, y, text, SMALL, theme.soft, at_end=True))
            lowest = at[1]


def find_room(look: Look) -> float:
    """Return pixels on the left of a map for its latitudes."""
    return LATITUDES if look.graticule else 0.0


def number_colours(panel: Panel, *, fade: bool) -> NDArray[np.uint8]:
    """Return the number of every block's colour: uint8[rows, cols]; see :mod:`.look`."""
    value = panel.value
    number = classify(np.nan_to_num(value)) + np.uint8(CLASSES)
    if fade and panel.believed is not None:
        number[~panel.believed] += FADED - CLASSES
    number[value == 0] = PAPER
    number[value < 0] = NEGATIVE
    number[np.isnan(value)] = OUTSIDE
    if panel.few is not None:
        number[panel.few] = SMALL_COUNT
    return number


def draw_legend(page: Page, view: View, panels: list[Panel]) -> None:
    """Draw the classes on the left, the scale bar on the right, then what is no class."""
    frame, look = panels[0].frame, page.look
    theme, words = look.theme, look.words
    what = name_counts(view, look)
    unit = words.per_cell if frame.kilometres is None else words.per_area
    if find_families(unit.format(what=what)) is None:
        what = words.counts
    top = page.y
    page.y = top + 27
    page.write(unit.format(what=what), SMALL + 0.5, theme.ink)
    _draw_classes(page, panels)
    page.y = top + 27
    room = min(SCALE_BAR, page.room - SEGMENT * len(theme.classes) - 24)
    scale = frame.scale_bar(int(room))
    if scale is not None:
        length, pixels = (float(part) for part in scale)
        right = page.width - EDGE
        page.items.append(
            Words(right, page.y, f"{length:g} km", SMALL + 0.5, theme.ink, at_end=True)
        )
        bar = (
            (right - pixels, 46, pixels, 2),
            (right - pixels, 39, 2, 8),
            (right - 2, 39, 2, 8),
        )
        for x, y, width, height in bar:
            page.items.append(Box(x, top + y, width, height, theme.ink))
    page.y = top + 66
    _draw_swatches(page, panels)


def name_counts(view: View, look: Look) -> str:
    """Return what is counted, in the words of a legend."""
    words = look.words
    what = look.unit or words.name(view.counted)
    if families(what) is None:
        what = words.counts
    return shorten(what, NAME_ROOM - SCALE_BAR, SMALL + 0.5)


def _draw_classes(page: Page, panels: list[Panel]) -> None:
    """Draw a box for every class, pale as far as the margin goes, and where classes begin."""
    theme, top, first = page.look.theme, page.y + 9, _first_class(panels)
    pale = _pale_classes(panels) if page.look.fade else 0.0
    for number, colour in [*enumerate(theme.classes)][first:]:
        x = EDGE + SEGMENT * (number - first)
        part = min(max(pale - number, 0.0), 1.0) * SEGMENT
        for start, width, fill in (
            (x, part, theme.colours[FADED + number]),
            (x + part, SEGMENT - part, colour),
        ):
            if width >= 1:
                page.items.append(Box(start, top, width, 12, fill))
    page.y = top + 27
    for number, begin in enumerate(BEGINS[first:], 1):
        text = f"{begin:,}"
        middle = EDGE + SEGMENT * number
        page.items.append(Box(middle - 0.5, top + 12, 1, 3, theme.soft))
        page.write(text, SMALL, theme.soft, middle - measure(text, SMALL) / 2)


def _first_class(panels: list[Panel]) -> int:
    """Return the number of the first class that is shown: counts of those before are below it."""
    least = [(panel.limit or 0) / float(panel.frame.areas().max()) for panel in panels]
    return int(classify(np.array([min(least)]))[0])


def _pale_classes(panels: list[Panel]) -> float:
    """Return how many classes, and what part of the next, lie within every map's margin."""
    margins = [panel.margin for panel in panels]
    known = [margin for margin in margins if margin is not None]
    if len(known) < len(margins) or panels[0].frame.units is not None:  # each has its own area
        return 0.0
    frame = panels[0].frame
    area = float(area_of(frame.place) or 1) * frame.block**2
    density = min(known) / area
    number = int(classify(np.array([density]))[0])
    ends = (1.0, *BEGINS, 3.0 * BEGINS[-1])
    low, high = ends[number], ends[number + 1]
    part = math.log(max(density, low) / low) / math.log(high / low)
    return number + min(part, 1.0)


def _draw_swatches(page: Page, panels: list[Panel]) -> None:
    """Draw what is no class of the legend: 0, what is pale, below 0, outside."""
    look = page.look
    theme, words = look.theme, look.words
    shown = [(theme.paper, words.zero)]
    limits = dict.fromkeys(panel.limit for panel in panels if panel.limit is not None)
    shown += [(theme.few, words.few.format(limit=limit)) for limit in limits]
    known = [(panel.margin, panel.limit or 0) for panel in panels if panel.margin is not None]
    margins = {f"±{margin:,.0f}" for margin, limit in known if margin > limit}
    if look.fade and margins:
        text = words.faded_plain if len(margins) > 1 else words.faded
        shown.append((theme.colours[FADED + 4], text.format(margin=min(margins))))
    if any(panel.signed for panel in panels):
        shown.append((theme.below, words.below))
    if any(panel.frame.units or np.isnan(panel.value).any() for panel in panels):
        shown.append((theme.outside, words.outside))
    page.y += 25
    x = float(EDGE)
    for colour, text in shown:
        width = 28 + measure(text, SMALL)
        if x > EDGE and x + width > page.width - EDGE:
            x, page.y = float(EDGE), page.y + 20
        page.items.append(Box(x, page.y - 10, 20, 12, colour, theme.line))
        page.write(text, SMALL, theme.ink, x + 28)
        x += width + 22


def write_foot(page: Page, view: View, panels: list[Panel], more: Sequence[str] = ()) -> None:
    """Write what protects, what a margin is, ``more`` sentences, and what was asked for."""
    look, words, card = page.look, page.look.words, view.card
    said = words.private.format(variant=words.name(card.guarantee.variant))
    lines = [said if card.private else words.fixed, *tell_margin(card, panels, words), *more]
    if look.graticule:
        lines.append(words.crs.format(crs=tell_crs(str(panels[0].frame.place.crs))))
    asked = ((words.date, look.date), (words.source, look.source), (words.credit, look.credit))
    for form, text in asked:
        if text is not None:
            line = form.format(text=text)
            lines += [line] if find_families(line) is not None else [form.format(text=""), text]
    page.y += 10
    for line in lines:
        page.write_lines(line, SMALL, 18)


def tell_crs(crs: str) -> str:
    """Return the name of a CRS, with its code where it was given by one."""
    name = crs_of(crs).name
    return f"{name} ({crs})" if len(crs) <= LONGEST_CODE else name


def shorten_amount(amount: Fraction) -> str:
    """Return a budget as the decimal that is exact or, of a long ratio, near."""
    decimal = f"{float(amount):.6g}"
    return decimal if Fraction(decimal) == amount or len(str(amount)) > 12 else str(amount)
