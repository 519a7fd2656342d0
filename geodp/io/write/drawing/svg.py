"""Sheets as SVG: text stays text, cells are an embedded picture."""

from __future__ import annotations

import base64
from xml.sax.saxutils import escape, quoteattr

from geodp.io.write.drawing.fonts import families, measure
from geodp.io.write.drawing.png import draw_cells
from geodp.io.write.drawing.sheet import (
    HALO,
    Box,
    CellRaster,
    Colour,
    Line,
    Patches,
    Sheet,
    TextLine,
)

FALLBACK = "sans-serif"
"""Font of viewers that have none of the fonts with which the text was measured."""


def draw_svg(sheet: Sheet) -> bytes:
    """Draw a sheet as SVG 1.1 in UTF-8, without scripts, style sheets or external references.

    Its size is that of the sheet at 96 pixels per inch, as in browsers. Every line of text
    has its measured width, whatever font the viewer uses. The same sheet gives the same bytes.
    """
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="{sheet.width}" height="{sheet.height}" '
        f'viewBox="0 0 {sheet.width} {sheet.height}" role="img">',
        f"<title>{_text(sheet.title)}</title>",
        f"<desc>{_text(sheet.description)}</desc>",
        f"<metadata>{_text(sheet.software)}</metadata>",
        f'<rect width="100%" height="100%" fill="{_hex(sheet.paper)}"/>',
    ]
    for item in sheet.items:
        if isinstance(item, TextLine):
            lines.append(_text_line(item))
        elif isinstance(item, Box):
            lines.append(_box(item))
        elif isinstance(item, Line):
            lines.append(_line(item))
        elif isinstance(item, Patches):
            lines += _patches(item)
        else:
            lines.append(_cells(item))
    return "\n".join([*lines, "</svg>", ""]).encode()


def _text_line(item: TextLine) -> str:
    names = [repr(family.name) for family in families(item.text) or ()]
    # A viewer with another font stretches the text to the measured width, so that nothing overlaps.
    width = measure(item.text, item.size, bold=item.bold)
    attributes = {
        "x": _number(item.x),
        "y": _number(item.y),
        "font-family": ", ".join([*names, FALLBACK]),
        "font-size": _number(item.size),
        "font-weight": "bold" if item.bold else "normal",
        "fill": _hex(item.colour),
        "text-anchor": "end" if item.at_end else "start",
        "textLength": _number(width),
        "lengthAdjust": "spacingAndGlyphs",
    }
    if item.halo is not None:
        attributes |= {
            "stroke": _hex(item.halo),
            "stroke-width": _number(2 * HALO),
            "stroke-linejoin": "round",
            "paint-order": "stroke",
        }
    return f"<text {_attributes(attributes)}>{_text(item.text)}</text>"


def _box(item: Box) -> str:
    """Format a box; its line lies inside, as in pixel images."""
    # A line of one pixel is centred on the outline, so it is moved inside by half.
    inner = 0.5 if item.line is not None else 0.0
    attributes = {
        "x": _number(item.x + inner),
        "y": _number(item.y + inner),
        "width": _number(item.width - 2 * inner),
        "height": _number(item.height - 2 * inner),
        "fill": "none" if item.fill is None else _hex(item.fill),
    }
    if item.line is not None:
        attributes["stroke"] = _hex(item.line)
    return f"<rect {_attributes(attributes)}/>"


def _line(item: Line) -> str:
    points = " ".join(f"{_number(x)},{_number(y)}" for x, y in item.points)
    attributes = {"points": points, "fill": "none", "stroke": _hex(item.colour)}
    if item.width != 1:
        attributes |= {"stroke-width": _number(item.width), "stroke-linejoin": "round"}
    return f"<polyline {_attributes(attributes)}/>"


def _patches(item: Patches) -> list[str]:
    """Format a path for each colour; without borders it is widened a little, to leave no gaps."""
    elements = [_box(Box(item.x, item.y, item.width, item.height, item.around))]
    for colour, rings in item.rings():
        parts = (" L".join(f"{_number(x)} {_number(y)}" for x, y in ring[:-1]) for ring in rings)
        attributes = {
            "d": "".join(f"M{part}Z" for part in parts),
            "fill": _hex(colour),
            "fill-rule": "evenodd",
            "stroke": _hex(colour if item.line is None else item.line),
            "stroke-width": "0.3" if item.line is None else "0.5",
            "stroke-linejoin": "round",
        }
        elements.append(f"<path {_attributes(attributes)}/>")
    return elements


def _cells(item: CellRaster) -> str:
    """Format a window whose unit is a cell, on a picture that may be larger than it."""
    rows, cols = item.number.shape
    window = {
        "x": _number(item.x),
        "y": _number(item.y),
        "width": _number(item.width),
        "height": _number(item.height),
        "viewBox": f"0 {item.above:.12g} {item.shown[1]:.12g} {item.shown[0]:.12g}",
        "preserveAspectRatio": "none",
        "overflow": "hidden",
    }
    image = {
        "width": f"{cols}",
        "height": f"{rows}",
        "preserveAspectRatio": "none",
        "image-rendering": "optimizeSpeed",
        # Browsers follow the style, older viewers the attribute; otherwise cells would be blurred.
        "style": "image-rendering:pixelated",
        "xlink:href": f"data:image/png;base64,{base64.b64encode(draw_cells(item)).decode()}",
    }
    return f"<svg {_attributes(window)}><image {_attributes(image)}/></svg>"


def _attributes(attributes: dict[str, str]) -> str:
    return " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items())


def _text(text: str) -> str:
    """Escape a text; control characters, which XML does not allow, become spaces."""
    return escape("".join(letter if letter.isprintable() else " " for letter in text))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
