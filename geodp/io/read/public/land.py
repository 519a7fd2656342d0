"""Masks of land by name, from a coastline bundled with geodp: Natural Earth, public domain.

``natural-earth-10m.json.xz`` beside this file is ``countries-10m.json`` of the package world-atlas
2.0.2, byte for byte but compressed; ``natural-earth-10m.md`` has its source, licence and digest.
"""

from __future__ import annotations

import csv
import json
import lzma
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from math import cos, radians
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.cells.cell_grid import IN_MASK
from geodp.grid.crs import open_transformer
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import COUNTED_AS
from geodp.grid.lattice import Lattice
from geodp.grid.mask import Blocks, mask_of_blocks

PREFIX = "land:"

WIDENED = 10.0
"""Kilometres by which land is widened by default."""

MIN_DISTANCE, MAX_DISTANCE = 1.0, 500.0
"""Smallest and largest distance in kilometres: the coastline is not more exact than the first."""

SOURCE = (
    "coastline and borders of Natural Earth 1:10m (public domain; world-atlas 2.0.2), as geodp has "
    "them, widened by at least {:g} km"
)

ISLETS = {"Finland": ("the Archipelago Sea", (20.9, 59.7, 22.6, 60.3))}
"""Seas of a country with more islets than a map at 1:10m has: west, south, east, north.

The Archipelago Sea as gazetteers have it, from Kihti to Bengtskär; inhabited islets such as Utö and
Jurmo are too small for the coastline.
"""

HALF = 0.04
"""Degrees from the middle of a small island to the edges of the square that stands for it.

``islands.csv`` beside this file lists islands that are inhabited, or for which official tables
count people, and that the coastline lacks: none of them is larger.
"""

WITH = {"Finland": ("Åland",)}
"""Parts of a country that are countries in the coastline, but parts in official tables.

Statistics Finland and Eurostat count the residents of Åland as Finland's.
"""

DATUM = 1000.0
"""Metres by which the datums of geographic coordinates may differ; land is widened by so much more.
"""

MAX_BLOCKS = 1 << 25
"""Largest number of squares that a grid is divided into."""

METRES = 111_195.0
"""Length of a degree of latitude in metres, on a sphere of the Earth's mean radius."""

EUROPE = frozenset(
    {
        *("Albania", "Andorra", "Austria", "Belarus", "Belgium", "Bosnia and Herz.", "Bulgaria"),
        *("Croatia", "Cyprus", "Cyprus U.N. Buffer Zone", "N. Cyprus", "Akrotiri", "Dhekelia"),
        *("Czechia", "Denmark", "Estonia", "Faeroe Is.", "Finland", "France", "Germany"),
        *("Gibraltar", "Greece", "Guernsey", "Hungary", "Iceland", "Ireland", "Isle of Man"),
        *("Italy", "Jersey", "Kosovo", "Latvia", "Liechtenstein", "Lithuania", "Luxembourg"),
        *("Macedonia", "Malta", "Moldova", "Monaco", "Montenegro", "Netherlands", "Norway"),
        *("Poland", "Portugal", "Romania", "San Marino", "Serbia", "Slovakia", "Slovenia"),
        *("Spain", "Sweden", "Switzerland", "Turkey", "Ukraine", "United Kingdom", "Vatican"),
        *("Russia", "Åland"),
    }
)
"""Countries of ``land:europe``: those of the continent, Cyprus and Turkey, with all their land."""


def cut_to_land(grid: Grid, named: str) -> Grid:
    """Restrict a grid to the cells near a land.

    Parameters
    ----------
    grid : Grid
        Grid of one map on the Earth without a mask, in Morton order.
    named : str
        ``land:world``, ``land:europe`` or a country, such as ``land:japan``; with another distance
        than 10 km ``land:japan:5km``.

    Raises
    ------
    UsageError
        The land or distance is unknown, or the grid has no place on the Earth or too many cells.

    Examples
    --------
    >>> import geodp
    >>> grid = geodp.Grid.mesh("jis:5km", bounds=(139, 34, 141, 36))
    >>> geodp.cut_to_land(grid, "land:japan").mask.cells < 40 * 32
    True
    """
    lattice = grid.require_full_map(
        Rule("land-needs-whole-map", "A mask needs a grid of one map that has none yet.")
    )
    # Without a place on the Earth, nothing relates the cells to a coastline.
    if lattice.crs is None or lattice.transform is None:
        raise UsageError(
            "A mask of land needs a grid with a place on the Earth.", code="land-needs-earth"
        )
    name, kilometres, source = read_land(named)
    blocks = _blocks(lattice, name, kilometres * 1000)
    return grid.with_mask(mask_of_blocks(grid, blocks, source))


def state_land(grid: Grid) -> tuple[str, ...]:
    """Return the public fact that follows from a mask of land, if the grid has one.

    A record outside is refused, so that a release reveals that there is none.
    """
    land = _land_of(grid)
    if not land:
        return ()
    return (
        f"that nobody who is counted is outside of {land}: an input with somebody there is refused "
        "before anything is charged, unless it was asked for without them",
    )


def _land_of(grid: Grid) -> str:
    """Return the source of a grid's mask of land; empty if it has none.

    Grids of H3 and S2 cells with a unit for all other cells have no records outside.
    """
    source = grid.domain.source
    if PREFIX not in source:
        return ""
    if grid.areas.tables:
        is_cut = grid.names.cells is not None and COUNTED_AS not in source
        source = source.partition(IN_MASK)[2] if is_cut else ""
    return source if source.startswith(PREFIX) else ""


def read_land(named: str) -> tuple[str, float, str]:
    """Parse the land and the kilometres of ``land:japan:5km``, with the source for cards.

    Raises UsageError for an unknown land or an invalid distance.
    """
    name, kilometres = _read_name(named)
    return name, kilometres, f"{PREFIX}{name}, {SOURCE.format(kilometres)}"


def _read_name(named: str) -> tuple[str, float]:
    """Parse the land and the kilometres of ``land:japan:5km``."""
    name, _, distance = named.removeprefix(PREFIX).partition(":")
    names = {slug(country) for country in read_countries()} | {"world", "europe"}
    if name not in names:
        near = sorted(other for other in names if name and other.startswith(name[:2]))
        raise UsageError(
            "There is no land of this name: world, europe, or a country's English name in small "
            f"letters, such as {', '.join(near) or 'japan, united-kingdom'}.",
            code="land-unknown",
        )
    if not distance:
        return name, WIDENED
    match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)km", distance)
    if match is None or not MIN_DISTANCE <= float(match[1]) <= MAX_DISTANCE:
        raise UsageError(
            f"Land is widened by {MIN_DISTANCE:g} to {MAX_DISTANCE:g} km: land:{name}:5km.",
            code="land-width",
        )
    return name, float(match[1])


def slug(country: str) -> str:
    """Return a country's name as it is written in options.

    Examples
    --------
    >>> slug("Côte d'Ivoire"), slug("United Kingdom")
    ('cote-d-ivoire', 'united-kingdom')
    """
    # Decomposed accents are dropped by the ASCII encoding, and the letters stay.
    plain = unicodedata.normalize("NFKD", country).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")


@lru_cache(maxsize=1)
def _topology() -> Any:
    path = Path(__file__).with_name("natural-earth-10m.json.xz")
    return json.loads(lzma.decompress(path.read_bytes()))


@cache
def read_countries() -> dict[str, list[list[list[int]]]]:
    """Read the polygons of each country, as numbers of arcs."""
    by_country: dict[str, list[list[list[int]]]] = {}
    for one in _topology()["objects"]["countries"]["geometries"]:
        arcs = one.get("arcs", [])
        polygons = arcs if one["type"] == "MultiPolygon" else [arcs]
        by_country.setdefault(one["properties"]["name"], []).extend(polygons)
    return by_country


@cache
def read_islands() -> tuple[tuple[str, float, float], ...]:
    """Read small islands that the coastline lacks: country, longitude, latitude."""
    with Path(__file__).with_name("islands.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            (row["country"], float(row["longitude"]), float(row["latitude"]))
            for row in csv.DictReader(file)
        )


def box_islands(countries: Iterable[str]) -> list[Any]:
    """Return boxes for the islands of countries that the coastline lacks."""
    import shapely

    chosen = {*countries}
    seas = [shapely.box(*ISLETS[country][1]) for country in ISLETS if country in chosen]
    return seas + [
        shapely.box(lon - HALF, lat - HALF, lon + HALF, lat + HALF)
        for country, lon, lat in read_islands()
        if country in chosen
    ]


@lru_cache(maxsize=4)
def read_lands(name: str) -> list[Any]:
    """Return polygons of a land in degrees, by its name in options, including small islands."""
    chosen = _list_countries(name)
    return box_islands(chosen) + _read_shapes(chosen)


def _list_countries(name: str) -> tuple[str, ...]:
    """List the countries of a land, by their names in the coastline."""
    countries = read_countries()
    matches = [country for country in countries if slug(country) == name]
    countries_of_land = {
        "world": [*countries],
        "europe": [country for country in countries if country in EUROPE],
    }.get(name, [*matches, *(part for country in matches for part in WITH.get(country, ()))])
    return tuple(countries_of_land)


@lru_cache(maxsize=4)
def _read_shapes(chosen: tuple[str, ...]) -> list[Any]:
    """Build the polygons of countries in degrees from the coastline."""
    import shapely

    countries = read_countries()
    arcs, (scale, shift) = _topology()["arcs"], _scale()

    def line(number: int) -> NDArray[np.float64]:
        # Arcs are delta-encoded in integer steps (TopoJSON); a negative number is an arc in
        # reverse.
        points = np.cumsum(arcs[number if number >= 0 else ~number], axis=0) * scale + shift
        return points if number >= 0 else points[::-1]

    def ring(numbers: Iterable[int]) -> NDArray[np.float64]:
        lines = [line(number) for number in numbers]
        # Consecutive arcs share their end points, which must not be repeated in a ring.
        return np.concatenate([lines[0], *(other[1:] for other in lines[1:])])

    def shape(outer: NDArray[np.float64], holes: list[NDArray[np.float64]]) -> Any:
        # An islet may collapse to a line or a point on the coastline's integer coordinates.
        if len(outer) < 4:
            return (
                shapely.LineString(outer)
                if np.ptp(outer, axis=0).any()
                else shapely.Point(outer[0])
            )
        return shapely.Polygon(outer, [hole for hole in holes if len(hole) > 3])

    polygons = [
        shape(*_unroll(ring(outer), [ring(hole) for hole in holes]))
        for country in chosen
        for outer, *holes in countries[country]
    ]
    return [part for one in polygons for part in parts_within(one)]


def _unroll(
    outer: NDArray[np.float64], holes: list[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Return the rings of a polygon, float64[n, 2], continued beyond 180 degrees where they cross.

    The coastline has no seam there: a ring jumps from 180 to -180. That of Antarctica, which goes
    around the pole, stays as it is.
    """
    lon = np.unwrap(outer[:, 0], period=360)
    if abs(lon[-1] - lon[0]) > 1 or not (np.abs(np.diff(outer[:, 0])) > 180).any():
        return outer, holes
    west = lon.min()
    rolled = [np.column_stack([west + (hole[:, 0] - west) % 360, hole[:, 1]]) for hole in holes]
    return np.column_stack([lon, outer[:, 1]]), rolled


def parts_within(shape: Any) -> list[Any]:
    """Return the parts of a shape, shifted by multiples of 360 degrees into -180 to 180."""
    import shapely
    from shapely.affinity import translate

    west, _, east, _ = shape.bounds
    if west >= -180 and east <= 180:
        return [shape]
    shape = shapely.make_valid(shape)  # intersections need borders that do not touch themselves
    parts = [
        translate(shapely.intersection(shape, shapely.box(left, -90, left + 360, 90)), -left - 180)
        for left in (-540.0, -180.0, 180.0)
    ]
    return [one for part in parts for one in shapely.get_parts(part) if not one.is_empty]


def _scale() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    transform = _topology()["transform"]
    return np.array(transform["scale"]), np.array(transform["translate"])


def _blocks(lattice: Lattice, name: str, metres: float) -> Blocks:
    """Return rectangles of the cells within a distance of a land, and a few more."""
    from pyproj import CRS

    crs = CRS.from_user_input(lattice.crs)
    if crs.is_geographic:
        metres += DATUM
    high, wide = _cell_metres(lattice, crs)
    # Cells much smaller than the distance are combined into squares: widening works square by
    # square.
    side = 1
    while 4 * side * max(high, float(wide.max())) <= metres:
        side *= 2
    shape = -(-lattice.rows // side), -(-lattice.cols // side)
    if shape[0] * shape[1] > MAX_BLOCKS:
        raise UsageError(
            "The grid has too many cells for a mask of land: choose smaller bounds, larger cells, "
            "or a larger distance (land:japan:20km).",
            code="land-too-many-cells",
        )
    a, b, c, d, e, f = lattice.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    # Only shapes near the grid are rasterized, as the world's coastline is much larger.
    near = find_near(lattice, np.array(read_lands(name)), metres)
    drawn = draw_shapes(near, shape, (a * side, b, c, d, e * side, f)).astype(np.bool_)
    inside = _widen(drawn, metres / (high * side), metres / (wide[::side] * side))
    # Runs of squares in a row become one rectangle each: a mask of millions of cells stays small.
    start = np.diff(inside, axis=1, prepend=False) & inside
    row, first = np.nonzero(start)
    end = np.nonzero(np.diff(inside, axis=1, append=False) & inside)[1]
    one = np.full(row.size, side)
    return np.stack([row * side, first * side, one, (end + 1 - first) * side]).astype(np.int64)


def draw_shapes(
    shapes: Sequence[Any],
    size: tuple[int, int],
    transform: Sequence[float],
    *,
    touched: bool = True,
) -> NDArray[np.uint8]:
    """Draw shapes on squares, which are 1 where a shape touches them: uint8[rows, cols].

    ``size``: numbers of rows and columns; ``transform``: the six numbers that place them;
    ``touched``: False draws the squares whose centre lies in a shape.
    """
    import rasterio.features

    if not len(shapes):
        return np.zeros(size, np.uint8)
    drawn = rasterio.features.rasterize(
        ((one, 1) for one in shapes),
        out_shape=size,
        transform=rasterio.Affine(*transform),
        all_touched=touched,
        dtype=np.uint8,
    )
    return np.asarray(drawn, np.uint8)


def _cell_metres(lattice: Lattice, crs: Any) -> tuple[float, NDArray[np.float64]]:
    """Return a cell's height, and its width in every row, in metres; rather too small."""
    a, _, _, _, e, f = lattice.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    if not crs.is_geographic:
        # Underestimated cells make the mask wider. A mask may include sea, but must not exclude
        # land.
        unit = crs.axis_info[0].unit_conversion_factor
        return abs(e) * unit * 0.9, np.full(lattice.rows, abs(a) * unit * 0.9)
    edge = f + e * np.arange(lattice.rows + 1)
    poleward = np.minimum(np.maximum(np.abs(edge[1:]), np.abs(edge[:-1])) + 1.0, 89.0)
    return abs(e) * METRES * 0.99, abs(a) * METRES * 0.99 * np.cos(np.radians(poleward))


def find_land(lattice: Lattice, metres: float) -> list[Any]:
    """Return the parts of the coastline within a distance of a lattice, by country, in its CRS.

    Parameters
    ----------
    lattice : Lattice
        Lattice with a CRS and a transform.
    metres : float

    Returns
    -------
    list of shapely geometry
        Shapes, cut off beyond the distance.
    """
    return find_near(lattice, np.array(_read_shapes(_list_countries("world"))), metres)


def find_near(
    lattice: Lattice, shapes: NDArray[Any], metres: float, *, valid: bool = False
) -> list[Any]:
    """Return the parts of shapes in degrees that lie around a lattice, in its CRS.

    ``valid``: whether no border touches itself, which makes cutting much faster.
    """
    import shapely
    from pyproj import CRS
    from shapely.affinity import translate

    crs = CRS.from_user_input(lattice.crs)
    west, south, east, north = lattice.bounds
    move = None
    if not crs.is_geographic:
        move = open_transformer("OGC:CRS84", crs)
        west, south, east, north = move.transform_bounds(
            west, south, east, north, densify_pts=101, direction="INVERSE"
        )
    tall = 2 * metres / METRES
    broad = tall / max(cos(radians(min(max(abs(south), abs(north)) + tall, 89.0))), 0.02)
    windows = [(west - broad, east + broad, 0.0)]
    if lattice.period is not None:  # longitudes may continue beyond 180 degrees
        west, _, east, _ = np.array(lattice.bounds) / lattice.period * 360
        windows = [
            (west - broad + way, east + broad + way, -way / 360 * lattice.period)
            for way in (-360.0, 0.0, 360.0)
        ]
    elif west > east:  # it lies across the date line
        windows = [(west - broad, 181.0, 0.0), (-181.0, east + broad, 0.0)]
    nearby = []
    for left, right, shift in windows:
        some = (_clip if valid else _cut)(shapes, (left, south - tall, right, north + tall))
        if move is not None:  # otherwise degrees stay degrees
            some = shapely.transform(
                shapely.segmentize(some, 0.05),
                lambda points: np.stack(move.transform(*points.T), axis=1),
                include_z=False,
            )
            some = some[~shapely.is_empty(some)]
        nearby += [translate(one, shift) if shift else one for one in some]
    return [one for one in nearby if np.isfinite(shapely.get_coordinates(one)).all()]


def _cut(shapes: NDArray[Any], bounds: tuple[float, float, float, float]) -> NDArray[Any]:
    """Cut shapes to west, south, east and north."""
    import shapely

    box = shapely.box(*bounds)
    some = shapes[shapely.intersects(shapely.envelope(shapes), box)]
    inside = shapely.within(shapely.envelope(some), box)
    # Borders of the coastline touch themselves in places, and GEOS refuses to cut such polygons.
    cut = shapely.intersection(shapely.make_valid(some[~inside]), box)
    parts = shapely.get_parts(np.concatenate([some[inside], cut]))
    return np.asarray(parts[~shapely.is_empty(parts)])


def _clip(shapes: NDArray[Any], bounds: tuple[float, float, float, float]) -> NDArray[Any]:
    """Clip valid shapes to west, south, east and north."""
    import shapely

    some = shapes[shapely.intersects(shapely.envelope(shapes), shapely.box(*bounds))]
    parts = shapely.get_parts(shapely.clip_by_rect(some, *bounds))
    return np.asarray(parts[~shapely.is_empty(parts)])


def _widen(inside: NDArray[np.bool_], rows: float, cols: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Extend marked squares by a number of rows, and by a number of columns for each row."""
    reach = int(np.ceil(rows))
    tall = inside.copy()
    for step in range(1, reach + 1):
        tall[step:] |= inside[:-step]
        tall[:-step] |= inside[step:]
    wide = tall.copy()
    across = np.ceil(cols).astype(np.int64)
    for step in range(1, min(int(across.max()), inside.shape[1] - 1) + 1):
        some = across >= step
        wide[some, step:] |= tall[some, :-step]
        wide[some, :-step] |= tall[some, step:]
    return wide


FEW = 1 << 20
"""Number of cells below which the share of sea is not estimated."""

SAMPLE = 2000
"""Number of cells in the sample."""


def warn_of_sea(grid: Grid) -> tuple[str, ...]:
    """Return a warning, in a sentence, if most of a domain is far out at sea.

    The share is estimated from an even sample of its cells, on a map of half degrees: sea is a
    square that neither touches land nor has a neighbour that does.
    """
    if grid.size < FEW or not grid.domain.is_box:
        return ()
    lattice = grid.maps.one
    if lattice is None or lattice.crs is None:
        return ()
    share = _share_of_sea(grid, lattice)
    # Small shares of sea are normal for islands and coasts.
    if share <= 0.5:
        return ()
    return (
        f"About {100 * share:.0f} % of the domain lie at sea, more than 50 km from any land, and "
        "some noise there is released as counts: cut the domain down with --mask land:world, "
        "land:europe or a country's, such as land:japan (geodp.cut_to_land).",
    )


def _share_of_sea(grid: Grid, lattice: Lattice) -> float:
    """Estimate the share of the cells that lie far from land."""
    from pyproj import CRS

    rank = (2 * np.arange(SAMPLE) + 1) * grid.size // (2 * SAMPLE)
    row, col = grid.decode(grid.domain.keys_of_ranks(rank))[:2]
    west, south, east, north = lattice.edges_at(row, col)
    x, y = (west + east) / 2, (south + north) / 2
    crs = CRS.from_user_input(lattice.crs)
    if not crs.is_geographic:
        x, y = open_transformer(crs, "OGC:CRS84").transform(x, y)
    valid = np.isfinite(x) & np.isfinite(y)
    at = [
        np.clip(np.floor(2 * (axis[valid] + shift)).astype(np.int64), 0, size - 1)
        for axis, shift, size in ((y, 90, 360), ((x + 180) % 360 - 180, 180, 720))
    ]
    return float(1 - half_degrees()[at[0], at[1]].mean()) if valid.any() else 0.0


@cache
def half_degrees() -> NDArray[np.bool_]:
    """Return the half-degree squares that touch land or have a neighbour that does: bool[360, 720].

    Rows begin at 90 degrees south, columns at 180 degrees west.
    """
    packed = lzma.decompress(Path(__file__).with_name("land-half-degree.xz").read_bytes())
    bits = np.unpackbits(np.frombuffer(packed, np.uint8))
    return np.asarray(bits.reshape(360, 720).astype(np.bool_), np.bool_)
