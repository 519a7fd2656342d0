"""Flows on a map: the largest between origins and destinations, and the page that draws them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import Z
from geodp.grid.lattice import Lattice
from geodp.io.write.drawing.fonts import measure
from geodp.io.write.drawing.sheet import Line, Sheet
from geodp.io.write.map.look import UNTOLD_LAND, Look
from geodp.io.write.map.page import (
    EDGE,
    MEDIUM,
    SMALL,
    Page,
    draw_blocks,
    draw_box,
    draw_places,
    draw_scale_bar,
    draw_shores,
    label_width,
    min_width,
    name_counts,
    number_land,
    write_foot,
    write_head,
)
from geodp.io.write.map.panel import Bounds, Panel, crop, cut
from geodp.io.write.scale import BEGINS, classify
from geodp.io.write.tables import chunks, slices
from geodp.io.write.view import View
from geodp.table.counts import ReleasedTable
from geodp.typing import IntArray

Known: TypeAlias = Callable[[int, IntArray], NDArray[np.bool_]]
"""Tells, given the side of squares in cells and the rows and columns of both squares of pairs,
int64[4, n], which pairs noise does not hide: bool[n]."""

MAX_FLOWS = 100
"""Largest number of flows that are drawn."""

ENOUGH = 0.5
"""Share of all counts that flows have to carry together; otherwise larger squares are used."""

AROUND = 0.1
"""Margin around the drawn flows, as a share of their extent."""

MAX_PAIRS, MAX_NUMBER = 1 << 22, 1 << 62
"""Largest number of pairs of cells that are summed one by one, and of a pair of squares' key."""

FEWEST = 4
"""Smallest number of squares along the longer side of the map."""


@dataclass(frozen=True, eq=False)
class MappedFlows:
    """Flows between different squares of cells that noise does not hide, the largest first.

    Attributes
    ----------
    place : Lattice
        The map that is drawn.
    side : int
        Number of cells along the side of a square.
    margin : float or None
        95 % margin of the flow between two squares, in counts, which they reach; None: each was
        estimated.
    ends : float64[n, 2, 2]
        Origin and destination of the drawn flows, each the column and the row of its centre.
    count : float64[n]
    believed : int
        Number of all flows that reach the margin; of those that were estimated, the drawn ones.
    share : float
        Share of all counts in the drawn flows.
    """

    place: Lattice
    side: int
    margin: float | None
    ends: NDArray[np.float64]
    count: NDArray[np.float64]
    believed: int
    share: float


def find_flows(
    view: View, bounds: Bounds | None = None, known: Known | None = None
) -> MappedFlows | None:
    """Find the flows of a release between the smallest squares that resolve half of it.

    Where the largest are estimated (``known``), between the squares at which drawn flows carry
    most. None for a release of one map, with attributes or without a closed form of its error, and
    if no flow reaches its margin. Without bounds, the drawn map is the extent of the flows.

    Raises UsageError if the bounds hold no cell.
    """
    table, card, grid = view.table, view.card, view.table.grid
    if len(grid.places) != 2 or grid.attributes:
        return None
    full_map = grid.places[0]
    place, first = (full_map, (0, 0)) if bounds is None else crop(full_map, bounds)
    margins = {one.cells: Z * one.standard_error for one in card.expected_error.blocks or ()}
    squares = _Squares(full_map.rows, full_map.cols, _first_side(full_map, table.key.size))
    key, count = _sum_pairs(table, squares, first, (place.rows, place.cols))
    total, best = float(table.count.sum()), None
    # Sums over larger squares have less relative noise: go on until they carry enough of all
    # counts.
    while squares.side * FEWEST <= max(full_map.rows, full_map.cols) and total > 0:
        margin = margins.get(squares.side**4) if grid.order.follows_map else None
        if margin is not None or known is not None:
            one = _choose(squares, key, count, margin, known)
            share = float(one.count.sum() / total)
            if one.believed and (best is None or share > best.share):
                ends = one.ends - np.array(first[::-1], np.float64)
                best = replace(one, place=place, ends=ends, share=share)
            elif known is not None and best is not None:
                break
            if margin is not None and one.believed and _carry_enough(count, margin, total):
                break
        larger = replace(squares, side=2 * squares.side)
        # Places of all pairs at once would take several times the memory of the pairs.
        for some in slices(key.size):
            key[some] = larger.encode(squares.decode(key[some]) // 2)
        squares, (key, count) = larger, _sum(key, count)
    return best if best is None or bounds is not None else _zoom(best)


@dataclass(frozen=True)
class _Squares:
    """Squares of cells of a map, pairs of which have numbers."""

    rows: int
    cols: int
    side: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        rows, cols = -(-self.rows // self.side), -(-self.cols // self.side)
        return rows, cols, rows, cols

    def encode(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(np.ravel_multi_index(tuple(index), self.shape), np.int64)

    def decode(self, key: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.stack(np.unravel_index(key, self.shape))


def _first_side(full_map: Lattice, pairs: int) -> int:
    """Return the side of the smallest squares that are tried, above 1 for large releases."""
    side = 1
    while (
        full_map.rows * full_map.cols // side**2
    ) ** 2 >= MAX_NUMBER or pairs > MAX_PAIRS * side**2:
        side *= 2
    return side


def _sum_pairs(
    table: ReleasedTable, squares: _Squares, first: tuple[int, int], size: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sum the counts of pairs of squares with both ends in a part of the map."""
    # Origin and destination both have to be within the bounds.
    low = np.array(first * 2)[:, None]
    high = low + np.array(size * 2)[:, None]
    parts = [(np.empty(0, np.int64), np.empty(0))]
    for _, index, count in chunks(table):
        inside = ((index >= low) & (index < high)).all(axis=0)
        key = squares.encode(index[:, inside] // squares.side)
        parts.append(_sum(key, count[inside].astype(np.float64)))
    keys, counts = zip(*parts, strict=True)
    return _sum(np.concatenate(keys), np.concatenate(counts))


def _sum(
    key: NDArray[np.int64], count: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return every key once, in order, and the sums of its counts."""
    keys, inverse = np.unique(key, return_inverse=True)
    return keys, np.bincount(inverse, count, keys.size).astype(np.float64)


def _carry_enough(count: NDArray[np.float64], margin: float, total: float) -> bool:
    """Test whether the flows that reach their margin carry half of all counts."""
    return float(count[count >= margin].sum()) >= ENOUGH * total


def _choose(
    squares: _Squares,
    key: NDArray[np.int64],
    count: NDArray[np.float64],
    margin: float | None,
    known: Known | None,
) -> MappedFlows:
    """Select the largest flows between different squares that noise does not hide."""
    large = np.flatnonzero(count >= (margin or 1))
    index = squares.decode(key[large])
    moves = large[(index[:2] != index[2:]).any(axis=0)]
    some = moves[np.argsort(-count[moves], kind="stable")][:MAX_FLOWS]
    if known is not None:
        moves = some = some[known(squares.side, squares.decode(key[some]))]
    sizes = np.array([[squares.rows], [squares.cols]] * 2, np.float64)
    middle = np.minimum((squares.decode(key[some]) + 0.5) * squares.side, sizes)
    ends = middle.reshape(2, 2, -1).transpose(2, 0, 1)[:, :, ::-1]
    place = Lattice(squares.rows, squares.cols)
    return MappedFlows(place, squares.side, margin, ends, count[some], int(moves.size), 0.0)


def _zoom(flows: MappedFlows) -> MappedFlows:
    """Crop the map to the flows and a margin around them."""
    place = flows.place
    if place.transform is None:
        return flows
    low, high = flows.ends.min(axis=(0, 1)), flows.ends.max(axis=(0, 1))
    # A single flow has no extent of its own, so the margin is at least two squares.
    around = np.maximum(AROUND * (high - low).max(), 2 * flows.side)
    size = np.array([place.cols, place.rows])
    first = np.floor(np.clip(low - around, 0, size)).astype(int)
    last = np.ceil(np.clip(high + around, 0, size)).astype(int)
    (col, row), (cols, rows) = first.tolist(), (last - first).tolist()
    part = cut(place, (row, col), (rows, cols))
    return replace(flows, place=part, ends=flows.ends - first)


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
    page = Page(look, max(min_width(look), label_space + wide) + 2 * EDGE)
    write_head(page, view, [panel], lines=True)
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
    form, hidden = captions.flows_known, captions.flows_hidden
    if flows.margin is not None:
        some = flows.believed > len(flows.count)
        form, hidden = captions.flows_drawn if some else captions.flows_all, captions.flows_left
    drawn = form.format(
        drawn=len(flows.count),
        all=f"{flows.believed:,}",
        margin=f"±{flows.margin or 0:,.0f}",
        share=f"{100 * flows.share:.0f}",
    )
    write_foot(page, view, [panel], margin_lines=[drawn, hidden])
    return page.finish(look.title or view.name, view.table.event.statement, view.card.software)


def _draw_land(page: Page, panel: Panel, left: float) -> None:
    """Draw land and water."""
    frame, theme = panel.frame, page.look.theme
    number = number_land(panel.land, panel.value.shape)
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
    least = flows.count.min() if flows.margin is None else flows.margin
    for kind in range(int(classify(np.array([least]))[0]), len(WIDTHS)):
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
