"""The page of a release whose kind has none of its own: numbers of places, and maps.

Pages of kinds are made of the same parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from geodp.accuracy.interval import Estimate, Interval
from geodp.accuracy.interval_arithmetic import Figures, hide_figures
from geodp.errors import printable
from geodp.grid.region import Region
from geodp.io.write.map.look import Language
from geodp.io.write.picture import why_no_picture
from geodp.io.write.view import View
from geodp.release.release import Release
from geodp.release.report.html.english import texts_of
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
from geodp.release.report.html.quotes import name_place, round_interval, write_ends
from geodp.release.report.translation import translate_texts
from geodp.table.card import Notice

PAGE: Mapping[str, str] = {
    "intro": "The numbers on this page are not exact. Before anybody saw them, random noise was "
    "added to them on purpose, so that nobody can find out much about any one {unit} from them. "
    "Each number has an interval in brackets, which holds the true number in 19 of 20 cases.",
    "heading_figures": "Number by number",
    "figures_more": "The first {n} rows are listed; the files have all numbers.",
    "column_time": "Time",
    "column_place": "Area",
    "figures": "{count} ({low} to {high})",
    "figures_hidden": "{count} (interval not shown)",
    "unknown": "cannot be told from this release",
    "below": "fewer than {limit}",
    "heading_maps": "Maps",
    "map": "Map of {name} for each square kilometre.",
    "quantity_count": "count",
    "quantity_sum": "sum",
    "quantity_mean": "mean",
    "quantity_median": "median",
    "quantity_persons": "persons",
    "quantity_households": "households",
    "quantity_others": "persons outside households",
    "quantity_mean_size": "persons for each household",
    "quantity_origins": "trips that begin",
    "quantity_destinations": "trips that end",
    "places_rest": "All other areas",
}
"""Texts by name; the context of each in the catalogue is ``general.`` and its name."""

MAX_ROWS = 1000
"""Most rows of the table of numbers."""

UNTOLD = "–"
"""Text in place of a number that would reveal a hidden one."""

MAX_SHOWN = 20
"""Most places of a table that are shown at once; a reader opens the others."""

MAX_LISTED = 1000
"""Most rows of a table of places."""


def write_general(
    release: Any,
    explained: Any,
    unit: str,
    language: Language = "en",
    places: Mapping[str, Any] | None = None,
    notice: Notice | None = None,
) -> str:
    """Write a release as one HTML page that loads nothing from the network and runs no script.

    Parameters
    ----------
    release : release of several tables, or selection
        A written one.
    explained : Explanation
        In the language; see :mod:`geodp.tools.explain`.
    unit : str
        Name of one unit of privacy in the language.
    language : {"en", "ja"}
    places : mapping of str to polygon or list of codes, optional
        A public list of places; see :func:`geodp.release.report.html.places.list_places`. Default:
        all of the map, and the regions or areas of its grid.
    notice : Notice, optional
        The notice of a withdrawal that lies beside the release.

    Raises
    ------
    UsageError
        The language is not available.
    """
    index, page = release.card(), read_page(language) | {"title": explained.title}
    # A selection has no table.
    tables = getattr(release, "tables", {})
    card = next((one.card() for one in tables.values()), index)
    sections = []
    if tables:
        regions = find_regions(release, places, page, {**texts_of(language).script, **page})
        head, rows = list_rows({"": release}, regions, page)
        content = table(page["heading_figures"], head, rows[:MAX_ROWS], repeats=True)
        more = [element("p", page["figures_more"].format(n=f"{MAX_ROWS:,}"))]
        sections += [("figures", join([*(more if len(rows) > MAX_ROWS else []), content]))]
        sections += _draw_maps(tables, page, language)
    sections.append(("guarantee", guarantee_section(explained.sections)))
    if getattr(index, "files", ()):
        sections.append(("files", files_section(page, index)))
    intro = [element("p", page["intro"].format(unit=unit), class_="intro")] if tables else []
    header = write_head(title_or(card, page), index, page, *intro)
    return write_static(card, header, sections, page, language, notice=notice)


def read_page(
    language: Language, own: Mapping[str, str] | None = None, name: str = ""
) -> dict[str, str]:
    """Return the texts of a page in a language: those of all pages, and its own.

    ``own``: English texts by their names; ``name``: the beginning of their contexts.
    """
    texts, shared = texts_of(language), translate_texts(PAGE, language, "general")
    page = {**texts.page, **texts.card, **shared, **translate_texts(own or {}, language, name)}
    return {name: bind(text) for name, text in page.items()}


def write_head(title: str, index: Any, page: Page, *more: Html) -> Html:
    """Write the title, a warning where there is no privacy, and more below them."""
    alarm = [] if index.private else [element("p", page["not_private"], class_="alarm")]
    return element("header", element("h1", title), *alarm, *more)


def list_lines(
    places: Sequence[NamedRegion], estimates: Sequence[Any], count: str, texts: Mapping[str, str]
) -> list[tuple[str, Region, Any]]:
    """List places by name with their regions and estimates, those with the largest counts first.

    ``count``: name of the quantity; ``texts``: of the page's script.
    """
    lines = [
        (name_place(place, texts), place.region, one)
        for place, one in zip(places, estimates, strict=True)
    ]
    return sorted(lines, key=lambda line: -getattr(line[2], count).low)


def tabulate_places(
    lines: Sequence[Sequence[str]], head: Sequence[str], page: Page, file: str
) -> list[Html]:
    """Write the table of places; ``file``: that of all cells."""
    if not lines:
        return [element("p", page["places_none"])]
    shown, text = lines[:MAX_LISTED], "places_help"
    if len(shown) < len(lines):
        text = "places_more"
    elif len(lines) == 1:
        text = "places_one"
    help_ = page.get(text, page["places_help"]).format(n=f"{len(shown):,}", file=file)
    first, more = shown[:MAX_SHOWN], shown[MAX_SHOWN:]
    parts = [element("p", help_), table(page["heading_places"], head, first, repeats=True)]
    if more:
        rest = table(page["heading_places"], head, more, repeats=True)
        parts.append(element("details", element("summary", page["places_rest"]), rest))
    return [element("div", *parts, class_="listed")]


def embed_maps(views: Mapping[str, View], page: Page, language: Language) -> list[Html]:
    """Embed the maps of tables by their names; none where there are no places."""
    return [
        embed_picture(draw_translated(view, language), page[f"map_{name}"])
        for name, view in views.items()
        if why_no_picture(view.table.grid) is None
    ]


def list_figures(release: Any, regions: Sequence[Region]) -> list[Figures]:
    """Return the quantities of regions: those of the kind, or the counts of every map."""
    if hasattr(release, "list_figures"):
        return list(release.list_figures(regions))
    maps = {n: one for n, one in release.tables.items() if not one.grid.maps.missing}
    found = [one.estimate_all(regions) for one in maps.values()]
    return [dict(zip(maps, each, strict=True)) for each in zip(*found, strict=True)]


def find_regions(
    release: Any,
    places: Mapping[str, Any] | None,
    page: Page,
    texts: Mapping[str, str],
    *,
    whole: bool = False,
) -> dict[str, Region]:
    """Find the places of a page by their names: the whole map first, then those of its list.

    Parameters
    ----------
    release : release of tables
    places : mapping, optional
        A public list; default: the regions or areas of the grid.
    page : Page
    texts : mapping
        Of the page's script.
    whole : bool
        Whether the whole map is all that is listed.
    """
    # Regions are of the map of counts, which a release may have from an earlier one.
    tables = [getattr(release, "counts", None), *release.tables.values()]
    first = next((one for one in tables if one and not one.grid.maps.missing), None)
    regions: dict[str, Region] = {}
    if first is None or not first.grid.places:
        return regions
    grid, named = first.grid, {**texts, **name_domain(first.view(), page)}
    if grid.size <= MAX_CELLS:
        every = np.sort(grid.domain.keys_of_ranks(np.arange(grid.size)))
        regions[named["place_whole"]] = Region(grid, every)
    listed = [] if whole else list_regions(grid, places)
    return regions | {name_place(one, named): one.region for one in listed}


def list_rows(
    periods: Mapping[str, Any], regions: Mapping[str, Region], page: Page
) -> tuple[list[str], list[tuple[str, ...]]]:
    """List the heads and rows of the table of numbers, of every place in every period.

    ``periods``: releases by time; or one release, without a time.
    """
    names: list[str] = []
    rows: dict[tuple[str, str], tuple[str, ...]] = {}
    for time, one in periods.items():
        limit = next(iter(one.tables.values())).card().display_below
        for place, figures in zip(regions, list_figures(one, [*regions.values()]), strict=True):
            names = [*figures]
            rows[place, time] = tuple(write_figures(figures, page, limit))
    timed = len(periods) > 1
    placed = len(regions) > 1 or not timed
    head = [page["column_place"]] * placed + [page["column_time"]] * timed
    # The periods of a place stand below each other.
    number = {place: at for at, place in enumerate(regions)}
    order = sorted(rows, key=lambda at: number[at[0]])
    return [*head, *(name_quantity(one, page) for one in names)], [
        (*[place] * placed, *[time] * timed, *rows[place, time]) for place, time in order
    ]


def name_quantity(name: str, page: Page) -> str:
    """Name a quantity in the language of a page; one of a kind of one's own as it is called."""
    return page.get(f"quantity_{name}", name.replace("_", " "))


def write_figures(
    figures: Figures,
    page: Page,
    limit: int | None,
    write: Callable[[Interval], tuple[str, str, str]] = round_interval,
) -> Iterator[str]:
    """Write the quantities of a region, each with its interval; see `hide_figures`.

    ``write``: rounds a quantity that is no count.
    """
    counts = [one for one in figures.values() if isinstance(one, Estimate)]
    # To one step, so that a count which is a part of another is never larger than that.
    step = min(map(step_of, counts), default=1)
    for name, (below, bare) in hide_figures(figures, limit).items():
        one = figures[name]
        if below:
            few = isinstance(one, Estimate)
            yield page["below"].format(limit=f"{limit:,}") if few else UNTOLD
            continue
        if one is None:
            yield page["unknown"]
            continue
        if isinstance(one, Estimate):
            ends = write_ends(one, Rounded.of(one, step), page, limit)
        else:
            ends = dict(zip(("count", "low", "high"), write(one), strict=True))
        yield page["figures_hidden" if bare else "figures"].format(**ends)


def _draw_maps(
    tables: Mapping[str, Release], page: Page, language: Language
) -> Iterator[tuple[str, Html]]:
    """Yield the section with a map of every table; none where nothing can be drawn."""
    maps = []
    for name, one in tables.items():
        if why_no_picture(one.grid) is None:
            text = page["map"].format(name=printable(name))
            maps += [
                element("p", text),
                embed_picture(draw_translated(one.view(name), language), text),
            ]
    if maps:
        yield "maps", join(maps)
