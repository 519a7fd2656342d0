"""An option that says what was found without it changes nothing of the table."""

import contextlib
import functools
import io
import random
from pathlib import Path

import click
import pytest
from click.core import ParameterSource

from geodp.cli.commands.publish import publish
from geodp.cli.inputs import grid_of
from geodp.cli.layout import complete
from geodp.cli.readers import check_applicable, read
from geodp.table.counts import CountTable
from tests.io.read import dialects
from tests.io.read.official.test_forms import COMMANDS

PUBLISHED = [words for words, result in COMMANDS if result == "published"]
TABLES = [words for words in PUBLISHED if "stochastic" not in words]


def read_as(words: list[str]) -> tuple[CountTable, list[list[str]]]:
    """Return the table of a command, and the options that its layout settled."""
    context = publish.make_context("publish", [*words])
    with context.scope(cleanup=False), contextlib.redirect_stderr(io.StringIO()):
        complete(context, context.params)
        check_applicable(context)
        settled = [
            found
            for option in publish.get_params(context)
            if (found := written(context, option, context.params.get(str(option.name))))
        ]
        grid = grid_of(context.params)
        return read(context.params, grid, None), settled


@functools.cache
def read_form(folder: Path, *words: str) -> tuple[CountTable, list[list[str]]]:
    """Read a form as it was written, once for all tests that compare others with it."""
    with contextlib.chdir(folder):
        return read_as([*words])


def written(context: click.Context, option: click.Parameter, value: object) -> list[str]:
    """Return the words of an option that was settled."""
    settled = context.get_parameter_source(str(option.name)) is ParameterSource.DEFAULT_MAP
    if not settled or value in (None, (), False) or not isinstance(option, click.Option):
        return []
    flag = option.opts[-1]
    if option.is_flag:
        return [flag]
    if option.multiple:
        return [word for one in value for word in (flag, str(one))]
    return [flag, *map(str, value if isinstance(value, tuple) else [value])]


def same(one: CountTable, other: CountTable) -> bool:
    return one.grid == other.grid and dialects.same(one, other) and one.bound == other.bound


@pytest.mark.parametrize("words", TABLES, ids=[" ".join(words[:4]) for words in TABLES])
def test_more_options_only_add(
    words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, settled = read_form(folder, *words)
    every = [word for option in settled for word in option]
    more = random.Random(" ".join(words)).choice([every, *settled])
    monkeypatch.chdir(folder)
    assert same(read_as([*words, *more])[0], table), more
