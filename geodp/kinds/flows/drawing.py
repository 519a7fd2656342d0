"""Drawings of a page of flows, as SVG without any script: on a map, and of places by label.

On the map of land and water places are grey, and every flow is a line. By label a reader chooses an
hour or another label, and a place.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import Estimate
from geodp.grid.axes import Attribute
from geodp.grid.grid import Grid
from geodp.grid.outlines import to_cells
from geodp.grid.region import Region
from geodp.io.write.drawing.render import draw_png
from geodp.io.write.drawing.sheet import CellRaster, Colour, Sheet, parse_colours
from geodp.io.write.frame import Frame, UnitFrame, cell_size
from geodp.io.write.map.ground import quarters_of_land
from geodp.io.write.map.look import OUTSIDE, PAPER, Language, Look
from geodp.io.write.map.page import (
    EDGE,
    draw_places,
    draw_scale_bar,
    draw_shores,
    number_land,
)
from geodp.io.write.map.page import Page as Canvas
from geodp.io.write.scale import classify
from geodp.kinds.flows.english import name_attributes
from geodp.kinds.flows.flows import Flows
from geodp.kinds.flows.label_estimates import choose_labels
from geodp.kinds.flows.streams import number_labels
from geodp.kinds.flows.zones import find_outlines
from geodp.release.report.html.markup import Html, Page, element, join
from geodp.release.report.html.page import DPI, SIDE
from geodp.release.report.html.quotes import write_count
from geodp.table.display import is_below
from geodp.typing import FloatArray, IntArray

GREYS = (
    *("#cbd2da", "#c1c8d1", "#b7bec8", "#acb4bf"),
    *("#a2aab5", "#97a0ac", "#8d96a2", "#828c99"),
)
"""Colours of places by the class of their trips: apart from land and water, below lines."""

LINE = "#ffffff"
"""Colour of the edges between places."""

GAP = 8
"""Pixels to the right of the scale bar of a map."""

STRIP = 44
"""Height in pixels of the strip below a map, which has its scale bar."""

OUT, INTO = "#b3400b", "#1a5a96"
"""Colours of flows out of a place and into it: apart for the colour-blind, too."""

ALL = "#5b2a86"
"""Colour of flows on the map of all."""

THINNEST, WIDEST = 0.6, 4.5
"""Pixels of the thinnest line, and of that of the largest flow of a map."""

WIDE = SIDE
"""Pixels of the longer side of a map, and of the width of a chart, before they are enlarged."""

ENLARGED = 1.5
"""Pixels of a wide window for each of them."""

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
    def of(cls, places: Sequence[Region], trips: IntArray, language: Language) -> Ground:
        """Draw places that lie on one map over land and water, with the shore, towns and a scale.

        ``trips``: of each, int64[n]; 0 where noise hides them.
        """
        grid, look = places[0].grid, Look(language=language)
        middle, area = np.full((len(places), 2), np.nan), np.zeros(len(places))
        if not grid.names.on_map and grid.hierarchy is not None:
            outlines, column = find_outlines(grid.hierarchy)
            frame: Frame = UnitFrame.of_units(outlines, WIDE)
            at = np.full(grid.hierarchy.cells, -1)
            at[column] = np.arange(column.size)
            points = to_cells(outlines.drawn.inner_points, frame.place)
            # Pixels outside of all units are -1, and so the last.
            number = np.zeros(column.size + 1, np.int64)
        else:
            frame = Frame.of_place(grid.places[0], grid.maps.share(WIDE))
            number = np.zeros(frame.blocks, np.int64)
        place, (width, height) = frame.place, frame.size
        wide, high = map(float, cell_size(place))
        # Of places that share zones, the smallest are drawn last.
        for which in np.argsort([-one.cells for one in places], kind="stable").tolist():
            index = grid.decode(places[which].key)
            if isinstance(frame, UnitFrame):
                unit = at[index[1]]
                unit = unit[unit >= 0]
                if unit.size:
                    number[unit] = which + 1
                    middle[which], area[which] = points[unit].mean(axis=0), frame.area[unit].sum()
                continue
            row, col = index[:2]
            number[row // frame.block, col // frame.block] = which + 1
            down = place.rows - 1 - row if place.northwards else row
            middle[which] = (col.mean() + 0.5) / place.cols, (down.mean() + 0.5) / place.rows
            middle[which] *= width, height
            area[which] = places[which].cells * wide * high
        # No density is known of a place without an area, and none is drawn.
        density = np.divide(trips, area, out=np.zeros(area.size), where=area > 0)
        kind = np.where(density > 0, classify(density).astype(np.int64), -1)
        canvas = Canvas(look, width + EDGE - GAP)
        drawn = _paint(frame, number, kind, look, grid)
        canvas.items.append(CellRaster(0, 0, width, height, *drawn))
        draw_shores(canvas, frame, 0)
        draw_places(canvas, frame, 0)
        draw_scale_bar(canvas, frame, height - 10, width)
        strip = 0 if frame.kilometres is None else STRIP
        size = width, height + strip
        sheet = Sheet(*size, look.theme.paper, "", "", "geodp", (*canvas.items,))
        return cls(width, height + strip, middle, draw_png(sheet, DPI))

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
            viewBox=f"0 0 {self.width:.0f} {self.height:.0f}", width=f"{ENLARGED * self.width:.0f}",
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
            "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="4", fill="#1d1c1a", stroke="#ffffff"
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


def _paint(
    frame: Frame, number: IntArray, kind: IntArray, look: Look, grid: Grid
) -> tuple[NDArray[np.uint8], tuple[Colour, ...], tuple[int, int]]:
    """Return the colour of every pixel, all colours, and the rows and columns of pixels.

    ``number``: the place of every block or unit, 0 for none; ``kind``: class of each place, -1
    where it has the colour of land.
    """
    theme, first = look.theme, len(look.theme.colours)
    if isinstance(frame, UnitFrame):
        unit = frame.number_pixels()
        seen = number[unit]
        ground = np.where(unit < 0, OUTSIDE, number_land(None, seen.shape))
    else:
        land = quarters_of_land(grid, frame.place, frame.block)
        rows, cols = (
            np.arange(pixels) * blocks // pixels
            for pixels, blocks in zip(frame.size[::-1], frame.blocks, strict=True)
        )
        at = np.ix_(rows[::-1] if frame.place.northwards else rows, cols)
        seen, ground = number[at], number_land(land, number.shape)[at]
    classes = np.append(-1, kind)[seen]
    colour = np.where(classes >= 0, first + 1 + classes, ground)
    across, down = seen[:, 1:] != seen[:, :-1], seen[1:] != seen[:-1]
    colour[:, 1:][across & (colour[:, 1:] != PAPER)] = first
    colour[1:][down & (colour[1:] != PAPER)] = first
    return colour.astype(np.uint8), (*theme.colours, *parse_colours((LINE, *GREYS))), seen.shape


MOST_LABELS = 48
"""Most labels on a page, of all attributes together."""

MOST_PANELS = 240
"""Most places times labels, by which a page is some megabytes at most."""

PARTNERS = 5
"""Most partners of a place in each direction, for one label."""

HIGH, FOOT = 150, 34
"""Pixels of a chart: the height of its bars, and the room for the labels below."""

Pair: TypeAlias = tuple[int, int]
"""Numbers of the places in which a flow begins and ends."""

EVERYWHERE = -1
"""Number of the whole map as a place."""

Found: TypeAlias = Mapping[Pair, Estimate]
"""Estimates of flows by their places."""


@dataclass(frozen=True)
class ChosenLabel:
    """One label of one attribute.

    Attributes
    ----------
    attribute, label : str
    """

    attribute: str
    label: str


@dataclass(frozen=True, eq=False)
class LabelChoice:
    """Labels that a page shows.

    Attributes
    ----------
    labels : list of ChosenLabel
    places : list of int
        Places whose flows are shown.
    pairs : list of set of Pair
        Flows of each label.
    trips : int64[labels]
        Released trips of each label.
    """

    labels: list[ChosenLabel]
    places: list[int]
    pairs: list[set[Pair]] = field(repr=False)
    trips: IntArray = field(repr=False)

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes."""
        return [*dict.fromkeys(one.attribute for one in self.labels)]

    def count_of(self, attribute: str) -> int:
        """Return the number of labels of an attribute."""
        return sum(one.attribute == attribute for one in self.labels)

    @property
    def all_pairs(self) -> list[Pair]:
        """Flows of all labels together, those of whole places first."""
        ends = [pair for place in self.places for pair in whole_of(place)]
        return [*dict.fromkeys([*ends, *(pair for some in self.pairs for pair in sorted(some))])]

    def among(self, shown: Sequence[int]) -> LabelChoice | None:
        """Return the choice without other places; None where none is left."""
        places = [place for place in self.places if place in shown]
        return replace(self, places=places) if places else None

    def select(self, at: int, estimates: Found) -> dict[Pair, Estimate]:
        """Return the estimates of the flows of one label, of those with trips."""
        return {pair: estimates[pair] for pair in sorted(self.pairs[at])}


def whole_of(place: int) -> tuple[Pair, Pair]:
    """Return all trips out of a place, and all into it."""
    return (place, EVERYWHERE), (EVERYWHERE, place)


def choose(release: Flows, regions: Sequence[Region], shown: Sequence[int]) -> LabelChoice | None:
    """Choose labels, places and flows; None where trips have no labels.

    Parameters
    ----------
    release : Flows
    regions : sequence of Region
        All places.
    shown : sequence of int
        Places whose flows are listed, those with the most trips first.
    """
    labels = list_labels(release.flows.table.grid.attributes)
    if not labels:
        return None
    places = [*shown[: max(MOST_PANELS // len(labels), 1)]]
    sets = [{one.attribute: one.label} for one in labels]
    between = sum_by_label(release, regions, sets)
    pairs = [_find_largest(trips, places) for trips in between]
    return LabelChoice(labels, places, pairs, between.sum(axis=(1, 2)))


def list_labels(attributes: Sequence[Attribute]) -> list[ChosenLabel]:
    """List the labels of the first attributes that have few enough together."""
    listed = list[ChosenLabel]()
    for one in attributes:
        if len(listed) + len(one.labels) <= MOST_LABELS:
            listed += [ChosenLabel(one.name, label) for label in one.labels]
    return listed


def list_left_out(attributes: Sequence[Attribute]) -> list[str]:
    """List the names of the attributes that have too many labels for a page."""
    listed = {one.attribute for one in list_labels(attributes)}
    return [one.name for one in attributes if one.name not in listed]


def sum_by_label(
    release: Flows, regions: Sequence[Region], sets: Sequence[Mapping[str, str]]
) -> IntArray:
    """Sum the released trips between all pairs of places, by set of labels: int64[sets, n, n]."""
    table, grid = release.flows.table, release.origins.grid
    index = table.grid.decode(table.key)
    start, end = (
        [np.isin(grid.encode(index[at : at + 2]), one.key) for one in regions] for at in (0, 2)
    )
    attributes = table.grid.attributes
    chosen = np.stack([choose_labels(attributes, labels) for labels in sets]).astype(np.int64)
    label = number_labels(attributes, index[4:])
    count = np.asarray(table.count, np.int64)
    sums = np.zeros((len(sets), len(regions), len(regions)), np.int64)
    for a, inside in enumerate(start):
        leaving = np.flatnonzero(inside)
        by_label = np.zeros((len(regions), chosen.shape[1]), np.int64)
        for b, there in enumerate(end):
            some = leaving[there[leaving]]
            np.add.at(by_label[b], label[some], count[some])
        sums[:, a] = chosen @ by_label.T
    return sums


def _find_largest(trips: IntArray, places: Sequence[int]) -> set[Pair]:
    """Find the largest flows of places with others and within; ``trips``: int64[n, n]."""
    found = {(place, place) for place in places}
    for place in places:
        for way, own in enumerate((trips[place], trips[:, place])):
            apart = np.where(np.arange(own.size) == place, 0, own)
            for other in np.argsort(-apart, kind="stable")[:PARTNERS].tolist():
                found.add((place, other) if way == 0 else (other, place))
    return {pair for pair in found if trips[pair] > 0}


def style_labels(choice: LabelChoice) -> str:
    """Write the styles by which the chosen label alone is shown."""
    rules = [f"#label-{at}:checked~details .of-{at}" for at in range(len(choice.labels))]
    return ".of-label{display:none}" + ",".join(rules) + "{display:block}"


Describe: TypeAlias = Callable[[int, Found], Html]
"""Draws the largest flows of a place and lists them, given estimates of flows."""


def write_labels(
    choice: LabelChoice,
    names: Sequence[str],
    estimates: Sequence[Found],
    describe: Describe,
    summarise: Callable[[Found, int], str],
    page: Page,
    limit: int | None,
) -> Html:
    """Write the choice of a label, and the flows of places for each of them.

    Parameters
    ----------
    choice : LabelChoice
    names : sequence of str
        Of all places.
    estimates : sequence of Found
        Of each label, of :attr:`LabelChoice.all_pairs`.
    describe, summarise : callable
        Write the flows of a place, and its trips in a sentence.
    page : Page
    limit : int or None
        The office's limit of display.
    """
    # The label of the first attribute with the most trips.
    first = int(np.argmax(choice.trips[: choice.count_of(choice.attributes[0])]))
    parts = [element("legend", page["labels_choose"])]
    for at, one in enumerate(choice.labels):
        if at == 0 or one.attribute != choice.labels[at - 1].attribute:
            parts.append(element("br") if at else Html(""))
        # The attribute is read out with each label, and seen once.
        hidden = "unseen" if at and one.attribute == choice.labels[at - 1].attribute else "named"
        name = element("span", f"{name_attributes([one.attribute], page)} ", class_=hidden)
        marked = {"type": "radio", "name": "label", "id": f"label-{at}"}
        # A joiner keeps the button and its label on one line.
        parts += [element("input", **marked, checked=at == first), Html("\N{WORD JOINER}")]
        parts.append(element("label", name, one.label, for_=f"label-{at}"))
    for number, place in enumerate(choice.places):
        content = [
            draw_bars(choice, attribute, estimates, place, names[place], page, limit)
            for attribute in choice.attributes
        ]
        for at, (one, found) in enumerate(zip(choice.labels, estimates, strict=True)):
            heading = page["labels_heading"].format(
                attribute=name_attributes([one.attribute], page), label=one.label
            )
            content.append(
                element(
                    "div",
                    element("h3", heading),
                    element("p", summarise(found, place)),
                    describe(place, choice.select(at, found)),
                    class_=f"of-label of-{at}",
                )
            )
        parts.append(
            element("details", element("summary", names[place]), *content, open=number == 0)
        )
    return element("fieldset", join(parts), class_="choice")


def ends_of(estimates: Found, place: int) -> tuple[Estimate, Estimate]:
    """Return the trips out of a place, and those into it."""
    out, into = whole_of(place)
    return estimates[out], estimates[into]


def draw_bars(
    choice: LabelChoice,
    attribute: str,
    estimates: Sequence[Found],
    place: int,
    name: str,
    page: Page,
    limit: int | None,
) -> Html:
    """Draw the trips out of a place and into it by label, with their intervals.

    Bars below the office's limit of display are left out; those that noise alone could make are
    pale.
    """
    at = [n for n, one in enumerate(choice.labels) if one.attribute == attribute]
    ends = [ends_of(estimates[n], place) for n in at]
    shown = [one for both in ends for one in both if not is_below(one.count, limit)]
    top = max((one.high for one in shown), default=1.0) or 1.0
    step = WIDE / len(at)
    scale = element(
        "text", write_count(int(top)), x="0", y="8", font_size="12", fill="currentColor"
    )
    edge = element("path", d=f"M0 {HIGH}H{WIDE}M0 0H{WIDE}", stroke="#c9c9d0")
    items = [edge, scale]
    for column, (number, both) in enumerate(zip(at, ends, strict=True)):
        left = column * step
        for way, (one, colour) in enumerate(zip(both, (OUT, INTO), strict=True)):
            if not is_below(one.count, limit):
                items += _draw_bar(one, left + step * (0.1 + 0.4 * way), 0.36 * step, top, colour)
        # As many labels as have room.
        if column % max(1, int(np.ceil(36 / step))) == 0:
            items.append(
                element(
                    "text", choice.labels[number].label, x=f"{left + step / 2:.1f}",
                    y=f"{HIGH + 16}", text_anchor="middle", font_size="12", fill="currentColor",
                )
            )  # fmt: skip
    label = page["labels_bars"].format(place=name, attribute=name_attributes([attribute], page))
    chart = element(
        "svg", *items, viewBox=f"0 -4 {WIDE} {HIGH + FOOT}", role="img",
        width=f"{ENLARGED * WIDE:.0f}", aria_label=label, class_="bars",
    )  # fmt: skip
    return element("figure", chart, element("figcaption", label, class_="small"))


def _draw_bar(one: Estimate, left: float, width: float, top: float, colour: str) -> list[Html]:
    """Draw a bar, and a line for its interval."""
    height, low, high = (HIGH * min(each / top, 1) for each in (one.count, one.low, one.high))
    believed = one.count >= (one.high - one.low) / 2
    middle = f"{left + width / 2:.1f}"
    bar = element(
        "rect", x=f"{left:.1f}", y=f"{HIGH - height:.1f}", width=f"{width:.1f}",
        height=f"{height:.1f}", fill=colour, fill_opacity="0.85" if believed else "0.3",
    )  # fmt: skip
    line = element(
        "path", d=f"M{middle} {HIGH - low:.1f}V{HIGH - high:.1f}", stroke="currentColor",
        stroke_width="1",
    )  # fmt: skip
    return [bar, line]
