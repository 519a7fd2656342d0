"""Tables of features that GDAL reads: GeoPackage, FlatGeobuf, Shapefile and its table alone.

GDAL asks all its drivers, and some follow what a file names. These formats begin with bytes that no
text has, so that their own driver is the one that answers; GDAL is told to open no other file.
"""

from __future__ import annotations

import contextlib
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from geodp import progress
from geodp.errors import InputError, Rule, UsageError, printable
from geodp.io.opening import SEALED, require_regular, require_utf8
from geodp.io.read.rows.arrow import checked
from geodp.io.read.rows.complete.error import incomplete
from geodp.io.read.rows.complete.features import Declared, check_features, check_fields
from geodp.io.read.rows.complete.geopackage import BROKEN, count_features
from geodp.io.read.rows.complete.shapefile import beside
from geodp.io.read.rows.input_files import InputFile, guard
from geodp.io.read.rows.partitions import FileTable
from geodp.table.source import Fact

BATCH = 1 << 16
"""Features that are looked at at once."""

ENDINGS = {"geopackage": ".gpkg", "flatgeobuf": ".fgb", "shapefile": ".shp"}
"""By which GDAL tells its drivers apart where the beginnings are alike."""

COMPANIONS = (".dbf", ".shx", ".prj", ".cpg")
"""Endings of the files that GDAL opens with a Shapefile, by the name of the first."""

WHOLE_TIMES = (3, 11)
"""The first GDAL that gives dates with times as texts, with the offsets that they have."""

VIEWS = Rule(
    "geopackage-has-views",
    "A GeoPackage with views is not read, as these may call anything; export its tables.",
)
BRACES = Rule(
    "archive-path-has-brace",
    "An archive whose path has a brace ({ or }) is not read by GDAL; rename or unpack it.",
)
MISCOUNTED = Rule(
    "vector-features-miscounted", "The file has another number of features than it says"
)
NO_OFFSETS = Rule(
    "vector-offsets-unknown",
    "Column {} is one of dates and times, of which this GDAL does not tell whether they have a "
    'zone; install pyogrio 0.12 or later with GDAL 3.11 or later (pip install -U "geodp[vector]"), '
    "or write the column as text.",
)
NO_VECTOR = Rule(
    "vector-unreadable",
    "The file cannot be read by GDAL; it may be damaged, or a part of it is missing: copy or "
    "download it again, with all of its parts.",
)


@dataclass(frozen=True)
class VectorTable(FileTable):
    """Features of one layer; they count from 1.

    Attributes
    ----------
    fields : tuple of str
    layer : str
    geometry : tuple of str and (str or None), or None
        Name of the column of geometries, which stands behind the fields, and its CRS.
    encoding : str or None
        Of texts, where the file does not say it.
    path : str
        As GDAL takes it.
    declared : Declared
        What the file says of its features; so many are read.
    """

    file: InputFile
    fields: tuple[str, ...]
    layer: str
    geometry: tuple[str, str | None] | None
    encoding: str | None
    path: str
    declared: Declared

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields, and of the geometry."""
        return self.fields if self.geometry is None else (*self.fields, self.geometry[0])

    @classmethod
    def open(cls, file: InputFile, layer: str | None, encoding: str | None) -> VectorTable:
        """Read what the file says of its layers; InputError where none of several was chosen."""
        pyogrio = require_pyogrio()
        require_utf8(file.path)
        path = _path_of(file)
        if file.kind in ("shapefile", "dbf"):
            for ending in COMPANIONS:
                require_regular(beside(path, ending))
        ending = ENDINGS.get(file.kind, Path(path).suffix.lower())
        if Path(path).suffix.lower() != ending:
            rule = Rule(
                "vector-ending", f"The file looks like a {file.kind}; give it the ending {ending}."
            )
            raise InputError(rule, file=file.name)
        check = partial(check_features, file.path, file.kind, file.member)
        declared = guard(file.name, check, NO_VECTOR)
        if file.kind == "geopackage" and computes(Path(file.path)):
            raise InputError(VIEWS, file=file.name)
        with sealed():
            layers = _call(file, partial(pyogrio.list_layers, path))
            chosen = _choose(dict(layers.tolist()), layer, file.name)
            told = encoding or _encoding_of(file, path)
            info = _call(file, partial(pyogrio.read_info, path, layer=chosen, encoding=told))
        column = str(info["geometry_name"] or "geometry")
        geometry = None if info["geometry_type"] is None else (column, info["crs"])
        fields = tuple(map(str, info["fields"]))
        if file.kind == "geopackage":
            declared = Declared(count_features(file.path, chosen))
        return cls(file, fields, chosen, geometry, told, path, declared)

    def own_arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Batches of the chosen columns; geometries as WKB, dates with times as texts.

        GDAL's own type for these gives UTC to times that have no zone (GeoPackage), or takes
        their offsets away (FlatGeobuf). As texts they are what the file says.
        """
        pyogrio = require_pyogrio()
        names = [self.names[column] for column in chosen]
        fields = [name for name in dict.fromkeys(names) if name in self.fields]
        wanted = len(fields) < len({*names})
        file = self.file
        check = partial(check_fields, file.path, file.kind, file.member, self.fields, fields)
        guard(self.name, check, NO_VECTOR)
        options: dict[str, Any] = {
            "layer": self.layer,
            "encoding": self.encoding,
            "batch_size": BATCH,
        }
        options |= {"columns": fields, "read_geometry": wanted, "use_pyarrow": True}
        options |= {"datetime_as_string": pyogrio.__gdal_version__ >= WHOLE_TIMES}
        first = 0
        with sealed(), contextlib.ExitStack() as held:
            opened = pyogrio.raw.open_arrow(self.path, **options)
            meta, reader = _call(self.file, lambda: held.enter_context(opened))
            while True:
                try:
                    batch = _call(self.file, reader.read_next_batch)
                except StopIteration:
                    break
                shape = str(meta["geometry_name"] or "wkb_geometry")
                found = [batch.column(name if name in fields else shape) for name in names]
                for name, array in zip(names, found, strict=True):
                    if pa.types.is_timestamp(array.type):
                        raise UsageError(NO_OFFSETS.format(printable(name)))
                yield checked(found, self.name, first)
                first += batch.num_rows
                progress.part(0.5, self.file.size)
        if first != self.declared.features:
            raise incomplete(self.name, MISCOUNTED)

    @property
    def declared_rows(self) -> int:
        """Features by the file's header or index."""
        return int(self.declared.features)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What the file says."""
        more = []
        if self.encoding is not None:
            more.append(Fact("encoding", self.encoding, "values"))
        if self.geometry is not None and self.geometry[1] is not None:
            more.append(Fact("CRS", self.geometry[1], "file"))
        kind = Fact("format", self.file.kind, "file")
        return (kind, Fact("layer", self.layer, "file"), *self.declared.facts, *more)

    def line(self, record: int) -> int:
        """Feature, counted from 1."""
        return record + 1


def require_pyogrio() -> Any:
    """Return pyogrio; UsageError where it is not installed."""
    try:
        import pyogrio
    except ImportError:
        raise UsageError(
            'Files of GIS are read by pyogrio; install it (pip install "geodp[vector]").',
            code="library-missing",
        ) from None
    return pyogrio


@contextmanager
def sealed() -> Iterator[None]:
    """Have GDAL open no file beside the one that is named, and none of the network."""
    pyogrio = require_pyogrio()
    before = {name: pyogrio.get_gdal_config_option(name) for name in SEALED}
    pyogrio.set_gdal_config_options(SEALED)
    try:
        yield
    finally:
        pyogrio.set_gdal_config_options(before)


def computes(path: Path) -> bool:
    """Whether a database holds more than tables and their indices; InputError for a damaged one."""
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    with contextlib.closing(sqlite3.connect(address, uri=True)) as database:
        try:
            found = database.execute("SELECT type, lower(sql) FROM sqlite_master").fetchall()
        except BROKEN:
            found = None
    if found is None:
        raise InputError(NO_VECTOR, file=str(path))
    return any(
        kind == "view" or (str(sql).startswith("create virtual") and "using rtree" not in str(sql))
        for kind, sql in found
    )


def _path_of(file: InputFile) -> str:
    path = str(Path(file.path).resolve())
    if file.kind != "zipped shapefile":
        return path
    if {*"{}"} & {*path}:
        raise InputError(BRACES, file=file.name)
    return f"/vsizip/{{{path}}}/{file.member}"


def _choose(layers: dict[str, str | None], layer: str | None, file: str) -> str:
    """Return the layer that was chosen, the only one, or the only one with geometries.

    ``layers``: names to kinds of geometry; None is of a table without, such as that of styles.
    """
    if not layers:
        raise InputError(NO_VECTOR, file=file)
    shown = ", ".join(map(printable, layers))
    if layer is not None and layer not in layers:
        raise InputError(
            f"There is no such layer; there are {shown}.", file=file, code="layer-unknown"
        )
    among = [name for name, kind in layers.items() if kind is not None] or [*layers]
    if layer is None and len(among) != 1:
        raise InputError(
            f"Choose one of the layers (--layer, layer=): {shown}.", file=file, code="layer-missing"
        )
    return layer or among[0]


def _encoding_of(file: InputFile, path: str) -> str | None:
    """Return the encoding of a dbf that says none: UTF-8 or CP932, whichever its start is in."""
    if file.kind not in ("shapefile", "dbf"):
        return None
    table = beside(path, ".dbf")
    if beside(path, ".cpg").is_file() or not table.is_file():
        return None
    with table.open("rb") as stream:
        head = stream.read(1 << 18)
    if len(head) < 32 or head[29]:  # it names its language
        return None
    start, width = (int.from_bytes(head[at : at + 2], "little") for at in (8, 10))
    end = start + (len(head) - start) // max(width, 1) * width
    for encoding in ("utf-8", "cp932"):
        with contextlib.suppress(UnicodeDecodeError):
            head[32 : max(end, start)].decode(encoding)
            return encoding
    return None


def _call(file: InputFile, step: Any) -> Any:
    """Return what a step of pyogrio's gives; its failures become InputError without its words."""
    errors = require_pyogrio().errors
    try:
        with warnings.catch_warnings():  # they quote values of the file
            warnings.simplefilter("ignore")
            return guard(file.name, step, NO_VECTOR)
    except (errors.DataSourceError, errors.DataLayerError, errors.FieldError):
        pass
    except (RuntimeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
    raise InputError(NO_VECTOR, file=file.name)
