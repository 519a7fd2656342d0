"""A sheet as SVG: words stay words, cells are an embedded picture."""

from __future__ import annotations

import base64
from xml.sax.saxutils import escape, quoteattr

from geodp.io.write.drawing.fonts import families
from geodp.io.write.drawing.lines import measure
from geodp.io.write.drawing.png import draw_cells
from geodp.io.write.drawing.sheet import (
    HALO,
    Box,
    CellRaster,
    Colour,
    Line,
    Patches,
    Sheet,
    Words,
)

FALLBACK = "sans-serif"
"""What a viewer takes that has none of the fonts by which the words were measured."""


def draw_svg(sheet: Sheet) -> bytes:
    """Return a sheet as SVG 1.1 in UTF-8, without script, style sheet or anything from outside.

    Its size is that of the sheet at 96 pixels to an inch, as browsers have it. Every line of text
    has its measured width, whatever font the viewer takes. The same sheet gives the same bytes.
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
        if isinstance(item, Words):
            lines.append(_words(item))
        elif isinstance(item, Box):
            lines.append(_box(item))
        elif isinstance(item, Line):
            lines.append(_line(item))
        elif isinstance(item, Patches):
            lines += _patches(item)
        else:
            lines.append(_cells(item))
    return "\n".join([*lines, "</svg>", ""]).encode()


def _words(item: Words) -> str:
    names = [repr(family.name) for family in families(item.text) or ()]
    width = measure(item.text, item.size, bold=item.bold)
    given = {
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
        given |= {
            "stroke": _hex(item.halo),
            "stroke-width": _number(2 * HALO),
            "stroke-linejoin": "round",
            "paint-order": "stroke",
        }
    return f"<text {_attributes(given)}>{_text(item.text)}</text>"


def _box(item: Box) -> str:
    """Return a box; its line lies within, as in pictures of pixels."""
    inner = 0.5 if item.line is not None else 0.0
    given = {
        "x": _number(item.x + inner),
        "y": _number(item.y + inner),
        "width": _number(item.width - 2 * inner),
        "height": _number(item.height - 2 * inner),
        "fill": "none" if item.fill is None else _hex(item.fill),
    }
    if item.line is not None:
        given["stroke"] = _hex(item.line)
    return f"<rect {_attributes(given)}/>"


def _line(item: Line) -> str:
    points = " ".join(f"{_number(x)},{_number(y)}" for x, y in item.points)
    given = {"points": points, "fill": "none", "stroke": _hex(item.colour)}
    if item.width != 1:
        given |= {"stroke-width": _number(item.width), "stroke-linejoin": "round"}
    return f"<polyline {_attributes(given)}/>"


def _patches(item: Patches) -> list[str]:
    """Return a path a colour; without borders each is widened a little, so that no gap shines."""
    found = [_box(Box(item.x, item.y, item.width, item.height, item.around))]
    for colour, rings in item.rings():
        parts = (" L".join(f"{_number(x)} {_number(y)}" for x, y in ring[:-1]) for ring in rings)
        given = {
            "d": "".join(f"M{part}Z" for part in parts),
            "fill": _hex(colour),
            "fill-rule": "evenodd",
            "stroke": _hex(colour if item.line is None else item.line),
            "stroke-width": "0.3" if item.line is None else "0.5",
            "stroke-linejoin": "round",
        }
        found.append(f"<path {_attributes(given)}/>")
    return found


def _cells(item: CellRaster) -> str:
    """Return a window whose unit is a cell, on a picture that may be larger than it."""
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
        "style": "image-rendering:pixelated",
        "xlink:href": f"data:image/png;base64,{base64.b64encode(draw_cells(item)).decode()}",
    }
    return f"<svg {_attributes(window)}><image {_attributes(image)}/></svg>"


def _attributes(given: dict[str, str]) -> str:
    return " ".join(f"{name}={quoteattr(value)}" for name, value in given.items())


def _text(text: str) -> str:
    """Escape a text; XML has no place for control characters."""
    return escape("".join(letter if letter.isprintable() else " " for letter in text))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
