"""Audits of parts of counts: one person more in one part, or in another part of the same cell."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.mechanisms.central.parts import Parts
from geodp.privacy.terms import NEIGHBOURS
from tests.laws.audit import audited, caught

pytestmark = pytest.mark.law

ADD, REPLACE = NEIGHBOURS
EPSILON, TRIALS = Fraction(1), 400
GRID = geodp.Grid.regular((1, 2)).with_attribute("sex", ["f", "m"])


def tables(*dense):
    return [geodp.CountTable.from_dense(np.array(d).reshape(GRID.shape), GRID) for d in dense]


PAIRS = {
    ADD: [
        tables([1, 0, 0, 0], [1, 1, 0, 0]),
        tables([40, 40, 40, 40], [40, 41, 40, 40]),
    ],
    REPLACE: [
        tables([7, 0, 0, 0], [6, 1, 0, 0]),
        tables([40, 41, 40, 40], [41, 40, 40, 40]),
    ],
}
"""A person replaced by another one of the same cell changes the parts alone, and not the map."""


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_parts_keep_their_claim(neighbours):
    for pair in PAIRS[neighbours]:
        found = audited(Parts().release, Parts(), pair, neighbours, trials=TRIALS)
        assert found <= EPSILON


SEX = Parts(marginals="sex")


PLACES = geodp.Grid.regular((2, 2)).with_attribute("sex", ["f", "m"])
SIXTEEN = PLACES.with_attribute("age", ["young", "old"])


def sixteen(*changed):
    """Return two tables of 16 counts: one person is of one sex and age, or of others."""
    tables = [np.full(SIXTEEN.shape, 40) for _ in changed]
    for table, place in zip(tables, changed, strict=True):
        table[0, 0, *place] += 1
    return [geodp.CountTable.from_dense(table, SIXTEEN) for table in tables]


BOTH = sixteen((0, 1), (1, 0))
"""The parts and the marginal change, and the map does not."""


def test_marginals_keep_their_claim():
    assert audited(SEX.release, SEX, BOTH, REPLACE, trials=TRIALS) <= EPSILON


def overspent(table, spent, key):
    return Parts().release(table, replace(spent, epsilon=spent.epsilon * 8), key)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_parts_that_spend_too_much_are_caught(neighbours):
    """Releases show eight times; ``test_exact_loss`` has what parts cost exactly."""
    assert caught(overspent, Parts(), PAIRS[neighbours][1], neighbours, EPSILON, trials=1200)
