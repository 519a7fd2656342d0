"""Completion of a reader's fields by the layout of its table, if a call does not name all columns.

It uses the command line's recognition, :mod:`geodp.io.read.layout.propose`; open questions are
phrased in terms of Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, TypeAlias

from geodp.errors import UsageError
from geodp.io.read.layout.by import resolve
from geodp.io.read.layout.presets import SeveralLayoutsError
from geodp.io.read.layout.propose import lacks_layout, propose
from geodp.io.read.points import Points
from geodp.io.read.reader import UNITS, Option, spec_of
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
    entry.option.flag: (entry.field, entry.option)
    for reader in (Points, Table)
    for entry in reader.option_fields()
}
"""Field of each option of the command line."""

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
    name, option = OF_READERS[flag]
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
    for entry in reader.option_fields():
        value = getattr(reader, entry.field)
        if entry.field == "columns":
            value = {axis: name for axis, name in value.items() if axis not in attributes}
        if value == entry.default or not value or entry.field in ("by", "labels"):
            continue
        option = entry.option
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
    for entry in reader.option_fields():
        if entry.option.name in options:
            value = options[entry.option.name]
            fields[entry.field] = _by_name(value) if entry.option.pairs else value
    if "columns" in fields:
        fields["columns"] |= reader.columns
    return fields


def _by_name(texts: Sequence[str]) -> dict[str, str]:
    """Parse texts ``NAME=VALUE`` into a mapping."""
    return {name: value for name, _, value in (text.partition("=") for text in texts)}
