"""Choice of the reader for a call of ``geodp.read``, and its fields by the layout of the table.

It uses the command line's recognition, :mod:`geodp.io.read.layout.propose`; open questions are
phrased in terms of Python.

That of the command line is :func:`geodp.cli.readers.read`, which makes a reader from options. Both
choose it by :func:`geodp.io.read.choose`, so they recognise the same files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.read import choose, find_readers, give_key
from geodp.io.read.layout.by import resolve
from geodp.io.read.layout.presets import SeveralLayoutsError
from geodp.io.read.layout.propose import lacks_layout, propose
from geodp.io.read.points import Points
from geodp.io.read.raster import Raster
from geodp.io.read.reader import UNITS, Call, Reader, find_grid, spec_of
from geodp.io.read.rows.arrow import convert_once
from geodp.io.read.rows.forms.locations import fetch_urls
from geodp.io.read.rows.input_files import (
    ArrowStream,
    FilePath,
    LabelledArray,
    TableSource,
    list_paths,
)
from geodp.io.read.table import Table
from geodp.options.option import Option
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable

Located: TypeAlias = Table | Points
"""Readers whose columns are named, or found."""

JOURNEYS = (
    "the columns {} hold both ends of journeys, which need pairs of cells: give grid.pairs() as "
    "the grid, or name the column of codes (code=)"
)

SEVERAL = (
    "It may be of several layouts, {}: name the columns of codes and of counts (code=, value=)."
)

OF_READERS: Mapping[str, Option] = {
    one.flag: one for reader in (Points, Table) for one in reader.option_fields()
}
"""Options of the command line by their flags."""

FLAG = re.compile(
    r"(?P<flag>--[a-z][a-z-]*)"
    r"(?: (?P<value>'[^']+'|\w+=\w+|\w+(?=[,;.)]| or |$)))?"
    r"(?P<python>, [a-z_]+=)?"
)
"""An option in a sentence, with a value, or followed by its spelling in Python."""


def complete_reader(reader: Located, paths: TableSource) -> Located:
    """Return a reader with the columns that its first input's layout determines.

    A reader that names its columns is returned unchanged. So is one of a stream that can be read
    only once, and one of axes that are not places, whose columns must be named.

    Raises
    ------
    UsageError
        The call must name columns; the candidates are listed.
    InputError
        A file that cannot be read.
    """
    # Looking at the first values would consume them.
    if isinstance(paths, Iterator):
        return reader
    options = _options_of(reader)
    # Without places there is nothing to recognise: the reader's own error lists the axes.
    plain = not reader.grid.places and "column" not in options
    if plain or not lacks_layout(reader.name, options):
        return reader
    first: FilePath | ArrowStream = (
        paths if isinstance(paths, ArrowStream) else list_paths(paths)[0]
    )
    named = [*reader.columns.values(), *reader.where, *_single(reader)]
    if reader.named().needs_header:
        with closing(reader.open(first)) as tables:
            attributes = resolve(next(tables), reader.named())
        named += attributes.columns.values()
        if attributes.values is not None:
            options["value"] = _as_list(attributes.values)
        if not lacks_layout(reader.name, options):
            return reader
    try:
        proposal = propose(first, options, named=named)
    except SeveralLayoutsError as error:
        raise UsageError(SEVERAL.format(str(error).rpartition(": ")[2]), code=error.code) from None
    except UsageError as error:
        raise UsageError(phrase_for_python(str(error)), code=error.code) from None
    fields, questions = _fields(reader, proposal.options), [*proposal.questions]
    # The grid is the call's own and is never replaced by what a file seems to be.
    if "pairs" in proposal.options and len(reader.grid.places) < 2:
        ends = [one.partition("=")[2] for one in proposal.options.get("column", ())]
        questions.append(JOURNEYS.format(" and ".join(ends)))
    if questions:
        raise UsageError(
            f"Before it can be read, {phrase_for_python('; '.join(questions))}.",
            code="layout-incomplete",
        )
    return replace(reader, **fields)


def phrase_for_python(sentence: str) -> str:
    """Rewrite a sentence about options of the command line for arguments of a call.

    >>> phrase_for_python("choose the column of counts (--value), or several with --by: f, m")
    'choose the column of counts (value=), or several with by="NAME": f, m'
    >>> phrase_for_python("--where STAT=T, or state that every row is one person (--points)")
    'where={"STAT": "T"}, or state that every row is one person (geodp.read(..., reader="points"))'
    """
    return FLAG.sub(_spell, sentence)


def _spell(match: re.Match[str]) -> str:
    """Return an option as Python spells it, with the text that follows it."""
    flag, value = match["flag"], (match["value"] or "").strip("'")
    behind = match["python"] or ""
    if flag == "--points":
        return 'geodp.read(..., reader="points")' + _rest(match)
    if flag == "--pairs":
        return "grid.pairs()" + _rest(match)
    if flag not in OF_READERS:
        return match[0]
    option = OF_READERS[flag]
    name = option.field
    if behind == f", {name}=":  # with the value behind it
        return f"{name}="
    name_of, equals, value_of = value.partition("=")
    # Python takes a dictionary where the command line repeats NAME=VALUE.
    if option.pairs and equals:
        return f'{name}={{"{name_of}": "{value_of}"}}{behind}'
    if match.string.startswith(":", match.end()):
        value = "NAME"
    return f'{name}="{value}"{behind}' if value else f"{name}={behind}"


def _rest(match: re.Match[str]) -> str:
    """Return the text after an option without a value."""
    return match[0].removeprefix(match["flag"])


def _options_of(reader: Located) -> dict[str, Any]:
    """Return the fields of a reader as options by their names, as the command line has them.

    The grid determines the domain, and publishing requests the contribution, so both count as set.
    """
    grid = reader.grid
    attributes = {*reader.by, *(one.name for one in grid.attributes)}
    options: dict[str, Any] = {"grid": spec_of(grid), "bounds": grid, "contribution": 0}
    if reader.flag:
        options[reader.name] = True
    if len(grid.places) > 1:
        options["pairs"] = True
    if options["grid"] == UNITS:
        options["units_columns"] = grid.names.level
    for option in reader.option_fields():
        value = getattr(reader, option.field)
        if option.field == "columns":
            value = {axis: name for axis, name in value.items() if axis not in attributes}
        if value == option.default or not value or option.field in ("by", "labels"):
            continue
        if option.pairs:
            value = [f"{name}={one}" for name, one in value.items()]
        options[option.name] = _as_list(value) if option.many else value
    return options


def _single(reader: Located) -> list[str]:
    """Return the columns that a call names for coordinates and persons."""
    named = (getattr(reader, name, None) for name in ("x", "y", "person"))
    return [name for name in named if name is not None]


def _as_list(value: Any) -> list[Any]:
    """Return columns of counts as a list, given as one, several, or by their labels."""
    if isinstance(value, str):
        return [value]
    return [*value.values()] if isinstance(value, Mapping) else [*value]


def _fields(reader: Located, options: Mapping[str, Any]) -> dict[str, Any]:
    """Convert determined options to fields; those of the grid are the call's own."""
    fields: dict[str, Any] = {}
    for option in reader.option_fields():
        if option.name in options:
            value = options[option.name]
            fields[option.field] = _by_name(value) if option.pairs else value
    if "columns" in fields:
        fields["columns"] |= reader.columns
    return fields


def _by_name(texts: Sequence[str]) -> dict[str, str]:
    """Parse texts ``NAME=VALUE`` into a mapping."""
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def read(
    paths: TableSource, grid: Grid | str, *, reader: str | None = None, **options: Any
) -> CountTable:
    """Read confidential counts or records on a public grid, with the reader that fits them.

    Columns that are not given are found by their names, or by the form of the first values, as
    ``geodp publish`` finds them: codes of cells or coordinates, and the one column of counts. If
    several are possible, the error lists them.

    Parameters
    ----------
    paths : path, sequence of paths, or a table or an array in memory
        As every reader takes them: frames of pandas, geopandas, Polars and Arrow, and arrays of
        xarray, which are rasters.
    grid : Grid or str
        The public grid; ``"jis:half"`` is the full extent of that code system.
    reader : str, optional
        Name of a reader: ``"table"``, ``"points"``, ``"raster"``. Default:
        the best match for files of this kind, with these options, on this grid; ``"points"``,
        a row for each record, if an option is given that only it has, such as ``person``.
    **options
        Fields of the reader; see ``geodp.read_mesh``, ``read_table``, ``read_points`` and
        ``read_raster``.

    Returns
    -------
    CountTable

    Raises
    ------
    UsageError
        The reader is ambiguous, or does not have an option; or a column is missing or ambiguous.
    InputError
        Data that must not be used as they are; it names file and line.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> rows = pa.table({"mesh": ["53394611", "53394612"], "residents": [812, 40]})
    >>> int(geodp.read(rows, "jis:basic").count.sum())
    852
    >>> int(geodp.read(rows, "jis:basic", code="mesh", value="residents").count.sum())
    852
    """
    return read_with_key(paths, grid, None, reader=reader, **options)


def read_with_key(
    paths: TableSource,
    grid: Grid | str,
    key: NoiseKey | None,
    *,
    reader: str | None = None,
    **options: Any,
) -> CountTable:
    """Read as :func:`read` does; ``key``: of random numbers, without which they are fresh ones."""

    on = find_grid(grid)
    with fetch_urls(paths, options.get("scratch")) as fetched:
        chosen = _choose(fetched, on, reader, options)
        made = chosen.of(on, **{**give_key(chosen, key), **options})
        if not isinstance(made, Table | Points):
            return made.read(fetched)

        # Recognition reads the first values before rows are read, so a stream must be replayable.
        once = convert_once(fetched)
        return complete_reader(made, once).read(once)


def _choose(
    paths: TableSource, grid: Grid, name: str | None, options: Mapping[str, Any]
) -> type[Reader]:
    """Return the reader of a call; UsageError for one that is unknown, or lacks an option."""
    readers = find_readers()

    # An array has no file name by which a reader could recognise it.
    if isinstance(paths, LabelledArray) and name in (None, Raster.name):
        chosen: type[Reader] = Raster
    elif name is None:
        chosen = choose(Call(_names(paths), spec_of(grid), _by_option_name(options, readers)))
    elif name in readers:
        chosen = readers[name]
    else:
        raise UsageError(
            f"There is no reader {name!r}; choose from {', '.join(readers)}.",
            code="reader-unknown",
        )
    _require_options(chosen, options, readers)
    return chosen


def _require_options(
    chosen: type[Reader], options: Mapping[str, Any], readers: Mapping[str, type[Reader]]
) -> None:
    """Raise UsageError for options that a reader lacks and that others have, or the grid."""
    unknown = sorted({*options} - {*chosen.__dataclass_fields__})
    others = [
        f"reader={name!r} takes {', '.join(also)}"
        for name, one in readers.items()
        if (also := sorted({*unknown} & {*one.__dataclass_fields__}))
    ]
    domain = {"bounds", "primary"} & {*unknown}
    others += ["bounds go with the grid: grid=Grid.mesh(name, bounds=...)"] if domain else []
    # Naming the reader that takes the option is more useful than the list of valid ones.
    if others:
        raise UsageError(
            f"Not for {chosen.kind}: {', '.join(unknown)}; {'; '.join(others)}.",
            code="option-not-for-reader",
        )


def _names(paths: Any) -> tuple[Path, ...]:
    """Return the files of a call; none for a table in memory."""
    several = paths if isinstance(paths, list | tuple) else [paths]
    return tuple(Path(one) for one in several if isinstance(one, str | PathLike))


def _by_option_name(
    options: Mapping[str, Any], readers: Mapping[str, type[Reader]]
) -> dict[str, Any]:
    """Return the options under their names on the command line.

    An option that only a reader with a flag has selects that reader, as its flag does.
    """
    entries = [one for reader in readers.values() for one in reader.option_fields()]
    by_name = {one.name: options[one.field] for one in entries if one.field in options}
    plain = {name for one in readers.values() if not one.flag for name in one.__dataclass_fields__}
    if exclusive := {*options} - plain:
        flagged = [one for one in readers.values() if one.flag]
        by_name |= {one.name: True for one in flagged if exclusive <= {*one.__dataclass_fields__}}
    return by_name
