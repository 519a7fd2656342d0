"""The page of a census: a reader picks a column, or the share of one in another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import floor, log10
from typing import Any

import numpy as np

from geodp.accuracy.interval_arithmetic import Derived, Figures
from geodp.grid.region import Region
from geodp.io.folder.kinds import kind_of
from geodp.io.write.map.look import Language
from geodp.io.write.map.panel import Panel
from geodp.io.write.picture import why_no_picture
from geodp.kinds.census.census import JOINT, Census, Pair
from geodp.kinds.census.english import PAGE
from geodp.kinds.census.margins import PERSONS, Margins
from geodp.release.report.html.embedded import draw_blocks, draw_legend, frame_blocks
from geodp.release.report.html.english import texts_of
from geodp.release.report.html.frame import pack_colours
from geodp.release.report.html.general import (
    MAX_SHOWN,
    embed_maps,
    find_regions,
    read_page,
    tabulate_places,
    write_figures,
    write_head,
)
from geodp.release.report.html.markup import Html, Page, bullets, element, join, pack_integers
from geodp.release.report.html.page import join_scripts, read_asset, title_or, write_static
from geodp.release.report.html.parts import files_section, guarantee_section
from geodp.release.report.html.periods import list_plain, place_map, write_choice
from geodp.release.report.html.places import box_of
from geodp.table.card import Notice
from geodp.tools.explain.page import Writer

MAX_BLOCK_NUMBERS = 400_000
"""Numbers of all blocks of the map, of all columns together."""

MAX_NUMBERS = 40_000
"""Numbers of all areas together, of columns and of shares; of more areas the largest are listed."""

SAMPLE = 60
"""Cells, and blocks, whose intervals tell how far a column is off."""

SHOWN = 4
"""Columns of the table for who runs no script."""

WORDS = (
    *("figures", "figures_hidden", "unknown", "column_share", "column_each", "legend_share"),
    *("legend_each", "legend_vague", "legend_few_of", "legend_none", "legend_untold", "map_column"),
    *("legend_per_km2", "legend_per_cell", "legend_few", "pick_none", "error_from"),
)
"""Names of texts that the script of the page shows."""

SHARES = ("#b2450b", "#fdae61", "#fff2a8", "#9ecae1", "#2b5fa8")
"""Colours of shares, from far below that of the whole map to far above."""


def write_page(
    release: Census,
    language: Language = "en",
    places: Mapping[str, Any] | None = None,
    notice: Notice | None = None,
) -> str:
    """Write a release as one HTML page that loads nothing from the network.

    Parameters
    ----------
    release : Census
        A written release.
    language : {"en", "ja"}
    places : mapping of str to polygon or list of codes, optional
        A public list of places; see :func:`geodp.release.report.html.places.list_places`. Default:
        the regions or areas of the grid, or squares of it.
    notice : Notice, optional
        The notice of a withdrawal that lies beside the release.

    Raises
    ------
    UsageError
        The language is not available.
    """
    page = read_page(language, PAGE, "census")
    card, index = release.counts.card(), release.index
    explained = kind_of(index).explain(index, language)
    regions = find_regions(release, places, page, {**texts_of(language).script, **page})
    shares = release.list_shares()
    names, areas = _choose_areas(release, regions, len(release.quantities) + len(shares))
    figures = release.list_figures(areas, shares=shares) if areas else []
    data = _list_data(release, shares, names, areas, figures, page)
    sections: list[tuple[str, Html]] = []
    if panel := _draw_panel(release):
        data["map"] = _pack_map(release, panel)
        sections.append(("map", _write_map(release, panel, data, page)))
    elif maps := embed_maps({PERSONS: release.counts.view(PERSONS)}, page, language):
        sections.append(("maps", join(maps)))
    rows = _write_rows(release, names, figures, page, card.display_below)
    sections.append(("places", element("div", *rows, id="listed")))
    if areas:
        data["errors"] = _list_errors(release, shares, areas, figures, data.get("map"))
        sections += [("tree", _write_tree(release, page)), ("error", _write_errors(release, page))]
    sections += [
        ("always", bullets(_list_always(release.margins, page))),
        ("guarantee", guarantee_section(explained.sections)),
    ]
    if index.files:
        sections.append(("files", files_section(page, index)))
    unit = Writer(language).unit(index.guarantee.unit)
    header = write_head(
        title_or(card, page),
        index,
        page,
        element("p", page["intro"].format(unit=unit), class_="intro"),
        element("p", page["agree"].format(n=len(release.quantities))),
    )
    return write_static(
        card,
        header,
        sections,
        page,
        language,
        style=read_asset("periods.css") + read_asset("columns.css"),
        notice=notice,
        script=join_scripts(["unpack", "plain", "columns"]) if areas else None,
        data=data,
    )


def _choose_areas(
    release: Census, regions: Mapping[str, Region], numbers: int
) -> tuple[list[str], list[Region]]:
    """Choose the areas with the most persons, the whole map first, then in falling order.

    ``numbers``: how many numbers are listed of each.
    """
    names, areas = [*regions], [*regions.values()]
    low = [one.low for one in release.counts.estimate_all(areas)]
    order = [0, *sorted(range(1, len(areas)), key=lambda at: -low[at])] if areas else []
    order = order[: max(MAX_NUMBERS // numbers, 2)]
    return [names[at] for at in order], [areas[at] for at in order]


def _list_data(
    release: Census,
    shares: Sequence[Pair],
    names: Sequence[str],
    areas: Sequence[Region],
    figures: Sequence[Figures],
    page: Page,
) -> dict[str, Any]:
    """List columns, shares and their numbers of all areas, for the script."""
    limit = release.counts.card().display_below
    number = {name: at for at, name in enumerate(release.quantities)}
    return {
        "columns": [*release.quantities],
        "shares": [[number[one], number[other]] for one, other in shares],
        "each": [not release.counts_alike(*one) for one in shares],
        "places": [*names],
        "boxes": [box_of(one) for one in areas],
        "numbers": [list_plain(_in_percent(release, one), limit) for one in figures],
        "few": "" if limit is None else page["below"].format(limit=f"{limit:,}"),
        "limit": limit,
        "shown": MAX_SHOWN,
        "words": {name: page[name] for name in WORDS},
    }


def _in_percent(release: Census, figures: Figures) -> Figures:
    """Write shares in per cent; what is one for each of another stays as it is."""
    return {
        name: replace(one, value=100 * one.value, low=100 * one.low, high=100 * one.high)
        if isinstance(one, Derived) and release.counts_alike(*one.of)
        else one
        for name, one in figures.items()
    }


def _draw_panel(release: Census) -> Panel | None:
    """Draw the map of persons in blocks that are large enough; None where cells are on no map."""
    grid = release.ground
    if why_no_picture(grid) is not None or grid.outlines is not None or grid.maps.one is None:
        return None
    most = floor(max(MAX_BLOCK_NUMBERS / len(release.quantities), 1.0) ** 0.5)
    return Panel.of(release.counts.view(PERSONS), 0, max_blocks=most)


def _pack_map(release: Census, panel: Panel) -> dict[str, Any]:
    """Pack the sums of all columns in blocks, and how far each is off in a block."""
    frame, key = panel.frame, release.counts.table.key
    row, col = release.ground.decode(key)[:2] // frame.block
    at, size = row * frame.blocks[1] + col, frame.blocks[0] * frame.blocks[1]
    sums = [
        np.bincount(at, release.count_cells(one, key), size).astype(np.int64)
        for one in release.index.columns
    ]
    area = np.broadcast_to(frame.areas(), frame.blocks)[:, 0]
    return {
        **place_map(panel),
        "block": frame.block,
        "blocks": [*frame.blocks],
        # As other pages: the last digits of areas may differ between platforms.
        "areas": [float(f"{one:.12g}") for one in area],
        "on_earth": frame.kilometres is not None,
        "counts": [pack_integers(one) for one in sums],
        "look": {**pack_colours(), "shares": SHARES},
    }


def _write_map(release: Census, panel: Panel, data: Mapping[str, Any], page: Page) -> Html:
    """Write the choices, and the map of persons, which the script draws anew."""
    tools = element(
        "div",
        write_choice("column", release.quantities, page),
        element("p", element("label", page["pick_whole"], for_="whole"),
                element("select", id="whole")),
        write_choice("place", data["places"], page),
        class_="tools picks", id="tools", hidden=True,
    )  # fmt: skip
    first = release.quantities[0]
    drawn = frame_blocks(panel, page["map_column"].format(name=first), draw_blocks(panel))
    return join(
        [
            element("noscript", element("p", page["script_needed"])),
            element("p", page["map_help"]),
            tools,
            element("p", id="picked", class_="said", aria_live="polite", hidden=True),
            element("figure", drawn, draw_legend([panel], first, page), class_="map"),
        ]
    )


def _write_rows(
    release: Census, names: Sequence[str], figures: Sequence[Figures], page: Page, limit: int | None
) -> list[Html]:
    """Write the table of areas with the first columns, which the script writes anew."""
    shown = release.quantities[:SHOWN]
    rows = [
        (name, *write_figures({one: figure[one] for one in shown}, page, limit))
        for name, figure in zip(names, figures, strict=True)
    ]
    texts = {
        name: text.replace("{count}", release.quantities[0]) if name.startswith("places") else text
        for name, text in page.items()
    }
    return tabulate_places(rows, [page["column_place"], *shown], texts, f"{JOINT}.csv")


def _write_tree(release: Census, page: Page) -> Html:
    """Write all columns, each below the smallest one that it is a part of."""
    above = release.list_above()

    def write(parent: int | None) -> Html:
        items = [
            element(
                "li",
                element("button", name, type="button", data_column=str(at)),
                " ",
                element("span", data_number=str(at)),
                *([write(at)] if at in above else []),
            )
            for at, name in enumerate(release.quantities)
            if above[at] == parent
        ]
        return element("ul", *items)

    return join([element("p", page["tree_help"]), element("div", write(None), class_="tree")])


def _write_errors(release: Census, page: Page) -> Html:
    """Write the table of errors, whose rows the script writes."""
    count = release.quantities[0]
    heads = [page["error_size"].format(count=count), page["error_number"], page["error_half"]]
    table = element(
        "table",
        element("caption", page["heading_error"], class_="unseen"),
        element("thead", element("tr", *(element("th", one, scope="col") for one in heads))),
        element("tbody", id="errors"),
    )
    return join(
        [
            element("p", page["error_help"].format(count=count)),
            element("p", element("strong", id="error-of")),
            element("div", table, class_="scroll", tabindex="0", role="region",
                    aria_label=page["heading_error"]),
        ]
    )  # fmt: skip


def _list_always(margins: Margins, page: Page) -> Iterator[str]:
    """Write what holds in every area."""
    for one in margins.margins:
        yield page["always_adds"].format(name=one.name, of=one.of)
        if one.within:
            yield page["always_within"].format(name=one.name, of=one.of, within=one.within)
        if one.max_size:
            yield page["always_possible"].format(size=one.max_size)
        if one.max_size and one.sizes > 1:
            yield page["always_sizes"].format(sizes=one.sizes)
    if margins.households:
        yield page["always_most"]


def _list_errors(
    release: Census,
    shares: Sequence[Pair],
    areas: Sequence[Region],
    figures: Sequence[Figures],
    drawn: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """List usual numbers and errors by the size of areas: of areas, and of some cells and blocks.

    Returns
    -------
    dict
        ``sizes``: ends of the classes; ``rows``: of each class its number, the median and the
        median of half the interval of each column and share; ``margins``: the latter of blocks.
    """
    grid, key = release.ground, release.counts.table.key
    sampled = key[np.linspace(0, key.size - 1, min(SAMPLE, key.size)).astype(np.int64)]
    cells = [Region(grid, sampled[at : at + 1]) for at in range(sampled.size)]
    blocks = _sample_blocks(release, sampled, drawn["block"]) if drawn else []
    some = release.list_figures([*cells, *blocks], shares=shares) if cells else []
    every = [_in_percent(release, one) for one in (*figures, *some)]
    people = [one[release.quantities[0]] for one in every]
    size = np.array([floor(log10(one.value)) if one and one.value > 0 else -1 for one in people])
    rows = {
        int(power): [_summarise([every[at][name] for at in np.flatnonzero(size == power)])
                     for name in every[0]]
        for power in np.unique(size[size >= 0])
    }  # fmt: skip
    found: dict[str, Any] = {"rows": [[power, one] for power, one in rows.items()]}
    if blocks:
        of_blocks = [_in_percent(release, one) for one in some[len(cells) :]]
        found["margins"] = [
            told[1] if (told := _summarise([one[name] for one in of_blocks])) else None
            for name in release.quantities
        ]
    return found


def _sample_blocks(release: Census, sampled: Any, block: int) -> list[Region]:
    """Return the blocks of the map around some cells."""
    grid = release.ground
    place = grid.places[0]
    corners = np.unique(grid.decode(sampled)[:2] // block, axis=1).T * block
    found = []
    for row, col in corners.tolist():
        ends = min(row + block, place.rows), min(col + block, place.cols)
        index = np.mgrid[row : ends[0], col : ends[1]].reshape(2, -1)
        found.append(Region.of_map(grid, *index))
    return found


def _summarise(numbers: Sequence[Any]) -> list[float] | None:
    """Return medians of numbers and of half of their intervals; None without any."""
    told = [(one.value, (one.high - one.low) / 2) for one in numbers if one is not None]
    if not told:
        return None
    return [float(f"{one:.2g}") for one in np.median(np.array(told), axis=0)]
