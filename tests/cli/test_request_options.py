"""Every field of a request is asked for by options, which help shows in groups."""

from dataclasses import fields

import click
import pytest

from geodp.cli import geodp
from geodp.cli.help import GROUPS
from geodp.cli.request_options import FIELDS, NEIGHBOURS, RECORDS, read_request, request_options
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.privacy import terms
from geodp.privacy.terms import NAMES
from geodp.release.request import Request


def options_of(*names, without=()):
    """Return the options that a command has by a field of a request."""
    command = click.command()(request_options(*names, without=without)(lambda **_: None))
    return command.params


def test_every_field_has_options():
    asked = {one.name for one in fields(Request)} - {"terms"} | {*NAMES}
    # The release that is replaced is a part of the metadata.
    assert {*FIELDS} - {"supersedes"} == asked


@pytest.mark.parametrize("field", FIELDS)
def test_every_option_has_help_a_group_and_is_everyday_or_expert(field):
    for one in options_of(field):
        assert one.help.endswith((".", "]")), one.name
        assert one.group in GROUPS
        assert one.everyday in (True, False)


def test_a_command_has_what_it_asks_for_alone():
    names = [one.name for one in options_of("epsilon", "unit", without=("unit",))]
    assert names == ["epsilon"]
    every = {one.name for field in FIELDS for one in options_of(field)}
    publish = {one.name for one in geodp.commands["publish"].params}
    assert every <= publish


def test_a_request_is_made_of_what_a_command_has():
    grid = Grid.regular((4, 4))
    options = {"epsilon": "1/2", "unit": "household", "neighbours": "replace-one", "dataset": "d"}
    found = read_request(options, grid, simulate=3)
    assert (found.terms.unit, found.dataset, found.simulate) == ("household", "d", 3)
    assert (found.key, found.ledger, found.method, found.prior) == (None, None, None, None)
    with pytest.raises(UsageError):
        read_request({"epsilon": "-1"}, grid)


def test_the_names_are_those_of_the_library():
    assert set(NEIGHBOURS) == set(terms.NEIGHBOURS)
    assert RECORDS[0] == "all"
