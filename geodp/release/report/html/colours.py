"""Colours of the page's map, on the scale that all maps of geodp share."""

from __future__ import annotations

from typing import Any

from geodp.io.write.drawing.sheet import Colour, mix, parse_colours
from geodp.io.write.map.look import LIGHT, UNTOLD
from geodp.io.write.qgis_style import BELOW, FEW
from geodp.io.write.scale import BEGINS, DARK_IS_MANY


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
