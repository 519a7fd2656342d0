"""Shares and differences of columns from the command line."""

import pytest

from geodp.errors import UsageError
from geodp.kinds.census.running.estimate import read_pair
from tests.command import geodp as command
from tests.kinds.census.test_pairs import publish
from tests.refusals import refuses


@pytest.fixture(scope="module")
def census(shared):
    return shared.make("census of pairs", publish)


def test_the_command_reads_pairs_of_columns(census, shared):
    asked = ["--share", "old/all", "--difference", "women - men", "--simultaneous"]
    said = command("estimate", str(shared.write(census)), "--box", *"0088", *asked).stdout
    assert "old/all" in said
    assert "women-men" in said
    assert "together in 95 %" in said
    with refuses(UsageError, "census-pair"):
        read_pair("old/young", "/", census.quantities)
    assert read_pair("a/b/c", "/", ["a/b", "c"]) == ("a/b", "c")
