"""Both passes against their parts: shrinking, sharing out and adding up, each by itself."""

import numpy as np
import pytest

from geodp.kernels.learned import passes, residuals
from geodp.kernels.learned.lanes import make_workspace
from geodp.kernels.pyramid import shares
from geodp.kernels.pyramid.reweighting import reweight_all

NODES, FANOUT, OWN = 150, 6, 4.0
DRAW = np.random.default_rng(1)


def trust(learned):
    """Half of small residuals is kept, and of large ones all."""
    rows = 2 if learned else 0
    knots = 2 * residuals.SIDE + 1
    keep = np.sort(DRAW.normal(0, 3, (rows, knots)), axis=1)
    factor = DRAW.random((rows, knots))
    return 2.0, np.arange(residuals.CLASSES) % 2, np.stack([keep, factor], axis=-1)


def predicted_from(z, variance, predicted, tables):
    sd, row, table = tables
    if not table.size:
        return z, variance
    better, left = np.empty(z.size), np.empty(z.size)
    residuals.shrink(z, predicted, sd, row, table, (better, left))
    return better, variance * np.maximum(left, passes.MIN_FACTOR)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("least", [0.0, 1.0])
@pytest.mark.parametrize("large", [0, 1 << 40])
def test_the_first_pass(learned, edges, least, large):
    size = NODES * FANOUT
    inside = DRAW.random(size) < 0.7 if edges else np.empty(0, np.bool_)
    inside[::FANOUT] = True  # no node is outside
    own = np.full(size, OWN) if not edges else OWN * inside
    noisy, share = DRAW.normal(2, 4, size).astype(np.int64), DRAW.random(size) + 0.1
    noisy[: 4 * FANOUT] += large
    whole, z = share.reshape(NODES, -1).sum(axis=1), noisy.astype(np.float64)
    total, uniform = DRAW.integers(0, 20, NODES), DRAW.random(NODES)
    total[:3] += large
    above, tables = np.arange(3, NODES + 3, dtype=np.uint64), trust(learned)
    predicted = np.repeat(total / whole, FANOUT) * share
    better, variance = predicted_from(z, own, predicted, tables)
    count, members = np.empty(size, np.int64), np.full(NODES, FANOUT)
    shares.share(better, variance, members, total, uniform, least, count)
    some, shut = count > 0, (count == 0) & (own > 0)

    put = np.empty(size, np.uint64), count * 0, np.empty(size)
    found, kept = (
        passes.OpenChildren(np.empty(NODES, np.int64), np.empty((2, NODES)), *put),
        share.copy(),
    )
    given = (above, total, uniform), noisy, inside, (kept, whole), tables, (OWN, least)
    k = passes.open_children(*given, make_workspace(FANOUT), found)
    assert k == some.sum()
    assert found.members.tolist() == some.reshape(NODES, -1).sum(axis=1).tolist()
    sums = [np.where(shut, one, 0).reshape(NODES, -1).sum(axis=1) for one in (z, own)]
    np.testing.assert_allclose(found.closed, sums)
    assert found.prefix[:k].tolist() == (np.flatnonzero(some) + 3 * FANOUT).tolist()
    assert found.held[:k].tolist() == count[some].tolist()
    assert found.z[:k].tolist() == z[some].tolist()
    assert not learned or kept[:k].tolist() == share[some].tolist()


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize(("alike", "firm"), [(False, True), (True, False)])
@pytest.mark.parametrize("least", [0.0, 0.5])
def test_the_second_pass(learned, alike, firm, least):
    members = DRAW.integers(1, FANOUT + 1, NODES)
    size = int(members.sum())
    z, share = DRAW.normal(5, 4, size), DRAW.random(size) + 0.1
    variance = np.full(1, 2.0) if alike else DRAW.random(size) + 0.5
    whole, total = DRAW.random(NODES) + 1, DRAW.integers(0, 30, NODES)
    uniform, tables = DRAW.random(NODES), trust(learned)
    predicted = np.repeat(total / whole, members) * share
    own = np.broadcast_to(variance, size)
    better, spread = predicted_from(z, own, predicted, tables)
    expected, count, spread = np.empty(size, np.int64), np.empty(size, np.int64), np.array(spread)
    reweight_all(better.copy(), spread, members, total, (FANOUT, firm))
    assert learned or (spread != own).any()
    shares.share(better, spread, members, total, uniform, least, expected)
    nodes, workspace = (members, total, uniform), make_workspace(FANOUT)
    passes.share_again(nodes, z, variance, (share, whole), tables, (least, firm), workspace, count)
    assert count.tolist() == expected.tolist()


@pytest.mark.parametrize("edges", [False, True])
def test_residuals_of_children(edges):
    size = NODES * FANOUT
    inside = DRAW.random(size) < 0.7 if edges else np.empty(0, np.bool_)
    some = inside if edges else np.ones(size, np.bool_)
    noisy, share = DRAW.normal(9, 9, size).astype(np.int64), DRAW.random(size) + 0.1
    z = noisy.astype(np.float64)
    whole, total = share.reshape(NODES, -1).sum(axis=1), DRAW.integers(0, 90, NODES)
    cells = np.maximum(some.reshape(NODES, -1).sum(axis=1), 1)
    predicted = np.repeat(total / whole, FANOUT) * share
    shape = residuals.CLASSES, 2 * residuals.SIDE
    found = [(np.zeros(shape, np.int64), np.zeros((2, 2), np.int64)) for _ in range(2)]
    workspace = make_workspace(FANOUT)
    passes.gather_children(noisy, inside, total, (share, whole), 2.0, workspace, *found[0])
    even = np.repeat(total / cells, FANOUT)
    residuals.gather(z[some], predicted[some], even[some], 2.0, *found[1])
    for one, other in zip(*found, strict=True):
        assert one.tobytes() == other.tobytes()
