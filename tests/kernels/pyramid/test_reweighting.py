"""Who pays for what a clamp gives to empty children."""

import numpy as np
import pytest

from geodp.kernels.pyramid.reweighting import reweight_all
from geodp.kernels.pyramid.shares import share
from tests.reference.pyramid import spared

SCALE = 20.0
OWN = 2 * SCALE**2


def families(seed, fanout, occupied, people):
    """Noisy counts of 200 nodes' children, some occupied and some closed, and totals near them."""
    draw = np.random.default_rng(seed)
    truth = np.where(np.arange(fanout) < occupied, people, 0)
    z = np.rint(truth + draw.laplace(0, SCALE, (200, fanout)))
    variance = np.where(draw.random(z.shape) < 0.2, 0.0, OWN * draw.choice([1.0, 0.7], z.shape))
    total = np.maximum(np.rint(occupied * people + draw.laplace(0, SCALE, 200)), 0)
    return z, variance, total.astype(np.int64)


def reweight(z, variance, total, firm):
    changed = variance.copy()
    members = np.full(len(z), z.shape[1])
    reweight_all(z.reshape(-1), changed.reshape(-1), members, total, (z.shape[1], firm))
    return changed


def shares(z, variance, total):
    out = np.empty(z.size, np.int64)
    members, half = np.full(len(z), z.shape[1]), np.full(len(z), 0.5)
    share(z.reshape(-1), variance.reshape(-1), members, total, half, 0.0, out)
    return out.reshape(z.shape)


@pytest.mark.parametrize("firm", [False, True])
@pytest.mark.parametrize(
    ("fanout", "occupied", "people"), [(8, 1, 300), (16, 3, 90), (16, 12, 60), (4, 0, 0)]
)
def test_it_is_its_definition(fanout, occupied, people, firm):
    z, variance, total = families(fanout, fanout, occupied, people)
    found = reweight(z, variance, total, firm)
    for row, own, goal, changed in zip(z, variance, total, found, strict=True):
        assert changed.tolist() == pytest.approx(spared(row, own, goal, firm), rel=1e-12)


@pytest.mark.parametrize("people", [10**4, 2**56])
def test_where_nothing_is_clamped_nothing_changes(people):
    z, _, total = families(1, 16, 16, people)
    assert (reweight(z, np.full(z.shape, OWN), total, True) == OWN).all()


def test_alike_children_pay_alike_though_others_are_closed():
    """At an edge of the domain the closed form holds still."""
    z, _, total = families(2, 16, 8, 10**6)
    variance = np.where(np.arange(16) < 8, OWN, 0.0) * np.ones(z.shape)
    found = reweight(z, variance, total, True)
    assert all(len({*row[row > 0]}) == 1 for row in found)
    assert np.array_equal(shares(z, found, total), shares(z, variance, total))


@pytest.mark.parametrize(("people", "most"), [(150, 0.6), (400, 0.4)])
def test_a_lone_child_loses_much_less(people, most):
    z, _, total = families(3, 16, 1, people)
    variance = np.full(z.shape, OWN)
    plain = (total - shares(z, variance, total)[:, 0]).mean()
    assert (
        total - shares(z, reweight(z, variance, total, True), total)[:, 0]
    ).mean() < most * plain


def test_small_children_that_have_much_together_are_not_closed():
    z = np.array([[400.0] + [45.0] * 8 + [-10.0] * 7])
    variance, total = np.full(z.shape, OWN), np.array([700])
    assert (reweight(z, variance, total, True) > 0).all()
    few = np.array([[400.0] + [15.0] * 3 + [-10.0] * 12])
    found = reweight(few, variance, np.array([420]), True)
    assert found[0, 0] == OWN
    assert not found[0, 1:].any()


@pytest.mark.parametrize(("scales", "probability"), [(2, 0.62), (4, 0.20)])
def test_the_largest_of_fifteen_noises_hides_a_small_part(scales, probability):
    """No rule that sees one level alone finds the true one of 16 siblings more often."""
    draw = np.random.default_rng(4)
    largest = draw.laplace(0, 1, (200_000, 15)).max(axis=1)
    found = (largest > scales + draw.laplace(0, 1, 200_000)).mean()
    assert found == pytest.approx(probability, abs=0.005)
