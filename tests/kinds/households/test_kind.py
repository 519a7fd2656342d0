"""Persons and households as a kind of release: what other commands say of it."""

import pytest

import geodp
from geodp.errors import InputError
from geodp.kinds.households.kind import HouseholdsKind
from tests.command import geodp as run
from tests.kinds.households.test_publish import GRID
from tests.refusals import refuses

KIND = HouseholdsKind()


@pytest.mark.parametrize("table", ["persons", "households"])
def test_reports_and_maps_are_made_of_its_tables(public, table):
    assert run("report", public / table).returncode == 0
    assert run("explain", public / table).returncode == 0


def test_it_has_the_id_of_its_index(public):
    assert len(KIND.identify(public)) == 16
    assert KIND.read_card(public).max_size == 7
    assert KIND.verify(public, None)[0].name == "index"


def test_it_is_no_input(public, tmp_path):
    """Its counts are protected already: nobody should publish them once more."""
    with refuses(InputError, "folder-is-release"):
        geodp.read(public, GRID)
    with refuses(InputError, "folder-is-release"):
        geodp.read(public.parent, GRID)
