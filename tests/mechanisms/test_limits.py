"""What the methods do not promise, as the documents say it: measured on small sparse maps."""

import numpy as np
import pytest

import geodp
from geodp.mechanisms import mechanism
from geodp.privacy.key import NoiseKey
from tests.grids import FORMS
from tests.mechanisms.central.test_pyramid import spent

METHODS = ["pyramid", "topdown"]


def releases(method, table, epsilon, trials, first=4000):
    chosen = mechanism(method)
    use = spent(chosen, table.grid, epsilon)
    for trial in range(first, first + trials):
        yield chosen.release(table, use, NoiseKey(trial.to_bytes(32, "little"))).to_dense()


def towns(side=128, number=12):
    """Some towns in empty land: counts that fall off from their centres."""
    draw, (row, col) = np.random.default_rng(8), np.indices((side, side))
    people = np.zeros((side, side))
    for y, x, size in zip(
        *draw.integers(0, side, (2, number)), draw.uniform(1, 3, number), strict=True
    ):
        people += 900 * np.exp(-(((row - y) ** 2 + (col - x) ** 2) ** 0.5) / size)
    return np.where(people < 15, 0, people).astype(np.int64)


@pytest.mark.parametrize("epsilon", ["1/10", "1"])
@pytest.mark.parametrize("method", METHODS)
def test_most_of_the_empty_land_stays_empty_but_not_all(method, epsilon):
    truth = towns()
    table = geodp.CountTable.from_dense(truth, geodp.Grid.regular(truth.shape))
    (found,) = releases(method, table, epsilon, 1)
    new = (found > 0) & (truth == 0)
    assert 0.05 < new.sum() / (found > 0).sum() < 0.4
    assert new.sum() / (truth == 0).sum() < 0.1
    assert 0 < found[new].sum() / found.sum() < 0.1  # few people


def test_blocks_of_half_empty_nodes_are_worse_than_with_topdown():
    """Eight cells of 100 people, eight empty ones, and so on: halves of the pyramid's nodes."""
    grid = geodp.Grid.regular((1024,))
    truth = np.where(np.arange(1024) // 8 % 2 == 0, 100, 0)
    table, errors = geodp.CountTable.from_dense(truth, grid), {}
    methods = ("pyramid:setting=R", "topdown")
    for method in methods:
        every = np.array([found - truth for found in releases(method, table, "1/10", 30)])
        errors[method] = [np.abs(every.reshape(30, -1, 1 << i).sum(axis=2)).mean() for i in (0, 3)]
    measured = np.divide(errors["pyramid:setting=R"], errors["topdown"])
    assert measured[0] < 1  # a cell is better off
    assert 1.3 < measured[1] < 1.9
    closed = [mechanism(m).variances(grid, spent(m, grid, "1/10")) for m in methods]
    assert (closed[0] < closed[1]).all()  # where nothing is clamped every block is


@pytest.mark.parametrize("method", METHODS)
def test_a_lone_settlement_loses_more_than_a_lone_cell(method):
    """Sixteen cells at places that have nothing to do with the tree's nodes."""
    grid, chosen = geodp.Grid.regular((256, 256)), mechanism(method)
    use = spent(chosen, grid, "1/10")
    cell, block = chosen.isolated_cell(grid, use), chosen.isolated_block(grid, use)
    lost = []
    for trial, corner in enumerate(np.random.default_rng(4).integers(0, 252, (90, 2))):
        index = np.indices((4, 4)).reshape(2, -1) + corner[:, None]
        table = geodp.CountTable.from_index(grid, index, np.full(16, 1_000_000))
        (found,) = releases(method, table, "1/10", 1, 4000 + trial)
        lost.append(found[tuple(index)].sum() - 16_000_000)
    doubt = np.std(lost) / np.sqrt(len(lost))
    # Both are negative.
    assert (1.2 if method == "pyramid" else 1.8) * cell["bias"] > np.mean(lost) + 2 * doubt
    assert block["bias"] == pytest.approx(np.mean(lost), abs=4 * doubt)
    assert block["rmse"] == pytest.approx(np.sqrt(np.mean(np.square(lost))), rel=0.2)


@pytest.mark.parametrize("name", FORMS)
def test_a_settlement_on_every_form_of_grid(name):
    grid = FORMS[name]
    for method in map(mechanism, METHODS):
        if method.unsupported(grid) is None:
            block = method.isolated_block(grid, spent(method, grid, "1/10"))
            assert (block is None) == (grid.hierarchy is not None)
            assert block is None or (block["cells"] <= 16 and block["rmse"] >= abs(block["bias"]))
    assert mechanism("laplace").isolated_block(grid, spent("laplace", grid, "1/10")) is None
