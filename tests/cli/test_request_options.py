"""Every field of a request is asked for by options, which help shows in groups."""

from dataclasses import fields

import pytest

from geodp.cli import geodp
from geodp.cli.request_options import read_request
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.options.shared import REQUEST
from geodp.privacy.terms import NAMES
from geodp.release.request import Request


def test_every_field_has_options():
    asked = {one.name for one in fields(Request)} - {"terms"} | {*NAMES}
    # The release that is replaced is a part of the metadata.
    assert {one.field for one in REQUEST} - {"supersedes", "display_below"} == asked


def test_a_command_has_what_it_asks_for_alone():
    assert [one.name for one in REQUEST.of("epsilon", "unit").without("unit")] == ["epsilon"]
    publish = {one.name for one in geodp.commands["publish"].params}
    assert {one.name for one in REQUEST} <= publish


def test_a_request_is_made_of_what_a_command_has():
    grid = Grid.regular((4, 4))
    options = {"epsilon": "1/2", "unit": "household", "neighbours": "replace-one", "dataset": "d"}
    found = read_request(options, grid, simulate=3)
    assert (found.terms.unit, found.dataset, found.simulate) == ("household", "d", 3)
    assert (found.key, found.ledger, found.method, found.prior) == (None, None, None, None)
    with pytest.raises(UsageError):
        read_request({"epsilon": "-1"}, grid)
