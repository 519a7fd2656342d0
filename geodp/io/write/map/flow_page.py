"""Page of flows: lines between origins and destinations, wider for larger counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.io.read.public.background import QUARTERS
from geodp.io.write.drawing.fonts import measure
from geodp.io.write.drawing.sheet import Line, Sheet
from geodp.io.write.map.flows import MappedFlows
from geodp.io.write.map.look import PAPER, UNTOLD_LAND, Look
from geodp.io.write.map.page import (
    EDGE,
    MEDIUM,
    MIN_WIDTH,
    SMALL,
    Page,
    draw_blocks,
    draw_box,
    draw_places,
    draw_scale_bar,
    draw_shores,
    label_width,
    name_counts,
    write_foot,
    write_head,
)
from geodp.io.write.map.panel import Panel
from geodp.io.write.scale import BEGINS, classify
from geodp.io.write.view import View

WIDTHS = (1.0, 1.0, 1.3, 1.7, 2.3, 3.2, 4.4, 6.0)
"""Pixels of a line by the class of its count: public constants, as the classes are."""

BEND, POINTS, HEAD, MAX_HEAD_SHARE = 0.16, 24, 7.0, 0.3
"""Bend of a line to the right as a share of its length; number of its points; length of its head in
pixels, and the largest as a share of the line."""


def compose_flows(view: View, look: Look, flows: MappedFlows) -> Sheet:
    """Lay out the page of the largest flows of a release of origins and destinations."""
    look.require_fonts()
    captions = look.captions
    # Without bounds, the page shows the extent of the flows, not the entire domain.
    bounds = look.bounds if flows.place.transform is None else flows.place.bounds
    panel = Panel.of(view, 0, bounds, 2 * look.size)
    label_space, (wide, high) = label_width(look), panel.frame.size
    page = Page(look, max(MIN_WIDTH, label_space + wide) + 2 * EDGE)
    write_head(page, view, [panel])
    page.write_lines(captions.flows.format(side=flows.side), MEDIUM, 21)
    page.y += 24 + 18 * bool(label_space)
    left = (page.width - label_space - wide) / 2 + label_space
    _draw_land(page, panel, left)
    draw_shores(page, panel.frame, left)
    edges = (left, page.y, wide, high)
    # The smallest first, so that the largest flows lie on top.
    for number in range(len(flows.count))[::-1]:
        page.items += _draw_flow(page, flows, number, edges)
    draw_places(page, panel.frame, left)
    draw_box(page, panel.frame, left)
    page.y += high
    _draw_legend(page, view, flows, panel)
    form = captions.flows_drawn if flows.believed > len(flows.count) else captions.flows_all
    lines = [
        form.format(
            drawn=len(flows.count),
            all=f"{flows.believed:,}",
            margin=f"±{flows.margin:,.0f}",
            share=f"{100 * flows.share:.0f}",
        ),
        captions.flows_left,
    ]
    write_foot(page, view, [panel], margin_lines=lines)
    return page.finish(look.title or view.name, view.table.event.statement, view.card.software)


def _draw_land(page: Page, panel: Panel, left: float) -> None:
    """Draw land and water."""
    frame, theme = panel.frame, page.look.theme
    land = panel.land
    if land is None:
        land = np.full(panel.value.shape, QUARTERS, np.uint8)
    number = np.where(land == 0, PAPER, land + UNTOLD_LAND - 1).astype(np.uint8)
    draw_blocks(page, frame, left, number, theme.colours)


def _draw_flow(
    page: Page, flows: MappedFlows, number: int, edges: tuple[float, float, float, float]
) -> list[Line]:
    """Return the line of a flow and the two lines of its head."""
    left, top, width, height = edges
    place = flows.place
    col, row = flows.ends[number].T
    down = place.rows - row if place.northwards else row
    ends = np.stack([left + col / place.cols * width, top + down / place.rows * height], axis=1)
    kind = int(classify(flows.count[number : number + 1])[0])
    colour, wide = page.look.theme.classes[kind], WIDTHS[kind]
    line = _bend(*ends)
    way = line[-1] - line[-4]
    length = min(HEAD + wide, MAX_HEAD_SHARE * float(np.hypot(*(ends[1] - ends[0]))))
    way = way / max(float(np.hypot(*way)), 1e-9) * length
    side = np.array([-way[1], way[0]]) / 2
    heads = [line[-1] - way + side, line[-1] - way - side]
    drawn = [line, *(np.stack([head, line[-1]]) for head in heads)]
    low, high = (left + 1, top + 1), (left + width - 2, top + height - 2)
    return [
        Line(tuple((float(x), float(y)) for x, y in np.clip(each, low, high)), colour, wide)
        for each in drawn
    ]


def _bend(start: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the points of a line that bends to the right: float64[n, 2]."""
    x, y = end - start
    # Bending to one side keeps the flows there and back apart.
    middle = (start + end) / 2 + BEND * np.array([-y, x])
    part = np.linspace(0, 1, POINTS)[:, None]
    return (1 - part) ** 2 * start + 2 * part * (1 - part) * middle + part**2 * end


def _draw_legend(page: Page, view: View, flows: MappedFlows, panel: Panel) -> None:
    """Draw a line for every class that a flow can have, then land and water."""
    look = page.look
    theme, captions, top = look.theme, look.captions, page.y
    page.y = top + 27
    page.write(name_counts(view, look), SMALL + 0.5, theme.ink)
    draw_scale_bar(page, panel.frame, top, page.inner_width / 3)
    page.y = top + 52
    x = float(EDGE)
    for kind in range(int(classify(np.array([flows.margin]))[0]), len(WIDTHS)):
        ends = [f"{begin:,}" for begin in BEGINS[max(kind - 1, 0) : kind + 1]]
        text = f"< {ends[0]}" if kind == 0 else f"≥ {ends[0]}" if len(ends) == 1 else "–".join(ends)
        width = 40 + measure(text, SMALL)
        if x > EDGE and x + width > page.width - EDGE:
            x, page.y = float(EDGE), page.y + 20
        points = ((x, page.y - 4), (x + 30, page.y - 4))
        page.items.append(Line(points, theme.classes[kind], WIDTHS[kind]))
        page.write(text, SMALL, theme.ink, x + 36)
        x += width + 18
    if panel.land is None:
        return
    page.y, x = page.y + 24, float(EDGE)
    named = (
        (theme.untold, captions.land),
        (theme.colours[UNTOLD_LAND], captions.coast),
        (theme.paper, captions.water),
    )
    for colour, text in named:
        x = page.write_sample(colour, text, x)
