"""Read a written release back: its card, its grid with the mask, and its table.

The release may come from a stranger: only plain files inside its folder that the card lists are
opened. Rows are read in chunks (:mod:`geodp.io.verify.chunks`); the checks of a release are in
:mod:`geodp.io.verify.verify`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rasterio import Env
from rasterio.errors import RasterioError

from geodp.errors import GeodpError, Rule, UsageError, VerificationError
from geodp.grid.axes import Attribute, Mask
from geodp.grid.codes import JISMesh, code_system
from geodp.grid.crs import normalise_crs
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.lattice import Lattice, transform_of
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.grid.order import Order
from geodp.grid.outlines import Outlines
from geodp.io.folder.kinds import find_card
from geodp.io.memory import WORK, bytes_of, fit, work_within
from geodp.io.opening import open_parquet, open_raster, read_parquet, texts_of
from geodp.io.verify.card import open_card, public_folder, read_card, read_table_card, require
from geodp.io.verify.chunks import counts_of, index_of, numbers_in, parquet_files, read_chunks
from geodp.io.verify.tileset import read_tileset
from geodp.io.write import geotiff, pixels, tables
from geodp.io.write.public_tables import (
    NAMED,
    hierarchy_file,
    names_file,
    outlines_file,
    zone_rows,
    zones_file,
)
from geodp.privacy.event import Measurement, TableEvent
from geodp.privacy.reports import LocalReports
from geodp.table.card import Card
from geodp.table.counts import ReleasedTable
from geodp.table.plain import write_plain
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
"""Errors that files may raise that somebody else has changed.

Among Arrow's errors is one for a lack of memory, which is no fault of the files: catch MemoryError
before these.
"""


OUT_OF_ORDER = Rule("rows-not-in-order", "its rows are not in key order.")

ZONES_DIFFER = Rule(
    "zones-file-differs", "The list of cells has other columns, another order or more than cells."
)


def read_release_table(path: str | Path) -> tuple[ReleasedTable, Card]:
    """Read the released table and the card of a written release.

    Parameters
    ----------
    path : path
        The release's folder, or its ``public`` folder alone.

    Returns
    -------
    table : ReleasedTable
        Its grid has the mask of the raster and the regions of the table beside it. Without that
        file it has no regions, as the card has only their source and digest.
    card : Card

    Raises
    ------
    VerificationError
        There is no release, or its table, its raster's mask or its table of regions differs from
        its card.
    """
    folder = public_folder(path)
    card = read_table_card(folder)
    return read_rows(folder, card)[0], card


def read_rows(
    folder: Path, card: Card, extras: Sequence[str] = ()
) -> tuple[ReleasedTable, list[FloatArray]]:
    """Read the released table as :func:`read_release_table` does, and other columns.

    Only what is returned is held in memory for all rows.

    Returns
    -------
    ReleasedTable
    list of float64[n]
        The columns that ``extras`` names, in key order.
    """
    with explain_errors(folder):
        event, grid = event_of(card), read_masked_grid(folder, card)
        lacks_table = card.domain.lacks_table(grid)
        named = tables.column_names(grid, card.name, tuple(extras))
        centres = tables.centre_columns(grid)
        parts: list[list[NDArray[Any]]] = [[] for _ in range(2 + len(extras))]
        for rows in read_chunks(folder, card, [name for name in named if name not in centres]):
            key = grid.encode(index_of(rows, grid))
            if not lacks_table:
                # A file that repeats a row for ever is refused at the second one.
                last = [part[-1:] for part in parts[0][-1:]]
                require(is_increasing(np.concatenate([*last, key])), OUT_OF_ORDER)
            columns = [key, counts_of(rows[card.name], card)]
            columns += [numbers_in(rows, name) for name in extras]
            for part, column in zip(parts, columns, strict=True):
                # A view would keep the whole chunk in memory.
                part.append(column if column.base is None else column.copy())
        key, count, *others = map(np.concatenate, parts)
        if lacks_table:
            # Rows are in the order of regions, but without their table keys are those of the map.
            rank = np.argsort(key)
            key, count, others = key[rank], count[rank], [each[rank] for each in others]
        require(is_increasing(key), OUT_OF_ORDER)
    return ReleasedTable(grid, key, count, event), others


@contextmanager
def explain_errors(folder: Path) -> Iterator[None]:
    """Turn the errors of a release that somebody has changed into VerificationError."""
    try:
        yield
    except MemoryError:
        raise
    except (FileNotFoundError, NotADirectoryError):
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


@contextmanager
def explain_damage(folder: Path) -> Iterator[None]:
    """Turn errors of a changed release that no reader has explained into VerificationError."""
    refused: GeodpError | None = None
    with explain_errors(folder):
        try:
            yield
        except GeodpError as error:
            refused = error
    if refused is not None:
        raise refused


def is_increasing(key: NDArray[np.uint64]) -> bool:
    """Test whether each key is larger than the one before it."""
    return bool((key[1:] > key[:-1]).all())


def read_mask_of(folder: Path, card: Card) -> Mask | None:
    """Read the mask from the empty cells of the raster; None without a mask or a raster.

    That of pairs is read from the list of its cells. A table without a raster of its own, whose
    parts are columns of a joint table, has the mask of the other tables of its release.
    """
    declared = card.domain.mask
    if declared is None:
        return None
    if len(card.domain.places) > 1:
        return _read_mask_of_pairs(folder, card)
    shown = next(_list_rasters(folder, card), None)
    if shown is None:
        return None
    grid = grid_of(card.domain)
    place = grid.places[0]
    with open_map(*shown) as raster:
        require(
            raster.shape == (place.rows, place.cols),
            Rule("raster-shape-differs", "The raster has another shape."),
        )
        inside = np.empty(raster.shape, np.bool_)
        for window in pixels.windows(place):
            inside[window.toslices()] = ~np.isnan(raster.read(1, window=window))
    # Rasters begin in the north, and rows of such a grid in the south.
    if place.northwards:
        inside = inside[::-1]
    mask = mask_of_blocks(grid, _align(inside), declared.source)
    require(
        mask.sha256 == declared.sha256,
        Rule("raster-mask-differs", "The raster's mask is not the card's."),
    )
    return mask


def _list_rasters(folder: Path, card: Card) -> Iterator[tuple[Path, Card]]:
    """Yield a table if it has a raster, or else those that do of the release of which it is."""
    tables = iter([(folder, card)])
    if card.in_joint_table:
        tables = _list_tables(folder.parent)
    for there, one in tables:
        # Digests of one mask differ with the labels of tables; the reader compares that of its own.
        masked = one.domain.mask is not None and one.domain.places == card.domain.places
        if masked and raster_file(there, one).is_file():
            yield there, one


def _list_tables(folder: Path) -> Iterator[tuple[Path, Card]]:
    """Yield the tables in a public folder, and of the releases that are enclosed there."""
    if find_card(folder) is None:
        return  # a table that was taken out of its release
    card: Any = read_card(folder)
    if isinstance(card, Card):
        yield folder, card
        return
    inside = [one.name for one in getattr(card, "tables", ())]
    for name in (*inside, *getattr(card, "enclosed", ())):
        yield from _list_tables(folder / name)


def _read_mask_of_pairs(folder: Path, card: Card) -> Mask | None:
    """Read the mask of pairs from the list of its cells; None without that file."""
    declared, path = card.domain.mask, folder / zones_file(card.name)
    if declared is None or not path.is_file():
        return None
    one = Grid(grid_of(card.domain).places[:1])
    # Pairs of as many cells as there are in the list, for each label.
    rows = read_parquet(path, isqrt(card.domain.cells)).combine_chunks()
    columns = [column.to_numpy(zero_copy_only=False) for column in rows.columns]
    coded = one.places[0].system is not None
    require(rows.column_names == (["code"] if coded else ["row", "col"]), ZONES_DIFFER)
    row, col = one.names.parse(0, columns[0].astype(np.str_)) if coded else columns
    ones = np.ones(row.size, np.int64)
    mask = mask_of_blocks(one, np.stack([row, col, ones, ones]).astype(np.int64), declared.source)
    require(
        mask.sha256 == declared.sha256,
        Rule("zones-mask-differs", "The listed cells are not the card's mask."),
    )
    expected = zone_rows(Grid(one.places * 2, mask=mask))
    require(rows.equals(expected, check_metadata=True), ZONES_DIFFER)
    return mask


def _align(inside: NDArray[np.bool_]) -> IntArray:
    """Return the true cells as squares of the largest common size: int64[4, n]."""
    # Masks are often made of coarser cells, and fewer squares are fewer ranges of keys.
    side = 1
    while not any(size % 2 for size in inside.shape):
        quarters = [inside[row::2, col::2] for row in (0, 1) for col in (0, 1)]
        if not all((quarter == quarters[0]).all() for quarter in quarters):
            break
        inside, side = quarters[0], 2 * side
    return blocks_of_array(inside) * side


def raster_file(folder: Path, card: Card) -> Path:
    """Return the path of the raster of a release, or of the VRT of its tiles; it may not exist."""
    return folder / f"{card.name}.{'vrt' if card.in_parts else 'tif'}"


@contextmanager
def open_map(folder: Path, card: Card) -> Iterator[Any]:
    """Open the raster of a release for reading, as a dataset of rasterio or a `Tileset`."""
    path = raster_file(folder, card)
    if card.in_parts:
        yield read_tileset(path, card.listed)
        return
    with geotiff.quiet(), Env(GDAL_CACHEMAX=fit(geotiff.CACHE, 1)), open_raster(path) as raster:
        yield raster


def read_ordered_grid(folder: Path, card: Card) -> Grid:
    """Make the grid of a card, with the regions of their table if it is in the folder.

    Raises VerificationError if the table's digest is not the card's.
    """
    grid, order = grid_of(card.domain), card.domain.order
    path = folder / hierarchy_file(card.name)
    if not isinstance(order, StatedHierarchy) or not path.is_file():
        return grid
    # All readers of tables come with it, which few releases need.
    from geodp.io.read.public.tables import read_hierarchy

    declared = order.regions
    # Origins and destinations share one table, which is one of places.
    one = Grid(grid.places[:1])
    regions = read_hierarchy(
        path,
        one,
        source=declared.source,
        delimiter=",",
        encoding="utf-8",
        placed=bool(declared.placed),
    )
    require(
        regions.sha256 == declared.sha256,
        Rule("regions-table-differs", "The table of regions is not the card's."),
    )
    regions = with_names(folder, card, with_outlines(folder, card, regions))
    return grid.with_order(grid.maps.region_order(order.axes, order.radices, hierarchy=regions))


def read_masked_grid(folder: Path, card: Card) -> Grid:
    """Make the grid of a card as :func:`read_ordered_grid` does, with the mask of its files.

    Without a raster, or a list of the cells of pairs, it has none. Raises VerificationError if the
    mask's digest is not the card's.
    """
    grid, mask = read_ordered_grid(folder, card), read_mask_of(folder, card)
    return grid if mask is None else grid.with_mask(mask)


def grid_of(domain: StatedDomain) -> Grid:
    """Make the grid of a card, without its mask and without the regions of their table."""
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
        # GDAL would follow a CRS that is an address or a path.
        crs = normalise_crs(crs)
    # Meshes may be in a datum of their own, such as that of Tokyo.
    if isinstance(system, JISMesh) and crs is not None and crs != system.crs:
        system = JISMesh(system.level, crs)
    # A card may not state another place on the ground than its codes have.
    transform = place.transform if system is None else transform_of(system, *place.first)
    return Lattice(place.rows, place.cols, system, *place.first, crs, transform)


def event_of(card: Card) -> TableEvent:
    """Make the privacy event of a card; VerificationError where the card contradicts itself."""
    guarantee = card.guarantee
    event = _reports(guarantee) if guarantee.model == "local" else _measurement(guarantee)
    # The card has more figures than make the event: each has to be the one that follows from it.
    declared = {**write_plain(guarantee), "mechanism": card.mechanism.spec}
    contradicts = guarantee.assumptions and guarantee.assumptions[0] not in (
        event.assumption,
        # Of a table that is computed from others, only its method knows from which.
        event.derived_assumption,
    )
    if contradicts or any(declared.get(name) != v for name, v in event.describe().items()):
        raise VerificationError(
            "The card's guarantee contradicts itself.", code="card-guarantee-contradicts"
        )
    return event


def _reports(guarantee: StatedGuarantee) -> LocalReports:
    require(
        None not in (guarantee.epsilon, guarantee.period, guarantee.reports),
        Rule("card-lacks-reports", "The card lacks its reports."),
    )
    return LocalReports(
        guarantee.mechanism,
        Fraction(guarantee.epsilon or 0),
        guarantee.unit,
        guarantee.period or "",
        guarantee.reports or 0,
    )


def _measurement(guarantee: StatedGuarantee) -> Measurement:
    require(
        0 < (_exact(guarantee.share) or Fraction(1, 2)) < 1,
        Rule("card-share-range", "The share of a table is above 0 and below 1."),
    )
    return Measurement(
        guarantee.mechanism,
        _exact(guarantee.epsilon),
        guarantee.neighbours,
        guarantee.contribution,
        guarantee.enforced,
        guarantee.l1_sensitivity,
        guarantee.unit,
        guarantee.key_origin,
        _exact(guarantee.rho),
        _exact(guarantee.delta),
        guarantee.layout,
        _exact(guarantee.share) or Fraction(1),
    )


def _exact(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def with_outlines(folder: Path, card: Card, regions: Hierarchy) -> Hierarchy:
    """Add to a table of units the outlines that the card declares, if they are in the folder.

    Raises VerificationError if their digest is not the card's.
    """
    declared, path = card.domain.outlines, folder / outlines_file(card.name)
    if declared is None or not path.is_file():
        return regions
    rows = read_parquet(path, regions.cells, ["code", "geometry"]).combine_chunks()
    codes = np.array(texts_of(rows["code"].combine_chunks()))
    # A table of units has one row, in whose columns the units stand in the order of the file.
    units = np.empty(regions.cells, object)
    units[regions.cell[1]] = regions.codes[-1]
    column = np.flatnonzero(np.isin(units.astype(np.str_), codes))
    require(
        codes.tolist() == units[column].tolist(),
        Rule("outlines-of-other-units", "The outlines are of other units than the table's."),
    )
    # Units that are not listed lie nowhere.
    wkb = np.full(regions.cells, None, object)
    wkb[column] = rows["geometry"].to_numpy(zero_copy_only=False)
    outlines = Outlines.from_wkb(wkb, declared.crs)
    require(
        outlines.sha256 == declared.sha256,
        Rule("outlines-not-stated", "The outlines are not the card's."),
    )
    return replace(regions, outlines=outlines)


def with_names(folder: Path, card: Card, regions: Hierarchy) -> Hierarchy:
    """Add to a table of units the names that the card lists a file of, if it is in the folder.

    Raises VerificationError if they are those of other units.
    """
    path = folder / names_file(card.name)
    if path.name not in card.listed or not path.is_file():
        return regions
    with path.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file, strict=True)
    codes, names = zip(*rows, strict=True)
    require(
        tuple(header) == NAMED and codes == regions.codes[-1] and "".join(names).isprintable(),
        Rule("names-of-other-units", "The names are not those of the table's units."),
    )
    return replace(regions, names=names)


VERIFYING, REPORTING, DRAWING = 80, 120, 60
"""Bytes a row that a command holds for all rows; working memory comes on top."""

MIB = 1 << 20


@contextmanager
def read_within(paths: Sequence[Path], memory: str | None, each: int) -> Iterator[None]:
    """Read written releases within a limit of memory, which sizes of chunks follow.

    Parameters
    ----------
    paths : sequence of path
        Folders of the releases.
    memory : str or None
        The limit, beside what the interpreter and the libraries take; None: no limit.
    each : int
        Bytes a row that are held for all rows.

    Raises
    ------
    UsageError
        ``memory`` is no size of memory, or the rows need more.
    """
    if memory is not None:
        allowed, rows = bytes_of(memory), sum(map(_count_rows, paths))
        need = WORK + each * rows
        if need > allowed:
            # Rounded up, so that the size that is named suffices.
            size = f"{-(-need // MIB):,}MiB".replace(",", "")
            raise UsageError(
                f"{rows:,} released rows take about {size} here, and --memory allows "
                f"{allowed // MIB}MiB; give --memory {size}, or leave it out.",
                code="memory-below-release",
            )
    with work_within(memory):
        yield


def _count_rows(path: Path) -> int:
    """Count the rows of a table's release; 0 if it cannot be read, which its checks report."""
    folder = public_folder(path)
    try:
        card = open_card(folder)
        if not isinstance(card, Card):
            return 0
        return sum(open_parquet(file).metadata.num_rows for file in parquet_files(folder, card))
    except MemoryError:
        raise
    except BROKEN:
        return 0
