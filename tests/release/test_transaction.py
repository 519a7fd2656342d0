"""A run that was cut short makes its design again and completes it with the stored draw."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.folder.pending import PendingDraw
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.release.inputs import choose_prior
from geodp.release.publish import design_table, prepare
from geodp.release.request import Request
from geodp.release.transaction import Inputs, pack_draw, restore
from tests.refusals import refuses
from tests.table.test_prior import table

TABLE = table()
GRID = TABLE.grid
PRIOR = choose_prior(TABLE, table(seed=2), "made up")
TERMS = Terms.of(epsilon=1, contribution=1)
FOLDER = Path("out.partial")


def stored_draw(request):
    """Return a draw as a file holds it, and the release that was made of it."""
    prepared = prepare(TABLE, request)
    drawn = prepared.draw(NoiseKey(bytes(32)).restrict(prepared.design.draws))
    card, arrays = pack_draw(prepared.design, drawn)
    card = json.loads(json.dumps(card))
    stored = PendingDraw("a ledger", "its id", "people", "f" * 64, {}, {}, card, arrays)
    return stored, prepared.design.complete(drawn, None)


def restored(stored, request, grid=GRID):
    return restore(stored, lambda inputs: design_table(grid, request, inputs), Inputs, FOLDER, None)


@pytest.mark.parametrize("more", [{"prior": PRIOR}, {"measurements": 64, "method": "topdown"}])
def test_a_release_is_that_of_a_run_that_was_not_cut_short(more):
    request = Request(terms=TERMS, **more)
    stored, made = stored_draw(request)
    again = restored(stored, request)
    assert again.card() == made.card()
    for one, other in zip(levels_of(again), levels_of(made), strict=True):
        assert all(map(np.array_equal, one, other))


def levels_of(release):
    """Return the arrays of the counts, and of all measurements if there are any."""
    found = release.measurements
    levels = () if found is None else found.levels
    counted = release.table.key, release.table.count
    return [counted, *((one.node, one.value) for one in levels)]


def test_another_public_file_is_refused():
    stored, _ = stored_draw(Request(terms=TERMS))
    with refuses(UsageError, r"resumed-part-differs: another grid\b"):
        restored(stored, Request(terms=TERMS), geodp.Grid.regular((8, 9)))
    with refuses(UsageError, r"resumed-part-differs: another public file\b"):
        restored(stored, Request(terms=replace(TERMS, people=900)))


def test_a_design_that_is_refused_is_no_damaged_file():
    stored, _ = stored_draw(Request(terms=TERMS))
    with refuses(UsageError, "measurements-levels"):
        restored(stored, Request(terms=TERMS, measurements="county"))


DAMAGES = {
    "no inputs": lambda card: card.pop("inputs"),
    "other inputs": lambda card: card["inputs"].update(more=1),
    "no draw": lambda card: card.pop("drawn"),
    "other draw": lambda card: card["drawn"].update(cells=[]),
    "no name of the grid": lambda card: card.pop("grid"),
    "no name of the design": lambda card: card.pop("design"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused(damage):
    request = Request(terms=TERMS)
    stored, _ = stored_draw(request)
    DAMAGES[damage](stored.card)
    with refuses(UsageError, r"interrupted-not-read-back: released\.npz"):
        restored(stored, request)
