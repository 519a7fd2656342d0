"""docs/proofs/paper.md: its table is the code's, and its corrections of the paper are right."""

import math
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from tests.house.paper import BEGIN, DOCUMENT, END, SMALL, used, write_table

pytest.importorskip("bench", reason="the documents are no part of the wheel")

TEXT = DOCUMENT.read_text(encoding="utf-8")
PAPER = geodp.Grid.regular((512, 512))


@pytest.mark.law
def test_the_table_of_methods_is_that_of_the_code():
    """Otherwise: ``python -m tests.house.paper``."""
    kept = TEXT.partition(BEGIN)[2].partition(END)[0].strip()
    assert kept == write_table()


def test_weights_of_four_cells():
    """(45): the noise of a coefficient that covers ``2**i`` cells is lambda over ``2**i``."""
    k = 2
    covered = {2: 4, 3: 2, 4: 2}  # of the differences, counted from the root on
    for i, cells in covered.items():
        right = Fraction(2) ** -(k - math.ceil(math.log2(i)) + 1)
        printed = Fraction(2) ** (-(k - math.ceil(math.log2(i))) + 1)
        assert right == Fraction(1, cells)
        assert printed == 4 * right
    # On whole numbers, which are the averages times the cells, that is one scale.
    row, grid = geodp.METHODS["topdown"], geodp.Grid.regular((4,))
    event = row.event(grid, Terms.of(epsilon="1/2", contribution=1), "fixed")
    assert {query.noise for query in row.queries(grid, event)} == {event.law().identity}
    assert event.scale == 2 * (1 + k)


def continuous(name):
    """Standard errors of squares with Laplace noise on real numbers: of 1, 4, 16 ... cells."""
    row = geodp.METHODS[name]
    event = row.event(PAPER, Terms.of(epsilon="1/10", contribution=1), "fixed")
    exact = event.law().variance if name != "laplace" else 2 * float(event.scale) ** 2
    unit = row.variances(PAPER, event) / exact
    return np.sqrt(unit * 2 * float(event.scale) ** 2)[::-2]


PRINTED = {
    "laplace": "14.14 28.28 56.55 113.06 226.48 455.65 906.12 1789.27 3474.87 6907.69",
    "privelet-2d": "471.37 471.01 471.66 472.52 471.26 479.17 494.20 531.12 756.30 1631.86",
    "privelet": "155.16 155.16 155.09 154.90 155.00 155.88 155.69 155.93 161.45 317.79",
}
"""RMSE of table 2."""


@pytest.mark.parametrize("name", PRINTED)
def test_printed_errors_of_table_2_are_the_closed_forms(name):
    """Tolerances are those of 100 trials with so many squares; Laplace noise has kurtosis 6."""
    printed = [float(error) for error in PRINTED[name].split()]
    for i, (seen, stated) in enumerate(zip(printed, continuous(name), strict=True)):
        squares = 100 * max(4 ** (9 - i), 1)
        assert seen == pytest.approx(stated, rel=0.005 + 4 * math.sqrt(5 / squares) / 2)


def test_the_root_of_section_6():
    assert 24_066.5 < continuous("privelet")[0] ** 2 < 24_067
    assert round(continuous("privelet")[0], 2) == 155.13
    assert abs(math.sqrt(24_067) - 153.13) > 2


def test_the_total_of_table_2_was_a_lucky_draw():
    """Its mean absolute error is that of Laplace noise, whose standard deviation is its mean."""
    row = geodp.METHODS["topdown"]
    scale = float(row.event(PAPER, Terms.of(epsilon="1/10", contribution=1), "fixed").scale)
    assert scale == 190
    assert scale * math.sqrt(2) == pytest.approx(268.70, abs=0.005)
    below = (scale - 139.32) / (scale / math.sqrt(100))
    assert 2.5 < below < 3


def test_privelet_is_better_for_a_lone_cell():
    row, haar = geodp.METHODS["topdown"], geodp.METHODS["privelet"]
    terms = Terms.of(epsilon="1/10", contribution=1)
    lone = row.isolated_cell(PAPER, row.event(PAPER, terms, "fixed"))
    theirs = math.sqrt(haar.variances(PAPER, haar.event(PAPER, terms, "fixed"))[-1])
    assert lone["rmse"] > 2.6 * theirs


def test_the_linear_program_has_no_negative_counts():
    row = geodp.METHODS["barak"]
    assert row.nonnegative
    table = geodp.CountTable.from_dense(np.eye(*SMALL.shape, dtype=int), SMALL)
    released = row.release(table, used(row, SMALL), NoiseKey(bytes(32)))
    assert (released.to_dense() >= 0).all()
    linear = geodp.mechanisms.mechanism("barak:nonnegative=no")
    assert (linear.release(table, used(linear, SMALL), NoiseKey(bytes(32))).to_dense() < 0).any()
