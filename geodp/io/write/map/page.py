"""Page of a map: title, maps, legend and footer, laid out for any size and any texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.crs import open_transformer
from geodp.grid.lattice import Lattice
from geodp.io.read.public.background import QUARTERS
from geodp.io.write.drawing.fonts import families, find_families, measure, shorten, wrap
from geodp.io.write.drawing.sheet import Box, CellRaster, Colour, Line, Patches, Sheet, TextLine
from geodp.io.write.frame import Frame, UnitFrame, crs_of, round_length
from geodp.io.write.map.ground import Ink, draw_names, draw_shore, lies_somewhere
from geodp.io.write.map.look import (
    AROUND,
    CLASSES,
    NEGATIVE,
    OUTSIDE,
    PAPER,
    SMALL_COUNT,
    UNTOLD_LAND,
    Look,
    describe_margin,
)
from geodp.io.write.map.panel import Panel
from geodp.io.write.scale import BEGINS, classify
from geodp.io.write.view import View
from geodp.table.display import shorten_amount
from geodp.table.stated.release import Software

MIN_WIDTH = 640
"""Smallest width of a page in pixels, which the texts need, unless a smaller map is asked for."""

NARROW = 480
"""Smallest width of a page with a small map, which classes and a scale bar need side by side."""

EDGE, GAP = 36, 28
"""Spaces around and between the maps, in pixels."""

SEGMENT, SCALE_BAR = 46, 220
"""Widths in pixels of a class in the legend, and of the scale bar at most."""

LOWER = 8
"""Height in pixels of the row of paler colours in the legend."""

LARGE, MEDIUM, SMALL = 23.5, 14.5, 12.5
"""Sizes of letters in pixels."""

LATITUDES = 62.0
"""Width in pixels of the labels of latitudes on the left of a map."""

LONGEST_CODE = 24
"""Longest code of a CRS, in letters; definitions are longer."""

TITLE_LINES, NAME_WIDTH = 3, 560
"""Largest number of lines of a title; width in pixels of a name within a line."""


@dataclass
class Page:
    """A page that grows downwards: ``y`` is its current end."""

    look: Look
    width: float
    y: float = 0.0
    items: list[TextLine | Box | Line | CellRaster | Patches] = field(default_factory=list)

    @property
    def inner_width(self) -> float:
        """Width in pixels between the edges."""
        return self.width - 2 * EDGE

    def write(self, text: str, size: float, colour: Colour, x: float = EDGE) -> None:
        """Write a line whose baseline is the current end of the page."""
        self.items.append(TextLine(x, self.y, text, size, colour))

    def write_lines(self, text: str, size: float, step: float) -> None:
        """Write a text in as many lines as it needs, each a step further down."""
        for line in wrap(text, self.inner_width, size):
            self.y += step
            self.write(line, size, self.look.theme.soft)

    def write_sample(self, colour: Colour | None, text: str, x: float) -> float:
        """Write a text behind a box of its colour; return where the next one begins."""
        self.items.append(Box(x, self.y - 10, 20, 12, colour, self.look.theme.line))
        self.write(text, SMALL, self.look.theme.ink, x + 28)
        return x + 50 + measure(text, SMALL)

    def write_samples(self, shown: Sequence[tuple[Colour, str]]) -> None:
        """Write boxes of colours with their texts, in as many lines as they need."""
        x = float(EDGE)
        for colour, text in shown:
            width = 28 + measure(text, SMALL)
            if x > EDGE and x + width > self.width - EDGE:
                x, self.y = float(EDGE), self.y + 20
            x = self.write_sample(colour, text, x)

    def finish(self, title: str, description: str, software: Software) -> Sheet:
        """Return the page as a sheet, with texts for those who do not see it."""
        return Sheet(
            width=math.ceil(self.width),
            height=math.ceil(self.y + 24),
            paper=self.look.theme.paper,
            title=title,
            description=description,
            software=str(software),
            items=(*self.items,),
        )


def compose(view: View, look: Look) -> Sheet:
    """Lay out the page of a released map, or of origins and destinations side by side.

    Raises UsageError for bounds without a cell, and for requested texts that no font can draw.
    """
    look.require_fonts()
    maps = [(one, 0) for one in view.ends]
    maps = maps or [(view, number) for number, _ in enumerate(view.table.grid.places)]
    size = look.size // max(len(view.ends), 1)
    panels = [Panel.of(one, number, look.bounds, size) for one, number in maps]
    label_space = label_width(look)
    wide = sum(label_space + panel.frame.size[0] for panel in panels) + GAP * (len(panels) - 1)
    page = Page(look, max(min_width(look), wide) + 2 * EDGE)
    write_head(page, view, panels)
    page.y += 24 + 18 * bool(label_space)
    left = (page.width - wide) / 2 + label_space
    for panel in panels:
        draw_panel(page, panel, left)
        left += panel.frame.size[0] + GAP + label_space
    page.y += max(panel.frame.size[1] for panel in panels)
    draw_legend(page, view, panels)
    write_foot(page, view, panels)
    return page.finish(look.title or view.name, view.table.event.statement, view.card.software)


def write_head(page: Page, view: View, panels: list[Panel], *, lines: bool = False) -> None:
    """Write title and subtitle, and in red whether the release is not private, or withdrawn.

    ``lines``: whether the map shows flows as lines, and not where they begin and end.
    """
    look = page.look
    captions, theme = look.captions, look.theme
    flags = [] if view.card.private else [captions.flag]
    flags += [] if view.withdrawn is None else [captions.withdrawn]
    shown = " · ".join(flags)
    flag = measure(shown, LARGE, bold=True) + 24 if shown else 0.0
    page.y = 16
    place, block = panels[0].frame.place, panels[0].frame.block
    drawn = wrap(name_map(view, look, lines=lines), page.inner_width - flag, LARGE, bold=True)
    # A long title must not push the map off the page.
    if len(drawn) > TITLE_LINES:
        drawn[TITLE_LINES - 1 :] = [
            shorten(" ".join(drawn[TITLE_LINES - 1 :]), page.inner_width - flag, LARGE, bold=True)
        ]
    for line in drawn:
        page.y += 30
        page.items.append(TextLine(EDGE, page.y, line, LARGE, theme.ink, bold=True))
    if flag:
        right = page.width - EDGE
        page.items.append(TextLine(right, 46, shown, LARGE, theme.alarm, True, at_end=True))
    units = panels[0].frame.units
    size = captions.cells.format(rows=place.rows, cols=place.cols)
    grid = [size if units is None else captions.units.format(units=units)]
    if place.system is not None:
        grid.insert(0, place.system.name)
    metadata = view.card.metadata
    if metadata is not None and metadata.reference_date is not None and look.date is None:
        grid.insert(0, metadata.reference_date)
    if block > 1:
        grid.append(captions.blocks.format(block=block))
    if len(panels) == 2:
        grid.append(captions.pairs)
    page.y += 5
    page.write_lines(" · ".join(grid), MEDIUM, 21)


def name_map(view: View, look: Look, *, lines: bool = False) -> str:
    """Return the title of a map: the requested one, the publisher's, or what is counted."""
    metadata, captions = view.card.metadata, look.captions
    given = look.title or (None if metadata is None else metadata.title)
    if given and families(given) is not None:
        return given
    if lines:
        return captions.titles["lines"]
    what = name_counts(view, look)
    title = captions.titles.get(view.name) or captions.titles.get(view.counted)
    return title or captions.title.format(what=f"{what[:1].upper()}{what[1:]}")


def draw_panel(page: Page, panel: Panel, left: float) -> None:
    """Draw one map of counts and the line around it."""
    theme = page.look.theme
    number = number_colours(panel, fade=page.look.fade)
    draw_numbers(page, panel.frame, left, number, theme.colours)


def draw_numbers(
    page: Page, frame: Frame, left: float, number: NDArray[np.uint8], colours: Sequence[Colour]
) -> None:
    """Draw a map of blocks or units by the numbers of their colours, and the line around it.

    ``number``: uint8[rows, cols] in index order, or uint8[1, n] of units.
    """
    theme = page.look.theme
    if isinstance(frame, UnitFrame):
        around, line = theme.outside, theme.line if frame.has_borders else None
        drawn = (*frame.size, frame.shapes, number[0], tuple(colours))
        page.items.append(Patches(left, page.y, *drawn, around, line))
        draw_box(page, frame, left)
        return
    draw_blocks(page, frame, left, number, colours)
    draw_shores(page, frame, left)
    draw_places(page, frame, left)
    draw_box(page, frame, left)


def draw_blocks(
    page: Page, frame: Frame, left: float, number: NDArray[np.uint8], colours: Sequence[Colour]
) -> None:
    """Draw the blocks of a map alone, by the numbers of their colours: uint8[rows, cols]."""
    shown = frame.place.rows / frame.block, frame.place.cols / frame.block
    up = frame.place.northwards
    # Images have the first row on top, and such grids have it at the bottom.
    if up:
        number = number[::-1]
    size = frame.size
    page.items.append(CellRaster(left, page.y, *size, number, tuple(colours), shown, cut_above=up))


def draw_shores(page: Page, frame: Frame, left: float) -> None:
    """Draw the shore over a map that lies on the Earth."""
    place, look = frame.place, page.look
    if look.ground and lies_somewhere(place):
        edges = (left, page.y, *frame.size)
        page.items += draw_shore(place, edges, look.theme.shore)


def draw_places(page: Page, frame: Frame, left: float) -> None:
    """Draw names of places over a map that lies on the Earth."""
    place, look = frame.place, page.look
    if look.ground and lies_somewhere(place):
        edges = (left, page.y, *frame.size)
        ink = Ink(look.theme.ink, look.theme.paper)
        page.items += draw_names(place, edges, SMALL, ink, look.language)


def draw_box(page: Page, frame: Frame, left: float) -> None:
    """Draw the line around a map and, on request, latitudes and longitudes over it."""
    (width, height), theme = frame.size, page.look.theme
    page.items.append(Box(left - 1, page.y - 1, width + 2, height + 2, None, theme.line))
    if not page.look.graticule:
        return

    reached = left - label_width(page.look)
    lowest = math.inf
    for line, text, meridian in list_lines(frame.place, (left, page.y, width, height)):
        page.items.append(line)
        at = touches(line, page.y if meridian else left, top=meridian)
        if at is None:
            continue
        wide = measure(text, SMALL)
        if meridian:
            x = min(max(at[0] - wide / 2, left), left + width - wide)
            # Labels that would overlap the one before are left out.
            if x > reached:
                page.items.append(TextLine(x, page.y - 7, text, SMALL, theme.soft))
                reached = x + wide + 6
        elif at[1] + 15 < lowest:
            y = min(max(at[1] + 4, page.y + 10), page.y + height)
            page.items.append(TextLine(left - 6, y, text, SMALL, theme.soft, at_end=True))
            lowest = at[1]


def min_width(look: Look) -> int:
    """Return the smallest width of what is between the edges of a page, in pixels."""
    return min(MIN_WIDTH, max(NARROW, look.size))


def label_width(look: Look) -> float:
    """Return the width in pixels of the labels of latitudes on the left of a map."""
    return LATITUDES if look.graticule else 0.0


def number_colours(panel: Panel, *, fade: bool) -> NDArray[np.uint8]:
    """Compute the number of every block's colour: uint8[rows, cols]; see :mod:`.look`."""
    value = panel.value
    number = classify(np.nan_to_num(value)) + np.uint8(CLASSES)
    number[value == 0] = PAPER
    number[value < 0] = NEGATIVE
    if fade and panel.believed is not None:
        number = np.where(panel.believed, number, _number_untold(panel))
    number[np.isnan(value)] = OUTSIDE
    if panel.land is not None:
        number[np.isnan(value) & (panel.land == 0)] = PAPER
    if panel.few is not None:
        number[panel.few] = SMALL_COUNT
    return number


def _number_untold(panel: Panel) -> NDArray[np.uint8]:
    """Compute the colours of blocks not distinguishable from 0.

    Where a larger square around a block is, it has the paler colour of that one's mean; water is
    paper, as nobody lives there whose number noise hides.
    """
    number = number_land(panel.land, panel.value.shape)
    if panel.around is None:
        return number
    paler = classify(np.nan_to_num(panel.around)) + np.uint8(AROUND)
    return np.where(np.isnan(panel.around), number, paler)


def number_land(land: NDArray[np.uint8] | None, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Compute the colours of land and water of which nothing else is known: uint8[rows, cols].

    ``land``: quarters of land; None if all is.
    """
    if land is None:
        return np.full(shape, UNTOLD_LAND + QUARTERS - 1, np.uint8)
    return np.where(land == 0, PAPER, land + UNTOLD_LAND - 1).astype(np.uint8)


def draw_legend(page: Page, view: View, panels: list[Panel]) -> None:
    """Draw the classes on the left, the scale bar on the right, then colours that are no class."""
    frame, look = panels[0].frame, page.look
    theme, captions = look.theme, look.captions
    what = name_counts(view, look)
    unit = captions.per_cell if frame.kilometres is None else captions.per_area
    # No font may have all letters of the name: then the generic caption is used.
    if find_families(unit.format(what=what)) is None:
        what = captions.counts
    top = page.y
    page.y = top + 27
    page.write(unit.format(what=what), SMALL + 0.5, theme.ink)
    # Classes below the margin never appear on a faded map, so that the legend leaves them out.
    paler = _shows_around(panels, fade=look.fade)
    first = 0 if paler else _first_class(panels, fade=look.fade)
    draw_classes(
        page,
        theme.classes[first:],
        [f"{begin:,}" for begin in BEGINS[first:]],
        paler=theme.colours[AROUND:] if paler else (),
    )
    draw_scale_bar(page, frame, top, page.inner_width - SEGMENT * len(theme.classes) - 24)
    page.y = top + 66 + LOWER * paler
    _draw_swatches(page, panels)


def draw_scale_bar(page: Page, frame: Frame, top: float, limit: float) -> None:
    """Draw the scale bar of a map on the right, below ``top``, at most ``limit`` wide."""
    theme = page.look.theme
    scale = frame.scale_bar(int(min(SCALE_BAR, limit)))
    # A grid without a CRS has no lengths.
    if scale is None:
        return
    length, pixels = (float(part) for part in scale)
    right, text = page.width - EDGE, f"{length:g} km"
    page.items.append(TextLine(right, top + 27, text, SMALL + 0.5, theme.ink, at_end=True))
    bar = (
        (right - pixels, 46, pixels, 2),
        (right - pixels, 39, 2, 8),
        (right - 2, 39, 2, 8),
    )
    for x, y, width, height in bar:
        page.items.append(Box(x, top + y, width, height, theme.ink))


def name_counts(view: View, look: Look) -> str:
    """Return the name of the counts, for a legend."""
    captions = look.captions
    what = look.unit or captions.name(view.counted)
    if families(what) is None:
        what = captions.counts
    return shorten(what, NAME_WIDTH - SCALE_BAR, SMALL + 0.5)


def draw_classes(
    page: Page,
    colours: Sequence[Colour],
    limits: Sequence[str],
    wide: float = SEGMENT,
    *,
    paler: Sequence[Colour] = (),
) -> None:
    """Draw a box for every class, the limits between them, and a lower row of paler colours."""
    top, soft = page.y + 9, page.look.theme.soft
    for number, colour in enumerate(colours):
        page.items.append(Box(EDGE + wide * number, top, wide, 12, colour))
    for number, colour in enumerate(paler):
        page.items.append(Box(EDGE + wide * number, top + 12, wide, LOWER, colour))
    top += LOWER * bool(paler)
    page.y = top + 27
    for number, limit in enumerate(limits, 1):
        middle = EDGE + wide * number
        page.items.append(Box(middle - 0.5, top + 12, 1, 3, soft))
        page.write(limit, SMALL, soft, middle - measure(limit, SMALL) / 2)


def _first_class(panels: list[Panel], *, fade: bool) -> int:
    """Return the number of the first class that is shown.

    Counts of classes before it are below the office's limit, or below their margin.
    """
    limits = []
    for panel in panels:
        # Limits are in counts, and classes in counts per area of the largest block.
        begin = max(panel.limit or 0, panel.least if fade and panel.least is not None else 0)
        limits.append(begin / float(panel.frame.areas().max()))
    return int(classify(np.array([min(limits)]))[0])


def _draw_swatches(page: Page, panels: list[Panel]) -> None:
    """Draw the colours that are no class: not distinguishable, water, 0, below 0, outside."""
    look = page.look
    theme, captions = look.theme, look.captions
    limits = dict.fromkeys(panel.limit for panel in panels if panel.limit is not None)
    shown = [(theme.few, captions.few.format(limit=limit)) for limit in limits]
    shown += _list_untold(page, panels)
    if any(panel.signed for panel in panels):
        shown.append((theme.below, captions.below))
    if any(_shows_outside(panel, fade=look.fade) for panel in panels):
        shown.append((theme.outside, captions.outside))
    page.y += 25
    page.write_samples(shown)


def _shows_around(panels: list[Panel], *, fade: bool) -> bool:
    """Test whether a map shows means of larger squares."""
    return any((number_colours(panel, fade=fade) >= AROUND).any() for panel in panels)


def _shows_outside(panel: Panel, *, fade: bool) -> bool:
    """Test whether a map shows the outside of its domain: around units there is always some."""
    units = panel.frame.units is not None
    return units or bool((number_colours(panel, fade=fade) == OUTSIDE).any())


def _list_untold(page: Page, panels: list[Panel]) -> list[tuple[Colour, str]]:
    """List the colours of water, and of 0 or indistinguishable counts, with their names."""
    look = page.look
    theme, captions = look.theme, look.captions
    margins = [panel.least for panel in panels if panel.least is not None]
    if not look.fade or len(margins) < len(panels):
        return [(theme.paper, captions.zero)]
    named = {f"{math.ceil(margin):,}" for margin in margins}
    text = captions.untold_plain if len(named) > 1 else captions.untold.format(margin=min(named))
    if max(margins) <= 1:
        text = captions.zero
    shown = [(theme.colours[UNTOLD_LAND + QUARTERS - 1], text)]
    if _shows_around(panels, fade=look.fade):
        shown.append((theme.colours[AROUND + len(theme.classes) // 2], captions.around))
    # Only colours that occur are explained.
    lands = [panel.land for panel in panels if panel.land is not None]
    if any(((land > 0) & (land < QUARTERS)).any() for land in lands):
        shown.append((theme.colours[UNTOLD_LAND], captions.coast))
    if any((land == 0).any() for land in lands):
        shown.append((theme.paper, captions.water))
    return shown


def write_foot(
    page: Page,
    view: View,
    panels: list[Panel],
    more: Sequence[str] = (),
    margin_lines: Sequence[str] | None = None,
    *,
    is_quantity: bool = False,
) -> None:
    """Write the guarantee, the margin, ``more`` sentences, and the requested texts.

    ``margin_lines``: sentences about the margin, in place of those for the panels' counts.
    """
    look, captions, card = page.look, page.look.captions, view.card
    guarantee = captions.private.format(variant=captions.name(card.guarantee.variant))
    margins = margin_lines
    if margins is None:
        margins = describe_margin((view.ends or (view,))[0].card, panels, captions)
    day = view.withdrawn
    gone = [] if day is None else [captions.withdrawn_on.format(date=day)]
    lines = [*gone, guarantee if card.private else captions.fixed, *margins, *more]
    if look.graticule:
        lines.append(captions.crs.format(crs=describe_crs(str(panels[0].frame.place.crs))))
    requested = (
        (captions.date, look.date),
        (captions.source, look.source),
        (captions.credit, look.credit),
    )
    for form, text in requested:
        if text is not None:
            line = form.format(text=text)
            # If a font lacks letters of the combination, caption and text go on separate lines.
            lines += [line] if find_families(line) is not None else [form.format(text=""), text]
    event = view.table.event
    symbols = {"ε": event.epsilon, "ρ": event.rho, "δ": event.delta}
    budget = [f"{s} = {shorten_amount(n)}" for s, n in symbols.items() if n is not None]
    # The methods of maps of trips have names that are for their cards alone.
    named = [] if view.name in TRIPS else [str(event.mechanism)]
    # A quantity is made of several tables, each with a part of the budget.
    lines += [] if is_quantity else [" · ".join([", ".join(budget), *named])]
    place = panels[0].frame.place
    if lies_somewhere(place) and (look.ground or (look.fade and panels[0].land is not None)):
        lines.append(captions.ground)
    page.y += 10
    for line in lines:
        page.write_lines(line, SMALL, 18)


TRIPS = ("origins", "destinations", "flows")
"""Names of maps of where trips begin and end."""


def describe_crs(crs: str) -> str:
    """Return the name of a CRS, with its code if it was given by one."""
    name = crs_of(crs).name
    return f"{name} ({crs})" if len(crs) <= LONGEST_CODE else name


LINES = 3
"""Smallest number of round steps of longitude and of latitude in a map."""

FINE, EVERY = 4096, 64
"""Number of points for cutting a line at the map's edges, and the stride of those drawn."""

NEAR = 1.5
"""Distance from an edge, in pixels, within which a line gets a label there."""


def list_lines(
    place: Lattice, box: tuple[float, float, float, float]
) -> list[tuple[Line, str, bool]]:
    """Compute lines in the pixels of a map, with their degrees, and whether each is a meridian.

    Parameters
    ----------
    place : Lattice
        The map that is drawn.
    box : (float, float, float, float)
        Left, top, width and height of the map.

    Raises
    ------
    UsageError
        The map has no place on the Earth, or lies across the date line.
    """
    if place.crs is None or place.transform is None:
        raise UsageError(
            "--graticule needs a grid with a coordinate reference system.",
            code="graticule-needs-crs",
        )
    west, south, east, north = _bounds(place)
    lines = []
    for number, (low, high) in enumerate(((west, east), (south, north))):
        # Meridians and parallels are curves in most projections.
        along = np.linspace(*((south, north) if number == 0 else (west, east)), FINE)
        for degree in _steps(low, high):
            across = np.full(FINE, float(degree))
            lon, lat = (across, along) if number == 0 else (along, across)
            for points in _cut(*_to_pixels(place, box, lon, lat), box):
                lines.append((points, format_degrees(degree, number == 0), number == 0))
    return [(Line(points), text, meridian) for points, text, meridian in lines]


def touches(line: Line, at: float, *, top: bool) -> tuple[float, float] | None:
    """Return where a line ends on the top edge or on the left one; None if it does not."""
    for point in (line.points[0], line.points[-1]):
        if abs(point[1 if top else 0] - at) < NEAR:
            return point
    return None


def format_degrees(degree: Fraction, meridian: bool) -> str:
    """Format degrees with the hemisphere.

    Examples
    --------
    >>> format_degrees(Fraction(-1, 2), True), format_degrees(Fraction(35), False)
    ('0.5°W', '35°N')
    """
    sides = "EW" if meridian else "NS"
    side = "" if degree == 0 else sides[degree < 0]
    return f"{abs(float(degree)):g}°{side}"


def _bounds(place: Lattice) -> tuple[float, float, float, float]:
    """Return west, south, east and north of a map in degrees."""
    crs = crs_of(str(place.crs))
    if crs.is_geographic:
        return place.bounds
    move = open_transformer(crs, "OGC:CRS84")
    west, south, east, north = move.transform_bounds(*place.bounds, densify_pts=41)
    if not np.isfinite([west, south, east, north]).all() or west >= east:
        raise UsageError(
            "--graticule is not drawn across the date line.", code="graticule-at-date-line"
        )
    return west, south, east, north


def _steps(low: float, high: float) -> list[Fraction]:
    """Return round degrees between two, without the ends."""
    step = round_length(Fraction((high - low) / LINES))
    # Exact fractions, so that 0.1 degrees are counted without rounding errors.
    first, last = math.floor(Fraction(low) / step) + 1, math.ceil(Fraction(high) / step)
    return [number * step for number in range(first, last)]


def _to_pixels(
    place: Lattice,
    box: tuple[float, float, float, float],
    lon: NDArray[np.float64],
    lat: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = lon, lat
    crs = crs_of(str(place.crs))
    if not crs.is_geographic:
        x, y = open_transformer("OGC:CRS84", crs).transform(lon, lat)
    west, south, east, north = place.bounds
    left, top, width, height = box
    return left + (x - west) / (east - west) * width, top + (north - y) / (north - south) * height


def _cut(
    x: NDArray[np.float64], y: NDArray[np.float64], box: tuple[float, float, float, float]
) -> list[tuple[tuple[float, float], ...]]:
    """Return the parts of a line that lie on the map."""
    left, top, width, height = box
    inside = (x >= left) & (x <= left + width) & (y >= top) & (y <= top + height)
    # A curve may leave the map and come back: every stretch inside becomes a line.
    edge = np.flatnonzero(np.diff(np.concatenate([[0], inside, [0]])))
    parts = []
    for start, stop in edge.reshape(-1, 2).tolist():
        if stop - start > 1:
            points_drawn = [*range(start, stop - 1, EVERY), stop - 1]
            parts.append(tuple((float(x[i]), float(y[i])) for i in points_drawn))
    return parts
