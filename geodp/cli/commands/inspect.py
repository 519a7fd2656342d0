"""``geodp inspect``: describe a file without its values."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.answers import write_command
from geodp.cli.help import with_options
from geodp.cli.inputs import CELLS, options_of_grid
from geodp.cli.options import StrictCommand
from geodp.cli.output import quote
from geodp.cli.translation import translate, translate_message
from geodp.errors import UsageError, printable
from geodp.options.file_question import HOW_MANY, OF_GRID, OF_UNITS
from geodp.options.option import Option
from geodp.options.shared import JSON

if TYPE_CHECKING:
    from geodp.io.read.rows.input_files import FilePath


@click.command(cls=StrictCommand)
@click.argument("file")
@with_options(
    Option("--encoding", "Encoding of a text file, such as cp1252. Default: detected."),
    Option("--delimiter", "Delimiter of a text file, one character. Default: detected."),
    Option("--header-row", "Line or row with the column names, counted from 1.", type=int),
    Option(
        "--first-row",
        "First line or row of data, below any units or totals, counted from 1.",
        type=int,
    ),
    Option("--last-row", "Last line or row of data, above any notes, counted from 1.", type=int),
    Option("--layer", "Layer of a GeoPackage with several layers, or sheet of a workbook."),
    Option("--member", "Member of a zip archive, or a pattern for several."),
    Option("--code", "Column of cell codes. Default: detected."),
    JSON,
)
def inspect(file: str, code: str | None, as_json: bool, **options: Any) -> None:
    """Describe FILE: its layout, columns and grid, but never values, sums or row counts.

    Names, labels and delimiters are quoted for a shell. The output ends with the command that
    publishes the file, and with what that command still needs. Of a folder, the first file is
    described.
    """
    from geodp.io.folder.kinds import TABLE, find_kind
    from geodp.io.read.layout.inspect import KnownRoles
    from geodp.io.read.layout.inspect import inspect as run
    from geodp.io.read.rows.forms.locations import (
        fetch_urls,
        find_release,
        find_release_of,
        is_packed_release,
    )
    from geodp.io.read.rows.input_files import list_paths
    from geodp.io.verify.card import public_folder, warn_if_withdrawn
    from geodp.release.file_answers import are_trips

    # A release is public: reading it as confidential input would spend budget for nothing.
    packed = file if is_packed_release(file) else None
    if (release := find_release(file) or find_release_of(file) or packed) is not None:
        folder = public_folder(release)
        warn_if_withdrawn(folder)
        kind = find_kind(folder)
        title = TABLE if kind is None else kind.title
        commands = [f"geodp {one} {quote(release)}" for one in ("explain", "verify", "report")]
        if as_json:
            document = {"format": "release", "kind": title, "commands": commands}
            click.echo(json.dumps(document, indent=1))
            return
        click.echo(translate(PROTECTED).format(title=title))
        click.echo("\n".join([translate_message(TO_USE), *commands]))
        return
    options = {name: one for name, one in options.items() if one is not None}
    named = {} if code is None else {"code": code}
    files = list_paths(file) if os.path.isdir(file) else [file]
    with fetch_urls(str(files[0])) as path:
        description = run(path, **options, known=KnownRoles(key=code))
        rows = _rows_of(description)
        # Row numbers that were detected become part of the proposed command.
        options |= rows
        inputs = path if file == files[0] else file
        proposed = _propose(path, {**options, **named}, description, inputs)
        answers = _list_answers(description, files if len(files) > 1 else [path], file, options)
        units = _name_units(path, description, file)
    tables = description.get("tables", ())
    # Trips have no one place at which they could be counted, and other records may be no counts.
    counted = not are_trips(description) and _may_be_counts(proposed, tables)
    if answers and not counted:
        proposed["command"] = ""
    if as_json:
        description |= proposed | {"answers": answers, "units": units}
        click.echo(json.dumps(description, ensure_ascii=False, indent=1))
        return
    _print_description(description, rows)
    if units:
        click.echo(translate_message(f"as areal units of other files: {units}"))
    for one in answers:
        _print_answer(one)
    if answers and not proposed["command"]:
        return
    if answers:
        click.echo()
        click.echo(translate_message(HOW_MANY))
    _print_proposal(proposed)


def _name_units(path: FilePath, description: dict[str, Any], file: str) -> str:
    """Return the options by which areas of a file are the units of other files; else nothing.

    They are areas with codes that no grid has, and without counts.
    """
    from geodp.io.read.layout.propose import find_unit_names

    table = description.get("tables", [{}])[0]
    polygons = table.get("geometry") is not None and not table["points"]
    key = table.get("key")
    name = None if key is None else find_unit_names(path, [key])
    if key is None or table["grid"] or table["counts"] or not (polygons or name):
        return ""
    named = [] if name is None else ["--units-name", name]
    words = ["--grid", f"units:{file}", "--units-columns", key, *named, "--units-source", "WORDS"]
    return " ".join(map(quote, words))


def _print_description(description: dict[str, Any], rows: dict[str, Any]) -> None:
    """Print the format of a file and its tables, and the rows that were detected."""
    click.echo(translate_message(f"format: {description['format']}"))
    if "raster" in description:
        click.echo(f"raster: {_line(description['raster'])}")
    if rows:
        click.echo(translate_message(ROWS).format(**rows))
    for table in description.get("tables", ()):
        _print_table(table)


def _list_answers(
    description: dict[str, Any], files: Sequence[FilePath], inputs: str, opening: dict[str, Any]
) -> list[dict[str, Any]]:
    """List questions with the commands that answer them, and what is left to do."""
    from geodp.release.file_answers import list_answers

    flags = {f"--{name.replace('_', '-')}": (str(one),) for name, one in opening.items()}
    budget = {"--epsilon": ("0.1",), "--output": ("out",)}
    return [
        {
            "question": one.question,
            "asks": [*one.asks],
            "command": write_command(one, [inputs], {**flags, **budget}),
            "blank": bool(one.blanks),
        }
        for one in list_answers(description, files)
    ]


def _may_be_counts(proposed: dict[str, Any], tables: Sequence[dict[str, Any]]) -> bool:
    """Test whether a proposed command has a column of counts, or one that may hold them."""
    asked = BLANKS["--value"] in proposed["command"]
    return not asked or any(table["counts"] for table in tables)


def _print_answer(one: dict[str, Any]) -> None:
    """Print a question, what is left to do, and the command."""
    click.echo()
    click.echo(translate_message(one["question"]))
    for ask in one["asks"]:
        click.echo(translate_message(f"still to do: {ask}"))
    click.echo(translate_message(TO_FILL if one["blank"] else TO_PUBLISH))
    click.echo(one["command"])


def _print_proposal(proposed: dict[str, Any]) -> None:
    """Print what publishes counts, and what is left to do."""
    from geodp.io.read.layout.propose import option_by

    if proposed["preset"]:
        click.echo(translate_message(f"preset: {proposed['preset']}"))
    for name, labels in proposed["attributes"].items():
        shown = ", ".join(map(printable, labels))
        click.echo(translate_message(f"columns of {option_by(name)}: {shown}"))
    for question in proposed["asks"]:
        click.echo(translate_message(f"still to do: {question}"))
    if proposed["areas"]:
        areas = ", ".join(proposed["areas"])
        click.echo(translate(PUBLIC_AREAS).format(areas=areas))
    if proposed["command"]:
        click.echo(translate_message(TO_FILL if proposed["blank"] else TO_PUBLISH))
        click.echo(proposed["command"])


def _print_table(table: dict[str, Any]) -> None:
    """Print a table's format, its columns with their roles, and hints from their names."""
    from geodp.io.read.reader import SERIES_OR_ATTRIBUTE

    name, columns = table.pop("name"), table.pop("columns")
    for row in _rows_of({"tables": [table]}):
        table.pop(row)
    unknown = table["key"] is not None and not table["grids"]
    of_periods = _find_period_columns(table, columns or ())
    roles, grid_draft = _roles(table) | of_periods, table.pop("own_grid", "")
    related = table.pop("related", None)
    click.echo(translate_message(f"table: {printable(name)}"))
    click.echo(f"  {_line(table)}")
    if columns is None:
        click.echo(f"  {translate_message(NOT_SHOWN)}")
        return
    click.echo(f"  {translate_message('columns:')}")
    for column in columns:
        label, kind = column.get("label", ""), column.get("type", "")
        more = quote(label) if label else printable(kind)
        role = roles.setdefault(column["name"], _attribute(column["name"]))
        parts = filter(None, (more, translate_message(role)))
        click.echo("  ".join(["   ", quote(column["name"]), *parts]))
    if related is not None:
        click.echo(f"  {translate_message(TREE)}")
        click.echo("\n".join(f"    {line}" for line in related["tree"]))
    if ROLES["times"] in roles.values():
        click.echo(translate_message(SERIES_OR_ATTRIBUTE))
    if grid_draft:
        click.echo(translate_message(GRID_DRAFT))
        click.echo(grid_draft, nl=False)
    elif unknown:
        click.echo(translate_message(NO_GRID))
    if RELEASED.issubset(str(column["name"]) for column in columns):
        click.echo(translate_message(OF_RELEASE))
    by = [_attribute_of(one) for one, role in roles.items() if role.startswith(ATTRIBUTE)]
    if by:
        click.echo(translate_message(BY_NAMES).format(names=",".join(dict.fromkeys(by))))


def _propose(
    file: FilePath, explicit: dict[str, Any], description: dict[str, Any], inputs: FilePath
) -> dict[str, Any]:
    """Return the preset that fits, the open questions, and the command that publishes inputs."""
    from geodp.cli.commands.publish import publish
    from geodp.cli.layout import command_of
    from geodp.io.read.layout.inspect import DEGREES
    from geodp.io.read.layout.propose import propose

    try:
        proposal = propose(file, explicit, description=description)
    except UsageError as error:  # a file that no command publishes
        # inspect still succeeds: it describes the file, and the question says what is wrong with
        # it.
        nothing = {"preset": "", "attributes": {}, "areas": [], "command": "", "blank": False}
        return {**nothing, "asks": [str(error)]}
    options = {**explicit, **proposal.options}
    blanks = [_blank_of(question) for question in proposal.questions]
    # The proposal is like:INPUT, whose extent only the operator can call public.
    if AS_TEMPLATE in blanks:
        options.pop("grid")
    if "value" in options:
        blanks += _blanks_of_labels(proposal.by)
    command = ""
    (table,) = description.get("tables", [{"crs": None}])[:1]
    located = {"x", "y"} <= proposal.options.keys() and table["crs"] == DEGREES
    if located and BLANKS["--points"] in blanks:
        options["points_crs"] = DEGREES
    if all(
        "--" in question for question in proposal.questions
    ):  # else the file itself is to be changed
        command = command_of(publish, inputs, replace(proposal, options=options), blanks)
    areas = _areas(proposal.options)
    parts = {name: [*labels] for name, labels in proposal.attributes.items()}
    result = {"preset": proposal.preset, "attributes": parts, "asks": [*proposal.questions]}
    return {**result, "areas": areas, "command": command, "blank": any(blanks)}


PROTECTED = "format: release of geodp ({title}), whose numbers are protected already"

TO_USE = "to read it, check it and describe it:"

NOT_SHOWN = "columns: the first row looks like data; names are not shown"

TREE = "tree of columns (a margin a line; | rest; = its columns, where these are not its parts):"

GRID_DRAFT = "codes of no known grid; complete this draft to define it (--grid file:mine.toml):"

TO_PUBLISH = "to publish:"

TO_FILL = "to publish, after replacing what is in capitals:"

PUBLIC_AREAS = "public areas (--bounds): {areas}"

AS_TEMPLATE = "--grid like:TEMPLATE.tif"

BLANKS = {
    "--grid": OF_GRID,
    "--code": "--code COLUMN",
    "--points": "--points",
    "--points-crs": "--points-crs CRS",
    "--person": "--contribution NUMBER",
    "--contribution": "--contribution NUMBER",
    "--by": "--value COLUMN",
    "--value": "--value COLUMN",
    "--bounds": "--bounds AREA",
    "--round": "--round nearest",
}
"""Placeholders by the option that a question names first."""

WRITTEN = ("--where", "--header-row", "--units-columns")
"""Options that questions quote with their value."""

EXAMPLE = re.compile(rf"(?:{'|'.join(WRITTEN)}|--first-row) (?:'[^']*'|[^\s,;)]+)")

ONE_NAME = re.compile(
    r"\(--(person)\): ([^\s,]+), or|\(--(grid)\), if all codes are of one: ([^\s,]+)$"
)
"""The only name that a question offers."""


def _blank_of(question: str) -> str:
    """Return the placeholder for a question in the command; empty if it needs no option."""
    flags = re.findall(r"--[a-z][a-z-]*", question)
    if not flags:
        return ""
    if flags[0] in WRITTEN:
        return " ".join(dict.fromkeys(EXAMPLE.findall(question)))
    if OF_UNITS in question:
        return OF_UNITS
    if "--domain-is-public" in flags:
        return AS_TEMPLATE
    if match := ONE_NAME.search(question):
        option, name = filter(None, match.groups())
        return f"--{option} {quote(name)}"
    if "--points" in flags and "(--value):" in question:  # there are columns that may be counts
        return BLANKS["--value"]
    return BLANKS.get(flags[0], "")


def _blanks_of_labels(by: Sequence[str]) -> list[str]:
    """Return placeholders for columns of labels, which distinguish rows of one cell."""
    from geodp.io.read.rows.names import find_standard

    named = [f"--by {','.join(by)}"] if by else []
    return named + [f"--labels {name}=LABEL,LABEL" for name in by if find_standard(name) is None]


def _areas(options: dict[str, Any]) -> list[str]:
    """Return the public areas of a grid, if no domain is set yet."""
    from geodp.grid.codes import code_system
    from geodp.io.read.layout.propose import DOMAIN
    from geodp.io.read.public.areas import list_areas

    spec = str(options.get("grid", ""))
    kind = spec.partition(":")[0]
    if not {*DOMAIN}.isdisjoint(options) or not spec or "bounds" not in options_of_grid(kind):
        return []
    if kind in CELLS:
        return []  # they are those of the whole Earth
    return [*list_areas(code_system(spec))]


ROWS = (
    "rows: {header_row} seems to hold the names, and {first_row} to be the first of the table; "
    "what stands above them and between them is not read (--header-row, --first-row). Where notes "
    "or totals stand below the table, name its last row (--last-row)."
)


def _rows_of(description: dict[str, Any]) -> dict[str, int]:
    """Return the row numbers of names and first data row, if a description has them."""
    return {
        name: table[name]
        for table in description.get("tables", ())
        for name in ("header_row", "first_row")
        if name in table
    }


ROLES = {
    "key": "(codes)",
    "keys": "(codes?)",
    "origin": "(origin)",
    "destination": "(destination)",
    "x": "(longitude)",
    "y": "(latitude)",
    "ends": "(coordinates of an end)",
    "cells_of_ends": "(row or column of an end)",
    "household": "(households)",
    "size": "(sizes of households)",
    "households": "(numbers of households)",
    "count": "(counts)",
    "counts": "(counts?)",
    "times": "(time)",
    "persons": "(persons)",
    "amounts": "(amounts)",
}
"""Labels of the roles of columns, with a question mark if several columns may have the role."""


def _roles(table: dict[str, Any]) -> dict[str, str]:
    """Remove the roles of columns from a description, and return them by column."""
    from geodp.io.read.layout.inspect import PLANE

    roles: dict[str, str] = {}
    plane = {"x": "(x)", "y": "(y)"} if table.pop("crs") == PLANE else {}
    for role, label in {**ROLES, **plane}.items():
        held = table.pop(role)
        for name in held if isinstance(held, list) else [held]:
            roles.setdefault(name, label)
    table["grids"] = "" if table["grid"] else " ".join(table["grids"])
    return roles


OF_PERIODS = "(counts of a period)"
"""Label of the columns of counts that stand side by side, one for each period."""


def _find_period_columns(
    table: dict[str, Any], columns: Sequence[dict[str, Any]]
) -> dict[str, str]:
    """Remove the pattern of columns of periods from a description; return labels by column."""
    from geodp.io.read.rows.period_columns import match_periods

    pattern = table.pop("period_columns")
    table.pop("whole_periods")
    names = [str(one["name"]) for one in columns]
    return {} if pattern is None else dict.fromkeys(match_periods(names, pattern), OF_PERIODS)


RELEASED = {"standard_error", "low", "high"}
"""Columns of the tables of a release, in addition to its counts."""

OF_RELEASE = (
    "Columns such as standard_error, low and high are those of a release of geodp, whose counts "
    "are protected already: its folder, with release.json, is what geodp explain and geodp verify "
    "read."
)

ATTRIBUTE = "(attribute"

NO_GRID = (
    "The codes belong to no known grid and contain no coordinates: if a public list has all of "
    "these areas or cells, give it as --grid units:TABLE."
)

BY_NAMES = (
    "Labels in each row may be attributes: --by {names}, with all labels from a public list "
    "(--labels NAME=LABEL,LABEL... or NAME=FILE); or choose one of them (--where COLUMN=VALUE)."
)


def _attribute_of(name: str) -> str:
    """Return the attribute that a column's name denotes, or the name itself."""
    from geodp.io.read.rows.names import find_attribute

    return find_attribute(name) or name


def _attribute(name: str) -> str:
    """Return the role of a column whose name denotes an attribute; empty for others."""
    from geodp.io.read.rows.names import find_attribute

    attribute = find_attribute(name)
    return "" if attribute is None else f"(attribute {attribute})"


def _line(values: dict[str, Any]) -> str:
    return "  ".join(
        f"{name}={quote(value) if isinstance(value, str) else value}"
        for name, value in values.items()
        if value not in (None, "", [])
    )
