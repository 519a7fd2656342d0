"""A small map of a release for other sites: one HTML file of at most 100 kB, no script."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from geodp.errors import UsageError
from geodp.grid.lattice import Lattice
from geodp.io.read.public.background import QUARTERS, trace_coast
from geodp.io.write.drawing.render import draw_cells
from geodp.io.write.drawing.sheet import CellRaster, Colour
from geodp.io.write.frame import cell_size
from geodp.io.write.map.look import AROUND, LIGHT, UNTOLD_LAND, Language, Look
from geodp.io.write.map.page import number_colours
from geodp.io.write.map.panel import Panel
from geodp.io.write.scale import BEGINS
from geodp.io.write.view import View
from geodp.release.report.html.english import texts_of
from geodp.release.report.html.frame import (
    name_counted,
    swatch,
    title_of,
    write_colour,
    write_release,
)
from geodp.release.report.html.general import find_regions, list_rows, read_page
from geodp.release.report.html.markup import Html, Page, bind, element, join
from geodp.release.report.html.markup import table as tabulate
from geodp.release.report.html.page import (
    STYLE,
    draw_worded,
    embed_picture,
    name_domain,
    read_asset,
    write_document,
)
from geodp.release.report.html.places import list_places
from geodp.release.report.html.quotes import quote_places
from geodp.table.card import Notice

MAX_BYTES = 100_000
"""Maximum size of the file."""

BLOCKS = (512, 256, 128, 64)
"""Maximum numbers of blocks along a side; the first with which the file is small enough is used."""

SIZES = (700, 500, 350, 250)
"""Pixels of the longer side of a picture; the first with which the file is small enough is used."""

STEPS = 700
"""Steps of the coastline along the longer side of the map."""

MAX_NAMED = 11
"""Places that are listed: the whole domain and ten others."""


def write_embed(
    view: View,
    unit: str,
    language: Language = "en",
    places: Mapping[str, Any] | None = None,
    notice: Notice | None = None,
) -> str:
    """Write the map of a release, with its margin of error, as one small HTML file.

    Parameters
    ----------
    view : View
        View of a written release (:func:`geodp.release.opening.open_view`).
    unit : str
        Name of one unit of privacy in the language.
    language : {"en", "ja"}
    places : mapping of str to polygon or list of codes, optional
        A public list, of which the largest are listed; see
        :func:`geodp.release.report.html.places.list_places`.
    notice : Notice, optional
        The notice of a withdrawal that lies beside the release.

    Returns
    -------
    str
        A document of at most 100,000 bytes: cells are summed over larger squares until it fits.

    Raises
    ------
    UsageError
        The language is not available, or the release has no map.
    """
    texts = texts_of(language)
    page, grid = texts.page, view.table.grid
    if not grid.places or view.card.domain.has_units:
        raise UsageError(
            "--embed draws a map, but the cells of this release are not on a map.",
            code="embed-needs-map",
        )
    who = name_counted(view, page, language)
    script = {**texts.script, **name_domain(view, page)}
    quotes = quote_places(list_places(view, places), script, view.limit)
    sentences = [
        element("p", bind(one.format_sentence(script, who, view.limit)))
        for one in quotes[:MAX_NAMED]
    ]
    # The size of the compressed picture is known only once it is drawn: try finer blocks first.
    text = ""
    for max_blocks in BLOCKS:
        panels = [
            Panel.of(view, number, max_blocks=max_blocks) for number, _ in enumerate(grid.places)
        ]
        text = _write(view, panels, who, unit, sentences, language, notice)
        if len(text.encode()) <= MAX_BYTES:
            break
    return text


def write_drawn(
    release: Any,
    draw: Callable[[Look], bytes],
    language: Language = "en",
    places: Mapping[str, Any] | None = None,
    notice: Notice | None = None,
) -> str:
    """Write the picture of a release of any kind, with its largest numbers, as one small HTML file.

    Parameters
    ----------
    release : release of tables
        A written one.
    draw : callable
        Draws its map as PNG.
    language, places, notice
        See :func:`write_embed`.

    Returns
    -------
    str
        A document of at most 100,000 bytes: the picture is made smaller until it fits.

    Raises
    ------
    UsageError
        The language is not available, or the release has no map.
    """
    page, index = read_page(language), release.card()
    card = next(iter(release.tables.values())).card()
    # The picture has a title of its own.
    stated = None if card.metadata is None else card.metadata.title
    title = page["heading_maps"] if stated is None else stated
    regions = find_regions(release, places, page, {**texts_of(language).script, **page})
    head, rows = list_rows({"": release}, regions, page)
    listed = [tabulate(page["heading_figures"], head, rows[:MAX_NAMED])] if rows else []
    flag = [] if index.private else [element("p", page["not_private"], class_="alarm")]
    text = ""
    for size in SIZES:
        picture = draw_worded(draw, Look(language=language, size=size))
        body = element(
            "main",
            *([] if stated is None else [element("h1", stated)]),
            *flag,
            embed_picture(picture, title),
            *listed,
            element("p", write_release(card, page), class_="small"),
        )
        style = read_asset("embed.css") + STYLE
        text = write_document(title, card, style, [body], language, notice=notice)
        if len(text.encode()) <= MAX_BYTES:
            break
    return text


def _write(
    view: View,
    panels: Sequence[Panel],
    who: str,
    unit: str,
    sentences: Sequence[Html],
    language: Language,
    notice: Notice | None,
) -> str:
    """Write the document; ``sentences``: on the largest places, the whole domain first."""
    page, card = texts_of(language).page, view.card
    title = title_of(view, who, page, {})
    ends = ("",) if len(panels) == 1 else (page["embed_origins"], page["embed_destinations"])
    maps = [
        frame_blocks(panel, page["embed_map"].format(title=title, end=end), draw_blocks(panel))
        for panel, end in zip(panels, ends, strict=True)
    ]
    flag = [] if card.private else [element("p", page["not_private"], class_="alarm")]
    places = [
        element("h2", page["embed_largest"], class_="unseen"),
        element("ul", *(element("li", one) for one in sentences[1:]), class_="unseen"),
    ]
    body = element(
        "main",
        element("h1", title),
        *flag,
        *sentences[:1],
        element("div", *maps, class_="maps"),
        draw_legend(panels, who, page),
        element("p", _believe(panels[0], unit, page)),
        *(places if sentences[1:] else ()),
        element("p", page["embed_source"], class_="small"),
        element("p", write_release(card, page), class_="small"),
    )
    return write_document(title, card, read_asset("embed.css"), [body], language, notice=notice)


def frame_blocks(panel: Panel, label: str, *blocks: Html) -> Html:
    """Draw a map as SVG, in units of cells: pictures of its blocks, and the coastline over them."""
    place = panel.frame.place
    width, height = (float(each) for each in cell_size(place))
    aspect = f"{width / height:.6g}"
    coast = [] if panel.frame.kilometres is None else [_trace(place)]
    return element(
        "svg", element("g", *blocks, *coast, transform=f"scale({aspect} 1)"),
        viewBox=f"0 0 {place.cols * float(aspect):.6g} {place.rows}", role="img", aria_label=label,
    )  # fmt: skip


def draw_blocks(panel: Panel, *, hidden: bool = False) -> Html:
    """Draw the blocks of a map as an embedded picture, for :func:`frame_blocks`."""
    place, block = panel.frame.place, panel.frame.block
    (rows, cols), number = panel.frame.blocks, number_colours(panel, fade=True)
    # SVG counts rows downwards; where rows run northwards, the picture is flipped.
    number = number[::-1] if place.northwards else number
    raster = CellRaster(0, 0, cols, rows, number, LIGHT.colours, (rows, cols))
    data = base64.b64encode(draw_cells(raster)).decode("ascii")
    return element(
        "image", href=f"data:image/png;base64,{data}", x="0",
        y=str(place.rows - rows * block if place.northwards else 0),
        width=str(cols * block), height=str(rows * block), preserveAspectRatio="none",
        hidden=hidden,
    )  # fmt: skip


def _trace(place: Lattice) -> Html:
    """Draw the coastline as a path whose units are columns and rows of cells."""
    (a, _, _, _, e, _), (west, south, east, north) = place.transform or (1,) * 6, place.bounds
    step = max(east - west, north - south) / STEPS
    # trace_coast returns line after line: number of points, first point, then steps to the next.
    lines, path, at = trace_coast(place, STEPS).tolist(), list[str](), 0
    while at < len(lines):
        points = lines[at]
        moves = lines[at + 1 : at + 1 + 2 * points]
        pairs = [f"{x} {y}" for x, y in zip(moves[::2], moves[1::2], strict=True)]
        path.append(f"M{pairs[0]}l{' '.join(pairs[1:])}")
        at += 1 + 2 * points
    scale = f"scale({step / abs(a):.6g} {step / abs(e):.6g})"
    return element("path", d="".join(path), transform=scale, vector_effect="non-scaling-stroke")


def draw_legend(panels: Sequence[Panel], who: str, page: Page) -> Html:
    """Draw the legend of maps, of which the first has the limits of all."""
    panel = panels[0]
    on_earth = panel.frame.kilometres is not None
    heading = page["legend_per_km2" if on_earth else "legend_per_cell"].format(what=who)
    ends = [f"{low:,} – {high:,}" for low, high in pairwise(BEGINS)]
    texts = [f"< {BEGINS[0]}", *ends, f"≥ {BEGINS[-1]:,}"]
    around = any((number_colours(each, fade=True) >= AROUND).any() for each in panels)
    shades = [LIGHT.classes, *([LIGHT.colours[AROUND:]] if around else [])]
    named: list[tuple[tuple[Colour, ...], str]]
    named = [*zip(zip(*shades, strict=True), texts, strict=True)]
    wet = any(each.land is not None and (each.land == 0).any() for each in panels)
    if panel.believed is None:
        named.append(((LIGHT.paper,), page["legend_none"]))
    else:
        # The tint of squares that are land completely; shores are paler.
        named.append(((LIGHT.colours[UNTOLD_LAND + QUARTERS - 1],), page["legend_untold"]))
        if wet:
            named.append(((LIGHT.paper,), page["legend_water"]))
    values = [each.value for each in panels]
    if any((value < 0).any() for value in values):
        named.append(((LIGHT.below,), page["legend_below"]))
    if any(np.isnan(value).any() for value in values):
        named.append(((LIGHT.outside,), page["legend_outside"]))
    if panel.limit is not None:
        named.append(((LIGHT.few,), page["legend_few"].format(limit=panel.limit)))
    rows = (element("li", swatch([*map(write_colour, both)]), text) for both, text in named)
    help_ = [element("p", page["legend_pale"], class_="small")] if around else []
    return join(
        [element("p", heading, class_="small"), element("ul", *rows, class_="legend"), *help_]
    )


def _believe(panel: Panel, unit: str, page: Page) -> str:
    """Write the sentence on the margin of error."""
    if panel.margin is None:
        return page["embed_unknown"].format(unit=unit)
    return page["embed_believe"].format(unit=unit, margin=f"±{panel.margin:,.3g}")
