"""Families side by side against one after the other, bit for bit."""

import numpy as np
import pytest

from geodp.kernels.jit import kernel
from geodp.kernels.learned import lanes
from geodp.kernels.pyramid import shares
from geodp.kernels.pyramid.reweighting import reweight_all

FANOUT = 5


@kernel
def share_lanes(rows, least, workspace):
    lanes.share_lanes(rows, least, workspace)


@kernel
def reweight_lanes(rows, known, workspace):
    lanes.reweight_lanes(rows, known, workspace)


def families(seed):
    """Children of every size, some of them closed, and nodes that have from nothing to much."""
    draw = np.random.default_rng(seed)
    z = draw.gamma(0.4, 60, (lanes.LANES, FANOUT)) * draw.choice(
        [-0.2, 1, 1], (lanes.LANES, FANOUT)
    )
    variance = (draw.random(z.shape) * 90 + 1) * (draw.random(z.shape) < 0.8)
    variance[:, 0] += 1
    total = (np.maximum(z.sum(axis=1), 0) * draw.choice([0, 0.5, 1, 1.2], lanes.LANES)).astype(int)
    return z, variance, total, draw.random(lanes.LANES)


def in_lanes(z, variance, total, uniform):
    workspace = lanes.make_workspace(FANOUT)
    workspace.child[lanes.Z], workspace.child[lanes.VARIANCE] = z.T.ravel(), variance.T.ravel()
    workspace.integer[lanes.TOTAL], workspace.uniform[:] = total, uniform
    return workspace


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("least", [0.0, 2.0])
def test_shares_are_those_of_one_family_after_the_other(seed, least):
    z, variance, total, uniform = families(seed)
    expected, members = np.empty(z.size, np.int64), np.full(total.size, FANOUT)
    given = z.ravel(), variance.ravel(), members, total, uniform, least
    shares.share(*given, expected)
    workspace = in_lanes(z, variance, total, uniform)
    share_lanes(FANOUT, least, workspace)
    found = workspace.out.reshape(FANOUT, -1).T
    assert found.tolist() == expected.reshape(-1, FANOUT).tolist()
    assert (found.sum(axis=1) == total).all()


def test_one_that_is_far_larger_than_its_total_gets_all():
    z, variance, total, uniform = families(0)
    z[7], variance[7], total[7] = 0, 0, 1
    z[7, 2], variance[7, 2] = 2.0**70, 3.0
    workspace = in_lanes(z, variance, total, uniform)
    share_lanes(FANOUT, 0.0, workspace)
    assert workspace.out.reshape(FANOUT, -1)[:, 7].tolist() == [0, 0, 1, 0, 0]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("firm", [False, True])
def test_the_populous_are_spared_as_one_family_after_the_other(seed, firm):
    z, variance, total, uniform = families(seed)
    expected, members = variance.ravel().copy(), np.full(total.size, FANOUT)
    reweight_all(z.ravel(), expected, members, total, (FANOUT, firm))
    assert (expected != variance.ravel()).any()
    workspace = in_lanes(z, variance, total, uniform)
    reweight_lanes(FANOUT, (FANOUT, firm), workspace)
    found = workspace.child[lanes.VARIANCE].reshape(FANOUT, -1).T
    assert found.tolist() == expected.reshape(-1, FANOUT).tolist()
