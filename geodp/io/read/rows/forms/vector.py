"""Tables of features read by GDAL: GeoPackage, FlatGeobuf, Shapefile, and a dBASE table alone.

GDAL tries all of its drivers, and some open other files that a file names. These formats begin with
bytes that no text has, so that only their own driver accepts them; GDAL may open no other file.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from geodp import progress
from geodp.errors import InputError, Rule, UsageError, printable, require_library
from geodp.io.opening import SEALED, require_regular, require_utf8
from geodp.io.read.rows.arrow import validate_arrays
from geodp.io.read.rows.complete import incomplete
from geodp.io.read.rows.forms.features import (
    BROKEN,
    DeclaredFeatures,
    check_features,
    check_fields,
    companion_path,
    count_features,
    open_database,
)
from geodp.io.read.rows.input_files import InputFile, guard
from geodp.io.read.rows.partitions import FileTable
from geodp.io.read.rows.span import Opening
from geodp.table.source import Fact

BATCH = 1 << 16
"""Features in a batch."""

ENDINGS = {"geopackage": ".gpkg", "flatgeobuf": ".fgb", "shapefile": ".shp"}
"""Endings by which GDAL chooses its driver."""

COMPANIONS = (".dbf", ".shx", ".prj", ".cpg")
"""Endings of the files that GDAL opens together with a .shp or .dbf."""

OFFSETS_SINCE = (3, 11)
"""First version of GDAL that returns dates with times as texts, including their offsets."""

VIEWS = Rule(
    "geopackage-has-views",
    "A GeoPackage with views is not read, as these may call anything; export its tables.",
)
BRACES = Rule(
    "archive-path-has-brace",
    "An archive whose path has a brace ({ or }) is not read by GDAL; rename or unpack it.",
)
NO_OFFSETS = Rule(
    "vector-offsets-unknown",
    "Column {} holds dates and times, and this version of GDAL does not report whether they have "
    "a time zone; install pyogrio 0.12 or later with GDAL 3.11 or later (pip install -U "
    '"geodp[vector]"), or write the column as text.',
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
        Name of the column of geometries, which follows the fields, and its CRS.
    encoding : str or None
        Encoding of texts, if the file does not declare it.
    path : str
        Path in GDAL's notation.
    declared : DeclaredFeatures
        Number of features that the file declares, which must all be read.
    """

    file: InputFile
    fields: tuple[str, ...]
    layer: str
    geometry: tuple[str, str | None] | None
    encoding: str | None
    path: str
    declared: DeclaredFeatures

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields, and of the geometry."""
        return self.fields if self.geometry is None else (*self.fields, self.geometry[0])

    @classmethod
    def open(cls, file: InputFile, opening: Opening) -> VectorTable:
        """Read the layers of a file; InputError if there are several and none was chosen."""
        pyogrio = require_pyogrio()
        require_utf8(file.path)
        path = _path_of(file)
        if file.kind in ("shapefile", "dbf"):
            for ending in COMPANIONS:
                require_regular(companion_path(path, ending))
        ending = ENDINGS.get(file.kind, Path(path).suffix.lower())
        if Path(path).suffix.lower() != ending:
            rule = Rule(
                "vector-ending", f"The file looks like a {file.kind}; give it the ending {ending}."
            )
            raise InputError(rule, file=file.name)
        check = partial(check_features, file.path, file.kind, file.member)
        declared = guard(file.name, check, NO_VECTOR)
        # Views and virtual tables run SQL of the file's author when they are read.
        if file.kind == "geopackage" and computes(Path(file.path)):
            raise InputError(VIEWS, file=file.name)
        with sealed():
            layers = _call(file, partial(pyogrio.list_layers, path))
            chosen = _choose(dict(layers.tolist()), opening.layer, file.name)
            encoding = opening.encoding or _encoding_of(file, path)
            reads = partial(pyogrio.read_info, path, layer=chosen, encoding=encoding)
            info = _call(file, reads)
        column = str(info["geometry_name"] or "geometry")
        geometry = None if info["geometry_type"] is None else (column, info["crs"])
        fields = tuple(map(str, info["fields"]))
        if file.kind == "geopackage":
            declared = DeclaredFeatures(count_features(file.path, chosen))
        return cls(file, fields, chosen, geometry, encoding, path, declared)

    def file_arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Yield batches of the chosen columns; geometries as WKB, dates with times as texts.

        GDAL's own type assigns UTC to times without a zone (GeoPackage) or drops offsets
        (FlatGeobuf). Texts are as in the file.
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
        options |= {"datetime_as_string": pyogrio.__gdal_version__ >= OFFSETS_SINCE}
        first = 0
        with sealed(), contextlib.ExitStack() as stack:
            opened = pyogrio.raw.open_arrow(self.path, **options)
            meta, reader = _call(self.file, lambda: stack.enter_context(opened))
            while True:
                try:
                    batch = _call(self.file, reader.read_next_batch)
                except StopIteration:
                    break
                shape = str(meta["geometry_name"] or "wkb_geometry")
                arrays = [batch.column(name if name in fields else shape) for name in names]
                for name, array in zip(names, arrays, strict=True):
                    if pa.types.is_timestamp(array.type):
                        raise UsageError(NO_OFFSETS.format(printable(name)))
                yield validate_arrays(arrays, self.name, first)
                first += batch.num_rows
                progress.part(0.5, self.file.size)
        # GDAL ends silently where a file is damaged; the missing rows would be missing people.
        if first != self.declared.features:
            what = Rule(
                "vector-features-miscounted", "The file has another number of features than it says"
            )
            raise incomplete(self.name, what)

    @property
    def declared_rows(self) -> int:
        """Number of features in the file's header or index."""
        return int(self.declared.features)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Facts from the file."""
        extras = []
        if self.encoding is not None:
            extras.append(Fact("encoding", self.encoding, "values"))
        if self.geometry is not None and self.geometry[1] is not None:
            extras.append(Fact("CRS", self.geometry[1], "file"))
        kind = Fact("format", self.file.kind, "file")
        return (kind, Fact("layer", self.layer, "file"), *self.declared.facts, *extras)


def require_pyogrio() -> Any:
    """Import pyogrio; UsageError if it is not installed."""
    require_library("pyogrio", "A file of GIS", "vector")
    import pyogrio

    return pyogrio


@contextmanager
def sealed() -> Iterator[None]:
    """Prevent GDAL from opening other files, and anything on the network."""
    pyogrio = require_pyogrio()
    before = {name: pyogrio.get_gdal_config_option(name) for name in SEALED}
    pyogrio.set_gdal_config_options(SEALED)
    try:
        yield
    finally:
        pyogrio.set_gdal_config_options(before)


def find_extent(path: Path) -> tuple[float, ...] | None:
    """Return the extent that a layer states, or that of its features; None without both."""
    with sealed():
        extent = require_pyogrio().read_info(path, force_total_bounds=True)["total_bounds"]
    return None if extent is None else tuple(map(float, extent))


def computes(path: Path) -> bool:
    """Whether a database holds more than tables and indices; InputError for a damaged one."""
    with open_database(path) as database:
        try:
            rows = database.execute("SELECT type, lower(sql) FROM sqlite_master").fetchall()
        except BROKEN:
            rows = None
    if rows is None:
        raise InputError(NO_VECTOR, file=str(path))
    return any(
        kind == "view" or (str(sql).startswith("create virtual") and "using rtree" not in str(sql))
        for kind, sql in rows
    )


def _path_of(file: InputFile) -> str:
    """Return the path of a file in GDAL's notation."""
    path = str(Path(file.path).resolve())
    if file.kind != "zipped shapefile":
        return path
    if {*"{}"} & {*path}:
        raise InputError(BRACES, file=file.name)
    return f"/vsizip/{{{path}}}/{file.member}"


def _choose(layers: dict[str, str | None], layer: str | None, file: str) -> str:
    """Return the chosen layer, the only one, or the only one with geometries.

    ``layers`` maps names to kinds of geometry; None for tables without geometries, such as styles.
    """
    if not layers:
        raise InputError(NO_VECTOR, file=file)
    shown = ", ".join(map(printable, layers))
    if layer is not None and layer not in layers:
        raise InputError(
            f"There is no such layer; there are {shown}.", file=file, code="layer-unknown"
        )
    # Tables without geometries, such as those of styles, are rarely the data.
    among = [name for name, kind in layers.items() if kind is not None] or [*layers]
    if layer is None and len(among) != 1:
        raise InputError(
            f"Choose one of the layers (--layer, layer=): {shown}.", file=file, code="layer-missing"
        )
    return layer or among[0]


def _encoding_of(file: InputFile, path: str) -> str | None:
    """Guess the encoding of a dbf that declares none, UTF-8 or CP932; None for others."""
    if file.kind not in ("shapefile", "dbf"):
        return None
    table = companion_path(path, ".dbf")
    if companion_path(path, ".cpg").is_file() or not table.is_file():
        return None
    with table.open("rb") as stream:
        head = stream.read(1 << 18)
    if len(head) < 32 or head[29]:  # it names its language
        return None
    start, width = (int.from_bytes(head[at : at + 2], "little") for at in (8, 10))
    # Only complete records are decoded, as a cut character would fail.
    end = start + (len(head) - start) // max(width, 1) * width
    for encoding in ("utf-8", "cp932"):
        with contextlib.suppress(UnicodeDecodeError):
            head[32 : max(end, start)].decode(encoding)
            return encoding
    return None


def _call(file: InputFile, step: Any) -> Any:
    """Carry out a step of pyogrio; its failures become InputError without their messages."""
    errors = require_pyogrio().errors
    try:
        with warnings.catch_warnings():  # warnings quote values of the file
            warnings.simplefilter("ignore")
            return guard(file.name, step, NO_VECTOR)
    except (errors.DataSourceError, errors.DataLayerError, errors.FieldError):
        pass
    except (RuntimeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
    raise InputError(NO_VECTOR, file=file.name)
