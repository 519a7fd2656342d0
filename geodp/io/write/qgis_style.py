"""QGIS style of a release: the classes of all maps, for its raster and for its outlines.

One document has both, as QGIS looks for the style of ``population.tif`` and of ``population.gpkg``
in ``population.qml``. It is not in a table of the GeoPackage, as sf, terra and geopandas would warn
of a second layer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import ClassVar
from xml.sax.saxutils import quoteattr

from geodp.grid.grid import Grid
from geodp.io.write.format import Entry, Format
from geodp.io.write.geometry import has_geometry, has_raster
from geodp.io.write.scale import DARK_IS_MANY, Class, area_of, fit_classes
from geodp.io.write.view import View
from geodp.table.display import show_limit

MEDIA_TYPE = "application/xml"

WHAT = "QGIS style of the raster and of the outlines: fixed classes"

BELOW = "#a6bddb"
"""Colour of the class of negative values: pale, as they are noise where counts are near 0."""

FEW = "#ede28a"
"""Colour of counts that an office shows as ``<k``: neither on the scale nor pale."""

UNSURE = "#d9d9de"
"""Colour of numbers whose interval is too long for a class."""

EMPTY = "#f7f7f9"
"""Colour of units whose count is 0."""

LARGEST = float(1 << 60)
"""Upper limit of the last class of outlines: more than any count."""

ALMOST_0 = -1e-9
"""Upper limit of the class of negative values, so that 0 itself has a separate class."""


class QgisStyle(Format):
    """The classes of all maps, which QGIS loads with the raster and with the GeoPackage."""

    name: ClassVar[str] = "qgis"
    endings: ClassVar[tuple[str, ...]] = ("qml",)
    rank: ClassVar[int] = 40

    def unsupported(self, view: View) -> str | None:
        """Return why there is none: the release has nothing to colour."""
        return why_no_style(view.table.grid)

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write one document."""
        path = folder / f"{view.name}.qml"
        path.write_text(qml(view), encoding="utf-8", newline="\n")
        yield Entry(path.name, MEDIA_TYPE, WHAT)


def why_no_style(grid: Grid) -> str | None:
    """Return why nothing of a grid is coloured; None if it has a raster or outlines."""
    if not has_raster(grid) and not has_geometry(grid):
        return "there is neither a raster nor an outline"
    return None


def qml(view: View) -> str:
    """Build the document for the raster, if the grid has one, and the outlines of a release.

    Parameters
    ----------
    view : View
        View of the cells, or of areas that are sums of them.
    """
    grid = view.table.grid
    counts = view.shown.column == view.name
    # QGIS ignores the part that does not apply to a layer.
    parts = []
    if has_raster(grid):
        parts.append(raster_pipe(view) if counts else value_pipe(view))
    if has_geometry(grid):
        parts.append(vector_renderer(view) if counts else value_renderer(view))
    return f"""<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis version="3.22" styleCategories="Symbology">
{"".join(parts)}</qgis>
"""


def raster_pipe(view: View) -> str:
    """Build the part of a QML document that colours a band of counts by class.

    The classes are those of the picture (`geodp.io.write.scale`), in counts of a cell at the centre
    of the map. Classes of integers end half-way between them, so that the averages of
    overviews fall into the class that they round to; averages below 1 are in the first class. Real
    numbers have contiguous classes.

    Parameters
    ----------
    view : View
        View of one map. Negative values, if its method can release some, have a separate class;
        counts below an office's limit of display are one class, "<k".
    """
    integral, nonnegative, below = _list_kinds(view)
    area = area_of(view.table.grid.places[0])
    classes = fit_classes(area, integral=integral, below=below)
    has_area = area is not None
    last = float(classes[-1].first)
    items = "\n".join(
        f'          <item value="{_end(each, integral)}" '
        f'label="{_label(each, integral, has_area)}" '
        f'color="{DARK_IS_MANY[each.number]}" alpha="255"/>'
        for each in classes
    )
    lowest, negative, few = 0.0, "", ""
    if not nonnegative:
        lowest = -last
        negative = (
            f'          <item value="{ALMOST_0:g}" label="below 0" color="{BELOW}" alpha="255"/>\n'
        )
    if below is not None:
        few = (
            f'\n          <item value="{below - integral / 2:.12g}" '
            f'label={quoteattr(show_limit(below))} color="{FEW}" alpha="255"/>'
        )
    return f"""\
  <pipe>
    <rasterrenderer type="singlebandpseudocolor" band="1" opacity="1" alphaBand="-1"
        classificationMin="{lowest:.12g}" classificationMax="{last:.12g}">
      <rasterTransparency>
        <singleValuePixelList>
          <pixelListEntry min="0" max="0" percentTransparent="100"/>
        </singleValuePixelList>
      </rasterTransparency>
      <rastershader>
        <colorrampshader colorRampType="DISCRETE" classificationMode="1" clip="0"
            minimumValue="{lowest:.12g}" maximumValue="{last:.12g}">
{negative}          <item value="0" label="0" color="#000000" alpha="0"/>{few}
{items}
        </colorrampshader>
      </rastershader>
    </rasterrenderer>
  </pipe>
"""


OUTLINE_STYLE = {
    "style": "solid",
    "outline_style": "solid",
    "outline_width": "0.3",
    "outline_width_unit": "MM",
    "joinstyle": "miter",
}
"""Style of outlines of cells: their border has the colour of the fill, and reaches half a pixel
into each neighbour. Without it, Qt, with which QGIS draws, smooths both edges against the paper,
and dark cells get seams up to 76 of 255 steps lighter where they end within a pixel; with it 3."""

SYMBOLS: dict[str, tuple[str, str, tuple[str, ...], dict[str, str]]] = {
    "Polygon": ("fill", "SimpleFill", ("color", "outline_color"), OUTLINE_STYLE),
    "MultiPolygon": (
        *("fill", "SimpleFill", ("color",)),
        {"style": "solid", "outline_color": "180,180,185,255", "outline_width": "0.1"},
    ),
    "LineString": ("line", "SimpleLine", ("line_color",), {"line_width": "0.3"}),
}
"""Style of each kind of geometry: symbol, its layer, the names of its colours, and the rest."""


def _list_kinds(view: View) -> tuple[bool, bool, int | None]:
    """Return whether counts are integers, whether none is below 0, and the limit of display."""
    method = view.card.mechanism
    return method.whole, method.nonnegative, view.limit


def vector_renderer(view: View) -> str:
    """Build the part of a document that colours outlines of cells, or lines, by class.

    The classes are those of :func:`raster_pipe`; lines, which have no area, have classes of counts,
    and units, whose areas differ, classes of counts per square kilometre, which QGIS computes.

    Parameters
    ----------
    view : View
        View of one map, of pairs, or of units; otherwise as for :func:`raster_pipe`.
    """
    integral, nonnegative, below = _list_kinds(view)
    grid = view.table.grid
    kind, shown = grid.maps.geometry, quote_name(view.name)
    few: tuple[float, float] = int(integral), (below or 0) - integral
    if grid.outlines is None:
        place = grid.maps.one
        area = None if place is None else area_of(place)
        classes = fit_classes(area, integral=integral, below=below)
        labels = [_label(each, integral, area is not None) for each in classes]
    else:
        # Densities, which QGIS computes, are real numbers even where counts are integers.
        kind, integral, classes = "MultiPolygon", False, fit_classes(None, integral=False)
        labels = [f"{each.density} per km²" for each in classes]
        name, shown = shown, f"{shown} / ($area / 1000000)"
        # A value beyond all densities marks a small count, which has a class there.
        if below is not None:
            shown = f"if({name} > 0 and {name} < {below}, {2 * LARGEST:.12g}, {shown})"
        few = LARGEST, 3 * LARGEST
    ranges = []
    for number, (each, label) in enumerate(zip(classes, labels, strict=True)):
        # Ranges of integers must not touch, as QGIS would put the common limit into both.
        last = LARGEST if each.end is None else float(each.end) - integral
        ranges.append(_range(float(each.first), last, number, label))
    symbols = [_symbol(n, DARK_IS_MANY[each.number], kind) for n, each in enumerate(classes)]
    if below is not None:
        ranges.insert(0, _range(*few, len(symbols), show_limit(below)))
        symbols.append(_symbol(len(symbols), FEW, kind))
    if not nonnegative:
        ranges.insert(0, _range(-LARGEST, ALMOST_0, len(symbols), "below 0"))
        symbols.append(_symbol(len(symbols), BELOW, kind))
    if grid.outlines is not None:
        # Before the first class, which begins at 0: QGIS takes the first range that fits.
        ranges.insert(0, _range(0, 0, len(symbols), "0"))
        symbols.append(_symbol(len(symbols), EMPTY, kind))
    return _render(shown, ranges, symbols)


def value_pipe(view: View) -> str:
    """Build the part of a document that colours the band of a number, such as a mean, by class.

    Parameters
    ----------
    view : View
        View whose columns from the count on are the bands, each for every combination of labels.
    """
    shown, grid = view.shown, view.table.grid
    bands = view.columns.index(shown.column) - view.columns.index(view.name)
    band = 1 + bands * prod(len(attribute.labels) for attribute in grid.attributes)
    ends = [*(f"{end:.12g}" for end in shown.begins), "inf"]
    items = "\n".join(
        f'          <item value="{end}" label={quoteattr(name)} color="{colour}" alpha="255"/>'
        for end, name, colour in zip(ends, shown.classes, shown.colours, strict=True)
    )
    return f"""\
  <pipe>
    <rasterrenderer type="singlebandpseudocolor" band="{band}" opacity="1" alphaBand="-1">
      <rastershader>
        <colorrampshader colorRampType="DISCRETE" classificationMode="1" clip="0">
{items}
        </colorrampshader>
      </rastershader>
    </rasterrenderer>
  </pipe>
"""


def value_renderer(view: View) -> str:
    """Build the part of a document that colours outlines by the class of a number, as a mean.

    Numbers whose interval is too long for a class, and those of few counts, have a colour of their
    own; where there is none, nothing is drawn.
    """
    shown, limit = view.shown, view.limit
    name, count = quote_name(shown.column), quote_name(view.name)
    low, high = (quote_name(f"{shown.column}_{end}") for end in ("low", "high"))
    kind = "Polygon" if view.table.grid.outlines is None else "MultiPolygon"
    ends = [-LARGEST, *shown.begins, LARGEST]
    ranges = [
        _range(first, last, number, label)
        for number, (first, last, label) in enumerate(
            zip(ends[:-1], ends[1:], shown.classes, strict=True)
        )
    ]
    symbols = [_symbol(number, colour, kind) for number, colour in enumerate(shown.colours)]
    # What has no class, the first that applies last.
    marks = []
    if shown.widest is not None:
        marks.append((f"{high} - {low} > {shown.widest:.12g}", UNSURE, "not known well"))
    if limit is not None:
        marks.append((f"{count} > 0 and {count} < {limit}", FEW, show_limit(limit)))
    if kind == "MultiPolygon":
        marks.append((f"{count} = 0", EMPTY, "0"))
    expression = name
    for at, (condition, colour, label) in enumerate(marks):
        # A value beyond all numbers marks it.
        expression = f"if({condition}, {2 * (at + 1) * LARGEST:.12g}, {expression})"
        ranges.append(_range((2 * at + 1) * LARGEST, (2 * at + 3) * LARGEST, len(symbols), label))
        symbols.append(_symbol(len(symbols), colour, kind))
    return _render(expression, ranges, symbols)


def _range(first: float, last: float, symbol: int, label: str) -> str:
    """Format a class of a graduated style."""
    return (
        f'<range lower="{first:.12g}" upper="{last:.12g}" symbol="{symbol}" '
        f'label={quoteattr(label)} render="true"/>'
    )


def _render(shown: str, ranges: list[str], symbols: list[str]) -> str:
    """Format a graduated style; ``shown``: QGIS's expression for the classified value."""
    new_line = "\n      "
    return f"""\
  <renderer-v2 type="graduatedSymbol" attr={quoteattr(shown)} symbollevels="0"
      graduatedMethod="GraduatedColor" enableorderby="0" forceraster="0">
    <ranges>
      {new_line.join(ranges)}
    </ranges>
    <symbols>
      {new_line.join(symbols)}
    </symbols>
  </renderer-v2>
"""


def quote_name(column: str) -> str:
    """Quote a column for expressions of QGIS."""
    return '"' + column.replace('"', '""') + '"'


def _symbol(number: int, colour: str, geometry: str) -> str:
    """Format the symbol of a class: an outline filled up to its neighbours, or a line."""
    # QGIS writes colours as decimal numbers with an alpha channel.
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    kind, layer, keys, style = SYMBOLS[geometry]
    properties = {**dict.fromkeys(keys, f"{red},{green},{blue},255"), **style}
    options = "".join(f'<prop k="{name}" v="{value}"/>' for name, value in properties.items())
    return (
        f'<symbol type="{kind}" name="{number}" alpha="1" clip_to_extent="1" force_rhr="0">'
        f'<layer class="{layer}" enabled="1" pass="0" locked="0">{options}</layer></symbol>'
    )


def _end(each: Class, integral: bool) -> str:
    """Return the largest value of a class."""
    if each.end is None:
        return "inf"
    return f"{float(each.end) - integral / 2:.12g}"


def _label(each: Class, integral: bool, has_area: bool) -> str:
    """Format the counts of a class, and the density if cells have an area."""
    first, end = each.first, each.end
    if end is None:
        counts = f"{math.ceil(first) if integral else float(first):,.6g} or more"
    elif integral:
        counts = f"{int(first):,}" + (f" \N{EN DASH} {int(end) - 1:,}" if end - first > 1 else "")
    else:
        counts = f"{float(first):,.4g} \N{EN DASH} {float(end):,.4g}"
    return f"{counts} ({each.density} per km²)" if has_area else counts


FORMATS = (QgisStyle(),)
