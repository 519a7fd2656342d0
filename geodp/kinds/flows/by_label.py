"""Flows of places by label on a page: a reader chooses an hour or another label, and a place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from geodp.accuracy.interval import Estimate
from geodp.grid.axes import Attribute
from geodp.grid.region import Region
from geodp.kinds.flows.drawing import INTO, OUT
from geodp.kinds.flows.flows import Flows
from geodp.kinds.flows.label_estimates import choose_labels
from geodp.kinds.flows.streams import number_labels
from geodp.release.report.html.markup import Html, Page, element, join
from geodp.release.report.html.quotes import write_count
from geodp.table.display import is_below
from geodp.typing import IntArray

MOST_LABELS = 48
"""Most labels on a page, of all attributes together."""

MOST_PANELS = 240
"""Most places times labels, by which a page is some megabytes at most."""

PARTNERS = 5
"""Most partners of a place in each direction, for one label."""

WIDE, HIGH, FOOT = 640, 150, 34
"""Pixels of a chart: its width, the height of its bars, and the room for the labels below."""

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
        name = element("span", f"{one.attribute} ", class_=hidden)
        marked = {"type": "radio", "name": "label", "id": f"label-{at}"}
        parts.append(element("input", **marked, checked=at == first))
        parts.append(element("label", name, one.label, for_=f"label-{at}"))
    for number, place in enumerate(choice.places):
        content = [
            draw_bars(choice, attribute, estimates, place, names[place], page, limit)
            for attribute in choice.attributes
        ]
        for at, (one, found) in enumerate(zip(choice.labels, estimates, strict=True)):
            heading = page["labels_heading"].format(attribute=one.attribute, label=one.label)
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
    label = page["labels_bars"].format(place=name, attribute=attribute)
    chart = element(
        "svg", *items, viewBox=f"0 -4 {WIDE} {HIGH + FOOT}", width=f"{WIDE}", role="img",
        aria_label=label, class_="bars",
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
