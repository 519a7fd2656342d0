"""Priors: what they are made of, and what they have at nodes."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.coarsen import Coarsening
from geodp.table.coarsen import coarsen
from geodp.table.prior import Prior, keep_stated, restore_stated
from tests.reference.informed import weigh

GRID = geodp.Grid.regular((16, 16))


def table(grid=GRID, seed=1):
    draw = np.random.default_rng(seed)
    people = draw.poisson(5, grid.shape) * (draw.random(grid.shape) < 0.4)
    return geodp.CountTable.from_dense(people, grid)


@pytest.mark.parametrize("finest", [1, 4, 16])
@pytest.mark.parametrize(("stride", "fanout"), [(16, 16), (4, 16), (1, 16), (1, 256), (2, 8)])
def test_nodes_have_what_their_cells_have(finest, stride, fanout):
    people = np.zeros(256, np.int64)
    people[::finest] = np.random.default_rng(2).poisson(0.5 * finest, 256 // finest)
    key = np.flatnonzero(people).astype(np.uint64)
    prior = Prior(GRID, key, people[people > 0], finest, "made up")
    nodes = 256 // (stride * fanout)
    above = np.arange(0, nodes, 2 if nodes > 1 else 1, dtype=np.uint64)
    found = prior.weigh_children(above, stride, fanout)
    if finest >= stride * fanout:
        assert found is None
        return
    child = (above[:, None].astype(int) * fanout + np.arange(fanout)).reshape(-1)
    expected = [weigh(people, prior.floor, finest, c * stride, stride) for c in child]
    assert found.tolist() == expected
    assert (found > 0).all()


def test_the_last_key_of_64_bits_counts():
    grid = geodp.Grid.regular((2**31, 2**31))
    key = np.array([0, 2**62 - 1], np.uint64)
    prior = Prior(grid, key, np.array([3, 4]), 1, "made up")
    found = prior.weigh_children(np.zeros(1, np.uint64), 2**61, 2)
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
        both = prior.weigh_children(np.zeros(1, np.uint64), 16, fine.size // 16)
        own = Prior.of(fine, people, "made up").weigh_children(
            np.zeros(1, np.uint64), 16, fine.size // 16
        )
        np.testing.assert_allclose(both, own)


@pytest.mark.parametrize(
    ("cells", "source", "words"),
    [
        (table(), " ", "needs its source"),
        (table(geodp.Grid.regular((8, 32))), "made up", "another grid"),
        (table(geodp.Grid.regular((16, 17))), "made up", "another grid"),
        (geodp.CountTable.from_keys(GRID, [], []), "made up", "counts nobody"),
    ],
)
def test_what_is_no_prior_is_refused_in_a_sentence(cells, source, words):
    with pytest.raises(UsageError, match=words) as caught:
        Prior.of(GRID, cells, source)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("count", [np.array([1.5]), np.array([-3.0]), np.array([-3])])
def test_fractions_and_negative_counts_are_refused(count):
    released = geodp.publish(table(), epsilon=1).table
    cells = geodp.ReleasedTable(GRID, np.array([3], np.uint64), count, released.event)
    with pytest.raises(UsageError, match="whole counts, none below 0"):
        Prior.of(GRID, cells, "made up")


def test_the_digest_is_that_of_the_cells():
    prior = Prior.of(GRID, table(), "made up")
    assert prior.sha256 == Prior.of(GRID, table(), "said otherwise").sha256
    assert prior.sha256 != Prior.of(GRID, table(seed=2), "made up").sha256


def test_what_was_learned_is_kept_and_restored():
    release = geodp.publish(table(), epsilon=1, prior=table(seed=2), prior_source="made up")
    assert restore_stated(keep_stated(release.prior)) == release.prior
    assert restore_stated(keep_stated(None)) is None
