"""Two releases on one page: both maps on one scale, and the change with its margin."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.io.write.drawing.fonts import find_families, shorten
from geodp.io.write.drawing.sheet import CellRaster, Colour, Sheet, TextLine, mix
from geodp.io.write.frame import UnitFrame
from geodp.io.write.map.look import PALE, Look, Theme
from geodp.io.write.map.page import (
    EDGE,
    GAP,
    MIN_WIDTH,
    SMALL,
    Page,
    draw_box,
    draw_classes,
    draw_legend,
    draw_panel,
    draw_shores,
    label_width,
    name_counts,
    write_foot,
    write_head,
)
from geodp.io.write.map.panel import Panel
from geodp.io.write.scale import NEAR
from geodp.io.write.view import View
from geodp.table.display import shorten_amount

BEGINS = (10, 100, 1_000)
"""Lower limits of classes of changes after the first, in counts per square kilometre or cell."""

MORE = ((0xF4, 0xA5, 0x82), (0xD6, 0x60, 0x4D), (0xB2, 0x18, 0x2B), (0x67, 0x00, 0x1F))
FEWER = ((0x92, 0xC5, 0xDE), (0x43, 0x93, 0xC3), (0x21, 0x66, 0xAC), (0x05, 0x30, 0x61))
"""Red and blue of ColorBrewer (Harrower and Brewer 2003), distinguishable for the colour-blind."""

HATCH = 5
"""Distance of lines of the hatching, in pixels."""

OUTSIDE, SAME, FIRST = 0, 1, 2
FEW = FIRST + 2 * (len(MORE) + len(FEWER))
"""Numbers of colours: the classes of increases, then those of decreases, then all of these in pale,
then counts that an office does not show."""


def subtract(earlier: Panel, later: Panel) -> Panel:
    """Return later less earlier, whose noise is that of both maps.

    ``believed``: whether that is beyond its margin; ``few``: whether one of the two counts is shown
    as below its office's limit.
    """
    value, margin, believed = later.value - earlier.value, None, None
    if earlier.margin is not None and later.margin is not None:
        # The noises of two releases are independent, so that their variances add up.
        margin = math.hypot(earlier.margin, later.margin)
        counts = np.abs(np.nan_to_num(value)) * later.frame.areas()
        believed = counts >= margin * (1 - NEAR)
    hidden = [panel.few for panel in (earlier, later) if panel.few is not None]
    few = np.any(hidden, axis=0) if hidden else None
    return replace(later, value=value, margin=margin, believed=believed, few=few)


def number_colours(change: Panel, *, fade: bool) -> NDArray[np.uint8]:
    """Compute the number of every block's colour: uint8[rows, cols]."""
    value = np.nan_to_num(change.value)
    limits = np.array(BEGINS) * (1 - NEAR)
    number = np.searchsorted(limits, np.abs(value), side="right") + FIRST
    number[value < 0] += len(MORE)
    if fade and change.believed is not None:
        number[~change.believed] += len(MORE) + len(FEWER)
    number[value == 0] = SAME
    if change.land is not None and change.believed is not None:
        number[(change.land == 0) & ~change.believed] = SAME
    number[np.isnan(change.value)] = OUTSIDE
    if change.few is not None:
        number[change.few] = FEW
    return number.astype(np.uint8)


def list_colours(theme: Theme) -> tuple[Colour, ...]:
    """List colours by number; on dark paper the lighter ones are the larger changes."""
    more, fewer = (each if theme.classes[0] > theme.classes[-1] else each[::-1]
                   for each in (MORE, FEWER))  # fmt: skip
    pale = mix([*more, *fewer], [theme.paper], [PALE])
    return theme.outside, theme.paper, *more, *fewer, *pale


def compose_change(earlier: View, later: View, look: Look, times: tuple[str, ...] = ()) -> Sheet:
    """Lay out the page of two releases of one grid: the earlier, the later, the change.

    ``times``: of both, if they are periods of a series.

    Raises UsageError for other grids, for origins and destinations, and as
    :func:`geodp.io.write.map.page.compose`.
    """
    look.require_fonts()
    both = (earlier, later)
    # Cells of different grids cannot be subtracted.
    if earlier.table.grid != later.table.grid:
        raise UsageError(
            "--compare takes two releases on the same grid and domain.", code="map-grids-differ"
        )
    later.table.grid.require_map(
        Rule(
            "compare-needs-one-map",
            "--compare is for releases of one map, not of origins and destinations.",
        )
    )
    # Three maps share the width of one.
    side = max(1, look.size // 3)
    panels = [Panel.of(each, 0, look.bounds, side) for each in both]
    change = subtract(*panels)
    label_space, (wide, high) = label_width(look), panels[0].frame.size
    step = label_space + max(wide, MIN_WIDTH // 3) + GAP
    page = Page(look, 3 * step - GAP + 2 * EDGE)
    write_head(page, later, [panels[1]])
    page.y += 26
    _write_names(page, both, times or (None, None), step, label_space)
    page.y += 10 + 18 * bool(label_space)
    for number, panel in enumerate(panels):
        draw_panel(page, panel, EDGE + step * number + label_space)
    draw_change(page, change, EDGE + 2 * step + label_space)
    page.y += high
    draw_legend(page, later, panels)
    _draw_changes(page, change, name_counts(later, look))
    # If one of the two is not private, the footer must say so.
    open_view = next((each for each in both if not each.card.private), later)
    lines = []
    if change.margin is not None:
        lines.append(look.captions.change_margin.format(margin=f"±{change.margin:,.0f}"))
    write_foot(page, open_view, panels, lines)
    return page.finish(look.title or later.name, later.table.event.statement, later.card.software)


def draw_change(page: Page, change: Panel, left: float) -> None:
    """Draw the map of changes; changes beyond their margin are hatched."""
    wide, high = change.frame.size
    rows, cols = change.frame.blocks
    times = max(1, wide // cols), max(1, high // rows)
    number = number_colours(change, fade=page.look.fade)
    hatched = np.zeros(number.shape, np.bool_)
    if change.believed is not None:
        hatched = change.believed & (number >= FIRST) & (number < FEW)
    # Hatching needs pixels, so that units are rasterized here.
    if isinstance(change.frame, UnitFrame):
        unit = change.frame.number_pixels()
        hatched = (unit >= 0) & hatched[0][unit]
        number = np.where(unit >= 0, number[0][unit], np.uint8(OUTSIDE))
        (rows, cols), times = unit.shape, (1, 1)
    if change.frame.place.northwards:
        number, hatched = number[::-1], hatched[::-1]
    number, hatched = _enlarge(number, times), _enlarge(hatched, times)
    number = _hatch(number, hatched)
    place, block = change.frame.place, change.frame.block
    shown = place.rows / block * times[1], place.cols / block * times[0]
    colours, up = list_colours(page.look.theme), place.northwards
    if change.few is not None:
        colours = (*colours, page.look.theme.few)
    page.items.append(CellRaster(left, page.y, wide, high, number, colours, shown, cut_above=up))
    draw_shores(page, change.frame, left)
    draw_box(page, change.frame, left)


def _enlarge(values: NDArray[Any], times: tuple[int, int]) -> NDArray[Any]:
    """Repeat every value so many times across and down."""
    return np.repeat(np.repeat(values, times[1], axis=0), times[0], axis=1)


def _hatch(number: NDArray[np.uint8], hatched: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Draw lines of paper from the lower left to the upper right into hatched pixels."""
    step = np.add.outer(*map(np.arange, number.shape))
    return np.where(hatched & (step % HATCH == 0), np.uint8(SAME), number)


def _write_names(
    page: Page,
    both: tuple[View, View],
    times: tuple[str | None, ...],
    step: float,
    label_space: float,
) -> None:
    """Write the name of each map above it, in red if the release is not private, or withdrawn."""
    captions, theme = page.look.captions, page.look.theme
    texts = []
    forms = captions.earlier, captions.later
    for form, one, time in zip(forms, both, times, strict=True):
        metadata = one.card.metadata
        day = None if metadata is None else metadata.reference_date
        text = form.format(name=time or day or one.card.release_id[:12])
        event = one.table.event
        amounts = {"ε": event.epsilon, "ρ": event.rho}
        text += "".join(f", {s} = {shorten_amount(n)}" for s, n in amounts.items() if n is not None)
        if one.withdrawn is not None:
            text = f"{captions.withdrawn} · {text}"
        alarm = one.withdrawn is not None or not one.card.private
        texts.append((text, theme.alarm if alarm else theme.ink))
    texts.append((captions.change, theme.ink))
    for number, (text, colour) in enumerate(texts):
        line = shorten(text, step - GAP - label_space, SMALL)
        page.items.append(TextLine(EDGE + step * number + label_space, page.y, line, SMALL, colour))


def _draw_changes(page: Page, change: Panel, what: str) -> None:
    """Draw the classes of changes, then the samples of pale and hatched colours."""
    look = page.look
    theme, captions = look.theme, look.captions
    unit = captions.per_cell if change.frame.kilometres is None else captions.per_area
    text = captions.changed.format(unit=unit.format(what=what))
    if find_families(text) is None:
        text = captions.changed.format(unit=unit.format(what=captions.counts))
    page.y += 30
    page.write(text, SMALL + 0.5, theme.ink)
    colours, count = list_colours(theme), len(MORE)
    order = [*range(FIRST + 2 * count - 1, FIRST + count - 1, -1), *range(FIRST, FIRST + count)]
    ends = [*(f"−{begin:,}" for begin in BEGINS[::-1]), "0", *(f"+{begin:,}" for begin in BEGINS)]
    draw_classes(page, [colours[number] for number in order], ends)
    if change.margin is None:
        return
    page.y += 25
    margin, x = f"±{change.margin:,.0f}", float(EDGE)
    swatch = np.full((12, 20), FIRST + 2, np.uint8)
    shown = [(_hatch(swatch, swatch > 0), captions.hatched)]
    if look.fade:
        shown.append((swatch + np.uint8(2 * count), captions.faded))
    for raster, caption in shown:
        line = caption.format(margin=margin)
        page.items.append(CellRaster(x, page.y - 10, 20, 12, raster, colours, (12, 20)))
        x = page.write_sample(None, line, x)
