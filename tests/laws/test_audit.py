"""Audits of every method's claim, with broken mechanisms that must be caught."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.accounting import NEIGHBOURS
from geodp.domain import blocks_of_array, mask_of_blocks
from geodp.mechanisms.topdown import Noise, TopDown, refine
from geodp.noise import DiscreteLaplace
from geodp.randomness import NoiseKey
from geodp.table import ReleasedTable
from tests.laws.audit import violation

pytestmark = pytest.mark.law

LIMIT = 5
LINE = geodp.Grid.regular((2,))
SQUARE = geodp.Grid.regular((2, 2))
MASKED = geodp.Grid.regular((2, 2))
MASKED = MASKED.with_mask(
    mask_of_blocks(MASKED, blocks_of_array(np.array([[1, 1], [1, 0]], bool)), "three cells")
)


def tables(grid, *dense):
    return [geodp.CountTable.from_dense(np.array(d).reshape(grid.shape), grid) for d in dense]


PAIRS = {
    "add-remove-one": [
        tables(LINE, [0, 0], [1, 0]),
        tables(LINE, [1, 0], [2, 0]),
        tables(SQUARE, [0, 0, 0, 0], [0, 0, 0, 1]),
        tables(MASKED, [1, 0, 0, 0], [1, 0, 1, 0]),
    ],
    "replace-one": [
        tables(LINE, [1, 0], [0, 1]),
        tables(SQUARE, [1, 0, 0, 0], [0, 0, 0, 1]),
    ],
}


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("method", sorted(geodp.METHODS))
def test_every_method_keeps_its_claim(method, neighbours):
    mechanism = geodp.METHODS[method]
    for pair in PAIRS[neighbours]:
        found = violation(mechanism.release, mechanism, pair, Fraction(2), neighbours)
        assert found < LIMIT, (method, pair)


def released(table, spent, noise):
    key, count, _ = refine(table, noise)
    return ReleasedTable(table.grid, key, count, spent)


def half_the_noise(table, spent, key):
    return TopDown().release(table, replace(spent, epsilon=spent.epsilon * 2), key)


def a_quarter_of_the_noise(table, spent, key):
    """Between replaced people half the noise would still do: their total does not change."""
    return TopDown().release(table, replace(spent, epsilon=spent.epsilon * 4), key)


def misprinted_38(table, spent, key):
    """Terada et al. (2015), equation (38) as printed: half the noise on every detail."""
    noise = Noise.of(spent, key)
    law = DiscreteLaplace.of_scale(spent.scale / 2)
    return released(table, spent, replace(noise, detail=replace(noise.detail, law=law)))


def a_reused_key(table, spent, _key):
    return TopDown().release(table, spent, NoiseKey(bytes(32)))


def a_noisy_total_only(table, spent, key):
    """Splits by the true shares: the details are read without noise."""
    noise = Noise.of(spent, key)
    law = DiscreteLaplace.of_scale(Fraction(1, 100))
    return released(table, spent, replace(noise, detail=replace(noise.detail, law=law)))


def a_clamp_that_looks_at_the_data(table, spent, key):
    """Lets nobody into cells that are truly empty."""
    fair = TopDown().release(table, spent, key)
    occupied = np.isin(fair.key, table.key)
    return ReleasedTable(table.grid, fair.key[occupied], fair.count[occupied], spent)


def a_sensitivity_of_one(table, spent, key):
    """Forgets that a person changes one detail on every level."""
    return TopDown().release(table, replace(spent, sensitivity=1), key)


def a_domain_of_occupied_cells(table, spent, key):
    inside = table.to_dense() > 0
    if not inside.any():
        inside = ~inside
    places = geodp.Grid.regular(table.grid.shape)
    if len(places.places) != 1:
        return a_clamp_that_looks_at_the_data(table, spent, key)
    grid = places.with_mask(mask_of_blocks(places, blocks_of_array(inside), "the data"))
    fair = TopDown().release(geodp.CountTable.from_dense(table.to_dense(), grid), spent, key)
    return ReleasedTable(table.grid, fair.key, fair.count, spent)


ADD, REPLACE = NEIGHBOURS
PEOPLE = tables(LINE, [6, 6], [7, 6])
MOVED = tables(LINE, [7, 6], [6, 7])
NEW_CELL = tables(LINE, [0, 0], [1, 0])
BROKEN = [
    (half_the_noise, PEOPLE, ADD),
    (a_quarter_of_the_noise, MOVED, REPLACE),
    (misprinted_38, PEOPLE, ADD),
    (a_reused_key, PEOPLE, ADD),
    (a_reused_key, MOVED, REPLACE),
    (a_noisy_total_only, PEOPLE, ADD),
    (a_noisy_total_only, MOVED, REPLACE),
    (a_clamp_that_looks_at_the_data, NEW_CELL, ADD),
    (a_sensitivity_of_one, PEOPLE, ADD),
    (a_domain_of_occupied_cells, tables(SQUARE, [3, 0, 0, 0], [3, 1, 0, 0]), ADD),
]


@pytest.mark.parametrize(
    ("broken", "pair", "neighbours"),
    BROKEN,
    ids=[f"{function.__name__}-{neighbours}" for function, _, neighbours in BROKEN],
)
def test_broken_mechanisms_are_caught(broken, pair, neighbours):
    assert violation(broken, TopDown(), pair, Fraction(2), neighbours) > LIMIT
