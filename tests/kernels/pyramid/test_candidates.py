"""Raised thresholds: fewer children are looked at one by one, and all get the same."""

import numpy as np
import pytest

from geodp.kernels.pyramid import edges, layout, rows, shares
from geodp.kernels.pyramid.edges import NOWHERE, ROWS
from tests.kernels.pyramid.test_rows import door, in_rows

SHAPES = [(2, 128), (16, 120), (17, 60), (100, 16), (4096, 3)]


def found_in(noisy, total, spread):
    """Children of each family that are left to be looked at."""
    size, fanout = noisy.shape
    block = in_rows(noisy.astype(np.int32), NOWHERE)
    row, mask = np.empty((6, block.size), np.int32), np.empty(block.size, np.uint32)
    row[layout.LOST, :size] = (noisy == NOWHERE).sum(axis=1)
    rows.find_candidates(total, fanout, block, spread, row, mask)
    to, lists = (np.empty(fanout, np.uint64), np.empty(fanout, np.int32)), []
    for f in range(size):
        lane = f, size, block.size // ROWS
        some = door(edges.list_children)(mask, block, fanout, lane, to)
        lists.append(to[0][: int(some)].copy())
    return lists


def shared(noisy, own, children, known):
    """What these children of a family get of its total."""
    out, at = np.zeros(noisy.size, np.int64), children.copy()
    if at.size == 1:
        out[at[0]] = known[0]
        return out
    z, variance, (total, reached, least) = noisy.astype(float), np.full(noisy.size, own), known
    sums = float(z[at.astype(int)].sum()), own * at.size
    active, tau = door(shares.project)(
        z, variance, at, np.uint64(at.size), sums, (float(total), least)
    )
    before = 0
    for j in at[: int(active)].astype(int):
        reached += z[j] - tau * own
        out[j], before = int(reached) - before, int(reached)
    out[j] += total - before
    return out


@pytest.mark.parametrize(("fanout", "size"), SHAPES)
@pytest.mark.parametrize("lost", [0.0, 0.4])
@pytest.mark.parametrize("case", ["full", "mixed", "beyond"])
def test_shares_are_the_same_and_fewer_are_left(fanout, size, lost, case):
    draw, own = np.random.default_rng([fanout, size]), 2.5
    most = 2**30 // fanout if case == "beyond" else 400
    noisy = draw.integers(-most, most, (size, fanout), endpoint=True)
    out = draw.random(noisy.shape) < lost
    out[:, 0] = False  # a family has a child that can be
    noisy[out] = NOWHERE
    total = np.maximum(1, np.where(out, 0, np.maximum(noisy, 0)).sum(axis=1) // 2)
    if case == "mixed":
        total[::3] = 1
        total[0] = 2**62
    spread, sparse = own * np.arange(fanout + 1), 1e30 * np.arange(fanout + 1)
    every, left = found_in(noisy, total, sparse), found_in(noisy, total, spread)
    for f in range(size):
        assert set(left[f]) <= set(every[f])
        for least in (0.0, 2.5):
            known = int(total[f]), 0.7, least
            one, other = (shared(noisy[f], own, found[f], known) for found in (every, left))
            assert one.sum() == total[f]
            assert (one == other).all()
    fewer = sum(map(len, every)) - sum(map(len, left))
    assert fewer > 0 or fanout == 2  # of two the first bound is sharp


def test_nothing_is_raised_where_most_totals_are_small():
    draw = np.random.default_rng(4)
    noisy, total = draw.integers(-50, 50, (64, 16)), np.full(64, 3)
    row = np.empty((6, noisy.size), np.int32)
    row[layout.THRESHOLDS] = before = draw.integers(-50, 0, noisy.size)
    block, spread = in_rows(noisy.astype(np.int32)), 16.0 * np.arange(17)
    door(rows.raise_thresholds)(total, 16, block, spread, row)
    assert (row[layout.THRESHOLDS] == before).all()
    total[:32] = 5  # above the noise's deviation
    door(rows.raise_thresholds)(total, 16, block, spread, row)
    assert (row[layout.THRESHOLDS, :64] > before[:64]).any()
