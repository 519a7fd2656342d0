"""Released tables as a GeoPackage 1.3 (OGC 12-128r17), written by SQLite itself.

It is the vector format with the widest support: GDAL from 2 on, QGIS, sf of R, ArcGIS. SQLite is in
Python's standard library, so that a default file of every release needs no library that some
offices lack, and the same release gives the same bytes: no clock is read. With a packed index it
takes about as long as GDAL through pyogrio, whose bytes depend on its version.

SQLite's R*Tree is written directly, packed: an insert searches its place and splits nodes, and rows
in the order of the grid's keys are beside their neighbours already. The format of nodes is
documented in SQLite's ``rtree.c``, which cannot change it without breaking existing files; GDAL
loads its indices in the same way.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyproj import CRS
from pyproj.exceptions import CRSError

from geodp.grid.grid import Grid
from geodp.io.numbers import numbers_of
from geodp.io.write.format import Entry, Format
from geodp.io.write.geometry import (
    geometry,
    geometry_bounds,
    geometry_crs,
    geometry_kind,
    why_no_geometry,
)
from geodp.io.write.view import View
from geodp.typing import FloatArray, IntArray

CELLS = 51
"""Largest number of cells in a node of SQLite, on pages of 2048 bytes and more."""

CELL = np.dtype([("id", ">i8"), ("box", ">f4", 4)])

NODE = np.dtype([("depth", ">u2"), ("cells", ">u2"), ("cell", CELL, CELLS)])
"""Node: boxes of rows or of nodes below it; only the root has a depth, 0 if it holds rows."""

ROOT = 1


class PackedTree:
    """A tree of boxes in two dimensions, filled from its leaves up in the order of the rows.

    Nodes are as full as they can be. Memory: the boxes of one call, and one for each leaf.

    Parameters
    ----------
    base : sqlite3.Connection
    name : str
        Name of the virtual table, which is created here.

    Attributes
    ----------
    nodes : int
        Number of nodes written so far.
    """

    def __init__(self, base: sqlite3.Connection, name: str) -> None:
        self._base, self._name, self._next = base, name, ROOT + 1
        self._leaves: list[NDArray[np.float32]] = []
        self.nodes = 0
        columns = "id, minx, maxx, miny, maxy"
        base.execute(f"CREATE VIRTUAL TABLE {quote(name)} USING rtree({columns})")

    def add(self, row: IntArray, box: list[FloatArray]) -> None:
        """Add rows by their increasing numbers: int64[n].

        ``box``: smallest and largest x, smallest and largest y, float64[n] each.
        """
        if not row.size:
            return
        rounded = round_boxes(box)
        leaf, around = self._write_nodes(row, rounded)
        insert(self._base, f"{self._name}_rowid", [row.tolist(), leaf.tolist()])
        self._leaves.append(around)

    def close(self) -> None:
        """Write the nodes above the leaves."""
        if not self._leaves:  # SQLite has created an empty root
            return
        around, depth = np.concatenate(self._leaves), 0
        if len(around) == 1:
            for table in ("node", "rowid"):
                stored = quote(f"{self._name}_{table}")
                self._base.execute(f"UPDATE OR REPLACE {stored} SET nodeno = {ROOT}")
        while len(around) > 1:
            depth += 1
            below = np.arange(self._next - len(around), self._next)
            if len(around) <= CELLS:
                # The last node is the root, whose number SQLite fixes.
                self._next = ROOT
            parent, around = self._write_nodes(below, around, depth)
            insert(self._base, f"{self._name}_parent", [below.tolist(), parent.tolist()])

    def _write_nodes(
        self, number: NDArray[np.int64], box: NDArray[np.float32], depth: int = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Write boxes into new nodes; return the node of each box, and the box of each node."""
        n = len(box)
        # Rows are spread evenly over the fewest possible nodes, so that no node is nearly empty.
        each = -(-n // -(-n // CELLS))
        starts, (node, at) = np.arange(0, n, each), np.divmod(np.arange(n), each)
        made = np.zeros(starts.size, NODE)
        made["cells"] = np.bincount(node)
        made["cell"]["id"][node, at], made["cell"]["box"][node, at] = number, box
        if self._next == ROOT:
            made["depth"] = depth
        data, size = made.tobytes(), made.itemsize
        pieces = (data[start : start + size] for start in range(0, len(data), size))
        self._base.executemany(
            f"INSERT OR REPLACE INTO {quote(f'{self._name}_node')} VALUES (?, ?)",
            zip(range(self._next, self._next + starts.size), pieces, strict=True),
        )
        node += self._next
        self._next += starts.size
        self.nodes += starts.size
        smallest, largest = np.minimum.reduceat(box, starts), np.maximum.reduceat(box, starts)
        return node, np.where(OUTWARD < 0, smallest, largest)


OUTWARD = np.array([-1, 1, -1, 1]) * np.inf
"""Outward direction of the sides of a box."""


def round_boxes(box: list[FloatArray]) -> NDArray[np.float32]:
    """Round boxes as the tree stores them, outward: float32[n, 4].

    ``box``: see :meth:`PackedTree.add`.
    """
    sides = [_round(side, outward) for side, outward in zip(box, OUTWARD, strict=True)]
    return np.stack(sides, axis=1)


def _round(side: FloatArray, outward: float) -> NDArray[np.float32]:
    """Round to the closest float32 that is not further inside."""
    rounded = side.astype(np.float32)
    inside = rounded > side if outward < 0 else rounded < side
    rounded[inside] = np.nextafter(rounded[inside], np.float32(outward))
    return rounded


def can_pack() -> bool:
    """Test whether this Python's SQLite has R*Trees, and allows writing their tables."""
    with closing(sqlite3.connect(":memory:")) as base:
        try:
            tree = PackedTree(base, "tree")
            tree.add(np.ones(1, np.int64), [np.zeros(1)] * 4)
            tree.close()
        except sqlite3.Error:
            return False
    return True


TOGETHER = 1 << 6
"""Number of rows that one statement inserts."""


def quote(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def insert(base: sqlite3.Connection, name: str, columns: list[Any]) -> None:
    """Insert rows, many with each statement, as every statement has a cost.

    ``columns``: sequences of equal length.
    """
    width, n = len(columns), len(columns[0])
    values: list[Any] = [None] * (width * n)
    for at, column in enumerate(columns):
        values[at::width] = column
    row, start = f"({', '.join('?' * width)})", 0
    # First many rows with each statement, then the remainder one by one.
    for rows in (min(TOGETHER, base.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) // width), 1):
        each, stop = width * rows, len(values) - (len(values) - start) % (width * rows)
        statement = f"INSERT INTO {quote(name)} VALUES {', '.join([row] * rows)}"
        base.executemany(statement, (values[i : i + each] for i in range(start, stop, each)))
        start = stop


MEDIA_TYPE = "application/geopackage+sqlite3"

OUTLINES = {
    "Polygon": "outlines of the cells",
    "MultiPolygon": "outlines of the units",
    "LineString": "lines from origins to destinations",
}
"""Description of each kind of geometry."""

AT_ONCE = 1 << 14
"""Number of rows that are converted to Python's values at a time."""

SHAPE = "geometry"
"""Name of the column of outlines."""

APPLICATION, VERSION = 0x47504B47, 10300
"""``GPKG``, and version 1.3, which GDAL 3.6 reads without a warning."""

UNCHANGED = "1970-01-01T00:00:00.000Z"
"""Time of every change in the file, so that the same release gives the same bytes."""

HEADER = np.dtype(
    [("magic", "S2"), ("version", "u1"), ("flags", "u1"), ("srs", "<i4"), ("box", "<f8", 4)]
)
"""Header of a geometry, before its WKB: flags 3 for little-endian numbers and a box of x and y."""

UNREGISTERED = 100_000
"""Number of a CRS without a number in EPSG."""

TABLES = """
CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER NOT NULL PRIMARY KEY,
  organization TEXT NOT NULL, organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL,
  description TEXT);
CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL,
  identifier TEXT UNIQUE, description TEXT DEFAULT '',
  last_change DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER,
  CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys(srs_id));
CREATE TABLE gpkg_geometry_columns (table_name TEXT NOT NULL, column_name TEXT NOT NULL,
  geometry_type_name TEXT NOT NULL, srs_id INTEGER NOT NULL, z TINYINT NOT NULL, m TINYINT NOT NULL,
  CONSTRAINT pk_geom_cols PRIMARY KEY (table_name, column_name),
  CONSTRAINT uk_gc_table_name UNIQUE (table_name),
  CONSTRAINT fk_gc_tn FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name),
  CONSTRAINT fk_gc_srs FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id));
CREATE TABLE gpkg_extensions (table_name TEXT, column_name TEXT, extension_name TEXT NOT NULL,
  definition TEXT NOT NULL, scope TEXT NOT NULL,
  CONSTRAINT ge_tce UNIQUE (table_name, column_name, extension_name));
CREATE TABLE gpkg_metadata (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  md_scope TEXT NOT NULL DEFAULT 'dataset', md_standard_uri TEXT NOT NULL,
  mime_type TEXT NOT NULL DEFAULT 'text/xml', metadata TEXT NOT NULL DEFAULT '');
CREATE TABLE gpkg_metadata_reference (reference_scope TEXT NOT NULL, table_name TEXT,
  column_name TEXT, row_id_value INTEGER,
  timestamp DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  md_file_id INTEGER NOT NULL, md_parent_id INTEGER,
  CONSTRAINT crmr_mfi_fk FOREIGN KEY (md_file_id) REFERENCES gpkg_metadata(id),
  CONSTRAINT crmr_mpi_fk FOREIGN KEY (md_parent_id) REFERENCES gpkg_metadata(id));
"""
"""Tables of the standard."""

TRIGGERS = """
CREATE TRIGGER {insert} AFTER INSERT ON {table}
  WHEN (NEW.{shape} NOT NULL AND NOT ST_IsEmpty(NEW.{shape}))
  BEGIN INSERT OR REPLACE INTO {index} VALUES ({new}); END;
CREATE TRIGGER {update1} AFTER UPDATE OF {shape} ON {table}
  WHEN OLD.{fid} = NEW.{fid} AND (NEW.{shape} NOTNULL AND NOT ST_IsEmpty(NEW.{shape}))
  BEGIN INSERT OR REPLACE INTO {index} VALUES ({new}); END;
CREATE TRIGGER {update2} AFTER UPDATE OF {shape} ON {table}
  WHEN OLD.{fid} = NEW.{fid} AND (NEW.{shape} ISNULL OR ST_IsEmpty(NEW.{shape}))
  BEGIN DELETE FROM {index} WHERE id = OLD.{fid}; END;
CREATE TRIGGER {update3} AFTER UPDATE ON {table}
  WHEN OLD.{fid} != NEW.{fid} AND (NEW.{shape} NOTNULL AND NOT ST_IsEmpty(NEW.{shape}))
  BEGIN DELETE FROM {index} WHERE id = OLD.{fid};
  INSERT OR REPLACE INTO {index} VALUES ({new}); END;
CREATE TRIGGER {update4} AFTER UPDATE ON {table}
  WHEN OLD.{fid} != NEW.{fid} AND (NEW.{shape} ISNULL OR ST_IsEmpty(NEW.{shape}))
  BEGIN DELETE FROM {index} WHERE id IN (OLD.{fid}, NEW.{fid}); END;
CREATE TRIGGER {delete} AFTER DELETE ON {table} WHEN OLD.{shape} NOT NULL
  BEGIN DELETE FROM {index} WHERE id = OLD.{fid}; END;
"""
"""Triggers that maintain the index of outlines when a copy of the file is edited (annex F.3)."""


class GeoPackage(Format):
    """The counts with the cells' outlines, and an index of these; one layer and no other table."""

    name: ClassVar[str] = "gpkg"
    endings: ClassVar[tuple[str, ...]] = ("gpkg",)
    rank: ClassVar[int] = 15

    def unsupported(self, view: View) -> str | None:
        """Return why there is none: no place on the Earth."""
        # A row for each part would repeat the outline of every cell.
        return view.why_in_joint_table or why_no_geopackage(view.table.grid)

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write one file with one layer."""
        path = folder / f"{view.name}.gpkg"
        write_geopackage(view, path)
        outlines = OUTLINES[geometry_kind(view.table.grid)]
        what = f"the counts with {outlines}, for GIS; {view.listed}"
        if view.table.grid.outlines is not None and not view.table.grid.attributes:
            what = f"the counts with {outlines}, for GIS; one row for every unit, also those of 0"
        yield Entry(path.name, MEDIA_TYPE, what, view.describe_columns(SHAPE))


def why_no_geopackage(grid: Grid) -> str | None:
    """Return why cells of a grid cannot be in a GeoPackage; None if they can."""
    if (why := why_no_geometry(grid)) is not None:
        return why
    crs = geometry_crs(grid)
    if crs is not None and define_crs(crs) is None:
        return "the grid's CRS has no WKT of version 1"
    return None if can_pack() else "this Python's SQLite has no index of outlines"


def define_crs(crs: str) -> str | None:
    """Convert a CRS to WKT 1; None if that cannot express it."""
    try:
        wkt: str | None = CRS.from_user_input(crs).to_wkt("WKT1_GDAL")
    except CRSError:
        return None
    return wkt


def write_geopackage(view: View, path: Path) -> None:
    """Write a GeoPackage of one layer with its style, in key order.

    Parameters
    ----------
    view : View
        View on a grid for which `why_no_geopackage` is None.
    path : Path

    Raises
    ------
    OSError
        The file system refuses.
    """
    grid, schema = view.table.grid, view.empty.columns.schema
    fid = name_of_number(schema.names)
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as base:
            # The file is new and private until it is renamed: a journal and syncs would only cost
            # time.
            for pragma in (
                *("page_size = 4096", "encoding = 'UTF-8'", "journal_mode = OFF"),
                *("synchronous = OFF", f"application_id = {APPLICATION}"),
                f"user_version = {VERSION}",
            ):
                base.execute(f"PRAGMA {pragma}")
            base.execute("BEGIN")
            # executescript would commit the transaction first.
            for statement in TABLES.split(";\n"):
                base.execute(statement)
            srs = _write_crs(base, geometry_crs(grid))
            _write_contents(base, view, srs)
            base.execute(create_table(view.layer, fid, schema))
            _write_rows(base, view, view.layer, srs)
            for statement in _triggers(view.layer, fid).split("END;\n"):
                base.execute(f"{statement}END" if statement.strip() else "")
            base.execute("COMMIT")
    except sqlite3.Error as error:
        raise OSError(f"SQLite: {error}") from None


def name_of_number(names: list[str]) -> str:
    """Choose a name for the column of row numbers that no other column has."""
    taken, number = {name.casefold() for name in names}, 0
    while (name := f"fid_{number}" if number else "fid") in taken:
        number += 1
    return name


def create_table(name: str, fid: str, schema: Any) -> str:
    """Return the statement that creates the table of rows."""
    columns = [f"{quote(fid)} INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL", f"{quote(SHAPE)} BLOB"]
    columns += [f"{quote(field.name)} {_type(field.type)}" for field in schema]
    return f"CREATE TABLE {quote(name)} ({', '.join(columns)})"


def _type(kind: Any) -> str:
    if pa.types.is_string(kind):
        return "TEXT"
    return "INTEGER" if pa.types.is_integer(kind) else "REAL"


def number_of_crs(crs: str | None) -> int:
    """Return the number of a CRS in a file: EPSG's, if it has one; -1 without a CRS."""
    if crs is None:
        return -1
    # Full confidence only: a similar CRS under an EPSG number would shift the cells.
    name, number = CRS.from_user_input(crs).to_authority(min_confidence=100) or ("", "")
    return int(number) if name == "EPSG" and number.isdigit() else UNREGISTERED


def _write_crs(base: sqlite3.Connection, crs: str | None) -> int:
    """Write the reference systems that every file has, and the grid's; return its number."""
    rows = {
        -1: ("Undefined Cartesian SRS", "NONE", -1, "undefined"),
        0: ("Undefined geographic SRS", "NONE", 0, "undefined"),
        4326: ("WGS 84", "EPSG", 4326, define_crs("EPSG:4326")),
    }
    number = number_of_crs(crs)
    if crs is not None:
        organisation = "NONE" if number == UNREGISTERED else "EPSG"
        rows[number] = CRS.from_user_input(crs).name, organisation, number, define_crs(crs)
    statement = "INSERT INTO gpkg_spatial_ref_sys VALUES (?, ?, ?, ?, ?, NULL)"
    for row_number, (name, *others) in sorted(rows.items()):
        base.execute(statement, (name, row_number, *others))
    return number


def _write_contents(base: sqlite3.Connection, view: View, srs: int) -> None:
    """Write the layer and its metadata."""
    name, grid, about = view.layer, view.table.grid, view.about
    box = geometry_bounds(grid)
    spec = "http://www.geopackage.org/spec130/#extension"
    shape = geometry_kind(grid).upper()
    contents = "INSERT INTO gpkg_contents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    row = (name, "features", name, about["guarantee"], UNCHANGED, *box, srs)
    base.execute(contents, row)
    base.execute(
        "INSERT INTO gpkg_geometry_columns VALUES (?, ?, ?, ?, 0, 0)",
        (name, SHAPE, shape, srs),
    )
    # The standard requires an entry for every extension that the file uses.
    for table, column, kind, scope in (
        (name, SHAPE, "rtree", "write-only"),
        ("gpkg_metadata", None, "metadata", "read-write"),
        ("gpkg_metadata_reference", None, "metadata", "read-write"),
    ):
        extension = "gpkg_rtree_index" if kind == "rtree" else "gpkg_metadata"
        base.execute(
            "INSERT INTO gpkg_extensions VALUES (?, ?, ?, ?, ?)",
            (table, column, extension, f"{spec}_{kind}", scope),
        )
    text = json.dumps(about, ensure_ascii=False)
    base.execute(
        "INSERT INTO gpkg_metadata VALUES (1, 'dataset', ?, 'application/json', ?)",
        (about["schema"], text),
    )
    base.execute(
        "INSERT INTO gpkg_metadata_reference VALUES ('geopackage', NULL, NULL, NULL, ?, 1, NULL)",
        (UNCHANGED,),
    )


def _write_rows(base: sqlite3.Connection, view: View, name: str, srs: int) -> None:
    """Write the rows and the index of their outlines."""
    first, tree = 1, PackedTree(base, name_index(name))
    for rows in view.rows_of_units("Writing the GeoPackage"):
        # Python's values take far more memory than Arrow's columns.
        for start in range(0, rows.columns.num_rows, AT_ONCE):
            some = rows.columns.slice(start, AT_ONCE)
            wkb, covering = geometry(view.table.grid, rows.index[:, start : start + AT_ONCE])
            west, south, east, north = map(numbers_of, covering.flatten())
            box, number = [west, east, south, north], np.arange(first, first + some.num_rows)
            columns = [_list_values(column) for column in some.columns]
            insert(base, name, [number.tolist(), _layout_shapes(wkb, box, srs), *columns])
            located = ~np.isnan(west)
            tree.add(number[located], [side[located] for side in box])
            first += some.num_rows
    tree.close()


def _list_values(column: Any) -> list[Any]:
    """List the values of an Arrow column as Python's, None where one is missing."""
    if pa.types.is_string(column.type) or column.null_count:
        return list(column.to_pylist())
    return list(numbers_of(column).tolist())


def name_index(name: str) -> str:
    """Return the name of the index of a layer's outlines."""
    return f"rtree_{name}_{SHAPE}"


def _layout_shapes(wkb: Any, box: list[NDArray[np.float64]], srs: int) -> list[bytearray | None]:
    """Encode outlines for a GeoPackage: header and WKB of each; None where there is none.

    Parameters
    ----------
    wkb : pyarrow.Array
    box : list of float64[n]
        Smallest and largest x, smallest and largest y.
    srs : int
    """
    n = len(wkb)
    ends = np.frombuffer(wkb.buffers()[1], np.int32, n + 1, 4 * wkb.offset)
    lengths = np.diff(ends)
    equal_length = n > 0 and bool((lengths == lengths[0]).all())
    length = int(lengths[0]) if equal_length else 0
    records = np.zeros(
        n, np.dtype([*HEADER.descr, ("wkb", f"V{length}")]) if equal_length else HEADER
    )
    records["magic"], records["flags"], records["srs"] = b"GP", 3, srs
    records["box"] = np.stack(box, axis=1)
    if not equal_length:  # outlines of units
        pairs = zip(records, wkb.to_pylist(), strict=True)
        return [bytearray(head.tobytes() + outline) for head, outline in pairs]
    records["wkb"] = np.frombuffer(wkb.buffers()[2], f"V{length}", n, int(ends[0]))
    # Of binary values, Python binds only these without looking for an adapter of each.
    values = records.view(f"V{records.itemsize}").tolist()
    shapes: list[bytearray | None] = [*map(bytearray, values)]
    for row in np.flatnonzero(wkb.is_null()).tolist() if wkb.null_count else ():
        shapes[row] = None
    return shapes


def _triggers(name: str, fid: str) -> str:
    """Return the statements of the triggers of a layer."""
    kinds = ("insert", "update1", "update2", "update3", "update4", "delete")
    sides = ("MinX", "MaxX", "MinY", "MaxY")
    shape, number = quote(SHAPE), quote(fid)
    return TRIGGERS.format(
        **{kind: quote(f"{name_index(name)}_{kind}") for kind in kinds},
        table=quote(name),
        index=quote(name_index(name)),
        shape=shape,
        fid=number,
        new=", ".join([f"NEW.{number}", *(f"ST_{side}(NEW.{shape})" for side in sides)]),
    )


FORMATS = (GeoPackage(),)
