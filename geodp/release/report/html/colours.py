"""Colours of a page's map, on the one scale of all maps."""

from __future__ import annotations

from typing import Any

from geodp.io.write.drawing.sheet import Colour, mix, parse_colours
from geodp.io.write.map.look import LIGHT, UNTOLD
from geodp.io.write.qgis_style import BELOW, FEW
from geodp.io.write.scale import BEGINS, DARK_IS_MANY


def write_colour(colour: Colour) -> str:
    """Return a colour as pages name it.

    Examples
    --------
    >>> write_colour((255, 0, 16))
    '#ff0010'
    """
    return "#" + "".join(f"{part:02x}" for part in colour)


PAPER, OUTSIDE = (write_colour(colour) for colour in (LIGHT.paper, LIGHT.outside))
"""Of squares that hold nobody, and of those outside the domain."""

COAST, LINE, BORDER = "#3c3c46", "#0a3d62", "#b4b4b9"
"""Of the coastline, of polygons, between units."""

KEPT, FADING = 0.65, 0.8
"""Share of the colour that is kept of what is told of the next larger square, and of what is left
of it with each further level."""


def fade(colour: str, steps: int) -> list[str]:
    """Return a colour, and what it is of means of larger squares, so many levels up each."""
    shares = [1 - KEPT * FADING**step for step in range(steps)]
    pale = mix(parse_colours([colour]), parse_colours([PAPER]), shares) if steps else ()
    return [colour, *("#" + bytes(each).hex() for each in pale)]


def state_look() -> dict[str, Any]:
    """Return what the page's script draws with."""
    colours = {
        "classes": list(DARK_IS_MANY),
        "paper": PAPER,
        "outside": OUTSIDE,
        "below": BELOW,
        "few": FEW,
        "untold": UNTOLD,
    }
    found = {"begins": list(BEGINS), "colours": colours, "kept": KEPT, "fading": FADING}
    return {**found, "coast": COAST, "line": LINE, "border": BORDER, "around": PAPER}
