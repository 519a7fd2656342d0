"""The page of a series of any kind: a slider over maps of all times, and a curve of each place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from geodp.accuracy.interval import Estimate, Interval
from geodp.accuracy.interval_arithmetic import Figures, hide_figures, subtract_all
from geodp.io.write.frame import cell_size
from geodp.io.write.map.look import Language
from geodp.io.write.map.panel import Panel
from geodp.io.write.view import View
from geodp.release.report.html.embedded import BLOCKS, draw_blocks, draw_legend, frame_blocks
from geodp.release.report.html.english import texts_of
from geodp.release.report.html.frame import name_counted, write_days
from geodp.release.report.html.general import (
    find_regions,
    list_figures,
    list_rows,
    name_quantity,
    read_page,
    write_head,
)
from geodp.release.report.html.markup import Html, Page, element, join, table
from geodp.release.report.html.page import join_scripts, read_asset, title_or, write_static
from geodp.release.report.html.parts import files_section, guarantee_section
from geodp.release.report.html.places import Rounded, box_of, step_of
from geodp.release.report.html.quotes import round_interval
from geodp.table.card import Notice

PAGE: Mapping[str, str] = {
    "title": "{what}, {first} to {last}",
    "subject_households-series": "Persons and households",
    "subject_flows-series": "Trips",
    "time_month": "{month} {year}",
    "time_hour": "{date}, {hour}:00",
    "heading_times": "The map over time",
    "heading_curves": "Place by place",
    "heading_figures": "The whole area, number by number",
    "pick_time": "Time",
    "pick_table": "Map of",
    "pick_place": "Place",
    "pick_quantity": "Number",
    "times_help": "Move the slider to see the map of another time; the colours mean the same at "
    "all times. Click the map to choose the place whose curve is shown below.",
    "curves_help": "The points are the released numbers of the place at each time. The band "
    "around them holds the true numbers: each does in 19 of 20 cases.",
    "places_left": "The {n} places with the most are listed.",
    "script_needed": "The slider and the curves need JavaScript; the table of the whole area is "
    "readable without.",
    "curve_label": "{quantity} over time: {place}",
    "change_told": "From {first} to {last} it changed by {value} ({low} to {high}).",
    "change_untold": "From {first} to {last} it changed by {value} ({low} to {high}): noise alone "
    "may explain that.",
    "change_smoothed": "The numbers are smoothed over time, so that changes smaller than the noise "
    "look smaller than they are. Their intervals are those of numbers that were not smoothed, and "
    "hold more often.",
    "step_back": "Earlier",
    "step_on": "Later",
}
"""Texts by name; the context of each in the catalogue is ``periods.`` and its name."""

SCRIPT_TEXTS = (
    *("curve_label", "change_told", "change_untold", "change_smoothed", "unknown", "figures"),
    "figures_hidden",
)
"""Names of texts that the script of the page shows."""

MAX_PICTURES = 1_000_000
"""Bytes of all maps of a table: blocks of cells are larger until they fit, if there are such."""

MAX_NUMBERS = 20_000
"""Numbers of all curves together; of more places those with the most are listed."""

COUNT = "count"
"""The quantity of amounts that is none: how many records there are."""

BELOW = "<"
"""What stands in the data of the page for a count below an office's limit of display."""


class TimedMap(NamedTuple):
    """A table of a series that is one map: its name, who is counted, and the map of each time."""

    name: str
    who: str
    panels: list[Panel]


def write_periods(
    series: Any,
    explained: Any,
    unit: str,
    language: Language = "en",
    places: Mapping[str, Any] | None = None,
    notice: Notice | None = None,
) -> str:
    """Write a series as one HTML page that loads nothing from the network.

    Parameters
    ----------
    series : ReleasedPeriods
        A written one.
    explained : Explanation
        In the language; see :mod:`geodp.tools.explain`.
    unit : str
        Name of one unit of privacy in the language.
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
    index, page = series.card(), read_page(language, PAGE, "periods")
    texts = {**texts_of(language).script, **page}
    first = next(iter(series.releases[-1].tables.values()))
    labels = [_write_time(time, page) for time in series.times]
    title = page["title"].format(
        what=_name_subject(index, first.view(), page, language), first=labels[0], last=labels[-1]
    )
    page = page | {"title": title}
    maps = [*_list_maps(series, page, language)]
    sections: list[tuple[str, Html]] = []
    data: dict[str, Any] = {"times": [*series.times], "labels": labels}
    if maps:
        sections.append(("times", _write_maps(maps, labels, page)))
    regions = find_regions(series.releases[-1], places, page, texts)
    if regions:
        curves, section = _write_curves(series, regions, page)
        data |= curves
        sections.append(("curves", section))
    # For who runs no script.
    if whole := find_regions(series.releases[-1], None, page, texts, whole=True):
        head, rows = list_rows(dict(zip(labels, series.releases, strict=True)), whole, page)
        sections.append(("figures", table(page["heading_figures"], head, rows, repeats=True)))
    sections.append(("guarantee", guarantee_section(explained.sections)))
    if index.files:
        sections.append(("files", files_section(page, index)))
    data["words"] = {name: page[name] for name in SCRIPT_TEXTS}
    data["maps"] = [place_map(one.panels[0]) for one in maps]
    data["smoothed"] = _is_smoothed(series)
    limit = first.card().display_below
    data["few"] = "" if limit is None else page["below"].format(limit=f"{limit:,}")
    intro = element("p", page["intro"].format(unit=unit), class_="intro")
    header = write_head(title_or(first.card(), page), index, page, intro)
    return write_static(
        first.card(),
        header,
        sections,
        page,
        language,
        style=read_asset("periods.css"),
        notice=notice,
        script=join_scripts(["plain", "periods"]),
        data=data,
    )


def _name_subject(index: Any, view: View, page: Page, language: Language) -> str:
    """Name what a series is about, at the beginning of its title."""
    amount = getattr(index, "amount", None)
    text = page.get(f"subject_{index.kind}")
    if text is None:
        text = name_counted(view, page, language) if amount is None else amount.name
    return f"{text[:1].upper()}{text[1:]}" if language == "en" else text


def _name_quantity(name: str, index: Any, page: Page) -> str:
    """Name a quantity, an amount with its unit."""
    amount, named = getattr(index, "amount", None), name_quantity(name, page)
    return named if amount is None or name == COUNT else f"{named} ({amount.unit})"


def _write_time(time: str, page: Page) -> str:
    """Write a year, month, day or hour in the language of the page."""
    day, _, hour = time.partition("T")
    if hour:
        return page["time_hour"].format(date=write_days(day, page), hour=hour)
    year, *more = day.split("-")
    if len(more) == 1:
        month = page["months"].split()[int(more[0]) - 1]
        return page["time_month"].format(month=month, year=year)
    return write_days(day, page) if more else year


def _is_smoothed(series: Any) -> bool:
    """Test whether periods of a series predict each other."""
    return getattr(series.card(), "smoothing", "none") != "none"


def _list_maps(series: Any, page: Page, language: Language) -> Iterator[TimedMap]:
    """Yield the tables that are one map of cells, drawn with blocks that are large enough."""
    tables = [[*one.tables.items()] for one in series.releases]
    for number, (name, one) in enumerate(tables[0]):
        if one.grid.maps.missing or not one.grid.places or one.card().domain.has_units:
            continue
        views = [period[number][1].view(name) for period in tables]
        panels: list[Panel] = []
        for blocks in BLOCKS:
            panels = [Panel.of(view, 0, max_blocks=blocks) for view in views]
            if sum(map(len, map(draw_blocks, panels))) <= MAX_PICTURES:
                break
        who = page.get(f"quantity_{name}") or name_counted(views[0], page, language)
        yield TimedMap(name_quantity(name, page), who, panels)


def place_map(panel: Panel) -> dict[str, Any]:
    """Return how cells lie on a map, for the script."""
    place = panel.frame.place
    width, height = (float(each) for each in cell_size(place))
    return {"rows": place.rows, "northwards": place.northwards, "aspect": width / height}


def _write_maps(maps: Sequence[TimedMap], labels: Sequence[str], page: Page) -> Html:
    """Write the slider, and the maps of all times of each table; the last one is shown."""
    last = len(labels) - 1
    names = [one.name for one in maps]
    chosen = [write_choice("table", names, page)] if len(maps) > 1 else []
    slider = element(
        "input", type="range", id="time", min="0", max=str(last), value=str(last), step="1"
    )
    tools = element(
        "div",
        *chosen,
        element("label", page["pick_time"], for_="time"),
        element("div", slider, *_write_steps(page), class_="buttons"),
        class_="tools", id="tools", hidden=True,
    )  # fmt: skip
    drawn = [
        element(
            "figure",
            frame_blocks(
                one.panels[0],
                page["map"].format(name=one.name),
                *(draw_blocks(each, hidden=at < last) for at, each in enumerate(one.panels)),
            ),
            draw_legend(one.panels, one.who, page),
            class_="map",
            hidden=number > 0,
        )
        for number, one in enumerate(maps)
    ]
    return join(
        [
            element("noscript", element("p", page["script_needed"])),
            element("p", page["times_help"]),
            tools,
            element("output", labels[-1], id="shown", for_="time"),
            *drawn,
        ]
    )


def _write_steps(page: Page) -> list[Html]:
    """Write the buttons to the time before and after the one that is shown."""
    return [
        element("button", page[f"step_{name}"], type="button", id=f"step-{name}")
        for name in ("back", "on")
    ]


def write_choice(name: str, texts: Sequence[str], page: Page) -> Html:
    """Write a list to choose from, with its label."""
    options = [element("option", text, value=str(at)) for at, text in enumerate(texts)]
    label = element("label", page[f"pick_{name}"], for_=name)
    return element("p", label, element("select", *options, id=name))


def _write_curves(
    series: Any, regions: Mapping[str, Any], page: Page
) -> tuple[dict[str, Any], Html]:
    """Return the numbers of all places and times for the script, and the section of the curve."""
    limit = next(iter(series.releases[0].tables.values())).card().display_below
    names, areas = [*regions], [*regions.values()]
    last = list_figures(series.releases[-1], areas)
    quantities = [*last[0]]
    most = max(MAX_NUMBERS // (len(series) * len(quantities)), 1)
    # The whole area first; of the others those with the most, as other pages list them.
    order = sorted(range(1, len(areas)), key=lambda at: -_low(last[at][quantities[0]]))
    order = [0, *order][:most]
    chosen = [areas[at] for at in order]
    found = [list_figures(one, chosen) for one in series.releases[:-1]]
    found.append([last[at] for at in order])
    index = series.card()
    data: dict[str, Any] = {
        "quantities": [_name_quantity(one, index, page) for one in quantities],
        "places": [names[at] for at in order],
        "boxes": [box_of(one) for one in chosen],
        "numbers": [
            [list_plain(one, limit) for one in of_place] for of_place in zip(*found, strict=True)
        ],
        "changes": [
            _list_changes(first, last, limit)
            for first, last in zip(found[0], found[-1], strict=True)
        ],
    }
    several = [write_choice("quantity", data["quantities"], page)] if len(quantities) > 1 else []
    left = []
    if len(chosen) < len(areas):
        left = [element("p", page["places_left"].format(n=f"{len(chosen):,}"))]
    section = join(
        [
            element("p", page["curves_help"]),
            *left,
            element("div", write_choice("place", data["places"], page), *several, class_="search"),
            element("div", id="curve", class_="curve"),
            element("p", id="change", aria_live="polite"),
            element("div", id="listed", class_="scroll", tabindex="0", role="region",
                    aria_label=page["heading_curves"]),
        ]
    )  # fmt: skip
    return data, section


def _low(one: Interval | None) -> float:
    """Return the lower end of a number by which places are in order."""
    return float("-inf") if one is None else one.low


def _list_changes(first: Figures, last: Figures, limit: int | None) -> list[Any]:
    """List what changed of the quantities of a region; None where a limit of display hides one."""
    hidden = [one for figures in (first, last) for one in hide_figures(figures, limit).values()]
    if any(one.below or one.bare for one in hidden):
        return [None] * len(first)
    return list_plain(subtract_all(first, last), None)


def list_plain(figures: Figures, limit: int | None) -> list[Any]:
    """List the quantities of a region, each rounded with its ends; None: not estimable.

    A count below the limit of display is `BELOW`, and what would reveal it has no ends or is None.
    """
    counts = [one for one in figures.values() if isinstance(one, Estimate)]
    step = min(map(step_of, counts), default=1)
    found: list[Any] = []
    for name, (below, bare) in hide_figures(figures, limit).items():
        one = figures[name]
        if below and isinstance(one, Estimate):
            found.append(BELOW)
        elif below or one is None:
            found.append(None)
        elif isinstance(one, Estimate):
            rounded = Rounded.of(one, step)
            found.append([rounded.count, *([None] * 2 if bare else (rounded.low, rounded.high))])
        else:
            value, *ends = (float(text.replace(",", "")) for text in round_interval(one))
            found.append([value, *([None] * 2 if bare else ends)])
    return found
