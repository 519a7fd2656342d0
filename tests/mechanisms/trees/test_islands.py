"""Levels and shares for settlements that stand alone."""

from fractions import Fraction as F

import pytest

import geodp
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees.levels import islands_levels_of


@pytest.mark.parametrize("bits", range(64))
def test_levels_for_islands_end_in_nodes_of_32_cells_and_leave_the_rest_to_few(bits):
    steps, weights = islands_levels_of(bits)
    assert sum(steps) == bits
    assert steps[-1:] == [min(5, bits)] * bool(bits)
    assert all(step == 12 for step in steps[2:-1])
    assert all(4 <= step <= 12 for step in steps[: -1 if bits > 17 else 0])
    assert len(steps) == (bits > 0) + -(-max(bits - 5, 0) // 12)
    above = [1, *[12] * (len(steps) - 2)] if len(steps) > 1 else []
    assert weights == [*above, *([35] if steps else []), 52]


def test_the_setting_takes_them():
    chain = Pyramid(setting="islands").levels(geodp.Grid.regular((512, 512)))
    assert chain.fanouts == (16, 512, 32)
    assert chain.shares == (F(1, 100), F(12, 100), F(35, 100), F(52, 100))


def test_for_islands_keys_are_bits():
    mesh = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 35 + 2 / 3))
    refused = Pyramid(setting="islands").unsupported(mesh.with_official_order())
    assert "splits every node in two" in refused
    assert Pyramid(setting="islands").unsupported(geodp.Grid.regular((512, 512))) is None
