"""Bounds by name: of countries, and of first-level areas in a table that is bundled with geodp.

``areas.md`` beside this file has the sources. Bounds come from these public areas alone.
"""

from __future__ import annotations

import csv
import math
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.bounds import cover_points, edge_points, move_points
from geodp.grid.codes import CodeSystem, code_system
from geodp.io.read.public.land import EUROPE, read_countries, read_lands, slug

WIDENED = 0.1
"""Degrees of latitude by which countries are widened: their outlines lack islets and detail."""

MAX_SUGGESTIONS = 6
"""Largest number of names that an error suggests."""


@dataclass(frozen=True)
class _Area:
    """A box in degrees and its names; ``country`` is a slug."""

    names: tuple[str, ...]
    country: str
    box: tuple[float, float, float, float]


@cache
def _areas() -> tuple[_Area, ...]:
    """Read the areas of the table."""
    path = Path(__file__).with_name("areas.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            _Area(
                tuple(name for name in (slug(row["name"]), row["local"]) if name),
                slug(row["country"]),
                (
                    float(row["west"]),
                    float(row["south"]),
                    float(row["east"]),
                    float(row["north"]),
                ),
            )
            for row in csv.DictReader(file)
        )


def find_bounds(name: str, system: str | CodeSystem) -> tuple[Fraction, ...]:
    """Find the bounds of a public area along the cell edges of a code system.

    Parameters
    ----------
    name : str
        A country's English name, a prefecture of Japan (``tokyo``, ``東京都``), a Land of Germany;
        capitals, accents and spaces do not matter.
    system : str or CodeSystem
        Code system, such as ``"inspire:1km"``.

    Returns
    -------
    tuple of Fraction
        West, south, east, north in the CRS of the system: the smallest that hold the area's
        outline, widened, as far as it lies in the public extent.

    Raises
    ------
    UsageError
        No area of this name, or none of it in the extent.

    Examples
    --------
    >>> [int(edge) for edge in find_bounds("liechtenstein", "inspire:1km")]
    [4269000, 2648000, 4304000, 2695000]
    """
    codes = code_system(system) if isinstance(system, str) else system
    x, y = move_points(_outline_points(name), codes.crs)
    return cover_points(codes, x, y, name)


def find_box(name: str) -> tuple[float, float, float, float]:
    """Find west, south, east and north of a public area in degrees, by its name.

    The smallest box that holds the area's outline, widened, to thousandths of a degree; a west
    above the east is a box across 180 degrees. Raises UsageError for an unknown name.
    """
    x, y = _outline_points(name).T
    held = np.unique((x + 180) % 360 - 180)
    gaps = np.diff(held)
    west, east = held[0], held[-1]
    # The smallest box leaves out the widest gap between longitudes, wherever that is.
    if gaps.max(initial=0.0) > 360 - (east - west):
        gap = int(gaps.argmax())
        west, east = held[gap + 1], held[gap]
    west, south = (math.floor(edge * 1000) / 1000 for edge in (west, y.min()))
    east, north = (math.ceil(edge * 1000) / 1000 for edge in (east, y.max()))
    return max(west, -180.0), max(south, -90.0), min(east, 180.0), min(north, 90.0)


def list_areas(system: CodeSystem) -> tuple[str, ...]:
    """List the names of areas that a code system is made for: countries, then their parts.

    Empty for systems of the entire world, and for national ids.

    Examples
    --------
    >>> from geodp.grid.codes import code_system
    >>> list_areas(code_system("statpop:100m")), list_areas(code_system("jis:half"))[:3]
    (('switzerland',), ('japan', '北海道', '青森県'))
    """
    # National code systems are defined for one country each.
    homes = {
        "jis": ("japan",),
        "cbs": ("netherlands",),
        "statpop": ("switzerland",),
        "ibge": ("brazil",),
        "ssb": ("norway",),
        "dkn": ("denmark",),
        "british": ("united-kingdom",),
        "irish": ("ireland",),
        "korean": ("south-korea",),
        **dict.fromkeys(("inspire", "eea"), tuple(sorted(map(slug, EUROPE)))),
    }
    countries = homes.get(system.name.partition(":")[0], ())
    return (*countries, *(one.names[-1] for one in _areas() if one.country in countries))


def _outline_points(name: str) -> NDArray[np.float64]:
    """Return points of an area's outline, float64[n, 2] in degrees; UsageError if unknown."""
    wanted = unicodedata.normalize("NFKC", name).strip()
    for area in _areas():
        # Names in other scripts have no slug, so they are compared as they are.
        if wanted in area.names or (slug(wanted) and slug(wanted) in area.names):
            return edge_points(area.box)
    countries = {slug(country) for country in read_countries()}
    if slug(wanted) in countries:
        import shapely

        shapes = read_lands(slug(wanted))
        return _widen(np.concatenate([shapely.get_coordinates(shape) for shape in shapes]))
    names = [*countries, *(one for area in _areas() for one in area.names)]
    start = (slug(wanted) or wanted)[:2]
    near = sorted(one for one in names if start and one.startswith(start))[:MAX_SUGGESTIONS]
    raise UsageError(
        "There is no public area of this name (--bounds): countries in English, prefectures of "
        f"Japan and Länder of Germany, such as {', '.join(near) or 'germany, bayern, 東京都'}; or "
        "give west south east north.",
        code="area-unknown",
    )


def _widen(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points and those around them, displaced by at least the margin in every direction."""
    # A degree of longitude shrinks towards the poles; the floor keeps the margin finite there.
    broad = WIDENED / np.maximum(np.cos(np.radians(points[:, 1])), 0.02)
    corners = [
        np.stack([points[:, 0] + a * broad, np.clip(points[:, 1] + b * WIDENED, -90, 90)], axis=1)
        for a in (-1, 0, 1)
        for b in (-1, 0, 1)
    ]
    return np.concatenate(corners)
