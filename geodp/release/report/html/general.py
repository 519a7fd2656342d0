"""The page of a release whose kind has none of its own: numbers of places and times, and maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from geodp.accuracy.interval import Estimate
from geodp.accuracy.interval_arithmetic import Figures, hide_figures
from geodp.errors import printable
from geodp.grid.region import Region
from geodp.io.write.map.look import Language
from geodp.io.write.picture import why_no_picture
from geodp.release.release import Release
from geodp.release.report.html.markup import Html, Page, bind, element, join, table
from geodp.release.report.html.page import (
    draw_translated,
    embed_picture,
    name_domain,
    title_or,
    write_static,
)
from geodp.release.report.html.parts import files_section, guarantee_section
from geodp.release.report.html.places import MAX_CELLS, NamedRegion, Rounded, list_regions
from geodp.release.report.html.quotes import name_place, round_interval, write_ends
from geodp.release.report.html.texts import texts_of
from geodp.release.report.translation import translate_texts
from geodp.table.withdrawal import Notice

PAGE: Mapping[str, str] = {
    "intro": "The numbers on this page are not exact. Before anybody saw them, random noise was "
    "added to them on purpose, so that nobody can find out much about any one {unit} from them. "
    "Each number has an interval in brackets, which holds the true number in 19 of 20 cases.",
    "heading_figures": "Number by number",
    "figures_more": "The first {n} rows are listed; the files have all numbers.",
    "column_time": "Time",
    "column_place": "Area",
    "figures": "{count} ({low} to {high})",
    "below": "fewer than {limit}",
    "heading_maps": "Maps",
    "map": "Map of {name} for each square kilometre.",
    "map_time": "Map of {name} for each square kilometre, {time}.",
}
"""Texts by name; the context of each in the catalogue is ``general.`` and its name."""

MAX_ROWS = 1000
"""Most rows of the table of numbers."""

UNTOLD = "–"
"""Text in place of a number that is not estimable, or that would reveal a hidden one."""


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
    release : release of several tables, series or selection
        A written one.
    explained : Explanation
        In the language; see :mod:`geodp.tools.explain`.
    unit : str
        Name of one unit of privacy in the language.
    language : {"en", "ja"}
    places : mapping of str to polygon or list of codes, optional
        A public list of places; see :func:`geodp.release.report.html.places.list_places`. Default:
        all of the map, and if there is one period, the regions or areas of its grid.
    notice : Notice, optional
        The notice of a withdrawal that lies beside the release.

    Raises
    ------
    UsageError
        The language is not available.
    """
    texts, index = texts_of(language), release.card()
    page = {**texts.page, **texts.card, **translate_texts(PAGE, language, "general")}
    page = {name: bind(text) for name, text in page.items()} | {"title": explained.title}
    periods = getattr(release, "named", {"": release})
    # The last period is drawn, and a selection has no table.
    last = getattr([*periods.values()][-1], "tables", {})
    card = next((one.card() for one in last.values()), index)
    sections = []
    if last:
        head, rows = _list_rows(periods, places, page, {**texts.script, **page})
        content = table(page["heading_figures"], head, rows[:MAX_ROWS], repeats=True)
        more = [element("p", page["figures_more"].format(n=f"{MAX_ROWS:,}"))]
        sections += [("figures", join([*(more if len(rows) > MAX_ROWS else []), content]))]
        sections += _draw_maps(last, [*periods][-1], page, language)
    sections.append(("guarantee", guarantee_section(explained.sections)))
    if getattr(index, "files", ()):
        sections.append(("files", files_section(page, index)))
    header = element(
        "header",
        element("h1", title_or(card, page)),
        *([] if index.private else [element("p", page["not_private"], class_="alarm")]),
        *([element("p", page["intro"].format(unit=unit), class_="intro")] if last else []),
    )
    return write_static(card, header, sections, page, language, notice=notice)


def _list_figures(release: Any, regions: Sequence[Region]) -> list[Figures]:
    """Return the quantities of regions: those of the kind, or the counts of every map."""
    if hasattr(release, "list_figures"):
        return list(release.list_figures(regions))
    maps = {n: one for n, one in release.tables.items() if not one.grid.maps.missing}
    found = [one.estimate_all(regions) for one in maps.values()]
    return [dict(zip(maps, each, strict=True)) for each in zip(*found, strict=True)]


def _list_rows(
    periods: Mapping[str, Any],
    places: Mapping[str, Any] | None,
    page: Page,
    texts: Mapping[str, str],
) -> tuple[list[str], list[tuple[str, ...]]]:
    """List the heads and rows of the table of numbers, of every place in every period."""
    tables = [*periods.values()][-1].tables.values()
    first = next((one for one in tables if not one.grid.maps.missing), None)
    regions: dict[str, Region] = {}
    if first is not None and first.grid.places:
        grid, named = first.grid, {**texts, **name_domain(first.view(), page)}
        if grid.size <= MAX_CELLS:
            whole = np.sort(grid.domain.keys_of_ranks(np.arange(grid.size)))
            regions[named["place_whole"]] = Region(grid, whole)
        listed: Sequence[NamedRegion] = []
        if places is not None or len(periods) == 1:
            listed = list_regions(grid, places)
        regions |= {name_place(one, named): one.region for one in listed}
    limit = None if first is None else first.card().display_below
    names: list[str] = []
    rows: dict[tuple[str, str], tuple[str, ...]] = {}
    for time, one in periods.items():
        for place, figures in zip(regions, _list_figures(one, [*regions.values()]), strict=True):
            names = [*figures]
            rows[place, time] = tuple(_write_figures(figures, page, limit))
    timed = len(periods) > 1
    head = [page["column_place"], *([page["column_time"]] if timed else []), *names]
    # The periods of a place stand below each other.
    order = sorted(rows, key=lambda at: [*regions].index(at[0]))
    return [one.replace("_", " ") for one in head], [
        (place, *([time] if timed else []), *rows[place, time]) for place, time in order
    ]


def _write_figures(figures: Figures, page: Page, limit: int | None) -> Iterator[str]:
    """Write the quantities of a region, each with its interval; see `hide_figures`."""
    for name, (below, bare) in hide_figures(figures, limit).items():
        one = figures[name]
        if below and isinstance(one, Estimate):
            yield page["below"].format(limit=f"{limit:,}")
        elif below or one is None:
            yield UNTOLD
        elif isinstance(one, Estimate):
            ends = write_ends(one, Rounded.of(one), page, limit)
            yield ends["count"] if bare else page["figures"].format(**ends)
        else:
            value, low, high = round_interval(one)
            yield value if bare else page["figures"].format(count=value, low=low, high=high)


def _draw_maps(
    tables: Mapping[str, Release], time: str, page: Page, language: Language
) -> Iterator[tuple[str, Html]]:
    """Yield the section with a map of every table; none where nothing can be drawn."""
    maps = []
    for name, one in tables.items():
        if why_no_picture(one.grid) is None:
            text = page["map_time" if time else "map"].format(name=printable(name), time=time)
            maps += [
                element("p", text),
                embed_picture(draw_translated(one.view(name), language), text),
            ]
    if maps:
        yield "maps", join(maps)
