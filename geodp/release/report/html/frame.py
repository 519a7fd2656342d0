"""Frame of a page: title, who is counted, where and when, and the map with its controls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from geodp.accuracy.interval import Z
from geodp.grid.crs import open_transformer
from geodp.grid.lattice import Lattice
from geodp.io.write.drawing.sheet import Colour, mix, parse_colours
from geodp.io.write.frame import cell_size
from geodp.io.write.map.look import KEPT, LIGHT, UNTOLD, Language
from geodp.io.write.map.look import LANGUAGES as CAPTIONS
from geodp.io.write.qgis_style import BELOW, FEW
from geodp.io.write.scale import BEGINS, DARK_IS_MANY
from geodp.io.write.view import View
from geodp.release.report.html.markup import Html, Page, element, join, pairs
from geodp.release.report.html.outlines import lay_ground
from geodp.table.card import Card
from geodp.table.stated.domain import StatedPlace

About = Mapping[str, Any]
"""Metadata of the registry record, by its keys there; empty without a record."""


def name_counted(view: View, page: Page, language: Language) -> str:
    """Name who or what is counted, in the plural: people, trips, or the name of the count."""
    return page.get(f"who_{view.counted}") or CAPTIONS[language].name(view.counted)


def title_of(view: View, who: str, page: Page, about: About) -> str:
    """Return the publisher's title, or one made of who is counted, and in which cells."""
    metadata, grid = view.card.metadata, view.table.grid
    if metadata is not None and metadata.title is not None:
        return metadata.title
    if about:
        return str(about["name"])
    subject = f"{who[:1].upper()}{who[1:]}"
    places = grid.places
    if not places or view.card.domain.has_units:
        return page["title_areas"].format(who=subject, cells=grid.size)
    name = "title_pairs" if len(places) > 1 else "title_squares"
    size = {"rows": places[0].rows, "cols": places[0].cols}
    return page[name].format(who=subject, km=_write_side(places[0], page), **size)


def _write_side(place: Lattice, page: Page) -> str:
    """Describe the width of a cell; empty where it does not lie on the Earth."""
    if place.crs is None or place.transform is None:
        return ""
    width, height = (float(each) for each in cell_size(place))
    # Cells in degrees are not square on the ground: the side of a square of equal area.
    side = (width * height) ** 0.5
    if side < 1:
        return page["title_side"].format(side=f"{1000 * side:.3g} m")
    return page["title_side"].format(side=f"{side:.3g} km")


def write_header(
    view: View, unit: str, page: Page, about: About, title: str, total: str | None
) -> Html:
    """Write the header of the page."""
    card = view.card
    flag = [] if card.private else [element("p", page["not_private"], class_="alarm", role="alert")]
    metadata = card.metadata
    # The publisher's title may be in another language than the page; screen readers need its lang.
    language = metadata.language if metadata is not None and title == metadata.title else None
    return element(
        "header",
        element("h1", title, lang=language),
        *flag,
        element(
            "p",
            page["intro"].format(unit=unit, amount=_describe_amount(card, page)),
            class_="intro",
        ),
        pairs((page[f"fact_{name}"], what) for name, what in _facts(view, page, about, total)),
    )


def _describe_amount(card: Card, page: Page) -> str:
    """Describe the error of a single cell; empty where it is not known."""
    blocks = card.expected_error.blocks
    if not blocks or blocks[0].cells > 1:
        return ""
    error = write_figure(float(f"{blocks[0].standard_error:.2g}"))
    isolated = card.expected_error.isolated_cell
    if isolated is None:
        return page["intro_amount"].format(error=error)
    # 95 % of isolated cells are off by less: the bias and 1.96 standard deviations around it.
    spread = math.sqrt(max(isolated.rmse**2 - isolated.bias**2, 0))
    at_most = float(f"{abs(isolated.bias) + Z * spread:.1g}")
    return page["intro_alone"].format(error=error, alone=write_figure(at_most))


def write_figure(value: float) -> str:
    """Format a number with three significant digits and thousands separators.

    Examples
    --------
    >>> [write_figure(one) for one in (506.131, 1234.5, 31.1001, 0.25, 0)]
    ['506', '1,230', '31.1', '0.25', '0']
    """
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"


def _facts(view: View, page: Page, about: About, total: str | None) -> list[tuple[str, str]]:
    """List where, when and by whom, as far as the release declares it."""
    metadata, facts = view.card.metadata, list[tuple[str, str]]()
    if metadata is not None and metadata.description is not None:
        facts.append(("what", element("span", metadata.description, lang=metadata.language)))
    if about:
        facts.append(("where", about["data_product_region"]))
    grid = view.table.grid
    lain = [] if grid.outlines is None else [lay_ground(grid.outlines.drawn)]
    for place in [*lain, *grid.places][:1]:
        if (where := write_bounds(place, page)) is not None:
            facts.append(("where", where))
    if total is not None:
        facts.append(("all", total))
    day = None if metadata is None else metadata.reference_date
    facts.append(("when", page["fact_no_date"] if day is None else write_days(day, page)))
    if about:
        facts.append(("published", write_days(about["publication_date"], page)))
    if metadata is not None and metadata.publisher is not None:
        facts.append(("publisher", element("span", metadata.publisher, lang=metadata.language)))
    return facts


def write_bounds(place: Lattice | StatedPlace, page: Page) -> str | None:
    """Format the bounds of a map in degrees; None without a CRS."""
    if place.crs is None or place.transform is None:
        return None
    move = open_transformer(str(place.crs), "OGC:CRS84")
    # Projected edges are curves in degrees: points along them, not only the corners.
    west, south, east, north = move.transform_bounds(*place.bounds, densify_pts=21)
    edges = {"west": west, "east": east, "south": south, "north": north}
    return page["bounds"].format(
        **{
            name: write_degrees(edge, name in ("west", "east"), page)
            for name, edge in edges.items()
        }
    )


def write_degrees(value: float, is_longitude: bool, page: Page) -> str:
    """Format a longitude or a latitude to hundredths of a degree."""
    sides = ("degrees_east", "degrees_west") if is_longitude else ("degrees_north", "degrees_south")
    return page[sides[value < 0]].format(value=f"{abs(round(value, 2)):g}")


def write_days(text: str, page: Page) -> str:
    """Format a date (YYYY-MM-DD) or a period (two dates with a slash) in the page's language."""
    days = []
    for one in text.split("/"):
        year, month, day = (int(part) for part in one.split("-"))
        name = page["months"].split()[month - 1]
        days.append(page["date"].format(year=year, month=name, day=day))
    return page["period"].join(days)


def write_source(card: Card, page: Page, exact: bool) -> str:
    """Format the source that is copied with a sentence: publisher, date, and that noise was added.

    ``exact``: for a sentence on a public total, which has no noise; may be empty.
    """
    facts = list[str]()
    metadata = card.metadata
    if metadata is not None and metadata.publisher is not None:
        facts.append(metadata.publisher)
    if metadata is not None and metadata.reference_date is not None:
        facts.append(page["source_date"].format(date=write_days(metadata.reference_date, page)))
    if exact:
        # A fact ends with the mark that divides it from the next one.
        joined = page["source_fact"].format(fact="").join(facts)
        return page["source_exact"].format(facts=joined) if facts else ""
    texts = [page["source_fact"].format(fact=one) for one in facts]
    return page["source"].format(facts="".join(texts))


def write_release(card: Card, page: Page) -> str:
    """Name the release, for the small print."""
    return page["subtitle"].format(release_id=card.release_id, software=str(card.software))


def write_colour(colour: Colour) -> str:
    """Format a colour as a hexadecimal CSS colour.

    Examples
    --------
    >>> write_colour((255, 0, 16))
    '#ff0010'
    """
    return "#" + "".join(f"{part:02x}" for part in colour)


PAPER, OUTSIDE = (write_colour(colour) for colour in (LIGHT.paper, LIGHT.outside))
"""Colours of squares without people, and of those outside the domain."""

COAST, LINE, BORDER, FRAME = "#3c3c46", "#0a3d62", "#b4b4b9", "#6b6b70"
"""Colours of the coastline, of polygons, of borders between units and of the map's frame."""

WATER = "#d3e0ea"
"""Colour of water. PNG maps leave it white, which on a page would look like its background."""


def fade(colour: str) -> list[str]:
    """Return a colour and its pale variant for means of larger squares."""
    pale = mix(parse_colours([colour]), parse_colours([PAPER]), [1 - KEPT])
    return [colour, *("#" + bytes(each).hex() for each in pale)]


def pack_colours() -> dict[str, Any]:
    """Collect the colours that the page's script draws with, as plain values."""
    colours = {
        "classes": list(DARK_IS_MANY),
        "paper": PAPER,
        "water": WATER,
        "outside": OUTSIDE,
        "below": BELOW,
        "few": FEW,
        "untold": UNTOLD,
    }
    lines = {"coast": COAST, "line": LINE, "border": BORDER, "frame": FRAME, "around": PAPER}
    return {"begins": list(BEGINS), "colours": colours, "kept": KEPT, **lines}


SWATCH = 24
"""Width of a colour in the legend, in pixels."""

MAX_TIMES, USUAL_TIMES = "3", "1"
"""Multiples of the margin: the slider's maximum and its initial value."""


def frame_map(what: str, card: Card, page: Page, surface: Mapping[str, Any]) -> Html:
    """Draw the map with its controls and its legend; ``what``: who or what is counted."""
    has_margins = _has_margins(surface)
    canvas = element(
        "canvas", id="map", tabindex="0", role="application", aria_label=page["map_label"],
        aria_describedby="map-help drawn-level",
    )  # fmt: skip
    scale = element(
        "p", element("span", id="scale-bar"), element("span", id="scale-text"),
        class_="scale", hidden=surface["place"]["kilometres"] is None,
    )  # fmt: skip
    # Beside the map and not in the part on areas: the reader sees it while drawing.
    drawing = element(
        "div",
        element("p", id="draw-status", role="status"),
        element("p", element("button", page["draw_finish"], type="button", id="draw-finish"),
                element("button", page["draw_cancel"], type="button", id="draw-cancel"),
                class_="buttons"),
        id="drawing", class_="said", hidden=True,
    )  # fmt: skip
    draws = surface["no_formula"] is None
    seen = element("div", _buttons(page, draws), drawing, canvas, scale, class_="seen")
    tools = element("div", *_choices(page, surface), _slider(page, has_margins), class_="tools")
    panel = element("div", _readout(page), tools, class_="beside")
    content = element(
        "div",
        element("div", seen, panel, class_="map-and-tools"),
        element("p", id="drawn-level", class_="small"),
        _legend(what, card, page, surface),
        element("p", page["map_help"], id="map-help", class_="small"),
        id="map-tools", hidden=True,
    )  # fmt: skip
    # Shown until the script has drawn the map, or if it fails; without scripts, noscript is shown.
    wait = element("p", page["map_wait"], id="map-wait", data_failed=page["map_failed"])
    return join([element("noscript", element("p", page["map_script"])), wait, content])


def _readout(page: Page) -> Html:
    """Draw the boxes for values under the pointer, and for the place that was chosen."""
    # The heading names the place, as the pointer may be elsewhere by now.
    pinned = element(
        "div",
        element("h3", id="pin-place"),
        element("p", id="pinned", class_="said"),
        element("p", element("button", page["copy"], type="button", id="copy-pinned"),
                class_="buttons"),
        id="pin", tabindex="-1", hidden=True,
    )  # fmt: skip
    return element(
        "div",
        element("h3", page["readout"]),
        element("p", page["readout_hint"], id="readout-hint", class_="small"),
        element("dl", id="readout"),
        pinned,
        element("p", id="status", class_="unseen", role="status"),
        class_="readout",
    )


def _choices(page: Page, surface: Mapping[str, Any]) -> list[Html]:
    """Draw the menus of levels, labels and, for pairs, of origin or destination."""
    named = [("level", page["level"])]
    named += [
        (f"attribute-{number}", one["attribute"])
        for number, one in enumerate(surface["attributes"])
    ]
    if len(surface.get("layers", ())) == 2:
        named.append(("layer", page["layer"]))
    return [
        element("p", element("label", text, for_=name), element("select", id=name))
        for name, text in named
    ]


def _has_margins(surface: Mapping[str, Any]) -> bool:
    """Test whether any level has a margin."""
    margins = (level["margins"].values() for level in surface["levels"])
    return any(margin is not None for each in margins for margin in each)


def _slider(page: Page, has_margins: bool) -> Html:
    slider = element(
        "input", id="belief", type="range", min="0", max=MAX_TIMES, step="0.5",
        value=USUAL_TIMES if has_margins else "0", disabled=not has_margins,
        aria_describedby="belief-help",
    )  # fmt: skip
    # Without margins the slider is disabled, and the reason is shown in place of the help.
    text = page["belief_help" if has_margins else "belief_unknown"]
    help_ = element("p", text, id="belief-help", class_="small")
    if has_margins:
        help_ = element("details", element("summary", page["belief_more"]), help_)
    return element(
        "div",
        element("label", page["belief"], for_="belief"),
        slider,
        element("output", id="belief-value", for_="belief"),
        help_,
        class_="belief",
    )  # fmt: skip


def _buttons(page: Page, draws: bool) -> Html:
    """Draw the buttons above the map; ``draws``: whether areas can be drawn on it."""
    marks = {"zoom-in": "+", "zoom-out": "−", "zoom-all": page["zoom_all"]}
    buttons = []
    for name, symbol in marks.items():
        label = page[name.replace("-", "_")]
        labels = {"aria_label": label, "title": label}
        buttons.append(element("button", symbol, type="button", id=name, **labels))
    if draws:
        buttons.append(element("button", page["draw"], type="button", id="draw-here"))
    return element("p", *buttons, class_="buttons")


def _legend(what: str, card: Card, page: Page, surface: Mapping[str, Any]) -> Html:
    """Draw the legend."""
    has_margins = surface["place"]["kilometres"] is not None
    heading = page["legend_per_km2" if has_margins else "legend_per_cell"].format(what=what)
    ends = [f"{a:,} – {b:,}" for a, b in pairwise(BEGINS)]
    # With nested levels, a square may show the mean of a larger one, in a paler tint.
    is_nested = sum(level["nested"] for level in surface["levels"]) > 1
    named = []
    if card.display_below is not None:
        named.append((FEW, page["legend_few"].format(limit=card.display_below)))
    named.append((DARK_IS_MANY[0], f"< {BEGINS[0]}"))
    named += [*zip(DARK_IS_MANY[1:], [*ends, f"≥ {BEGINS[-1]:,}"], strict=True)]
    if not card.mechanism.nonnegative:
        named.append((BELOW, page["legend_below"]))
    tints = [(fade(colour) if is_nested else [colour], text) for colour, text in named]
    tints += [([UNTOLD], page["legend_untold"])] * _has_margins(surface)
    tints.append(([PAPER], page["legend_none"]))
    if surface["land"] is not None:
        tints.append(([WATER], page["legend_water"]))
    if surface["inside"] is not None:
        tints.append(([OUTSIDE], page["legend_outside"]))
    rows = (element("li", swatch(colours), text) for colours, text in tints)
    lines = [element("p", page["legend_pale"], class_="small")] if is_nested else []
    if surface["land"] is not None:
        lines.append(element("p", page["legend_shore"], class_="small"))
    if surface["coast"] is not None:
        lines.append(element("p", page["legend_coast"], class_="small"))
    return element(
        "div", element("h3", page["legend"]), element("p", heading), element("ul", *rows), *lines,
        class_="legend",
    )  # fmt: skip


def swatch(colours: Sequence[str]) -> Html:
    """Draw a box of a colour in the legend, followed by its paler variants."""
    wide = SWATCH * len(colours)
    boxes = [
        element("rect", x=f"{SWATCH * i}", width=f"{SWATCH}", height="14", fill=colour)
        for i, colour in enumerate(colours)
    ]
    boxes.append(
        element("rect", x="0.5", y="0.5", width=f"{wide - 1}", height="13", fill="none",
                stroke="#6b6b70")
    )  # fmt: skip
    return element(
        "svg", *boxes, viewBox=f"0 0 {wide} 14", width=f"{wide}", height="14", aria_hidden="true"
    )


def draw_areas(page: Page, surface: Mapping[str, Any]) -> Html:
    """Draw the tools that estimate areas, or the reason why there are none."""
    if surface["no_formula"] is not None:
        return element("p", page["no_areas"].format(why=page[surface["no_formula"]]))
    place, projection = surface["place"], surface["projection"]
    knows_degrees = place["geographic"] or projection is not None
    points = page["points"].format(crs=place["crs"]) if place["crs"] else page["points_cells"]
    form = element(
        "form",
        element("label", points, for_="points"),
        element("textarea", id="points", rows="4", spellcheck="false"),
        element("button", page["estimate"], type="submit"),
        id="type",
    )
    # GeoJSON is in degrees: without a way back from degrees to the map it cannot be read.
    file = element(
        "p",
        element("label", page["file"], for_="file"),
        element("input", id="file", type="file", accept=".geojson,.json,application/geo+json"),
        hidden=not knows_degrees,
    )
    buttons = element(
        "p",
        element("button", page["draw"], type="button", id="draw", aria_pressed="false"),
        element("button", page["clear"], type="button", id="clear"),
        class_="buttons",
    )
    off = []
    if projection is not None:
        text = page["projection_off"].format(crs=place["crs"], off=f"{projection['off']:g}")
        off.append(element("p", text, class_="small"))
    status = element("p", id="area-status", role="status")
    estimates = element(
        "ol", id="estimates", class_="quotes", aria_label=page["estimates"], hidden=True
    )
    ends = element("p", page["areas_ends"], class_="small")
    notes = [ends] if surface["formula"]["nonnegative"] else []
    return join(
        [element("p", page["areas_help"]), buttons, form, file, *off, *notes, status, estimates]
    )
