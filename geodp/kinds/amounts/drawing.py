"""Pictures of means and medians: a map with a legend in the unit of the amount."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.io.write.drawing.fonts import find_families
from geodp.io.write.drawing.sheet import Colour, Sheet
from geodp.io.write.map.look import Look, Theme
from geodp.io.write.map.page import (
    EDGE,
    MIN_WIDTH,
    SMALL,
    Page,
    draw_classes,
    draw_numbers,
    draw_scale_bar,
    label_width,
    write_foot,
    write_head,
)
from geodp.io.write.map.panel import Panel
from geodp.io.write.picture import why_no_picture
from geodp.kinds.amounts.blocks import MAX_HALF, Blocks, Coloured, Quantity
from geodp.kinds.amounts.english import PAGE
from geodp.kinds.amounts.joint import view_of
from geodp.kinds.amounts.numbers import AmountNumbers
from geodp.release.report.translation import translate_texts
from geodp.table.display import show_estimate

NO_MEANS = Rule(
    "amounts-nothing-to-draw", "This release has neither means nor medians that could be drawn."
)

OUTSIDE, EMPTY, UNTOLD, FIRST = 0, 1, 2, 3
"""Numbers of colours; the classes follow."""

BOX = 64
"""Width of a class in the legend, in pixels."""


def draw_amounts(release: AmountNumbers, look: Look, withdrawn: str | None = None) -> Sheet:
    """Lay out the map of means, or of medians where there are no means.

    ``withdrawn``: the day on which the release was withdrawn, if it was.

    Raises UsageError for a grid without such a map, for bounds without a cell, and for requested
    texts that no font can draw.
    """
    blocks = estimate_blocks(release, look)
    if not blocks.levels:
        raise UsageError(NO_MEANS)
    return draw_quantity(release, blocks, next(iter(blocks.levels)), look, withdrawn)


def estimate_blocks(release: AmountNumbers, look: Look) -> Blocks:
    """Estimate the blocks of a map; UsageError as for :func:`draw_amounts`."""
    reason = why_no_picture(release.count.grid)
    if reason is None and release.count.grid.maps.one is None:
        reason = "origins and destinations have no means on one map"
    if reason is not None:
        raise UsageError(f"There is no map of this release: {reason}.", code="map-unavailable")
    return Blocks.of(release, look.size, look.bounds)


def draw_quantity(
    release: AmountNumbers,
    blocks: Blocks,
    name: Quantity,
    look: Look,
    withdrawn: str | None = None,
) -> Sheet:
    """Lay out the map of means or of medians; see :mod:`.blocks` for what is coloured.

    Raises UsageError for requested texts that no font can draw.
    """
    look.require_fonts()
    view, amount = replace(view_of(release), withdrawn=withdrawn), release.index.amount
    texts = translate_texts(PAGE, look.language, "amounts")
    coloured, frame = Coloured.of(blocks, name), blocks.frame
    title = look.title or texts[f"map_{name}"].format(name=amount.name, unit=amount.unit)
    look = replace(look, title=title)
    panel = Panel(frame, coloured.value, None, None, None)
    page = Page(look, max(MIN_WIDTH, label_width(look) + frame.size[0]) + 2 * EDGE)
    write_head(page, view, [panel])
    page.y += 24 + 18 * bool(label_width(look))
    left = (page.width - frame.size[0] + label_width(look)) / 2
    colours = list_colours(look.theme, len(coloured.edges) + 1)
    draw_numbers(page, frame, left, number_blocks(coloured), colours)
    page.y += frame.size[1]
    _draw_legend(page, coloured, texts, name, look.unit or amount.unit)
    write_foot(page, view, [panel], margin_lines=_list_notes(coloured, texts, amount.unit))
    return page.finish(title, view.table.event.statement, view.card.software)


def list_colours(theme: Theme, classes: int) -> tuple[Colour, ...]:
    """List colours by number: three that are no class, then as many classes, evenly apart."""
    chosen = np.rint(np.linspace(0, len(theme.classes) - 1, classes)).astype(int)
    if classes == 1:
        chosen = np.array([len(theme.classes) // 2])
    return (
        theme.outside, theme.paper, theme.untold, *(theme.classes[each] for each in chosen.tolist())
    )  # fmt: skip


def number_blocks(coloured: Coloured) -> NDArray[np.uint8]:
    """Compute the number of every block's colour: uint8[rows, cols]."""
    number = coloured.classes + FIRST
    number[np.isnan(coloured.value)] = UNTOLD
    number[coloured.records == 0] = EMPTY
    number[np.isnan(coloured.records)] = OUTSIDE
    return number.astype(np.uint8)


def name_classes(coloured: Coloured, texts: Mapping[str, str]) -> list[str]:
    """Write the limits of every class, from the lowest."""
    ends = [show_estimate(edge) for edge in coloured.edges.tolist()]
    if not ends:
        return []
    inner = [texts["class_between"].format(begin=a, end=b) for a, b in pairwise(ends)]
    first, last = texts["class_below"], texts["class_from"]
    return [first.format(end=ends[0]), *inner, last.format(begin=ends[-1])]


def _draw_legend(
    page: Page, coloured: Coloured, texts: Mapping[str, str], name: Quantity, unit: str
) -> None:
    """Draw the classes on the left, the scale bar on the right, then what is no class."""
    theme, top = page.look.theme, page.y
    ends = [show_estimate(edge) for edge in coloured.edges.tolist()]
    colours = list_colours(theme, len(ends) + 1)
    caption = texts[f"quantity_{name}"].format(unit=unit)
    page.y = top + 27
    if find_families(caption) is not None:
        page.write(caption, SMALL + 0.5, theme.ink)
    if ends:
        draw_classes(page, colours[FIRST:], ends, BOX)
    draw_scale_bar(page, coloured.frame, top, page.inner_width - BOX * len(colours[FIRST:]) - 24)
    page.y = top + 91
    drawn, x = number_blocks(coloured), float(EDGE)
    captions = page.look.captions
    for at, text in ((UNTOLD, texts["untold"]), (EMPTY, texts["without"]),
                     (OUTSIDE, captions.outside)):  # fmt: skip
        # Only colours that occur are explained; around units there is always some outside.
        if (drawn == at).any() or (at == OUTSIDE and coloured.frame.units is not None):
            x = page.write_sample(colours[at], text, x)


def _list_notes(coloured: Coloured, texts: Mapping[str, str], unit: str) -> list[str]:
    """List the sentences on what is coloured."""
    notes = []
    if len(coloured.edges) > 1:
        half = MAX_HALF * float(coloured.edges[1] - coloured.edges[0])
        notes.append(texts["half"].format(half=show_estimate(half), unit=unit))
    if (coloured.level > 0).any():
        notes.append(texts["merged"])
    return notes
