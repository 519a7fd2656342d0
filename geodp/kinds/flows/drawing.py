"""Maps of flows as SVG: places in grey, and a line for every flow, without any script."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geodp.grid.hierarchy import Hierarchy
from geodp.grid.outlines import to_cells
from geodp.grid.region import Region
from geodp.io.write.drawing.render import draw_cells
from geodp.io.write.drawing.sheet import CellRaster, parse_colours
from geodp.io.write.frame import UnitFrame, cell_size
from geodp.io.write.scale import classify
from geodp.kinds.flows.units import find_outlines
from geodp.release.report.html.markup import Html, element, join
from geodp.typing import FloatArray, IntArray

GREYS = (
    *("#f4f4f2", "#ecece9", "#e2e2de", "#d6d6d1"),
    *("#c8c8c3", "#b9b9b3", "#a8a8a2", "#969690"),
)
"""Colours of places by the class of their trips: light, so that lines stand out."""

NOWHERE, EDGE = "#ffffff", "#ffffff"
"""Colours of zones in no place, and of the edges between places."""

OUT, INTO = "#b3400b", "#1a5a96"
"""Colours of flows out of a place and into it: apart for the colour-blind, too."""

ALL = "#5b2a86"
"""Colour of flows on the map of all."""

THINNEST, WIDEST = 0.8, 7.0
"""Pixels of the thinnest line, and of that of the largest flow of a map."""

WIDE = 640
"""Pixels of the longer side of a map."""

BEND = 0.16
"""Bend of a line to the right, as a share of its length."""

GROUND = "ground"
"""Id of the picture of the places, which every map of the page uses."""


@dataclass(frozen=True, eq=False)
class Ground:
    """The map of places that lies below all lines.

    Attributes
    ----------
    width, height : float
        Pixels of the picture.
    middle : float64[n, 2]
        x and y of the middle of every place; not a number: it lies nowhere, and has no lines.
    picture : bytes
        PNG.
    """

    width: float
    height: float
    middle: FloatArray
    picture: bytes

    @classmethod
    def of(cls, places: Sequence[Region], trips: IntArray) -> Ground:
        """Draw places that lie on one map; ``trips``: of each, int64[n]."""
        grid = places[0].grid
        if not grid.names.on_map and grid.hierarchy is not None:
            return cls._of_units(places, trips, grid.hierarchy)
        place = grid.places[0]
        wide, high = (float(each) for each in cell_size(place))
        scale = WIDE / max(place.cols * wide, place.rows * high)
        width, height = place.cols * wide * scale, place.rows * high * scale
        number = np.zeros((place.rows, place.cols), np.int64)
        middle = np.empty((len(places), 2))
        # Of places that share zones, the smallest are drawn last.
        for at in np.argsort([-one.cells for one in places], kind="stable").tolist():
            row, col = grid.decode(places[at].key)[:2]
            number[row, col] = at + 1
            down = place.rows - 1 - row if place.northwards else row
            middle[at] = (col.mean() + 0.5) * wide * scale, (down.mean() + 0.5) * high * scale
        areas = np.array([one.cells for one in places]) * wide * high
        kind = classify(trips / areas).astype(np.int64)
        return cls(width, height, middle, _paint(number, kind, place.northwards))

    @classmethod
    def _of_units(cls, places: Sequence[Region], trips: IntArray, table: Hierarchy) -> Ground:
        """Draw places that consist of areal units; one that lies nowhere has no middle."""
        outlines, column = find_outlines(table)
        frame = UnitFrame.of_units(outlines, WIDE)
        at = np.full(table.cells, -1)
        at[column] = np.arange(column.size)
        points = to_cells(outlines.drawn.inner_points, frame.place)
        number, area = np.zeros(column.size + 1, np.int64), np.zeros(len(places))
        middle = np.full((len(places), 2), np.nan)
        for which in np.argsort([-one.cells for one in places], kind="stable").tolist():
            unit = at[places[which].grid.decode(places[which].key)[1]]
            unit = unit[unit >= 0]
            if unit.size:
                number[unit] = which + 1
                middle[which], area[which] = points[unit].mean(axis=0), frame.area[unit].sum()
        # No density is known of a place without an area, and none is drawn.
        density = np.divide(trips, area, out=np.zeros(area.size), where=area > 0)
        kind = classify(density).astype(np.int64)
        # Pixels outside of all units are -1, and so the last.
        seen = number[frame.number_pixels()]
        return cls(*frame.size, middle, _colour(seen, kind))

    def define(self) -> Html:
        """Write the picture and the heads of lines, once for all maps of a page."""
        href = f"data:image/png;base64,{base64.b64encode(self.picture).decode('ascii')}"
        size = {"width": f"{self.width:.0f}", "height": f"{self.height:.0f}"}
        image = element("image", href=href, **size, preserveAspectRatio="none", id=GROUND)
        heads = (
            element(
                "marker",
                element("path", d="M0 0L6 3L0 6z", fill=colour),
                id=f"head-{colour[1:]}", viewBox="0 0 6 6", refX="5.4", refY="3", orient="auto",
                markerWidth="8", markerHeight="8", markerUnits="userSpaceOnUse",
            )
            for colour in (OUT, INTO, ALL)
        )  # fmt: skip
        return element("svg", element("defs", image, *heads), class_="unseen", aria_hidden="true")

    def draw(self, items: Sequence[Html], label: str) -> Html:
        """Write a map with lines over the places."""
        return element(
            "svg", element("use", href=f"#{GROUND}"), *items,
            viewBox=f"0 0 {self.width:.0f} {self.height:.0f}", width=f"{self.width:.0f}",
            role="img", aria_label=label, class_="flows",
        )  # fmt: skip

    def line(self, start: int, end: int, share: float, colour: str) -> Html:
        """Draw the line of a flow between two places, bent to the right of its way.

        ``share``: its trips, relative to the largest flow of the map.
        """
        a, b = self.middle[start], self.middle[end]
        if not np.isfinite([a, b]).all():
            return join([])
        # Bending to one side keeps the flows there and back apart.
        bend = (a + b) / 2 + BEND * np.array([a[1] - b[1], b[0] - a[0]])
        d = "M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}".format(*a, *bend, *b)
        width = max(WIDEST * share, THINNEST)
        return element(
            "path", d=d, fill="none", stroke=colour, stroke_width=f"{width:.1f}",
            stroke_opacity="0.8", marker_end=f"url(#head-{colour[1:]})",
        )  # fmt: skip

    def dot(self, place: int) -> Html:
        """Draw a dot in the middle of a place."""
        x, y = self.middle[place]
        if not np.isfinite(x):
            return join([])
        return element(
            "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="5", fill="#1d1c1a", stroke="#ffffff"
        )

    def mark(self, place: int, text: str, colour: str, aside: float) -> Html:
        """Write a number beside the middle of a place, so many pixels to the right of it."""
        x, y = self.middle[place] + [aside, 0]
        if not np.isfinite(x):
            return join([])
        return element(
            "text", text, x=f"{x:.1f}", y=f"{y:.1f}", fill=colour, stroke="#ffffff",
            stroke_width="3", paint_order="stroke", font_size="13", font_weight="bold",
            text_anchor="middle", dominant_baseline="central",
        )  # fmt: skip


def _paint(number: IntArray, kind: IntArray, northwards: bool) -> bytes:
    """Draw places with their colours and their edges as PNG; ``number``: 0 for no place."""
    times = max(1, WIDE // max(number.shape))
    seen = np.kron(number[::-1] if northwards else number, np.ones((times, times), np.int64))
    return _colour(seen, kind)


def _colour(seen: IntArray, kind: IntArray) -> bytes:
    """Draw places with their colours and their edges as PNG; ``seen``: the place of each pixel."""
    colour = np.append(0, kind + 2)[seen].astype(np.uint8)
    colour[:, 1:][seen[:, 1:] != seen[:, :-1]] = 1
    colour[1:][seen[1:] != seen[:-1]] = 1
    rows, columns = colour.shape
    colours = parse_colours((NOWHERE, EDGE, *GREYS))
    return draw_cells(CellRaster(0, 0, columns, rows, colour, colours, colour.shape))
