"""Fields of a reader that the layout of its table settles, for calls that do not name all columns.

It is the shell's recognition, :mod:`geodp.io.read.layout.propose`; what remains to be said is asked
in the words of Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeAlias

from geodp.errors import UsageError
from geodp.io.read.layout.by import resolve
from geodp.io.read.layout.presets import OF_FILE, SeveralLayoutsError
from geodp.io.read.layout.propose import lacks_layout, propose
from geodp.io.read.points import Points
from geodp.io.read.reader import UNITS, Option, spec_of
from geodp.io.read.rows.columns import open_tables
from geodp.io.read.rows.input_files import ArrowStream, FilePath, TableSource, list_paths
from geodp.io.read.table import Table

Located: TypeAlias = Table | Points
"""Readers whose columns are named, or found."""

JOURNEYS = (
    "the columns {} hold both ends of journeys, which need pairs of cells: give grid.pairs() as "
    "the grid, or name the column of codes (code=)"
)

SEVERAL = (
    "It may be of several layouts, {}: name the columns of codes and of counts (code=, value=)."
)

OF_READERS: Mapping[str, tuple[str, Option]] = {
    asked.option.flag: (asked.field, asked.option)
    for reader in (Points, Table)
    for asked in reader.asks()
}
"""The field of each option of the command line."""

FLAG = re.compile(
    r"(?P<flag>--[a-z][a-z-]*)"
    r"(?: (?P<value>'[^']+'|\w+=\w+|\w+(?=[,;.)]| or |$)))?"
    r"(?P<python>, [a-z_]+=)?"
)
"""An option in a sentence, with a value, or with how Python writes it behind it."""


def settle(reader: Located, paths: TableSource) -> Located:
    """Return a reader with the columns that its first input's layout settles.

    A reader that names its columns stays as it is. So do one of a stream that can be read once, and
    one of axes that are no places, whose columns are to be named.

    Raises
    ------
    UsageError
        What remains to be said, with the names that it may be.
    InputError
        A file that cannot be read.
    """
    if isinstance(paths, Iterator):
        return reader
    given = _given(reader)
    plain = not reader.grid.places and "column" not in given  # the reader tells its axes
    if plain or not lacks_layout(reader.name, given):
        return reader
    first: FilePath | ArrowStream = (
        paths if isinstance(paths, ArrowStream) else list_paths(paths)[0]
    )
    named = [*reader.columns.values(), *reader.where, *_single(reader)]
    if reader.named().asks:
        texts = {name: getattr(reader, name) for name in OF_FILE}
        with closing(open_tables(first, labelled=not reader.flag, **texts)) as own:
            attributes = resolve(next(own), reader.named())
        named += attributes.columns.values()
        if attributes.values is not None:
            given["value"] = _as_list(attributes.values)
        if not lacks_layout(reader.name, given):
            return reader
    try:
        found = propose(first, given, named=named)
    except SeveralLayoutsError as error:
        raise UsageError(SEVERAL.format(str(error).rpartition(": ")[2]), code=error.code) from None
    except UsageError as error:
        raise UsageError(say_in_python(str(error)), code=error.code) from None
    fields, asks = _fields(reader, found.options), [*found.asks]
    if "pairs" in found.options and len(reader.grid.places) < 2:
        ends = [one.partition("=")[2] for one in found.options.get("column", ())]
        asks.append(JOURNEYS.format(" and ".join(ends)))
    if asks:
        raise UsageError(
            f"Before it can be read, {say_in_python('; '.join(asks))}.", code="layout-incomplete"
        )
    return replace(reader, **fields)


def say_in_python(words: str) -> str:
    """Return a sentence about options of the command line as one about arguments of a call.

    >>> say_in_python("choose the column of counts (--value), or several with --by: f, m")
    'choose the column of counts (value=), or several with by="NAME": f, m'
    >>> say_in_python("--where STAT=T, or say that every row is one person (--points)")
    'where={"STAT": "T"}, or say that every row is one person (geodp.read(..., reader="points"))'
    """
    return FLAG.sub(_spell, words)


def _spell(met: re.Match[str]) -> str:
    """Return an option as Python writes it, and what stands behind it."""
    flag, value = met["flag"], (met["value"] or "").strip("'")
    behind = met["python"] or ""
    if flag == "--points":
        return 'geodp.read(..., reader="points")' + _rest(met)
    if flag == "--pairs":
        return "grid.pairs()" + _rest(met)
    if flag not in OF_READERS:
        return met[0]
    name, option = OF_READERS[flag]
    if behind == f", {name}=":  # with the value behind it
        return f"{name}="
    name_of, equals, own = value.partition("=")
    if option.pairs and equals:
        return f'{name}={{"{name_of}": "{own}"}}{behind}'
    if met.string.startswith(":", met.end()):
        value = "NAME"
    return f'{name}="{value}"{behind}' if value else f"{name}={behind}"


def _rest(met: re.Match[str]) -> str:
    """Return what stands behind an option without a value."""
    return met[0].removeprefix(met["flag"])


def _given(reader: Located) -> dict[str, Any]:
    """Return what a call says as options by their names, as the shell gives them.

    Where people may be is what the grid says; how often one is counted, publishing asks.
    """
    grid = reader.grid
    own = {*reader.by, *(one.name for one in grid.attributes)}
    found: dict[str, Any] = {"grid": spec_of(grid), "bounds": grid, "contribution": 0}
    if reader.flag:
        found[reader.name] = True
    if len(grid.places) > 1:
        found["pairs"] = True
    if found["grid"] == UNITS:
        found["units_columns"] = grid.names.level
    for asked in reader.asks():
        value = getattr(reader, asked.field)
        if asked.field == "columns":
            value = {axis: name for axis, name in value.items() if axis not in own}
        if value == asked.default or not value or asked.field in ("by", "labels"):
            continue
        option = asked.option
        if option.pairs:
            value = [f"{name}={one}" for name, one in value.items()]
        found[option.name] = _as_list(value) if option.many else value
    return found


def _single(reader: Located) -> list[str]:
    """Return the columns that a call names for coordinates and persons."""
    named = (getattr(reader, name, None) for name in ("x", "y", "person"))
    return [name for name in named if name is not None]


def _as_list(value: Any) -> list[Any]:
    """Return columns of counts, of one, several, or by their labels."""
    if isinstance(value, str):
        return [value]
    return [*value.values()] if isinstance(value, Mapping) else [*value]


def _fields(reader: Located, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that were settled as fields; those of the grid are the call's own."""
    fields: dict[str, Any] = {}
    for asked in reader.asks():
        if asked.option.name in options:
            value = options[asked.option.name]
            fields[asked.field] = _by_name(value) if asked.option.pairs else value
    if "columns" in fields:
        fields["columns"] |= reader.columns
    return fields


def _by_name(texts: Sequence[str]) -> dict[str, str]:
    """Return texts ``NAME=VALUE`` as a mapping."""
    return {name: value for name, _, value in (text.partition("=") for text in texts)}
