"""Priors: what they are made of, and what they have at nodes."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.coarsen import Coarsening
from geodp.table.counts import coarsen
from geodp.table.prior import Prior
from tests.mechanisms.trees.naive_informed import predict
from tests.refusals import refuses

GRID = geodp.Grid.regular((16, 16))


def table(grid=GRID, seed=1):
    draw = np.random.default_rng(seed)
    people = draw.poisson(5, grid.shape) * (draw.random(grid.shape) < 0.4)
    return geodp.CountTable.from_dense(people, grid)


def predicted(prior, above, total, stride, fanout):
    """What nodes have, shared out as the prior is."""
    found = prior.share_children(above, stride, fanout)
    if found is None:
        return None
    share, whole = found
    return np.repeat(total / whole, fanout) * share


@pytest.mark.parametrize("finest", [1, 4, 16])
@pytest.mark.parametrize(("stride", "fanout"), [(16, 16), (4, 16), (1, 16), (1, 256), (2, 8)])
def test_nodes_have_what_their_cells_have(finest, stride, fanout):
    people = np.zeros(256, np.int64)
    people[::finest] = np.random.default_rng(2).poisson(0.5 * finest, 256 // finest)
    key = np.flatnonzero(people).astype(np.uint64)
    prior = Prior(GRID, key, people[people > 0], finest, "made up")
    nodes = 256 // (stride * fanout)
    above = np.arange(0, nodes, 2 if nodes > 1 else 1, dtype=np.uint64)
    total = np.arange(above.size) * 7
    found = predicted(prior, above, total, stride, fanout)
    each = [
        predict(people, prior, int(n) * fanout * stride, stride, fanout, t)
        for n, t in zip(above, total, strict=True)
    ]
    if finest >= stride * fanout:
        assert found is None
        assert each[0] is None
        return
    np.testing.assert_allclose(found, np.concatenate(each), rtol=1e-15)
    np.testing.assert_allclose(found.reshape(-1, fanout).sum(axis=1), total)


def test_the_last_key_of_64_bits_counts():
    grid = geodp.Grid.regular((2**31, 2**31))
    key = np.array([0, 2**62 - 1], np.uint64)
    prior = Prior(grid, key, np.array([3, 4]), 1, "made up")
    found = predicted(prior, np.zeros(1, np.uint64), np.array([7]), 2**61, 2)
    assert found.tolist() == pytest.approx([3, 4], rel=1e-2)


def test_the_floor_is_a_thousandth_at_most():
    many = Prior.of(GRID, table(), "made up")
    few = geodp.CountTable.from_keys(GRID, [5], [1])
    assert many.floor == 2.0**-12
    assert Prior.of(GRID, few, "made up").floor * GRID.size <= 2.0**-10


def test_larger_squares_are_blocks_of_the_grid():
    fine = geodp.Grid.mesh("jis:half", bounds=(138, 35, 138.5, "35.3333333333"))
    people = table(fine)
    for level, cells in (("jis:basic", 4), ("jis:half", 1)):
        coarser = Coarsening.of(fine, level)
        prior = Prior.of(fine, coarsen(people, coarser) if cells > 1 else people, "made up")
        assert prior.finest == cells
        whole = np.zeros(1, np.uint64), np.array([1000]), 16, (1 << fine.bits) // 16
        both = predicted(prior, *whole)
        own = predicted(Prior.of(fine, people, "made up"), *whole)
        np.testing.assert_allclose(both, own)


@pytest.mark.parametrize(
    ("cells", "source", "words"),
    [
        (table(), " ", "prior-source-missing"),
        (table(geodp.Grid.regular((8, 32))), "made up", "prior-of-other-grid"),
        (table(geodp.Grid.regular((16, 17))), "made up", "prior-of-other-grid"),
        (geodp.CountTable.from_keys(GRID, [], []), "made up", "prior-empty"),
    ],
)
def test_what_is_no_prior_is_refused_in_a_sentence(cells, source, words):
    with refuses(UsageError, words) as caught:
        Prior.of(GRID, cells, source)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("count", [np.array([1.5]), np.array([-3.0]), np.array([-3])])
def test_fractions_and_negative_counts_are_refused(count):
    released = geodp.publish(table(), epsilon=1, contribution=1).table
    cells = geodp.ReleasedTable(GRID, np.array([3], np.uint64), count, released.event)
    with refuses(UsageError, "prior-not-whole"):
        Prior.of(GRID, cells, "made up")


def test_the_digest_is_that_of_the_cells():
    prior = Prior.of(GRID, table(), "made up")
    assert prior.sha256 == Prior.of(GRID, table(), "said otherwise").sha256
    assert prior.sha256 != Prior.of(GRID, table(seed=2), "made up").sha256
