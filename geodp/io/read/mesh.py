"""Official Japanese mesh statistics (JIS X 0410), as the statistics bureau publishes them.

One row is one mesh: ``KEY_CODE``, on newer files ``HTKSYORI`` (0: as counted; 1: holds details
of others; 2: its details are hidden), ``HTKSAKI`` and ``GASSAN`` (where they went and came
from), then values. Totals are counted in every row, whatever HTKSYORI says, and are never moved:
adding the rows up is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fractions import Fraction
from math import prod
from typing import Literal, TypeAlias
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from geodp.errors import InputError, UsageError
from geodp.grid.codes import JISMesh
from geodp.grid.grid import Grid
from geodp.grid.mask import grid_of_primaries
from geodp.io.read import fields
from geodp.io.read.columns import Rows, batches, open_tables
from geodp.io.read.delimited import TextTable, is_name
from geodp.io.read.sources import FilePath
from geodp.io.read.tally import Duplicates, Outside, Tally, one_of
from geodp.table.counts import CountTable

Suppressed: TypeAlias = Literal["error", "zero"]

KEY = "KEY_CODE"
NOT_VALUES = (KEY, "HTKSYORI", "HTKSAKI", "GASSAN")
NONE = "-"
"""The files' mark for no people; it counts 0."""

MARKS = ("*", "X", "x", "")
"""The files' marks for values that are hidden."""

_HIDDEN = (
    "the value is suppressed or blank; totals never are, so choose a total, or choose "
    '--suppressed zero (suppressed="zero") where the file has added such details to another '
    "row (HTKSAKI)."
)


def read_mesh(
    paths: FilePath | Sequence[FilePath],
    *,
    grid: str | Grid,
    value: str | Sequence[str] | None = None,
    bounds: Sequence[float | Fraction] | None = None,
    primary: str | int | Sequence[str | int] | None = None,
    attribute: str | None = None,
    duplicates: Duplicates = "error",
    suppressed: Suppressed = "error",
    outside: Outside | None = None,
    memory: int | str | None = None,
    scratch: FilePath | None = None,
) -> CountTable:
    """Read official mesh files: zip, gzip or text, CP932 or UTF-8.

    Parameters
    ----------
    paths : path or sequence of paths
        Of an archive, all tables are read.
    grid : str or Grid
        "jis:half" and so on, or a map made by ``Grid.mesh``. The grid is public: it never
        depends on the rows.
    value : str or sequence of str, optional
        Label (second header row, such as "人口（総数）") or column ("T001141001"). May be left
        out where a file has one column of values. Several, with `attribute`, become an
        attribute of the grid with these labels. On a grid that has attributes, one for every
        combination of labels, the last attribute's in turn: men by age, then women by age.
    bounds : (west, south, east, north), optional
        Public domain of a `grid` named by a string, in degrees.
    primary : primary mesh code or sequence of them, optional
        The same by codes such as 5339: their cells alone are the domain.
    attribute : str, optional
        Name of the attribute that several values become. The table then has no bound, as
        columns may count a person several times: :func:`geodp.publish` asks for a contribution.
    duplicates : {"error", "sum"}
        For a mesh that is in several files; twice in one file is always an error. Files of
        prefectures each hold their share of a mesh on the border: "sum". The table then has no
        bound, as files may also be about other dates.
    suppressed : {"error", "zero"}
        For `*`, `X` and blanks. "zero" is right where the file has added a hidden detail to
        the mesh named in HTKSAKI: that row then counts these people. `-` always counts 0.
    outside : {"error", "crop", "drop"}, optional
        For rows outside the domain: "crop" drops those outside the grid's extent, but refuses
        those that a mask excludes. Default: "drop" with `primary`, "crop" with `bounds`, else
        "error".
    memory : int or str, optional
        Limit for rows that wait, in bytes or such as "4GiB"; the table itself (16 bytes an
        occupied cell) and the reader's buffers come on top. Default: half the machine's.
    scratch : path, optional
        Folder for what goes beyond: confidential, in files without names that go when the
        process ends. Default: the system's folder for temporary files.

    Returns
    -------
    CountTable

    Raises
    ------
    UsageError
        A call that cannot be carried out.
    InputError
        Data that must not be used as they are; names file and line.
    """
    one_of("suppressed", suppressed, ("error", "zero"))
    values = [value] if isinstance(value, str) else value
    public = _domain(grid, bounds, primary, attribute, values)
    cropping: Outside = "drop" if primary is not None else "crop" if bounds is not None else "error"
    tally = Tally(
        public,
        outside or cropping,
        duplicates,
        within=False,
        memory=memory,
        scratch=scratch,
    )
    zero = (NONE, *MARKS) if suppressed == "zero" else (NONE,)
    for table in open_tables(paths, labelled=True):
        if not isinstance(table, TextTable):
            raise InputError(
                "The file is Parquet; read it as a table (--code, read_table).", file=table.name
            )
        key, chosen = _columns(table, values)
        tally.survey.name(table.name, [_title(table, column) for column in chosen])
        for rows, arrays in batches(table, [key, *chosen], survey=tally.survey):
            rows, (code, *columns) = _without_headers(table, rows, arrays, [key, *chosen])
            with rows.named(KEY):
                row, col = public.places[0].parse(fields.codes(code))
            index = np.stack([row, col, *[row] * len(public.attributes)])
            for number, column in enumerate(columns):
                with rows.named(_title(table, chosen[number])):
                    count = fields.counts(column, missing=zero, mark=_HIDDEN)
                index[2:] = np.array(np.unravel_index(number, _labels(public)))[:, None]
                tally.add(rows, index, count)
    return tally.table()


def _without_headers(
    table: TextTable, rows: Rows, arrays: list[pa.Array], columns: Sequence[int]
) -> tuple[Rows, list[pa.Array]]:
    """The rows that do not repeat the header, as files joined end to end do."""
    header = pa.array(np.zeros(len(arrays[0]), np.bool_))
    for titles in (table.columns, table.labels):
        repeated = pc.equal(arrays[0], titles[columns[0]])
        if pc.any(repeated).as_py():
            for array, column in zip(arrays, columns, strict=True):
                same = pc.equal(pc.utf8_trim_whitespace(array), titles[column])
                repeated = pc.and_(repeated, same)
            header = pc.or_(header, repeated)
    if not pc.any(header).as_py():
        return rows, arrays
    kept = pc.invert(header)
    return rows.select(kept.to_numpy(zero_copy_only=False)), [a.filter(kept) for a in arrays]


def _domain(
    grid: str | Grid,
    bounds: Sequence[float | Fraction] | None,
    primary: str | int | Sequence[str | int] | None,
    attribute: str | None,
    values: Sequence[str] | None,
) -> Grid:
    """The public grid of a call."""
    several = values is not None and len(values) != 1
    if isinstance(grid, Grid):
        if bounds is not None or primary is not None:
            raise UsageError("Bounds and primary meshes go with a grid named by a string.")
        public = grid
    elif primary is None:
        public = Grid.mesh(grid, bounds=bounds)
    elif bounds is not None:
        raise UsageError("Give bounds or primary meshes, not both.")
    else:
        public = grid_of_primaries(grid, primary)
    if len(public.places) != 1 or not isinstance(public.places[0].system, JISMesh):
        raise UsageError(
            'Official mesh files need a map of JIS meshes, such as "jis:half"; a table on another '
            "grid is read by its columns of codes or of places (read_table)."
        )
    if public.attributes:
        if values is None or len(values) != prod(_labels(public)):
            raise UsageError(
                "Give one value for every label of the grid's attribute; of several attributes, "
                "for every combination: the labels of the last one in turn, and so on."
            )
        if attribute not in (None, *(a.name for a in public.attributes)):
            raise UsageError("The grid has an attribute already, of another name.")
    elif several or attribute is not None:
        if attribute is None or not values:
            raise UsageError(
                "Several values need the name of the attribute that they "
                "become (--attribute, attribute=)."
            )
        public = public.with_attribute(attribute, values)
    return public


def _labels(grid: Grid) -> tuple[int, ...]:
    """Numbers of labels of its attributes; 1 where it has none."""
    return tuple(len(attribute.labels) for attribute in grid.attributes) or (1,)


def _columns(table: TextTable, values: Sequence[str] | None) -> tuple[int, list[int]]:
    """Positions of the key and of the chosen values."""
    names = [name.upper() for name in table.columns]
    if names.count(KEY) != 1:
        raise InputError(
            f"The header must have one column {KEY}; other tables are read by --code or "
            "--x and --y (read_table).",
            file=table.name,
            row=table.head_lines,
        )
    candidates = [i for i, name in enumerate(names) if name and name not in NOT_VALUES]
    if values is not None:
        return names.index(KEY), [_find(table, candidates, wanted) for wanted in values]
    if len(candidates) != 1:
        raise InputError(
            f"Name one of the columns of values (--value, value=): {_listing(table, candidates)}.",
            file=table.name,
        )
    return names.index(KEY), candidates


def _find(table: TextTable, candidates: Sequence[int], wanted: str) -> int:
    """The one column whose name or label is wanted: exactly, or but for width and spaces."""
    for form in (str.strip, _fold):
        for titles in (table.columns, table.labels):
            found = [i for i in candidates if form(titles[i]) == form(wanted)]
            if len(found) == 1:
                return found[0]
            if found:
                raise InputError(
                    f"Several columns have this label; name one by its code: "
                    f"{_listing(table, found)}.",
                    file=table.name,
                )
    folded = {_fold(t[i]): i for t in (table.columns, table.labels) for i in candidates}
    close = [folded[near] for near in get_close_matches(_fold(wanted), folded, 6, 0.4)]
    hint = "" if any(table.labels) else " The file has no labels, only codes of columns."
    raise InputError(
        f"No column of values is named '{wanted}'; there are "
        f"{_listing(table, close or candidates)}.{hint}",
        file=table.name,
    )


def _fold(text: str) -> str:
    return "".join(normalize("NFKC", text).split()).casefold()


def _title(table: TextTable, column: int) -> str:
    return table.labels[column] or table.columns[column]


def _listing(table: TextTable, columns: Sequence[int], most: int = 8) -> str:
    """Columns for a message; a header that looks like data is not shown."""
    if not all(is_name(table.columns[i]) for i in columns):
        return "names that look like data, so that the first row may be no header"
    shown = [f"{table.columns[i]} {table.labels[i]}".strip() for i in columns[:most]]
    more = [f"{len(columns) - most} more"] if len(columns) > most else []
    return ", ".join([*shown, *more]) or "none"
