"""The page of a release, in one HTML file, and its explanation in sentences.

The page has flows of every place, with intervals and lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from geodp.accuracy.interval import Estimate
from geodp.errors import UsageError, printable
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.read.public.polygons import Circle
from geodp.io.write.map.look import UNTOLD, Language
from geodp.kinds.flows.drawing import (
    ALL,
    EVERYWHERE,
    GREYS,
    INTO,
    MOST_LABELS,
    OUT,
    Found,
    Ground,
    LabelChoice,
    choose,
    ends_of,
    list_left_out,
    style_labels,
    sum_by_label,
    whole_of,
    write_labels,
)
from geodp.kinds.flows.english import DURATIONS, FILES, PAGE, describe_file, name_attributes
from geodp.kinds.flows.flows import Flows
from geodp.kinds.flows.kind import (
    DESTINATIONS,
    GROUPED,
    ORIGINS,
    FlowsCard,
    FlowsGuarantee,
    StatedStays,
)
from geodp.kinds.flows.picture import is_believed, is_sure, list_all
from geodp.kinds.flows.reading.rules import split_duration
from geodp.kinds.flows.regions import find_columns, find_region
from geodp.release.report.html.english import texts_of
from geodp.release.report.html.frame import swatch
from geodp.release.report.html.general import embed_maps, read_page, write_head
from geodp.release.report.html.markup import Html, Page, bullets, element, join, table
from geodp.release.report.html.page import name_domain, title_or, write_static
from geodp.release.report.html.parts import files_section, guarantee_section
from geodp.release.report.html.places import (
    MAX_CELLS,
    NamedRegion,
    Rounded,
    list_regions,
    show_level,
)
from geodp.release.report.html.quotes import name_place, write_ends
from geodp.release.report.translation import translate_texts
from geodp.table.card import Notice
from geodp.table.display import is_below
from geodp.tools.explain.card import explain_index
from geodp.tools.explain.page import Explanation, Writer
from geodp.typing import IntArray

MOST_PLACES, FEWEST_PLACES = 100, 12
"""Most places between which flows are drawn, and fewest areas of a code system that are taken."""

LISTED = 40
"""Most places whose flows are listed."""

PARTNERS = 8
"""Most partners of a place in each direction, and flows in the table of the largest."""

LINES = 40
"""Most lines on the map of the largest flows."""

STYLE = (
    "svg.flows{display:block;border:1px solid #6b6b70}"
    ".two td{white-space:nowrap}"
    ".choice{border:1px solid #c9c9d0;padding:.6rem;min-width:0}"
    ".choice>label{display:inline;font-weight:normal;padding-right:.6rem;white-space:nowrap}"
    ".choice>input{width:auto;margin:.35rem .1rem}"
    ".choice .named{font-weight:bold}"
    ".choice figure{margin:.6rem 0}"
    "details{border-top:1px solid #c9c9d0;padding:.4rem 0}"
    "summary{cursor:pointer;overflow-wrap:anywhere}"
    "@media print{summary{display:block!important}}"
)
"""Styles of this page besides those of every page."""


Shown = tuple[int, tuple[str, ...]]
"""A place whose flows are listed, and in which directions."""

WAYS, COLOURS = ("out", "into"), (OUT, INTO)
"""Directions of the flows of a place, and their colours."""


@dataclass(frozen=True, eq=False)
class FlowPlaces:
    """Places of a page, those with the most trips first, and then a chosen one.

    Attributes
    ----------
    names : list of str
    regions : list of Region
    out : int64[n]
        Released trips that begin in them.
    trips : int64[n, n]
        Released trips between them.
    listed : int
        Number of places without those that were chosen besides.
    candidates : list of Shown
        Places whose flows are listed, where noise does not hide all their trips.
    is_chosen : bool
        Whether a reader chose them, so that they are listed whatever noise hides.
    """

    names: list[str]
    regions: list[Region]
    out: IntArray
    trips: IntArray
    listed: int
    candidates: list[Shown]
    is_chosen: bool

    @property
    def apart(self) -> IntArray:
        """Released trips between different places: int64[n, n]."""
        return np.where(np.eye(len(self.names), dtype=np.bool_), 0, self.trips)


@dataclass(frozen=True, eq=False)
class PageFlows:
    """Estimates and labels that a page shows of places.

    Attributes
    ----------
    shown : list of Shown
        Places whose flows are listed.
    flows, ends : Found
        Flows between places; all trips from and to each, and of the whole map.
    by_label : LabelChoice or None
    labelled : list of Found
        Estimates of each label, in the order of ``by_label.labels``.
    """

    shown: list[Shown]
    flows: Found
    ends: Found
    by_label: LabelChoice | None
    labelled: list[Found]


def write_page(
    release: Flows,
    language: Language = "en",
    places: Mapping[str, Any] | None = None,
    *,
    origin: str | None = None,
    destination: str | None = None,
    notice: Notice | None = None,
) -> str:
    """Write a release as one HTML page that loads nothing from the network and runs no script.

    Parameters
    ----------
    release : Flows
        A written release.
    language : {"en", "ja"}
    places : mapping of str to polygon or list of codes, optional
        A public list of at most 100 places; see
        :func:`geodp.release.report.html.places.list_places`. Default: areas of the grid's code
        system, or squares.
    origin, destination : str, optional
        Name of a place, or code of an area: the page is about trips out of it, or into it, alone.
    notice : Notice, optional
        The notice of a withdrawal that lies beside the release.

    Raises
    ------
    UsageError
        The language is not available, there are too many places, or the chosen one is unknown.
    """
    page = read_page(language, PAGE, "flows")
    views = {name: release.tables[name].view(name) for name in (ORIGINS, DESTINATIONS)}
    view, limit = views[ORIGINS], release.flows.card().display_below
    words = {**texts_of(language).script, **name_domain(view, page)}
    found = find_places(release, places, words, (origin, destination))
    told = _estimate(release, found, limit)
    sections = []
    style = STYLE
    if found.names:
        known = [
            is_believed(told.ends[place, EVERYWHERE], limit) for place in range(len(found.names))
        ]
        ground = Ground.of(found.regions, np.where(known, found.out, 0), language)
        sections += [
            ("largest", _largest_section(found, told, ground, page, limit)),
            ("places", _places_section(found, told, ground, page, limit)),
        ]
        left_out = list_left_out(release.flows.table.grid.attributes)
        names = left_out if told.by_label is None else told.by_label.attributes
        page["heading_labels"] = page["heading_labels"].format(names=name_attributes(names, page))
        content = _left_out(left_out, page)
        if told.by_label is not None:
            content = [_labels_section(release, found, told, ground, page, limit), *content]
            style += style_labels(told.by_label)
        if content:
            sections.append(("labels", join(content)))
    else:
        large = release.origins.grid.size > MAX_CELLS
        sections.append(("places", element("p", page["places_none" if large else "places_empty"])))
    sections += [
        ("maps", join(embed_maps(views, page, language))),
        ("always", _always_section(release, page)),
        ("guarantee", guarantee_section(explain_flows(release.index, language).sections)),
        ("files", files_section(page | describe_files(release, language), release.index)),
    ]
    header = write_head(
        *(title_or(view.card, page), release.index, page),
        element("p", _introduce(release, page, language), class_="intro"),
        *_total(release, told.ends, page),
    )
    return write_static(view.card, header, sections, page, language, style, notice)


OF_ZONES = ("flows", "flows_marked", "flows_lines", "picture", "blocks", "prior")
"""Kinds of files that are described without a size of blocks."""


def describe_files(release: Flows, language: Language) -> dict[str, str]:
    """Describe the files of a release in a language, by their descriptions in its index."""
    texts, promise = translate_texts(FILES, language, "flows_files"), release.index.guarantee
    kinds = [("pairs", level.side) for level in promise.levels]
    if promise.labels is not None:
        kinds += [(f"labels_{end}", promise.labels.side) for end in (ORIGINS, DESTINATIONS)]
        kinds.append(("labels_pairs", promise.labels.pair_side))
    on_map = release.origins.grid.names.on_map
    return {
        describe_file(FILES, *one, on_map=on_map): describe_file(texts, *one, on_map=on_map)
        for one in [*kinds, *((kind, 1) for kind in OF_ZONES)]
    }


def _estimate(release: Flows, found: FlowPlaces, limit: int | None) -> PageFlows:
    """Estimate the flows of a page, of all labels and of each."""
    grid = release.origins.grid
    if not found.names and grid.size > MAX_CELLS:
        return PageFlows([], {}, {}, None, [])
    pairs = _choose(found)
    ends = [(EVERYWHERE, EVERYWHERE)]
    ends += [end for place, _ in enumerate(found.names) for end in whole_of(place)]
    chosen = dict.fromkeys([*pairs, *ends])
    places = [place for place, _ in found.candidates]
    # Without a place, there is none whose labels are chosen.
    by_label = choose(release, found.regions, places) if places else None
    sets = list[Mapping[str, str]]([{}])
    if by_label is not None:
        chosen |= dict.fromkeys(by_label.all_pairs)
        sets += [{one.attribute: one.label} for one in by_label.labels]
    regions = {EVERYWHERE: list_all(grid), **dict(enumerate(found.regions))}
    between = [(regions[a], regions[b]) for a, b in chosen]
    estimates = release.estimate_sets(between, sets)
    whole, *labelled = (dict(zip(chosen, one, strict=True)) for one in estimates)
    shown = [
        (place, ways)
        for place, ways in found.candidates
        if found.is_chosen or any(is_believed(one, limit) for one in ends_of(whole, place))
    ]
    return PageFlows(
        shown,
        {pair: whole[pair] for pair in pairs},
        {pair: whole[pair] for pair in ends},
        None if by_label is None else by_label.among([place for place, _ in shown]),
        [*labelled],
    )


def _introduce(release: Flows, page: Page, language: Language) -> str:
    """Write what the numbers are: noisy, of at most so many trips of a unit, with intervals."""
    guarantee = release.index.guarantee
    unit = Writer(language).unit(guarantee.unit)
    bound = page[f"bound_{name_bound(guarantee)}"]
    sentences = [
        page["intro"].format(unit=unit),
        bound.format(unit=unit, contribution=f"{guarantee.contribution:,}"),
        page["interval"],
    ]
    return ("" if language == "ja" else " ").join(sentences)


def _total(release: Flows, ends: Found, page: Page) -> list[Html]:
    """Write the sentence on all trips.

    None where the map is too large to sum up, or below the office's limit of display.
    """
    one, limit = ends.get((EVERYWHERE, EVERYWHERE)), release.flows.card().display_below
    if one is None or is_below(one.count, limit):
        return []
    name = "total" if release.index.guarantee.max_weight is None else "total_weighed"
    return [element("p", element("strong", page[name].format(**_ends(one, page, limit))))]


def find_places(
    release: Flows,
    public_list: Mapping[str, Any] | None,
    texts: Mapping[str, str],
    chosen: tuple[str | None, str | None] = (None, None),
) -> FlowPlaces:
    """Find the places of a page with their trips; UsageError for too many, or an unknown one.

    ``chosen``: the place out of which, and that into which, flows are listed; None for both: all.
    """
    grid = release.origins.grid
    if public_list is None and not grid.names.on_map:
        listed = choose_units(release)
    else:
        side = choose_side(grid)
        if public_list is None:
            listed = list_regions(grid, side=side)
        else:
            listed = list_places(grid, public_list, side)
    if len(listed) > MOST_PLACES:
        raise UsageError(
            f"A page shows flows between at most {MOST_PLACES} places; give a shorter list "
            "(--places).",
            code="flows-places-many",
        )
    out, into = _sum_ends(release, [each.region for each in listed])
    trips = out + into
    busy = [at for at in np.argsort(-trips, kind="stable").tolist() if trips[at] > 0]
    names = [name_place(listed[at], texts) for at in busy]
    regions = [listed[at].region for at in busy]
    candidates: list[Shown] = [(at, WAYS) for at in range(min(len(busy), LISTED))]
    number = {listed[old].name: new for new, old in enumerate(busy)}
    is_chosen = chosen != (None, None)
    if is_chosen:
        candidates = []
        for code, way in zip(chosen, WAYS, strict=True):
            if code is None:
                continue
            if code not in number:
                number[code] = len(names)
                names.append(code)
                regions.append(find_region(grid, code))
            candidates.append((number[code], (way,)))
        if len(candidates) == len(WAYS) and candidates[0][0] == candidates[1][0]:
            candidates = [(candidates[0][0], WAYS)]
    out, _ = _sum_ends(release, regions)
    between = sum_between(release, regions)
    return FlowPlaces(names, regions, out, between, len(busy), candidates, is_chosen)


def _sum_ends(release: Flows, regions: Sequence[Region]) -> tuple[IntArray, IntArray]:
    """Sum the released trips that begin, and that end, in regions: int64[n] each."""
    out, into = (
        np.array([one.table.counts_at(each.key).sum() for each in regions], np.int64)
        for one in (release.origins, release.destinations)
    )
    return out, into


def list_places(grid: Grid, places: Mapping[str, Any], side: int) -> list[NamedRegion]:
    """List the places of a public list that have a zone; see :func:`list_regions`."""
    if grid.names.on_map or grid.outlines is not None:
        return list_regions(grid, places, side=side)
    listed = []
    for name, one in places.items():
        shape = one.shape if isinstance(one, Circle) else one
        if hasattr(shape, "geom_type") and not find_columns(grid, shape).size:
            continue
        region = find_region(grid, shape)
        listed.append(NamedRegion(name, region, km=getattr(one, "km", None)))
    return listed


def choose_units(release: Flows) -> list[NamedRegion]:
    """Choose the areal units of a page: the finest level that has few enough of them.

    Where none has, those of the finest units that have the most released trips.
    """
    grid = release.origins.grid
    assert grid.hierarchy is not None
    levels = [
        (show_level(grid.hierarchy, number), codes)
        for number, codes in enumerate(grid.hierarchy.codes)
    ]
    few = [level for level, codes in levels if len(codes) <= MOST_PLACES]
    if few:
        return [one for one in list_regions(grid) if one.level == few[-1]]
    level, _ = levels[-1]
    key = grid.domain.keys_of_ranks(np.arange(grid.size))
    trips = sum(one.table.counts_at(key) for one in (release.origins, release.destinations))
    busy = np.sort(key[np.argsort(-trips, kind="stable")[:MOST_PLACES]])
    names = grid.names.show(0, grid.decode(busy))
    return [
        NamedRegion(name, Region(grid, busy[at : at + 1]), level) for at, name in enumerate(names)
    ]


def choose_side(grid: Grid) -> int:
    """Choose the side of the squares of a page: areas of the code system, or any squares."""
    place = grid.places[0]

    def count(side: int) -> int:
        return -(-place.rows // side) * -(-place.cols // side)

    official = sorted(side for _, side in grid.maps.areas if side > 1)
    few = [side for side in official if FEWEST_PLACES <= count(side) <= MOST_PLACES]
    doubled = (1 << power for power in range(64))
    return few[0] if few else next(side for side in doubled if count(side) <= MOST_PLACES)


def sum_between(release: Flows, regions: Sequence[Region]) -> IntArray:
    """Sum the released trips between all pairs of regions: int64[n, n]."""
    if not regions:
        return np.zeros((0, 0), np.int64)
    return np.asarray(sum_by_label(release, regions, [{}])[0])


def _choose(found: FlowPlaces) -> list[tuple[int, int]]:
    """Choose the flows that are estimated: the largest of all, and those of listed places."""
    apart = found.apart
    among = apart[: found.listed, : found.listed]
    largest = np.argsort(-among, axis=None, kind="stable")[:LINES].tolist()
    chosen = dict.fromkeys(divmod(flow, found.listed) for flow in largest)
    for place, ways in found.candidates:
        chosen[place, place] = None
        if "out" in ways:
            chosen |= dict.fromkeys((place, other) for other in _rank(apart[place]))
        if "into" in ways:
            chosen |= dict.fromkeys((other, place) for other in _rank(apart[:, place]))
    return [pair for pair in chosen if found.trips[pair] > 0]


def _rank(trips: IntArray) -> list[int]:
    """Return the places with the most trips, those without any left out."""
    some: list[int] = np.argsort(-trips, kind="stable")[:PARTNERS].tolist()
    return [place for place in some if trips[place] > 0]


def _largest_section(
    found: FlowPlaces, told: PageFlows, ground: Ground, page: Page, limit: int | None
) -> Html:
    """Draw the map of the largest flows, with a table of the first of them.

    Where noise hides all of them, a sentence says what the release can answer.
    """
    flows = told.flows
    apart = [pair for pair in flows if pair[0] != pair[1] and max(pair) < found.listed]
    ranked = sorted(apart, key=lambda pair: (-flows[pair].count, pair))[:LINES]
    sure = [pair for pair in ranked if _is_sure(pair, told, limit)]
    # The largest last, so that they lie on top.
    most = max((flows[pair].count for pair in sure), default=1)
    lines = [ground.line(*pair, flows[pair].count / most, ALL) for pair in sure[::-1]]
    rows = [
        (found.names[a], found.names[b], _write(flows[a, b], page, limit))
        for a, b in sure[:PARTNERS]
    ]
    head = [page[name] for name in ("column_from", "column_to", "column_trips")]
    parts = [ground.define()]
    if sure:
        parts.append(element("p", page["largest_help"]))
    else:
        parts.append(element("p", page["largest_none"]))
        answer = "answer_places"
        if not told.shown:
            whole = told.ends[EVERYWHERE, EVERYWHERE]
            answer = "answer_total" if is_believed(whole, limit) else "answer_none"
        parts.append(element("p", page[answer]))
    if told.shown:
        parts += [ground.draw(lines, page["largest_map"]), *_explain_ground(found, page)]
    if sure:
        parts.append(table(page["heading_largest"], head, rows, repeats=True))
    return join(parts)


def _explain_ground(found: FlowPlaces, page: Page) -> list[Html]:
    """Explain the colours of places on a map, and name the source of land."""
    grid = found.regions[0].grid
    located = grid.places[0].crs or not grid.names.on_map
    known = "ground_known" if located else "ground_known_cells"
    legend = [
        element("li", swatch([GREYS[0], GREYS[len(GREYS) // 2], GREYS[-1]]), page[known]),
        element("li", swatch([UNTOLD]), page["ground_untold"]),
    ]
    source = [element("p", page["ground_source"], class_="small")] if located else []
    return [element("div", element("ul", *legend), class_="legend"), *source]


def _is_sure(pair: tuple[int, int], told: PageFlows, limit: int | None) -> bool:
    """Return whether a flow between two places is sure, as on maps."""
    ends = (told.ends[pair[0], EVERYWHERE], told.ends[EVERYWHERE, pair[1]])
    return is_sure(told.flows[pair], ends, limit)


def _places_section(
    found: FlowPlaces, told: PageFlows, ground: Ground, page: Page, limit: int | None
) -> Html:
    """Write the flows of places, of which a reader opens one."""
    number = len(told.shown)
    parts = []
    if number > len(WAYS):
        parts.append(element("p", page["places_help"].format(n=f"{number:,}")))
    # Of a chosen place, all others were not asked for.
    others = found.listed - number if all(ways == WAYS for _, ways in told.shown) else 0
    if others > 0:
        parts.append(element("p", page["places_unlisted"].format(n=f"{others:,}"), class_="small"))
    for at, (place, ways) in enumerate(told.shown):
        ends = ends_of(told.ends, place)
        summary = element("summary", _say_ends(found.names[place], ends, page, limit))
        content = _describe(found, told.flows, ground, (place, ways), page, limit)
        # Chosen places are open; of all, the first shows what the others have.
        parts.append(element("details", summary, content, open=at == 0 or number <= len(WAYS)))
    return join(parts)


def _labels_section(
    release: Flows,
    found: FlowPlaces,
    told: PageFlows,
    ground: Ground,
    page: Page,
    limit: int | None,
) -> Html:
    """Write the flows of places by label, of which a reader chooses one."""
    ways, by_label = dict(told.shown), told.by_label
    measured = release.index.guarantee.labels
    assert measured is not None
    assert by_label is not None
    number = len(by_label.places)
    help_ = page["labels_help" if number > len(WAYS) else "labels_help_one"]
    return join(
        [
            element("p", help_.format(n=f"{number:,}")),
            element("p", _say_blocks(release.origins.grid, measured.side, page), class_="small"),
            write_labels(
                by_label,
                found.names,
                told.labelled,
                lambda place, flows: _describe(
                    found, flows, ground, (place, ways[place]), page, limit
                ),
                lambda flows, place: _say_ends(
                    found.names[place], ends_of(flows, place), page, limit
                ),
                page,
                limit,
            ),
        ]
    )


def _say_blocks(grid: Grid, side: int, page: Page) -> str:
    """Write in which blocks labels were counted."""
    if side == 1:
        return page["labels_zones"]
    if grid.names.on_map:
        return page["labels_blocks"].format(side=side)
    return page["labels_blocks_units"].format(side=side**2)


def _left_out(names: Sequence[str], page: Page) -> list[Html]:
    """Write why there is no choice of the labels of some attributes; nothing without them."""
    if not names:
        return []
    said = page["labels_many"].format(names=name_attributes(names, page), most=f"{MOST_LABELS:,}")
    return [element("p", said, class_="small")]


def _say_ends(name: str, both: tuple[Estimate, Estimate], page: Page, limit: int | None) -> str:
    """Write the trips that begin in a place and end there; its name alone below the limit."""
    ends = dict(zip(WAYS, both, strict=True))
    if any(is_below(one.count, limit) for one in ends.values()):
        return page["place_few"].format(place=name)
    fields = {
        f"{way}{end}": text
        for way, one in ends.items()
        for end, text in zip(("", "_low", "_high"), _ends(one, page, limit).values(), strict=True)
    }
    return page["place_summary"].format(place=name, **fields)


def _describe(
    found: FlowPlaces,
    flows: Found,
    ground: Ground,
    shown: Shown,
    page: Page,
    limit: int | None,
) -> Html:
    """Draw the largest flows of a place, and list them."""
    place, ways = shown
    drawn = list[tuple[int, int]]()
    numbers, tables = list[Html](), list[Html]()
    for way in ways:
        own = WAYS.index(way)
        rows = list[tuple[str, str]]()
        partners = _list_partners(flows, place, own)
        sure = [pair for pair in partners if is_believed(flows[pair], limit)]
        for number, pair in enumerate(sure, 1):
            drawn.append(pair)
            text, aside = f"{number}", 8 * (-1) ** own
            numbers.append(ground.mark(pair[1 - own], text, COLOURS[own], aside))
            name = f"{number}  {found.names[pair[1 - own]]}"
            rows.append((name, _write(flows[pair], page, limit)))
        within = flows.get((place, place))
        if within is not None:
            told = is_believed(within, limit)
            text = _write(within, page, limit) if told else page["place_hidden"]
            rows.append((page["place_within"], text))
        unlisted = len(partners) - len(sure)
        if unlisted:
            rows.append((page["place_unlisted"].format(n=f"{unlisted:,}"), page["place_hidden"]))
        if not rows:
            rows.append((page["place_none"], "0"))
        head = [page["column_from" if own else "column_to"], page["column_trips"]]
        tables.append(table(page[f"place_{way}"], head, rows))
    most = max((flows[pair].count for pair in drawn), default=1)
    lines = [
        ground.line(*pair, flows[pair].count / most, COLOURS[int(pair[0] != place)])
        for pair in drawn
    ]
    legend = [
        element("li", swatch([COLOURS[WAYS.index(way)]]), page[f"place_{way}"]) for way in ways
    ]
    label = page["place_map"].format(place=found.names[place])
    return join(
        [
            ground.draw([*lines, ground.dot(place), *numbers], label),
            element("div", element("ul", *legend), class_="legend"),
            element("div", *tables, class_="two"),
        ]
    )


def _list_partners(flows: Found, place: int, own: int) -> list[tuple[int, int]]:
    """List the largest flows of a place with others; ``own``: 0 for those out of it, 1 into it."""
    pairs = [pair for pair in flows if pair[own] == place != pair[1 - own] and flows[pair].count]
    return sorted(pairs, key=lambda pair: (-flows[pair].count, pair))[:PARTNERS]


def _ends(one: Estimate, page: Page, limit: int | None) -> dict[str, str]:
    """Write an estimate and its interval, of whole trips, as ``geodp estimate`` does."""
    return write_ends(one, Rounded.of(one, 1), page, limit)


def _write(one: Estimate, page: Page, limit: int | None) -> str:
    """Write an estimate that is believed, with its interval."""
    return page["figures"].format(**_ends(one, page, limit))


def _always_section(release: Flows, page: Page) -> Html:
    """Write what holds in every area, and what readers of flows have to know."""
    side = release.index.guarantee.levels[0].side
    estimated = "always_estimated"
    if not release.origins.grid.names.on_map:
        estimated, side = "always_estimated_units", side**2
    texts = [
        page["always_agree"],
        page["always_counted" if side == 1 else estimated].format(side=side),
        page["always_far"],
    ]
    return bullets(texts)


def explain_flows(card: FlowsCard, language: str) -> Explanation:
    """Explain a release in plain sentences; errors are those of :func:`geodp.explain.explain`.

    ``language``: "en" or "ja".
    """
    page = Writer(language)
    title = page.write("flows_title", unit=page.unit(card.guarantee.unit))
    return explain_index(
        page, title, card, partial(_write_together, page, card), partial(_write_promise, page, card)
    )


def name_bound(guarantee: FlowsGuarantee) -> Literal["enforced", "weighed", "vouched"]:
    """Name who bounds the trips of a unit: geodp, by their number or weights, or the office."""
    if guarantee.max_weight is not None:
        return "weighed"
    return "enforced" if guarantee.assumptions[0].stated_by == "geodp" else "vouched"


def _write_promise(page: Writer, card: FlowsCard) -> list[str]:
    """Write how many trips of a unit are counted, and with which weights."""
    guarantee, unit = card.guarantee, page.unit(card.guarantee.unit)
    sentences = [
        page.write(f"flows_{name_bound(guarantee)}", unit=unit, contribution=guarantee.contribution)
    ]
    if guarantee.max_weight is not None:
        sentences.append(page.write("flows_weights", largest=guarantee.max_weight))
    if guarantee.raked_to is not None:
        sentences.append(page.write("flows_raked", totals=printable(guarantee.raked_to)))
    # Units of periods are named after what they are periods of.
    if guarantee.unit.startswith("person-"):
        sentences.append(page.write("flows_period", unit=unit))
    return sentences


def _write_stays(page: Writer, stays: StatedStays) -> str:
    """Write by which rules trips were made of pings or stays."""
    texts = translate_texts(DURATIONS, page.language, "flows_durations")

    def write(seconds: int) -> str:
        number, unit = split_duration(seconds)
        return texts[unit].format(number=f"{number:,}")

    if stays.gap_seconds is None:
        return page.write("flows_stays")
    gap = write(stays.gap_seconds)
    if stays.radius_metres is None or stays.dwell_seconds is None:
        return page.write("flows_stays_gap", gap=gap)
    dwell = write(stays.dwell_seconds)
    return page.write("flows_pings", radius=stays.radius_metres, dwell=dwell, gap=gap)


def _write_together(page: Writer, card: FlowsCard) -> list[str]:
    """Write what is released, and what of it was measured."""
    side = card.guarantee.levels[0].side
    measured = [page.write("flows_zones")]
    of_units = GROUPED in card.constraints
    if side > 1:
        pairs = page.write("flows_pairs", side=side)
        if of_units:
            pairs = page.write("flows_pairs_units", number=side**2)
        measured = [pairs, page.write("flows_estimated")]
    labels = card.guarantee.labels
    if labels is not None:
        texts = translate_texts(PAGE, page.language, "flows")
        named = name_attributes(labels.attributes, texts)
        sides = {"side": labels.side, "pair_side": labels.pair_side}
        sentence = "flows_labels"
        if of_units:
            sides = {"number": labels.side**2, "pair_number": labels.pair_side**2}
            sentence = "flows_labels_zones" if labels.side == 1 else "flows_labels_units"
        unit = page.unit(card.guarantee.unit)
        measured.append(page.write(sentence, attributes=named, unit=unit, **sides))
    if card.prior is not None:
        used = [
            *(["flows_prior"] if card.prior.weight > 0 else []),
            *(["flows_prior_ends"] if any(one.is_used for one in card.prior.ends) else []),
        ]
        source = printable(card.prior.source)
        measured += [page.write(one, source=source) for one in used or ["flows_prior_unused"]]
    made = [] if card.stays is None else [_write_stays(page, card.stays)]
    return [page.write("flows_agree"), *made, *measured]
