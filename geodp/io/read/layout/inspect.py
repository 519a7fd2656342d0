"""Description of a file by its header and form, without any information about people."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from math import isnan
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds
from pyproj import CRS
from pyproj.exceptions import CRSError

from geodp.advice import takes
from geodp.errors import InputError, UsageError
from geodp.grid.codes.recognise import QUADKEY, suggest_description
from geodp.io.read.layout.official_tables import RECEIVER, require_one_header
from geodp.io.read.layout.presets import find_layout
from geodp.io.read.layout.recognise import (
    SAMPLE,
    ColumnSample,
    Roles,
    Verdict,
    choose,
    find_named,
    fold_columns,
    judge,
    judge_values,
    recognise,
)
from geodp.io.read.rows.arrow import ArrowTable, decode
from geodp.io.read.rows.columns import InputTable, RowPositions, guess_header_of, open_tables
from geodp.io.read.rows.delimited import TextTable
from geodp.io.read.rows.forms.geometry import POINT, find_geometry, shape_kinds
from geodp.io.read.rows.input_files import RASTER, ArrowStream, FilePath, kind_of, unpack
from geodp.io.read.rows.names import fold
from geodp.io.read.rows.parquet import ParquetTable
from geodp.io.read.rows.period_columns import are_names, find_pattern
from geodp.io.read.rows.pixels import open_raster_file
from geodp.io.read.rows.raster_header import RasterHeader, describe_raster
from geodp.io.read.rows.span import Opening

PROTECTED = ("HTKSYORI", "CONFIDENTIALSTATUS", "WERTERLAEUTERNDE")
"""Prefixes of the names of columns that say which values are hidden."""

DEGREES = "EPSG:4326"
"""CRS of columns of longitudes and latitudes in a proposed command: grids may have another."""

PLANE = "CRS"
"""What stands for the CRS of coordinates in metres, which no file says."""

UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
"""Name of the column for an unnamed index of pandas: it holds neither codes nor counts."""


@dataclass(frozen=True)
class KnownRoles:
    """Roles of columns that are known before a table is inspected.

    Attributes
    ----------
    grid : str, optional
        Name of the code system; "" if the grid has no codes.
    key : str, optional
        Name of the column of codes. Default: found by its name or its values.
    named : collection of str
        Columns that hold neither codes nor counts, such as labels.
    reaches : function of str, optional
        Whether a code system has cells in the area that the call states, by its name.
    """

    grid: str | None = None
    key: str | None = None
    named: Collection[str] = ()
    reaches: Callable[[str], bool] | None = None


@takes(Opening)
def inspect(
    path: FilePath | ArrowStream, *, known: KnownRoles | None = None, **opening: Any
) -> dict[str, Any]:
    """Describe a file, or a table in memory, by its header.

    The result has no count, no number of rows, no code and no extent of rows. Only the form
    of the first values is examined (:mod:`geodp.io.read.layout.recognise`).

    Parameters
    ----------
    path : path, or a table in memory
        A table whose rows can be read again, as those of frames can.
    known : KnownRoles, optional

    Returns
    -------
    dict
        ``format``: "raster", "memory", or what :func:`geodp.io.read.rows.input_files.kind_of`
        returns. For a raster, ``raster``: its header. Otherwise ``tables``, a list of: ``name``;
        ``columns``, a list of ``name`` with ``label`` or ``type``, or None if the first row looks
        like data; ``key``, the column of codes, ``origin`` and ``destination``, ``x`` and ``y``,
        longitudes and latitudes or coordinates in metres, ``count``, ``household``, its ``size``
        and numbers of ``households``, each a name, or None if none is certain; ``keys``,
        ``counts``, ``times``, ``persons`` and ``amounts``, which are no counts, names of all
        candidates; ``ends``, the coordinates of both ends of trips, and ``cells_of_ends``, their
        rows and columns; ``crs`` of coordinates, "CRS"
        if they are in metres, or None; ``grid``, the name of a code system, or None if it is not
        certain, and ``grids``, all candidates; ``digits`` of all codes, or None; ``quadkeys``,
        whether codes may be quadkeys; ``geometry``, the CRS of geometries, or None, and ``points``,
        whether all of them are points; ``own_grid``, for codes of no known grid the draft of a
        description, a TOML file to be filled in, or empty; ``period_columns``, the pattern of
        columns of periods, or None, and ``whole_periods``, whether names say the year, too;
        ``protected``, whether columns indicate hidden values; ``related``, what the layout says of
        relations of columns (:meth:`geodp.io.read.layout.relations.Relations.describe`), or None;
        for a text ``encoding`` and
        ``delimiter``; and if the first row holds no
        names, and no row was given, ``header_row`` and ``first_row``: the rows that look like the
        names, by which the table is described, and like the first row below them.

    Raises
    ------
    UsageError
        The encoding is unknown, does not keep ASCII, or is given for a file that is not a text.
    InputError
        The file has another format, or is damaged; or the header is repeated in a row.
    """
    if isinstance(path, ArrowStream):
        table = next(open_tables(path, **opening))
        return {"format": "memory", "tables": [_table(table, known or KnownRoles())]}
    with unpack(path, None, opening.get("member")) as here:
        kind = kind_of(here)
        # Encodings of binary formats are fixed: an ignored option would hide a misunderstanding.
        if opening.get("encoding") is not None and kind in (*RASTER, "parquet"):
            raise UsageError(
                "Only a text has an encoding (--encoding, encoding=).", code="encoding-needs-text"
            )
        if kind in RASTER:
            with open_raster_file(here) as raster:
                described = describe_raster(RasterHeader(raster, here))
            return {"format": "raster", "raster": dict(described)}
        guessed: dict[str, int] = {}
        if opening.get("header_row") is None:
            rows = _guess_rows(open_tables(here, labelled=True, **opening))
            if rows is not None:
                guessed = {"header_row": rows[0], "first_row": opening.get("first_row") or rows[1]}
        tables = [
            _table(table, known or KnownRoles()) | guessed
            for table in open_tables(here, labelled=True, **{**opening, **guessed})
        ]
        return {"format": kind, "tables": tables}


def _guess_rows(opened: Iterator[InputTable]) -> tuple[int, int] | None:
    """Guess the rows of the names and of the first record, if one table cannot be read as it is."""
    tables = [*opened]
    # Rows that are guessed for one table would be applied to all tables of an archive.
    if len(tables) != 1:
        return None
    with suppress(InputError):
        if are_names(tables[0].columns):
            _first(tables[0])
            return None
    return guess_header_of(tables[0])


def _table(table: InputTable, known: KnownRoles) -> dict[str, Any]:
    titles = [name.strip() for name in table.columns]  # as they are looked for
    names = [name.upper() for name in titles]
    description: dict[str, Any] = {"name": table.name, "columns": None}
    # Hidden values need a decision by the operator, which inspection should announce.
    description["protected"] = any(
        name.startswith(PROTECTED) or name.endswith("_CI") for name in names
    )
    if isinstance(table, TextTable):
        description |= {"encoding": table.encoding, "delimiter": table.delimiter}
        # Only texts have a second header row, and only binary formats have types.
        second, kind = table.labels, "label"
    elif isinstance(table, ParquetTable):
        second, kind = tuple(map(str, table.parquet.schema_arrow.types)), "type"
        second += ("",) * (len(names) - len(second))  # columns of the file's path
    elif isinstance(table, ArrowTable):
        second, kind = tuple(map(str, table.stream.schema.types)), "type"
    else:
        second, kind = ("",) * len(names), "label"
    if not are_names(titles):
        # A first row that looks like data is data: none of it may be shown as a name.
        shape = {"geometry": _crs_of(table), "points": False, "related": None}
        return description | shape | _roles(titles, Roles(), [])
    description["columns"] = [
        {"name": name, kind: more} for name, more in zip(titles, second, strict=True)
    ]
    first = _first(table)
    samples = [_texts(column) for column in first] or [() for _ in names]
    columns = [
        ColumnSample(name, more if kind == "label" else "", values)
        for name, more, values in zip(titles, second, samples, strict=True)
    ]
    key, others = (known.key or "").strip(), {*map(fold, known.named)}
    key_columns = [at for at, name in enumerate(titles) if key and name == key]
    named = {
        at
        for at, name in enumerate(titles)
        if fold(name) in others or UNNAMED_INDEX.fullmatch(name)
    }
    roles = recognise(
        columns, known.grid, key_columns[0] if key_columns else None, named, known.reaches
    )
    # A header that is repeated among the rows would otherwise be read as a code.
    if first and roles.code is not None:
        require_one_header(RowPositions(table, 0), [first[roles.code]], [roles.code])
    description["own_grid"] = _suggest(roles, samples)
    description["related"] = _relate(titles, second if kind == "label" else ())
    return description | _geometry(table, first) | _roles(titles, roles, samples)


def _relate(names: Sequence[str], titles: Sequence[str]) -> dict[str, Any] | None:
    """Describe how the layout with such columns relates them; None if it says nothing of it."""
    layout = find_layout(names)
    related = None if layout is None else layout.related
    relations = None if related is None else related.find([*names, *filter(None, titles)])
    if relations is None or not relations.margins:
        return None
    receiver = next((name for name in names if fold(name) == fold(RECEIVER)), None)
    return {**relations.describe(), "receiver": receiver}


def _suggest(roles: Roles, samples: Sequence[Sequence[str]]) -> str:
    """Draft a description to be filled in, for codes of no known grid."""
    if roles.code is None or roles.grids:
        return ""
    return suggest_description([code for code in samples[roles.code] if code])


def _roles(names: Sequence[str], roles: Roles, samples: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the roles by the names of their columns."""
    single = {
        "key": roles.code,
        "origin": roles.origin,
        "destination": roles.destination,
        "x": roles.x,
        "y": roles.y,
        "count": roles.count,
        "household": roles.household,
        "size": roles.size,
        "households": roles.households,
    }
    several = {
        "keys": roles.codes,
        "counts": roles.counts,
        "times": roles.times,
        "persons": roles.persons,
        "amounts": roles.amounts,
        "ends": roles.ends,
        "cells_of_ends": roles.cells_of_ends,
    }
    crs = PLANE if roles.is_plane else DEGREES
    by_role: dict[str, Any] = {
        role: None if at is None else names[at] for role, at in single.items()
    }
    by_role |= {role: [names[at] for at in some] for role, some in several.items()}
    located = roles.x is not None or bool(roles.ends)
    by_role |= {"grid": roles.grid, "grids": [*roles.grids], "crs": crs if located else None}
    by_role["period_columns"], by_role["whole_periods"] = find_pattern(names) or (None, False)
    codes = () if roles.code is None else samples[roles.code]
    by_role["digits"] = None if roles.code is None else _digits(codes)
    by_role["quadkeys"] = judge_values(codes, QUADKEY.fullmatch) is not Verdict.NO
    return by_role


def name_roles(table: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of a table by their roles, of several candidates the first.

    Parameters
    ----------
    table : mapping
        Description of a table by :func:`inspect`.

    Returns
    -------
    dict of str
        ``code``, ``x``, ``y``, ``origin``, ``destination``, ``count``, ``household``, ``size``,
        ``households``, ``related``, persons whose margins the layout relates, ``receiver``, the
        cells that hidden details were added to, ``time`` (no month or year), ``period`` (a year, a
        month or both, with a comma), ``person``, ``amount``; ``from_x``, ``from_y``, ``to_x``,
        ``to_y``, or ``from_row``, ``from_column``, ``to_row``, ``to_column`` of cells by number;
        ``crs``, that of coordinates; ``period_columns``, the pattern of columns of periods, or
        ``parts_of_periods`` where their names lack the year. Roles that no column has are left out.
    """
    roles = {name: table[name] for name in ("x", "y", "crs", "origin", "destination", "count")}
    roles |= {name: table[name] for name in ("household", "size", "households")}
    periods = [one for one in table["times"] if find_named("calendar", fold_columns([one]))]
    moments = [one for one in table["times"] if one not in periods]
    several = {"time": moments, "person": table["persons"], "amount": table["amounts"]}
    roles |= {name: next(iter(some), None) for name, some in several.items()}
    roles |= dict(zip(("from_x", "from_y", "to_x", "to_y"), table["ends"], strict=False))
    of_cells = ("from_row", "from_column", "to_row", "to_column")
    roles |= dict(zip(of_cells, table["cells_of_ends"], strict=False))
    roles["code"] = table["key"]
    related = table.get("related")
    roles |= {"related": related["persons"], "receiver": related["receiver"]} if related else {}
    roles["period"] = _join_periods(periods)
    option = "period_columns" if table["whole_periods"] else "parts_of_periods"
    roles[option] = table["period_columns"]
    return {name: column for name, column in roles.items() if column is not None}


def _join_periods(names: Sequence[str]) -> str | None:
    """Return the column of periods, or those of year and month, which are one period together."""
    folded = fold_columns(names)
    parts = [find_named(part, folded) for part in ("year", "month")]
    if all(len(matches) == 1 for matches in parts) and parts[0] != parts[1]:
        return ",".join(names[matches[0]] for matches in parts)
    return next(iter(names), None)


def _digits(codes: Sequence[str]) -> int | None:
    """Return the number of digits of all codes, if they are numbers of one length."""
    lengths = [len(code) if code.isdecimal() else 0 for code in codes if code]
    verdicts = {
        each: judge(lengths.count(each), len(lengths) - lengths.count(each)) for each in {*lengths}
    }
    return choose(verdicts) or None


def _first(table: InputTable) -> list[pa.Array]:
    """Return the first values of every column; no column for a table without rows."""
    batch = next(islice(table.arrays([*range(len(table.columns))]), 1), [])
    return [column.slice(0, SAMPLE) for column in batch]


def _texts(column: pa.Array) -> tuple[str, ...]:
    """Return values as texts, integral floats without a point; none for geometries."""
    # Categories of pandas arrive as dictionaries, whose values are what matters here.
    column = decode(column)
    kind = column.type
    if kinds.is_floating(kind):
        return tuple(map(_text_of_float, column.to_pylist()))
    texts = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    if not any(is_kind(kind) for is_kind in (*texts, kinds.is_primitive, kinds.is_decimal)):
        return ()
    return tuple("" if one is None else str(one).strip() for one in column.to_pylist())


def _text_of_float(number: float | None) -> str:
    """Format one number, so that no value changes another's text."""
    # Missing values in a column of integers make it a column of floats in pandas.
    if number is None or isnan(number):
        return ""
    return f"{number:.0f}" if number.is_integer() else str(number)


def _geometry(table: InputTable, first: Sequence[pa.Array]) -> dict[str, Any]:
    """Return the CRS of a table's geometries, and whether they are points."""
    crs, points = _crs_of(table), False
    if crs is not None and first:
        shapes = first[table.columns.index(find_geometry(table).name)]
        kinds_of_shapes = shape_kinds(shapes)
        good = sum(kind == POINT for kind in kinds_of_shapes)
        points = judge(good, len(kinds_of_shapes) - good) is Verdict.YES
    return {"geometry": crs, "points": points}


def _crs_of(table: InputTable) -> str | None:
    """Return the CRS of a table's geometries, "unknown" if none is stated; None without any."""
    try:
        crs = find_geometry(table).crs
        resolved = CRS.from_user_input(crs)
    except UsageError:
        return None
    except CRSError:
        return "unknown"
    return ":".join(resolved.to_authority() or (str(resolved.name),))
