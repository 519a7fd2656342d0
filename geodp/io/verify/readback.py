"""Read a written release back: its card, its grid with the mask, and its table.

It may be a stranger's: nothing is opened but plain files inside its folder that the card lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rasterio import Env
from rasterio.errors import RasterioError

from geodp.errors import GeodpError, Rule, VerificationError
from geodp.grid.axes import Attribute, Mask
from geodp.grid.codes import JISMesh, code_system
from geodp.grid.crs import normalise_crs
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.grid.order import Order
from geodp.io.memory import fit
from geodp.io.opening import open_raster
from geodp.io.read.public.hierarchy import read_hierarchy
from geodp.io.verify.card import public_folder, read_table_card, require
from geodp.io.verify.chunks import Chunk, read_chunks
from geodp.io.verify.outlines import with_outlines
from geodp.io.verify.tileset import read_tileset
from geodp.io.write import geotiff, pixels
from geodp.io.write.hierarchy import hierarchy_file
from geodp.privacy.event import Measurement, TableEvent
from geodp.privacy.reports import LocalReports
from geodp.table.card import Card
from geodp.table.plain import write_plain
from geodp.table.released import ReleasedTable
from geodp.table.stated.domain import StatedDomain, StatedHierarchy, StatedPlace
from geodp.table.stated.release import StatedGuarantee
from geodp.typing import FloatArray, IntArray

BROKEN = (
    GeodpError,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    RasterioError,
    pa.ArrowException,
)
"""What files that somebody else has changed may raise when they are read.

Arrow's errors hold one that says that memory is short, which is no fault of the files: MemoryError
goes first.
"""


def read_release_table(path: str | Path) -> tuple[ReleasedTable, Card]:
    """Read the released table and the card of a written release.

    Parameters
    ----------
    path : path
        The release's folder, or its ``public`` folder alone.

    Returns
    -------
    table : ReleasedTable
        A mask is that of the raster, and regions are those of their table beside it; without
        that file the grid has none, as the card keeps their source and digest only.
    card : Card

    Raises
    ------
    VerificationError
        There is no release, or its table, its raster's mask or its table of regions does not fit
        its card.
    """
    folder = public_folder(path)
    card = read_table_card(folder)
    return read_table(folder, card, masked=True), card


def read_table(folder: Path, card: Card, *, masked: bool) -> ReleasedTable:
    """Read the released table; ``masked``: on the domain of the raster's mask, if there is one."""
    return read_rows(folder, card, masked=masked)[0]


def read_rows(
    folder: Path, card: Card, *, masked: bool, beside: Sequence[str] = ()
) -> tuple[ReleasedTable, list[FloatArray]]:
    """Read the released table as :func:`read_table`, and columns beside the count.

    Nothing is held for all rows but what is returned.

    Returns
    -------
    ReleasedTable
    list of float64[n]
        The columns that ``beside`` names, in key order.
    """
    with reading_back(folder):
        grid, event = order_grid_of(folder, card), event_of(card)
        if masked and (mask := read_mask_of(folder, card)) is not None:
            grid = grid.with_mask(mask)
        gathered = Gathered(beside)
        for chunk in read_chunks(folder, card, grid):
            gathered.add(chunk)
        key, count, *others = gathered.join()
        if card.domain.lacks_table(grid):  # nothing tells their order
            rank = np.argsort(key)
            key, count, others = key[rank], count[rank], [each[rank] for each in others]
    require_order(folder, key)
    return ReleasedTable(grid, key, count, event), others


class Gathered:
    """Keys, counts and other columns of chunks, put together.

    Parameters
    ----------
    beside : sequence of str
        Names of these columns.
    """

    def __init__(self, beside: Sequence[str] = ()) -> None:
        self._beside = beside
        self._parts: list[list[NDArray[Any]]] = [[] for _ in range(2 + len(beside))]

    def add(self, chunk: Chunk) -> None:
        """Add a chunk; raises what its counts and codes raise."""
        columns = [chunk.key, chunk.count, *(chunk.numbers(name) for name in self._beside)]
        for parts, column in zip(self._parts, columns, strict=True):
            parts.append(column if column.base is None else column.copy())

    def join(self) -> list[NDArray[Any]]:
        """Return the columns, and hold them no longer."""
        found = []
        for parts in self._parts:
            found.append(np.concatenate(parts))
            parts.clear()
        return found


@contextmanager
def reading_back(folder: Path) -> Iterator[None]:
    """Explain what a release that somebody else has changed may raise, as VerificationError."""
    try:
        yield
    except MemoryError:
        raise
    except FileNotFoundError:
        raise VerificationError(
            f"{folder} lacks files that the card of the release lists; fetch all of them from "
            "where it was published.",
            code="release-lacks-files",
        ) from None
    except BROKEN as error:
        raise VerificationError(
            f"{folder} cannot be read back: {error}",
            code=error.code if isinstance(error, VerificationError) else "release-not-read-back",
        ) from error


def require_order(folder: Path, key: NDArray[np.uint64]) -> None:
    """Raise VerificationError for rows that are not in key order, each once."""
    if not (key[1:] > key[:-1]).all():
        raise VerificationError(
            f"{folder} cannot be read back: its rows are not in key order.",
            code="rows-not-in-order",
        )


def read_mask_of(folder: Path, card: Card) -> Mask | None:
    """Return the mask that the raster's empty cells tell.

    It is None without a mask or without a raster.
    """
    stated = card.domain.mask
    if stated is None or not raster_file(folder, card).is_file():
        return None
    grid = grid_of(card.domain)
    place = grid.places[0]
    with open_map(folder, card) as raster:
        require(
            raster.shape == (place.rows, place.cols),
            Rule("raster-shape-differs", "The raster has another shape."),
        )
        inside = np.empty(raster.shape, np.bool_)
        for window in pixels.windows(place):
            inside[window.toslices()] = ~np.isnan(raster.read(1, window=window))
    if place.northwards:
        inside = inside[::-1]
    mask = mask_of_blocks(grid, _align(inside), stated.source)
    require(
        mask.sha256 == stated.sha256,
        Rule("raster-mask-differs", "The raster's mask is not the card's."),
    )
    return mask


def _align(inside: NDArray[np.bool_]) -> IntArray:
    """Return the true cells as squares, int64[4, n].

    They are the largest that all of them can be made of.
    """
    side = 1
    while not any(size % 2 for size in inside.shape):
        quarters = [inside[row::2, col::2] for row in (0, 1) for col in (0, 1)]
        if not all((quarter == quarters[0]).all() for quarter in quarters):
            break
        inside, side = quarters[0], 2 * side
    return blocks_of_array(inside) * side


def raster_file(folder: Path, card: Card) -> Path:
    """Return the raster of a release, or what joins its tiles; perhaps there is none."""
    return folder / f"{card.name}.{'vrt' if card.in_parts else 'tif'}"


@contextmanager
def open_map(folder: Path, card: Card) -> Iterator[Any]:
    """Open the raster of a release for reading: a dataset of rasterio, or a `Tileset`."""
    path = raster_file(folder, card)
    if card.in_parts:
        yield read_tileset(path, card.listed)
        return
    with geotiff.quiet(), Env(GDAL_CACHEMAX=fit(geotiff.CACHE, 1)), open_raster(path) as raster:
        yield raster


def order_grid_of(folder: Path, card: Card) -> Grid:
    """Return the grid of a card with the regions of their table, if it is in the folder.

    Raises VerificationError where the table is not the card's.
    """
    grid, order = grid_of(card.domain), card.domain.order
    path = folder / hierarchy_file(card.name)
    if not isinstance(order, StatedHierarchy) or not path.is_file():
        return grid
    stated = order.regions
    one = Grid(grid.places[:1])
    found = read_hierarchy(
        path,
        one,
        source=stated.source,
        delimiter=",",
        encoding="utf-8",
        placed=bool(stated.placed),
    )
    require(
        found.sha256 == stated.sha256,
        Rule("regions-table-differs", "The table of regions is not the card's."),
    )
    found = with_outlines(folder, card, found)
    own = grid.maps.region_order(order.axes, order.radices, hierarchy=found)
    return grid.with_order(own)


def grid_of(domain: StatedDomain) -> Grid:
    """Return the grid of a card, without its mask and, in the order of regions, without these."""
    places = tuple(_lattice(place) for place in domain.places)
    attributes = tuple(Attribute(one.attribute, one.labels) for one in domain.attributes)
    sizes = list(domain.axes.values())
    spatial = [size for place in places for size in (place.rows, place.cols)]
    extents = tuple(sizes[len(spatial) : len(sizes) - len(attributes)])
    grid = Grid(places, attributes, extents)
    if isinstance(domain.order, str | StatedHierarchy):
        return grid
    return grid.with_order(Order(*domain.order))


def _lattice(place: StatedPlace) -> Lattice:
    definition = None if place.definition is None else write_plain(place.definition)
    system = None if place.code is None else code_system(place.code, definition)
    crs = place.crs
    if system is None or crs != system.crs:
        crs = normalise_crs(crs)  # GDAL would follow one that is an address or a path
    if isinstance(system, JISMesh) and crs is not None and crs != system.crs:
        system = JISMesh(system.level, crs)
    return Lattice(place.rows, place.cols, system, *place.first, crs, place.transform)


def event_of(card: Card) -> TableEvent:
    """Return what a card says was spent; VerificationError where it contradicts itself."""
    said = card.guarantee
    event = _reports(said) if said.model == "local" else _measurement(said)
    stated = {**write_plain(said), "mechanism": card.mechanism.spec}
    contradicts = said.assumptions and said.assumptions[0] != event.assumption
    if contradicts or any(stated.get(name) != v for name, v in event.describe().items()):
        raise VerificationError(
            "The card's guarantee contradicts itself.", code="card-guarantee-contradicts"
        )
    return event


def _reports(said: StatedGuarantee) -> LocalReports:
    require(
        None not in (said.epsilon, said.period, said.reports),
        Rule("card-lacks-reports", "The card lacks its reports."),
    )
    return LocalReports(
        said.mechanism,
        Fraction(said.epsilon or 0),
        said.unit,
        said.period or "",
        said.reports or 0,
    )


def _measurement(said: StatedGuarantee) -> Measurement:
    return Measurement(
        said.mechanism,
        _exact(said.epsilon),
        said.neighbours,
        said.contribution,
        said.enforced,
        said.l1_sensitivity,
        said.unit,
        said.key_origin,
        _exact(said.rho),
        _exact(said.delta),
        said.layout,
    )


def _exact(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
