"""The map of a page with its controls, legend and area tools. Scripts fill them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from geodp.io.write.drawing.sheet import Colour, mix, parse_colours
from geodp.io.write.map.look import LIGHT, UNTOLD
from geodp.io.write.qgis_style import BELOW, FEW
from geodp.io.write.scale import BEGINS, DARK_IS_MANY
from geodp.release.report.html.markup import Html, Page, element, join
from geodp.table.card import Card


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

PALE_SHARE = 0.38
"""Share of the full colour in squares that show the mean of a larger square, of any size."""


def fade(colour: str) -> list[str]:
    """Return a colour and its pale variant for means of larger squares."""
    pale = mix(parse_colours([colour]), parse_colours([PAPER]), [1 - PALE_SHARE])
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
    return {"begins": list(BEGINS), "colours": colours, "kept": PALE_SHARE, **lines}


SWATCH = 24
"""Width of a colour in the legend, in pixels."""

MAX_TIMES, USUAL_TIMES = "3", "1"
"""Multiples of the margin: the slider's maximum and its initial value."""


def draw_map(what: str, card: Card, page: Page, surface: Mapping[str, Any]) -> Html:
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
    return join([element("p", page["areas_help"]), buttons, form, file, *off, status, estimates])
