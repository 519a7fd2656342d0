"""Every command that reads records takes the options that errors of its readers name."""

import ast
import re
from pathlib import Path

import click
import pytest

import geodp as package
from geodp.io.read.rows.span import OPENING
from tests.command import commands, context_of
from tests.sources import walk

SOURCES = Path(package.__file__).parent
FLAG = re.compile(r"(?<![\w-])--[a-z](?:[a-z-]*[a-z])?(?![a-z=-])")

SHARED = {*OPENING, "where", "decimal", "points_crs", "allow_ballpark", "memory", "scratch"}
"""Options on rows and files that every command which reads records takes, by name."""

OF_COUNTS = {"missing", "flags", "round"}

COUNTS_NOTHING = {"flows choose-trips", "local randomize"}
"""Commands whose records have no counts."""

READERS_OF_FLOWS = (
    "io/read/rows",
    "kinds/flows/reading",
    "kinds/flows/zones.py",
    "io/memory.py",
    "table/reading.py",
    "table/source.py",
)

ELSEWHERE = {
    "--amount": "amounts: named with geodp amounts publish, whose option it is",
    "--anchor": "cells of tables by coordinates, which counted flows do not have",
    "--band": "rasters",
    "--check": "of commands that have it, as the error says",
    "--code": "the place of a single cell",
    "--column": "axes of a grid, which flows name by --from, --to and --by",
    "--duplicates": "counted flows of one pair are added up",
    "--period-columns": "a series, whose command has it",
    "--periods": "a series, whose command has it",
    "--points": "the form of a table of single cells",
    "--raster-unit": "rasters",
    "--truncation": "limits on the cells of a person",
    "--unit-of-amount": "amounts; weights have errors of their own",
    "--x": "the place of a single cell",
    "--y": "the place of a single cell",
}
"""Options that errors below those modules name, and why no reader of flows raises these."""


PARAMS = {name: command.get_params(context_of(command)) for name, command in commands()}
READING = {
    name: params for name, params in PARAMS.items() if any(one.name == "inputs" for one in params)
}


def flags_of(params):
    return {flag for one in params if isinstance(one, click.Option) for flag in one.opts}


def list_named(path):
    """Return the options that the texts of a module name, its docstrings included."""
    texts = (
        node.value
        for node in walk(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return {flag for text in texts for flag in FLAG.findall(text)}


def list_modules():
    for one in READERS_OF_FLOWS:
        path = SOURCES / one
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def test_there_are_commands_that_read_records():
    assert {"publish", "publish-series", "amounts publish", "flows publish"} <= {*READING}
    assert {"flows choose-trips", "households publish", "select top"} <= {*READING}


@pytest.mark.parametrize("name", READING)
def test_a_command_takes_the_options_of_files_and_rows(name):
    names = {one.name for one in READING[name]}
    assert names >= SHARED
    assert (names >= OF_COUNTS) != (name in COUNTS_NOTHING)
    # Devices send reports of public codes, and of no file that others may read.
    assert ("public_file" in names) != (name == "local randomize")


@pytest.mark.parametrize("name", READING)
def test_options_of_one_name_are_the_same_for_all_commands(name):
    first = {one.name: one for one in READING["publish"]}
    for one in READING[name]:
        if one.name in SHARED | OF_COUNTS:
            # A command may hide from its help what it refuses with a reason.
            both = (each.to_info_dict() | {"hidden": None} for each in (one, first[one.name]))
            assert next(both) == next(both)


def test_errors_of_readers_of_flows_name_no_option_that_the_command_lacks():
    flags = flags_of(READING["flows publish"])
    named = {flag for path in list_modules() for flag in list_named(path)}
    assert named - flags == {*ELSEWHERE} - flags
    assert {"--header-row", "--last-row", "--decimal", "--member", "--round"} <= named & flags
