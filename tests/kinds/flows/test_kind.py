"""Flows as a kind of release: what other commands say of it."""

import pytest

import geodp
from geodp.errors import InputError
from geodp.kinds.flows.kind import FlowsKind
from tests.command import geodp as run
from tests.kinds.flows.test_publish import GRID
from tests.refusals import refuses

KIND = FlowsKind()


@pytest.mark.parametrize("table", ["flows", "origins", "destinations"])
def test_reports_and_explanations_are_made_of_its_tables(public, table):
    assert run("report", public / table).returncode == 0
    done = run("explain", public / table)
    assert done.returncode == 0, done.stderr


def test_it_has_the_id_of_its_index(public):
    assert len(KIND.identify(public)) == 16
    assert KIND.read_card(public).guarantee.contribution == 3
    assert KIND.verify(public, None)[0].name == "index"


def test_it_is_no_input(public):
    """Its counts are protected already: nobody should publish them once more."""
    for folder in (public, public.parent):
        with refuses(InputError, "folder-is-release"):
            geodp.read(folder, GRID)
