"""Check that a written release agrees with itself, and read it back. Public data only."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from geodp.accounting import Event
from geodp.errors import GeodpError, VerificationError
from geodp.grid import Attribute, Grid
from geodp.gridcode import JISMesh, code_system
from geodp.io import cog, tables
from geodp.io.publication import SUMS, release_id, sha256
from geodp.io.staging import CARD, SCHEMA
from geodp.lattice import Lattice
from geodp.order import Order
from geodp.table import ReleasedTable

BROKEN = (
    GeodpError,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    pa.ArrowException,
)
"""What files that somebody else has changed may raise when they are read."""


@dataclass(frozen=True)
class Check:
    """One question asked of a release.

    Attributes
    ----------
    name : str
    ok : bool
    detail : str
        What was found, in a sentence.
    """

    name: str
    ok: bool
    detail: str


def verify(path: str | Path) -> list[Check]:
    """Ask a written release whether its files agree with each other and with the card.

    Parameters
    ----------
    path : path
        The release's folder, or its ``public`` folder alone.

    Returns
    -------
    list of Check
        In the order asked. After an unreadable card, the checks that need it are left out.

    Raises
    ------
    VerificationError
        There is no release at ``path``.
    """
    folder = _public(path)
    try:
        card = _read_card(folder)
    except VerificationError as error:
        return [Check("card", False, str(error))]
    checks = [Check("card", True, f"schema {SCHEMA}, release {card.get('release_id')}")]
    questions: list[tuple[str, Callable[[Path, dict[str, Any]], str]]] = [
        ("checksums", _ask_checksums),
        ("files", _ask_files),
        ("release id", _ask_identity),
        ("counts", _ask_counts),
        ("cells", _ask_cells),
        ("standard error", _ask_standard_error),
        ("csv", _ask_csv),
        ("raster", _ask_raster),
        ("geometry", _ask_geometry),
        ("restricted", _ask_restricted),
    ]
    for name, ask in questions:
        try:
            checks.append(Check(name, True, ask(folder, card)))
        except BROKEN as error:
            checks.append(Check(name, False, str(error) or type(error).__name__))
    return checks


def read_release_table(path: str | Path) -> tuple[ReleasedTable, dict[str, Any]]:
    """The released table and the card of a written release.

    Parameters
    ----------
    path : path
        The release's folder, or its ``public`` folder alone.

    Returns
    -------
    table : ReleasedTable
        Its grid has no mask: of a mask, the card keeps the source and the digest only.
    card : dict

    Raises
    ------
    VerificationError
        There is no release, or its table does not fit its card.
    """
    folder = _public(path)
    card = _read_card(folder)
    try:
        grid, event = _grid(card["domain"]), _event(card)
        index, count = _cells(_parquet(folder, card), grid, card["name"])
        key = grid.encode(index)
    except BROKEN as error:
        raise VerificationError(f"{folder} cannot be read back: {error}") from error
    if not (key[1:] > key[:-1]).all() or not (count > 0).all():
        raise VerificationError(f"{folder} cannot be read back: its rows are not in key order.")
    return ReleasedTable(grid, key, count, event), card


def _public(path: str | Path) -> Path:
    for folder in (Path(path, "public"), Path(path)):
        if (folder / CARD).is_file():
            return folder
    raise VerificationError(f"{path} holds no release: there is no public/{CARD}.")


def _read_card(folder: Path) -> dict[str, Any]:
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise VerificationError(f"{CARD} is not readable as JSON: {error}.") from None
    schema = card.get("schema") if isinstance(card, dict) else None
    if schema != SCHEMA:
        raise VerificationError(f"The card's schema is {schema!r}; this version reads {SCHEMA!r}.")
    missing = {"name", "release_id", "files", "domain", "guarantee", "private"} - set(card)
    if missing:
        raise VerificationError(f"The card lacks {', '.join(sorted(missing))}.")
    return dict(card)


def _parquet(folder: Path, card: dict[str, Any]) -> Any:
    """The Parquet file's table, without geometry."""
    columns = tables.column_names(_grid(card["domain"]), card["name"])
    return pa.parquet.read_table(folder / f"{card['name']}.parquet", columns=list(columns))


def _require(ok: bool, sentence: str) -> None:
    if not ok:
        raise VerificationError(sentence)


def _ask_checksums(folder: Path, card: dict[str, Any]) -> str:
    lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    listed = {entry["name"]: entry["sha256"] for entry in card["files"]}
    _require(set(sums) == {*listed, CARD}, f"{SUMS} and the card list different files.")
    for name, digest in sums.items():
        _require(Path(name).name == name, f"{SUMS} names a file outside the folder.")
        _require((folder / name).is_file(), f"{name} is missing.")
        found = sha256(folder / name)
        _require(
            found == digest == listed.get(name, digest), f"{name} was changed: its SHA-256 differs."
        )
    return f"all {len(sums)} files have the listed SHA-256"


def _ask_files(folder: Path, card: dict[str, Any]) -> str:
    listed = {entry["name"] for entry in card["files"]} | {CARD, SUMS}
    extra = sorted(set(os.listdir(folder)) - listed)
    _require(not extra, f"Files that the card does not list: {', '.join(extra)}.")
    return "the folder holds nothing that is not listed"


def _ask_identity(folder: Path, card: dict[str, Any]) -> str:
    found = release_id(folder / f"{card['name']}.csv", card)
    _require(found == card["release_id"], "The release id is not that of the CSV and the card.")
    return f"{found}, of the CSV and the card"


def _ask_counts(folder: Path, card: dict[str, Any]) -> str:
    column = _parquet(folder, card)[card["name"]]
    _require(str(column.type) == "int64", f"The counts have the type {column.type}, not int64.")
    _require(column.null_count == 0, "Some counts are missing.")
    count = column.to_numpy()
    _require(bool((count > 0).all()), "Some counts are 0 or negative.")
    return f"{count.size:,} cells above 0, {int(count.sum()):,} in all, whole numbers"


def _ask_cells(folder: Path, card: dict[str, Any]) -> str:
    table, _ = read_release_table(folder)
    again, stated = dict(table.grid.describe()), dict(card["domain"])
    masked = stated["mask"] is not None
    for varying in ("mask", "cells") if masked else ():
        again.pop(varying), stated.pop(varying)
    _require(again == stated, "The card's domain does not describe a grid.")
    return "codes lie in the domain, each once, in key order"


def _ask_standard_error(folder: Path, card: dict[str, Any]) -> str:
    stated = card["expected_error"]["blocks"][0]["standard_error"]
    written = _parquet(folder, card)[tables.ERROR].to_numpy()
    _require(bool((written == stated).all()), f"The column is not {stated} everywhere.")
    return f"{stated} a cell, as in the card"


def _ask_csv(folder: Path, card: dict[str, Any]) -> str:
    rows = _parquet(folder, card)
    types = dict(zip(rows.schema.names, rows.schema.types, strict=True))
    options = pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    parse = pa.csv.ParseOptions(newlines_in_values=True)
    written = pa.csv.read_csv(
        folder / f"{card['name']}.csv", convert_options=options, parse_options=parse
    )
    _require(written.schema.names == rows.schema.names, "CSV and Parquet have different columns.")
    _require(written.num_rows == rows.num_rows, "CSV and Parquet have different numbers of rows.")
    for name in rows.schema.names:
        _require(
            written[name].combine_chunks().equals(rows[name].combine_chunks()),
            f"CSV and Parquet differ in the column {name}.",
        )
    return "equal to the Parquet file, row by row"


def _ask_raster(folder: Path, card: dict[str, Any]) -> str:
    import rasterio

    table, _ = read_release_table(folder)
    reason = cog.why_no_raster(table)
    if reason is not None:
        return f"none: {reason}"
    place, pixels = table.grid.places[0], cog.Pixels.of(table)
    error = card["expected_error"]["blocks"][0]["standard_error"]
    with cog.quiet(), rasterio.open(folder / f"{card['name']}.tif") as raster:
        _require(raster.shape == (place.rows, place.cols), "The raster has another shape.")
        _require(raster.count == len(cog.combinations(table.grid)) + 1, "The raster lacks a band.")
        stated = cog.georeference(place)
        if stated:
            near = raster.transform.almost_equals(stated["transform"], 1e-6 * raster.res[0])
            _require(near and raster.crs == stated["crs"], "The raster lies elsewhere.")
        inside = 0
        for number, window in cog.windows(place):
            errors = raster.read(raster.count, window=window)
            outside = np.isnan(errors)
            inside += outside.size - int(outside.sum())
            _require(bool((errors[~outside] == errors.dtype.type(error)).all()), "Wrong errors.")
            for band in range(raster.count - 1):
                found = raster.read(band + 1, window=window).astype(np.float64)
                expected = np.zeros(found.shape)
                pixels.dense(number, band, expected)
                same = np.where(outside, np.isnan(found) & (expected == 0), found == expected)
                _require(
                    bool(same.all()),
                    f"The raster differs from the table in band {band + 1}, "
                    f"rows {window.row_off} to {window.row_off + window.height}.",
                )
    cells = inside * (raster.count - 1)
    _require(cells == card["domain"]["cells"], "The raster's domain is not the card's.")
    return "equal to the table, cell by cell"


def _ask_geometry(folder: Path, card: dict[str, Any]) -> str:
    grid = _grid(card["domain"])
    if not tables.has_geometry(grid):
        return "none: the grid lies nowhere on the Earth"
    file = pa.parquet.ParquetFile(folder / f"{card['name']}.parquet")
    _require(
        json.loads((file.schema_arrow.metadata or {})[b"geo"]) == tables.geo_metadata(grid),
        "The GeoParquet metadata are not those of the domain.",
    )
    for batch in file.iter_batches(tables.ROW_GROUP):
        index, _ = _cells(pa.Table.from_batches([batch]), grid, card["name"])
        expected = tables.geometry(grid, index)
        for name, column in zip(("geometry", "bbox"), expected, strict=True):
            _require(batch[name].equals(column), f"The column {name} differs from the codes.")
    return "GeoParquet 1.1, outlines equal to the codes' cells"


def _ask_restricted(folder: Path, card: dict[str, Any]) -> str:
    hidden = folder.parent / "restricted"
    if folder.name != "public" or not hidden.exists():
        return "not here"
    for path in (hidden, *hidden.rglob("*")):
        mode = path.stat().st_mode
        _require(not mode & (stat.S_IRWXG | stat.S_IRWXO), f"{path.name} is open to others.")
    return "readable by its owner only"


def _cells(rows: Any, grid: Grid, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cell indices int64[d, n] and counts int64[n] of the rows of an Arrow table."""
    return np.stack(list(_axes(rows, grid))), rows[name].to_numpy()


def _axes(rows: Any, grid: Grid) -> Iterator[NDArray[np.int64]]:
    for number, place in enumerate(grid.places):
        yield from tables.parse_codes(place, rows.column(number).to_numpy())
    number = len(grid.places)
    for axis in range(number, number + len(grid.extents)):
        yield rows.column(axis).to_numpy()
    for attribute in grid.attributes:
        at = pa.compute.index_in(rows[attribute.name], pa.array(attribute.labels))
        _require(at.null_count == 0, f"Unknown labels of {attribute.name}.")
        yield at.to_numpy().astype(np.int64)


def _grid(domain: dict[str, Any]) -> Grid:
    """The grid of a card, without its mask."""
    places = tuple(_lattice(place) for place in domain["places"])
    attributes = tuple(Attribute(a["attribute"], tuple(a["labels"])) for a in domain["attributes"])
    sizes = list(domain["axes"].values())
    extents = tuple(sizes[2 * len(places) : len(sizes) - len(attributes)])
    grid = Grid(places, attributes, extents)
    if domain["order"] == "Morton":
        return grid
    axes, radices = domain["order"]
    return grid.with_order(Order(tuple(axes), tuple(radices)))


def _lattice(place: dict[str, Any]) -> Lattice:
    system = None if place["code"] is None else code_system(place["code"])
    if isinstance(system, JISMesh) and place["crs"] != system.crs:
        system = JISMesh(system.level, place["crs"])
    row0, col0 = place["first"]
    transform = place["transform"] and tuple(place["transform"])
    return Lattice(place["rows"], place["cols"], system, row0, col0, place["crs"], transform)


def _event(card: dict[str, Any]) -> Event:
    said = card["guarantee"]
    event = Event(
        said["mechanism"],
        Fraction(said["epsilon"]),
        said["neighbours"],
        said["contribution"],
        said["enforced"],
        said["l1_sensitivity"],
        said["unit"],
        said["key_origin"],
    )
    if any(said.get(key) != value for key, value in event.describe().items()):
        raise VerificationError("The card's guarantee contradicts itself.")
    return event
