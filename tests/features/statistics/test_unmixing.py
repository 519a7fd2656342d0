"""The inversion: laws and fits against their definitions, and a map that it gives back."""

import numpy as np
import pytest

import geodp
from geodp.features.statistics.estimate import model_of
from geodp.features.statistics.figures import CLASSES
from geodp.features.statistics.unmixing import draw, expect, fit, invert, list_edges, respond

GRID = geodp.Grid.regular((64, 64))


def villages(seed, share=0.3, size=8):
    """Make a map with many small cells."""
    random = np.random.default_rng(seed)
    people = random.poisson(size, GRID.shape) * (random.random(GRID.shape) < share)
    people[:8, :8] += 900
    return geodp.CountTable.from_dense(people, GRID)


@pytest.fixture(scope="module")
def model():
    key = geodp.NoiseKey(bytes(range(32)))
    release = geodp.publish(
        villages(1), method="pyramid:setting=R", epsilon=2, key=key, contribution=1
    )
    return model_of(release, CLASSES)


def test_bins_end_where_classes_do():
    edges = list_edges(23.0, CLASSES)
    assert edges[0] == 0
    assert (np.diff(edges) > 0).all()
    assert {1, 20, 100} <= set(edges.tolist())
    assert edges[-1] == 277  # the least that is beyond 12 scales


def test_a_model_numbers_the_cells_of_blocks(model):
    count = np.arange(64 * 64)
    assert np.array_equal(model.spread(count), count.reshape(64, 64))
    assert np.array_equal(np.bincount(model.block), np.full(64, 64))
    assert np.array_equal(model.take(model.table), model.table.to_dense().reshape(-1))


def test_surroundings_tell_others_and_not_the_cell_itself(model):
    people = np.zeros(64 * 64)
    people[20 * 64 + 20] = 1e6
    around = model.surroundings(people).reshape(64, 64)
    assert around[20, 20] == 0
    assert (around[19:22, 19:22] % 8 > 0).sum() == 8
    assert (around >= 8).sum() == 63  # the others of its block


def test_pairs_are_counted_one_by_one(model):
    truth = np.minimum(np.arange(64 * 64), 700)
    shown = model.release(truth, 0)
    pairs = model.count_pairs(truth, [shown, shown])
    around, here = model.surroundings(shown), model.bin_of(shown)
    twin = np.zeros(pairs.shape)
    for cell in range(truth.size):
        twin[around[cell], model.bin_of(truth)[cell], here[cell]] += 2
    assert np.array_equal(pairs, twin)


def test_laws_and_shares_add_up_to_one(model):
    pairs = np.random.default_rng(0).integers(0, 5, (80, 6, 6)).astype(float)
    pairs[3] = 0
    assert np.allclose(respond(pairs).sum(axis=2), 1)
    assert np.allclose(expect(pairs).sum(axis=1), 1)


def test_a_fit_finds_the_shares_that_were_mixed():
    law = np.array([[[0.8, 0.2, 0.0], [0.3, 0.5, 0.2], [0.0, 0.3, 0.7]]])
    share = np.array([[0.5, 0.2, 0.3]])
    released = 1e4 * np.matmul(share[:, None], law)[:, 0]
    even = np.full((1, 3), 1 / 3)
    assert fit(law, even, released, 0.0) == pytest.approx(share, abs=1e-3)
    assert fit(law, even, released, 1e6) == pytest.approx(even, abs=1e-3)


def test_drawn_counts_have_the_chances_of_their_bins(model):
    bins, random = model.edges.size, np.random.default_rng(5)
    chance = np.zeros((80, bins, bins))
    chance[:, 0], chance[:, 2] = 0.75, 0.25
    stock = [np.array([edge]) for edge in model.edges]
    shown = np.zeros(64 * 64)
    found = draw(model, chance, shown, stock, random)
    assert set(found.tolist()) == {0, model.edges[2]}
    assert (found > 0).mean() == pytest.approx(0.25, abs=4 * np.sqrt(0.19 / found.size))


def test_large_counts_are_those_that_were_released(model):
    shown = model.take(model.table)
    large = shown >= model.edges[-1]
    assert 64 <= large.sum() < 1000
    for found in invert(model, villages(2).to_dense().reshape(-1))[1]:
        assert np.array_equal(found[large], shown[large])


def test_from_another_map_the_inversion_finds_inhabited_cells(model):
    shown = (model.take(model.table) > 0).sum()
    true = villages(1).key.size
    other = villages(2, share=0.15, size=5).to_dense().reshape(-1)  # half as many, and smaller
    found = np.mean([(one > 0).sum() for one in invert(model, other)[1]])
    assert abs(shown - true) > 150  # or there is nothing to be found
    assert abs(found - true) < 0.4 * abs(shown - true)
