"""The page of a release, in one HTML file, and its explanation in sentences.

The page has persons, households and mean size of places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from geodp.accuracy.interval_arithmetic import hide_figures
from geodp.grid.region import Region
from geodp.io.write.drawing.render import draw_cells
from geodp.io.write.drawing.sheet import CellRaster, parse_colours
from geodp.io.write.frame import cell_size
from geodp.io.write.map.look import Language
from geodp.io.write.picture import why_no_picture
from geodp.io.write.view import View
from geodp.kinds.households.estimates import HouseholdEstimate
from geodp.kinds.households.households import JOINT, Households
from geodp.kinds.households.inputs import CLIPPED_FACT
from geodp.kinds.households.kind import OTHERS, HouseholdsCard
from geodp.release.report.html.frame import swatch
from geodp.release.report.html.markup import Html, Page, bind, element, join, table
from geodp.release.report.html.page import (
    draw_translated,
    embed_picture,
    name_domain,
    title_or,
    write_static,
)
from geodp.release.report.html.parts import files_section, guarantee_section
from geodp.release.report.html.places import (
    MAX_CELLS,
    NamedRegion,
    Rounded,
    list_regions,
    step_of,
)
from geodp.release.report.html.quotes import quote_places, write_ends
from geodp.release.report.html.texts import texts_of
from geodp.release.report.translation import translate_texts
from geodp.table.withdrawal import Notice
from geodp.tools.explain.card import explain_index
from geodp.tools.explain.page import Explanation, Writer

PAGE: Mapping[str, str] = {
    "title": "Persons and households",
    "intro": "The numbers on this page are not exact. Before anybody saw them, random noise was "
    "added to them on purpose, so that nobody can find out much about any one {unit} from them. "
    "Each number has an interval in brackets, which holds the true number in 19 of 20 cases.",
    "total": "In all, {persons} persons ({persons_low} to {persons_high}) live in {households} "
    "households ({households_low} to {households_high}): {size} persons for each household "
    "({size_low} to {size_high}).",
    "total_unknown": "In all, {persons} persons ({persons_low} to {persons_high}) live in "
    "{households} households ({households_low} to {households_high}). The mean size of a household "
    "cannot be told from this release.",
    "others": "Persons outside households, such as those in institutions, are not counted on this "
    "page: they are in the table {table} of the release.",
    "heading_sizes": "Persons for each household",
    "sizes_map": "Map of the mean size of a household by area.",
    "sizes_less": "fewer than {end}",
    "sizes_between": "{begin} to {end}",
    "sizes_more": "{begin} or more",
    "sizes_unknown": "cannot be told from this release",
    "sizes_help": "Each area is coloured by its released mean size; the table below has "
    "intervals. Areas with few households are grey: noise could make their mean size anything.",
    "heading_places": "Area by area",
    "places_help": "{n} areas are listed, those with the most persons first.",
    "places_more": "The {n} areas with the most persons are listed; all cells are in the table "
    "{file} of the release.",
    "places_none": "This map is too large to list areas: give a list of places (--places).",
    "column_place": "Area",
    "column_persons": "Persons",
    "column_households": "Households",
    "column_size": "Persons for each household",
    "figures": "{count} ({low} to {high})",
    "below": "fewer than {limit}",
    "heading_maps": "Maps",
    "map_persons": "Map of persons for each square kilometre.",
    "map_households": "Map of households for each square kilometre.",
    "heading_always": "What always holds",
    "always_possible": "In every cell, and so in every area, households are at most persons, and "
    "persons at most {size} for each household.",
    "always_cut": "Larger households are counted as households of {size} persons.",
    "files_table": "Tables of all areas together; each of the tables of persons and of households "
    "has a folder with files for GIS",
}
"""Texts by name; the context of each in the catalogue is ``households.`` and its name."""

CLASSES = (1.5, 2.0, 2.5, 3.0, 4.0)
"""Limits of the classes of mean sizes on the map: public constants, never taken from data."""

TINTS = ("#fee6ce", "#fdc38d", "#f79646", "#d9651c", "#a63f07", "#6b2503")
"""Colours of these classes, from small to large households."""

UNKNOWN, NO_AREA = "#c9c9ce", "#ffffff"
"""Colours of areas whose mean size cannot be told, and of cells in no area."""

SIDE = 720
"""Largest number of pixels along a side of the map of mean sizes."""

UNTOLD = "–"
"""Text in place of a mean size that is not estimable."""

MAX_LISTED = 1000
"""Most rows of the table of places."""


@dataclass(frozen=True)
class _Row:
    """A place with its estimates."""

    name: str
    region: Region
    estimate: HouseholdEstimate


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
    texts = texts_of(language)
    page = {**texts.page, **translate_texts(PAGE, language, "households")}
    page = {name: bind(text) for name, text in page.items()}
    view = release.households.view("households")
    grid, limit = view.table.grid, view.limit
    listed = list_regions(grid, places) if grid.places and not grid.maps.missing else []
    rows = _estimate(release, listed, {**texts.script, **name_domain(view, page)})
    sections = [
        *_sizes_section(rows, view, page, limit),
        ("places", _places_section(rows, page, limit)),
        *_maps_section(release, page, language),
        ("always", _always_section(release, page)),
        ("guarantee", guarantee_section(explain_households(release.index, language).sections)),
        ("files", files_section(page, release.index)),
    ]
    unit = Writer(language).unit(release.index.protects)
    header = element(
        "header",
        element("h1", title_or(view.card, page)),
        *([] if release.index.private else [element("p", page["not_private"], class_="alarm")]),
        element("p", page["intro"].format(unit=unit), class_="intro"),
        *_total(release, page, limit),
        *([] if release.others is None else [element("p", page["others"].format(table=OTHERS))]),
    )
    return write_static(view.card, header, sections, page, language, notice=notice)


def _estimate(
    release: Households, listed: Sequence[NamedRegion], texts: Mapping[str, str]
) -> list[_Row]:
    """Estimate places, those with the most persons first."""
    estimates = release.estimate_all(one.region for one in listed)
    named = [
        place.with_estimate(one.households) for place, one in zip(listed, estimates, strict=True)
    ]
    quotes = quote_places(named, texts, None)
    rows = [
        _Row(quoted.place, place.region, one)
        for quoted, place, one in zip(quotes, listed, estimates, strict=True)
    ]
    return sorted(rows, key=lambda row: -row.estimate.persons.low)


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
    tables = ("persons", one.persons), ("households", one.households)
    fields = {
        f"{name}{end}": text
        for (name, sums), rounded in zip(tables, _round_counts(one), strict=True)
        for end, text in zip(
            ("", "_low", "_high"), write_ends(sums, rounded, page, limit).values(), strict=True
        )
    }
    if one.mean_size is None:
        return [element("p", page["total_unknown"].format(**fields))]
    size = _round_size(one)
    fields |= dict(zip(("size", "size_low", "size_high"), size, strict=True))
    return [element("p", element("strong", page["total"].format(**fields)))]


def _round_counts(one: HouseholdEstimate) -> tuple[Rounded, Rounded]:
    """Round persons and households to one step, so that there are never more households."""
    step = min(map(step_of, (one.persons, one.households)))
    return Rounded.of(one.persons, step), Rounded.of(one.households, step)


def _round_size(one: HouseholdEstimate) -> tuple[str, str, str]:
    """Write a mean size and its interval, rounded outwards to hundredths."""
    size = one.mean_size
    assert size is not None  # as callers ask before
    low, high = np.floor(size.low * 100) / 100, np.ceil(size.high * 100) / 100
    return f"{size.value:.2f}", f"{low:.2f}", f"{high:.2f}"


def _sizes_section(
    rows: Sequence[_Row], view: View, page: Page, limit: int | None
) -> list[tuple[str, Html]]:
    """Draw the map of mean sizes; none without places on a map of squares."""
    grid = view.table.grid
    if not rows or grid.outlines is not None:
        return []
    place = grid.places[0]
    step = -(-max(place.rows, place.cols) // SIDE)
    number = np.zeros((-(-place.rows // step), -(-place.cols // step)), np.uint8)
    # Places of several levels lie above each other: the smallest are drawn last.
    for row in sorted(rows, key=lambda row: -row.region.cells):
        size = None if row.estimate.is_below(limit) else row.estimate.mean_size
        colour = 1 if size is None else 2 + int(np.searchsorted(CLASSES, size.value, "right"))
        number[tuple(grid.decode(row.region.key)[:2] // step)] = colour
    colours = parse_colours((NO_AREA, UNKNOWN, *TINTS))
    width, height = (float(each) for each in cell_size(place))
    rows_up = number[::-1] if place.northwards else number
    raster = CellRaster(0, 0, *number.shape[::-1], rows_up, colours, number.shape)
    ends = [page["sizes_less"].format(end=f"{CLASSES[0]:g}")]
    ends += [
        page["sizes_between"].format(begin=f"{a:g}", end=f"{b:g}") for a, b in pairwise(CLASSES)
    ]
    ends += [page["sizes_more"].format(begin=f"{CLASSES[-1]:g}"), page["sizes_unknown"]]
    legend = (
        element("li", swatch([colour]), text)
        for colour, text in zip((*TINTS, UNKNOWN), ends, strict=True)
    )
    content = (
        element("p", page["sizes_help"]),
        embed_picture(draw_cells(raster), page["sizes_map"], width / height),
        element("div", element("ul", *legend), class_="legend"),
    )
    return [("sizes", join(content))]


def _places_section(rows: Sequence[_Row], page: Page, limit: int | None) -> Html:
    """Write the table of places."""
    if not rows:
        return element("p", page["places_none"])
    columns = ("column_place", "column_persons", "column_households", "column_size")
    shown = rows[:MAX_LISTED]
    text = "places_help" if len(shown) == len(rows) else "places_more"
    lines = [(row.name, *_write_figures(row.estimate, page, limit)) for row in shown]
    head = [page[name] for name in columns]
    return join(
        [
            element("p", page[text].format(n=f"{len(shown):,}", file=f"{JOINT}.csv")),
            table(page["heading_places"], head, lines, repeats=True),
        ]
    )


def _write_figures(one: HouseholdEstimate, page: Page, limit: int | None) -> list[str]:
    """Write persons, households and mean size, each with its interval."""
    figures = []
    counts = {"persons": one.persons, "households": one.households}
    hidden = hide_figures({**counts, "mean_size": one.mean_size}, limit)
    for (name, sums), rounded in zip(counts.items(), _round_counts(one), strict=True):
        ends = write_ends(sums, rounded, page, limit)
        if hidden[name].below:
            figures.append(page["below"].format(limit=f"{limit:,}"))
        else:
            figures.append(ends["count"] if hidden[name].bare else page["figures"].format(**ends))
    if one.mean_size is None or hidden["mean_size"].below:
        return [*figures, UNTOLD]
    count, low, high = _round_size(one)
    bare = hidden["mean_size"].bare
    return [*figures, count if bare else page["figures"].format(count=count, low=low, high=high)]


def _maps_section(release: Households, page: Page, language: Language) -> list[tuple[str, Html]]:
    """Draw the maps of persons and of households; none where there are no places."""
    views = {name: getattr(release, name).view(name) for name in ("persons", "households")}
    if why_no_picture(views["persons"].table.grid) is not None:
        return []
    maps = (
        embed_picture(draw_translated(view, language), page[f"map_{name}"])
        for name, view in views.items()
    )
    return [("maps", join(maps))]


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
    households, title = card.protects == "person", page.write("households_title")
    return explain_index(page, title, card, write_together, write_promise, households=households)
