"""The page of a release, in one HTML file, and its explanation in sentences.

The page has persons, households and mean size of places, and a map of the mean sizes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from geodp.accuracy.interval import Interval
from geodp.grid.region import Region
from geodp.io.write.drawing.render import draw_png
from geodp.io.write.drawing.sheet import Sheet, parse_colours
from geodp.io.write.frame import Frame, UnitFrame
from geodp.io.write.map.ground import quarters_of_land
from geodp.io.write.map.look import Language, Look
from geodp.io.write.map.quantity import BEYOND, UNKNOWN, Classes, compose_quantity
from geodp.io.write.picture import why_no_picture
from geodp.io.write.view import View
from geodp.kinds.households.english import PAGE, ROWS
from geodp.kinds.households.estimates import HouseholdEstimate
from geodp.kinds.households.households import COUNTS, JOINT, Households
from geodp.kinds.households.inputs import CLIPPED_FACT
from geodp.kinds.households.kind import OTHERS, HouseholdsCard
from geodp.release.report.html.english import texts_of
from geodp.release.report.html.general import (
    embed_maps,
    list_lines,
    read_page,
    tabulate_places,
    write_figures,
    write_head,
)
from geodp.release.report.html.markup import Html, Page, element, join
from geodp.release.report.html.page import (
    DPI,
    SIDE,
    draw_worded,
    embed_picture,
    name_domain,
    title_or,
    write_static,
)
from geodp.release.report.html.parts import files_section, guarantee_section
from geodp.release.report.html.places import MAX_CELLS, NamedRegion, Rounded, list_regions, step_of
from geodp.release.report.html.quotes import write_ends
from geodp.release.report.translation import translate_texts
from geodp.table.card import Notice
from geodp.tools.explain.card import explain_index
from geodp.tools.explain.page import Explanation, Writer


def write_page(
    release: Households,
    language: Language = "en",
    places: Mapping[str, Any] | None = None,
    notice: Notice | None = None,
) -> str:
    """Write a release as one HTML page that loads nothing from the network and runs no script.

    Parameters
    ----------
    release : Households
        A written release.
    language : {"en", "ja"}
    places : mapping of str to polygon or list of codes, optional
        A public list of places; see :func:`geodp.release.report.html.places.list_places`.
    notice : Notice, optional
        The notice of a withdrawal that lies beside the release.

    Raises
    ------
    UsageError
        The language is not available.
    """
    page = read_page(language, PAGE, "households")
    size = release.max_size
    page = {**page, ROWS.format(size=size): page["rows"].format(size=size)}
    views = {name: getattr(release, name).view(name) for name in COUNTS[:2]}
    view = views["households"]
    grid, limit = view.table.grid, view.limit
    listed = list_regions(grid, places) if grid.places and not grid.maps.missing else []
    estimates = release.estimate_all(one.region for one in listed)
    named = {**texts_of(language).script, **name_domain(view, page)}
    lines = list_lines(listed, estimates, "persons", named)
    squares = [] if places else _list_squares(release, listed)
    maps = embed_maps(views, page, language)
    sections = [
        *_sizes_section(lines, squares, view, page, language),
        ("places", _places_section(lines, page, limit)),
        *([("maps", join(maps))] if maps else []),
        ("always", _always_section(release, page)),
        ("guarantee", guarantee_section(explain_households(release.index, language).sections)),
        ("files", files_section(page, release.index)),
    ]
    unit = Writer(language).unit(release.index.protects)
    header = write_head(
        *(title_or(view.card, page), release.index, page),
        element("p", page["intro"].format(unit=unit), class_="intro"),
        *_total(release, page, limit),
        *([] if release.others is None else [element("p", page["others"].format(table=OTHERS))]),
    )
    return write_static(view.card, header, sections, page, language, notice=notice)


def _total(release: Households, page: Page, limit: int | None) -> list[Html]:
    """Write the sentence on all of the domain.

    None where it is too large to sum up, or below the office's limit of display.
    """
    grid = release.households.grid
    if grid.size > MAX_CELLS:
        return []
    keys = np.sort(grid.domain.keys_of_ranks(np.arange(grid.size)))
    one = release.estimate(Region(grid, keys))
    if one.is_below(limit):
        return []
    counts = {"persons": one.persons, "households": one.households}
    step = min(map(step_of, counts.values()))
    fields = {
        f"{name}{end}": text
        for name, sums in counts.items()
        for end, text in zip(
            ("", "_low", "_high"),
            write_ends(sums, Rounded.of(sums, step), page, limit).values(),
            strict=True,
        )
    }
    if one.mean_size is None:
        return [element("p", page["total_unknown"].format(**fields))]
    size = _round_size(one.mean_size)
    fields |= dict(zip(("size", "size_low", "size_high"), size, strict=True))
    return [element("p", element("strong", page["total"].format(**fields)))]


def _round_size(size: Interval) -> tuple[str, str, str]:
    """Write a mean size and its interval, rounded outwards to hundredths."""
    low, high = np.floor(size.low * 100) / 100, np.ceil(size.high * 100) / 100
    return f"{size.value:.2f}", f"{low:.2f}", f"{high:.2f}"


def _list_squares(release: Households, listed: Sequence[NamedRegion]) -> list[Line]:
    """Estimate squares of cells that are larger than the listed areas, up to all of the map."""
    grid = release.households.grid
    if not listed or grid.outlines is not None or grid.hierarchy is not None:
        return []
    place = grid.places[0]
    largest = max(one.region.cells for one in listed)
    powers = range(math.isqrt(largest).bit_length(), max(place.rows, place.cols).bit_length() + 1)
    found = [one.region for power in powers for one in list_regions(grid, side=1 << power)]
    return [("", *one) for one in zip(found, release.estimate_all(found), strict=True)]


def _sizes_section(
    lines: Sequence[Line],
    squares: Sequence[Line],
    view: View,
    page: Page,
    language: Language,
) -> list[tuple[str, Html]]:
    """Draw the map of mean sizes; none where no places lie on a map."""
    if not lines or why_no_picture(view.table.grid) is not None:
        return []
    look = Look(language=language, size=SIDE)
    picture = draw_worded(lambda one: draw_png(draw_sizes(lines, squares, view, one), DPI), look)
    content = (
        element("p", page["sizes_help"]),
        embed_picture(picture, page["sizes_map"]),
    )
    return [("sizes", join(content))]


def _places_section(lines: Sequence[Line], page: Page, limit: int | None) -> Html:
    """Write the table of places."""
    head = [page[f"column_{name}"] for name in ("place", "persons", "households", "size")]
    rows = []
    for name, _, one in lines:
        figures = {quantity: getattr(one, quantity) for quantity in COUNTS}
        rows.append((name, *write_figures(figures, page, limit, _round_size)))
    return join(tabulate_places(rows, head, page, f"{JOINT}.csv"))


def _always_section(release: Households, page: Page) -> Html:
    """Write what holds in every area."""
    size, facts = release.max_size, release.persons.card().guarantee.not_protected
    # Only of households by size it is known which are larger.
    cut = ["always_cut"] if CLIPPED_FACT.format(size=size) in facts else []
    return join(element("p", page[name].format(size=size)) for name in ("always_possible", *cut))


def explain_households(card: HouseholdsCard, language: str) -> Explanation:
    """Explain a release in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page, guarantee = Writer(language), card.guarantee

    def write_together() -> list[str]:
        names = [one.name for one in card.tables]
        return [
            page.write("together_possible", size=card.max_size),
            *([page.write("together_others")] if OTHERS in names else []),
            page.write(f"together_{card.protects}"),
        ]

    def write_promise() -> list[str]:
        # Of households, records may be put together by geodp; of a person somebody else answers.
        enforced = guarantee.assumptions[0].stated_by == "geodp"
        counted = f"counted_{guarantee.unit}_{'enforced' if enforced else 'vouched'}"
        return [
            page.write(counted, contribution=guarantee.contribution),
            *([page.write("counted_single")] if guarantee.unit == "household" else []),
        ]

    # Where households are protected, they are what beliefs are about already.
    title = page.write("households_title", unit=page.unit(card.guarantee.unit))
    households = card.protects == "person"
    return explain_index(page, title, card, write_together, write_promise, households=households)


CLASSES = (1.5, 2.0, 2.5, 3.0, 4.0)
"""Limits of the classes of mean sizes: public constants, never taken from data."""

TINTS = ("#fee6ce", "#fdc38d", "#f79646", "#d9651c", "#a63f07", "#6b2503")
"""Colours of these classes, from small to large households."""

MAX_WIDTH = 1.0
"""Widest 95 % interval of a size that is coloured, of which classes have half."""

Line = tuple[str, Region, HouseholdEstimate]
"""Name of a place, its region, and its estimates."""


def draw_sizes(lines: Sequence[Line], squares: Sequence[Line], view: View, look: Look) -> Sheet:
    """Lay out the map of mean sizes of places, the smallest places above those that hold them.

    A place with households whose own size is not known has the colour of the smallest square
    around it of which it is.

    Parameters
    ----------
    lines : sequence of Line
    squares : sequence of Line
        Larger than all places.
    view : View
        Of the households.
    look : Look

    Raises UsageError for requested texts that no font can draw.
    """
    grid, texts = view.table.grid, translate_texts(PAGE, look.language, "households")
    if grid.outlines is not None:
        frame: Frame = UnitFrame.of_units(grid.outlines, look.size)
    else:
        frame = Frame.of_place(grid.places[0], grid.maps.share(look.size))
    number = np.full(frame.blocks, BEYOND, np.int64)
    # Places of several levels lie above each other: the smallest are drawn last.
    for _, region, one in sorted((*squares, *lines), key=lambda line: -line[1].cells):
        size = None if one.is_below(view.limit) else one.mean_size
        index = grid.decode(region.key)[:2]
        at = tuple(index if frame.units else index // frame.block)
        if size is not None and size.high - size.low <= MAX_WIDTH:
            number[at] = np.searchsorted(CLASSES, size.value, "right")
        elif size is None or not squares:  # few or no households
            number[at] = UNKNOWN
        else:
            number[at] = np.maximum(number[at], UNKNOWN)
    land = None if frame.units else quarters_of_land(grid, frame.place, frame.block)
    if land is not None:
        # A place is coloured as a whole, and nobody lives in its water.
        number[land == 0] = UNKNOWN
    some = bool((number >= 0).any())
    classes = Classes(
        number,
        parse_colours(TINTS) if some else (),
        [f"{end:g}" for end in CLASSES] if some else (),
        texts["heading_sizes"],
        texts["sizes_unknown"],
        land,
    )
    notes = [] if some else [texts["sizes_none"]]
    look = replace(look, title=look.title or texts["heading_sizes"])
    return compose_quantity(view, look, frame, classes, notes)
