"""Read a written release back: its card, its grid with the mask, and its table.

It may be a stranger's: nothing is opened but plain files inside its folder that the card lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
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
from geodp.io.opening import open_parquet, open_raster, texts_of
from geodp.io.read.public.hierarchy import read_hierarchy
from geodp.io.verify.card import public_folder, read_table_card, require
from geodp.io.verify.outlines import with_outlines
from geodp.io.verify.tileset import read_tileset
from geodp.io.write import geotiff, pixels, tables
from geodp.io.write.hierarchy import hierarchy_file
from geodp.io.write.uncertainty import beside_of
from geodp.privacy.event import Measurement, Spent
from geodp.privacy.reports import LocalReports
from geodp.table.card import Card
from geodp.table.plain import write_plain
from geodp.table.released import ReleasedTable
from geodp.table.stated.domain import StatedDomain, StatedHierarchy, StatedPlace
from geodp.table.stated.release import StatedGuarantee
from geodp.typing import CountArray, IntArray

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
    try:
        grid, event = order_grid_of(folder, card), _event(card)
        if masked and (mask := _mask(folder, card)) is not None:
            grid = grid.with_mask(mask)
        rows = parquet_rows(folder, card, tables.column_names(grid, card.name, ()))
        count, index = counts_of(rows, card), index_of(rows, grid)
        key = grid.encode(index)
        if card.domain.lacks_table(grid):  # nothing tells their order
            rank = np.argsort(key)
            key, count = key[rank], count[rank]
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
    if not (key[1:] > key[:-1]).all():
        raise VerificationError(
            f"{folder} cannot be read back: its rows are not in key order.",
            code="rows-not-in-order",
        )
    return ReleasedTable(grid, key, count, event)


def _mask(folder: Path, card: Card) -> Mask | None:
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
        for _, window in pixels.windows(place):
            piece = ~np.isnan(raster.read(1, window=window))
            inside[window.row_off : window.row_off + window.height] = piece
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
    with geotiff.quiet(), Env(GDAL_CACHEMAX=geotiff.CACHE), open_raster(path) as raster:
        yield raster


def parquet_files(folder: Path, card: Card) -> list[Path]:
    """Return the Parquet file of a release, or its parts in key order."""
    whole = folder / f"{card.name}.parquet"
    if not card.in_parts:
        return [whole]
    listed = (folder / name for name in card.listed)
    found = sorted(path for path in listed if path.parent == whole)
    require(bool(found), Rule("card-lists-no-part", f"The card lists no part of {whole.name}."))
    return found


def parquet_rows(folder: Path, card: Card, columns: Iterable[str] | None = None) -> Any:
    """Return the table of the Parquet file or its parts: these columns, or all but geometry."""
    names, files = list(columns or _columns(card)), parquet_files(folder, card)
    rows = [open_parquet(path).read(columns=names) for path in files]
    require(
        all(part.schema.equals(rows[0].schema) for part in rows),
        Rule("parts-columns-differ", "Parts differ in columns."),
    )
    return pa.concat_tables(part.combine_chunks() for part in rows).combine_chunks()


def parquet_pieces(folder: Path, card: Card) -> Iterator[Any]:
    """Yield the rows in key order, up to a row group at a time: all columns but geometry."""
    names = list(_columns(card))
    for path in parquet_files(folder, card):
        file = open_parquet(path)
        for number in range(file.num_row_groups):
            rows = file.read_row_group(number, columns=names)
            for start in range(0, rows.num_rows, tables.ROW_GROUP):
                yield rows.slice(start, tables.ROW_GROUP).combine_chunks()


def parquet_schema(folder: Path, card: Card) -> Any:
    """Return the Arrow schema of `parquet_pieces`."""
    found = open_parquet(parquet_files(folder, card)[0]).schema_arrow
    return pa.schema([found.field(name) for name in _columns(card)])


def _columns(card: Card) -> tuple[str, ...]:
    """Return the names of the columns of a release's tables, but for geometry."""
    return tables.column_names(grid_of(card.domain), card.name, beside_of(card))


def counts_of(rows: Any, card: Card) -> CountArray:
    """Return the counts int64[n] or float64[n] of an Arrow table.

    Raises VerificationError for counts that the card's method cannot have released.
    """
    whole, nonnegative = card.mechanism.whole, card.mechanism.nonnegative
    column = rows[card.name]
    kind = "int64" if whole else "double"
    require(
        str(column.type) == kind,
        Rule("counts-type-differs", f"The counts have the type {column.type}, not {kind}."),
    )
    require(column.null_count == 0, Rule("counts-missing", "Some counts are missing."))
    count: CountArray = column.to_numpy()
    require(
        bool(np.isfinite(count).all()), Rule("counts-not-finite", "Some counts are not finite.")
    )
    if nonnegative:
        require(
            bool((count > 0).all()), Rule("counts-not-positive", "Some counts are 0 or negative.")
        )
    require(bool((count != 0).all()), Rule("counts-zero", "Some counts are 0."))
    return count


def index_of(rows: Any, grid: Grid) -> IntArray:
    """Cell indices int64[d, n] of the rows of an Arrow table.

    Codes are texts for a moment, of hundreds of bytes each, so they are read group by group.
    """
    groups = range(0, max(rows.num_rows, 1), tables.ROW_GROUP)
    parts = (rows.slice(start, tables.ROW_GROUP) for start in groups)
    return np.concatenate([np.stack(list(_axes(part, grid))) for part in parts], axis=1)


def _axes(rows: Any, grid: Grid) -> Iterator[IntArray]:
    for number, _ in enumerate(grid.places):
        yield from grid.names.parse(number, texts_of(rows.column(number)))
    for axis in grid.plain_axes:
        yield rows[grid.axis_names[axis]].to_numpy()
    for attribute in grid.attributes:
        at = pa.compute.index_in(rows[attribute.name], pa.array(attribute.labels))
        require(at.null_count == 0, Rule("labels-unknown", f"Unknown labels of {attribute.name}."))
        yield at.to_numpy().astype(np.int64)


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


def located_grid_of(folder: Path, card: Card) -> Grid:
    """Return the grid of a card as geometries need it: with the outlines of units, if it has any.

    Raises VerificationError where they are not the card's.
    """
    return grid_of(card.domain) if card.domain.outlines is None else order_grid_of(folder, card)


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


def _event(card: Card) -> Spent:
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
