"""Audits of releases with a prior: a fixed one keeps the claim, one of the input does not."""

from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.mechanisms import learned
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.terms import ADD_REMOVE
from geodp.table.prior import Prior
from tests.laws.audit import audited, caught

pytestmark = pytest.mark.law

GRID = geodp.Grid.regular((4, 4))
TOWN = np.zeros(16, np.int64)
TOWN[0] = 40
WITH_ONE = TOWN + (np.arange(16) == 5)
PAIR = [geodp.CountTable.from_dense(one.reshape(4, 4), GRID) for one in (TOWN, WITH_ONE)]
METHOD = Pyramid()


@pytest.fixture(autouse=True)
def _learn_of_few(monkeypatch):
    """Sixteen cells are too few to learn from; here they are enough, so that the prior is used."""
    monkeypatch.setattr(learned, "FEWEST", 4)


def released_with(prior_of):
    def release(table, spent, key):
        prior = Prior.of(GRID, prior_of(table), "made up")
        released, stated = METHOD.release_informed(table, spent, key, prior)
        used.append(stated.levels[-1].in_use > 0)
        return released

    used: list[bool] = []
    release.used = used
    return release


@pytest.mark.parametrize("public", [0, 1])
def test_a_fixed_prior_keeps_the_claim(public):
    """The prior is one of the two tables, whichever of them is released."""
    release = released_with(lambda _: PAIR[public])
    assert audited(release, METHOD, PAIR, ADD_REMOVE, trials=300) <= Fraction(1)
    assert np.mean(release.used) > 0.5


def test_a_prior_made_from_the_input_is_caught():
    release = released_with(lambda table: table)
    assert caught(release, METHOD, PAIR, ADD_REMOVE, Fraction(1), trials=600)
    assert np.mean(release.used) > 0.5
