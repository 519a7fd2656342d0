"""Shorter ways of sharing out: to the last unit the same as the one for all families."""

import numpy as np
import pytest

from geodp.kernels.pyramid import reweighting, shares
from tests.kernels.pyramid.test_rows import door

OWN = 18.0


def cases(seed, size):
    """Estimates of some children of 3000 nodes, ties and closed ones among them, and totals."""
    draw = np.random.default_rng(seed)
    z = draw.integers(-12, 30, (3000, size)) * draw.choice([1.0, 0.37, 1e6], (3000, 1))
    variance = draw.choice([OWN, 0.7 * OWN, 0.0], z.shape, p=[0.6, 0.3, 0.1])
    variance[:, 0] = np.where((variance == 0).all(axis=1), OWN, variance[:, 0])
    near = np.maximum(z, 0).sum(axis=1) * draw.choice([0.0, 0.3, 1.0, 1.4], 3000)
    return z, variance, near.astype(np.int64), draw.random(3000)


@pytest.mark.parametrize("least", [-1.0, 0.0, 5.0, 1e7])
def test_two_children_get_what_any_number_would(least):
    z, variance, total, chance = cases(1, 2)
    expected, of_two = np.empty(2, np.int64), door(shares.share_between_two)
    for f in range(len(z)):
        members, goal = np.array([2]), total[f : f + 1]
        shares.share(z[f], variance[f], members, goal, chance[f : f + 1], least, expected)
        known = int(total[f]), chance[f], least
        one, other = ((z[f, i], variance[f, i]) for i in range(2))
        first = of_two(one, other, known)
        assert [first, total[f] - first] == expected.tolist()


def test_nobody_is_shared_out_without_a_division_by_nothing():
    """Where nothing is compiled that is an error."""
    plain = getattr(shares.share_between_two, "py_func", shares.share_between_two)
    assert plain((5.0, 1.0), (3.0, 1.0), (0, 0.5, 0.0)) == 0


@pytest.mark.parametrize("size", [2, 3, 17, 64, 300])
@pytest.mark.parametrize("least", [0.0, 4.3, 1e4])
def test_whole_numbers_are_projected_as_any(size, least):
    draw = np.random.default_rng(size)
    spread, project = np.cumsum([0.0, *[OWN] * size]), door(shares.project)
    whole = door(shares.project_integers)
    for _ in range(200):
        z = draw.integers(1, draw.choice([9, 200, 2**30 // size]), size)
        total = float(max(1, int(z.sum() * draw.choice([1e-3, 0.2, 0.9, 2.0]))))
        at, known = np.arange(size, dtype=np.uint64), (total, least)
        some = at[(z.max() <= total) | (z > z.max() - total)]  # the largest gets no more
        index = some.astype(int)
        sums = float(z[index].sum()), spread[some.size]
        real, variance, left = z.astype(float), np.full(size, OWN), some.copy()
        active, tau = project(real, variance, left, np.uint64(some.size), sums, known)
        short, child = z.astype(np.int32), at.copy()
        found, same = whole(short, child, np.uint64(size), spread, known)
        assert child[: int(found)].tolist() == left[: int(active)].tolist()
        assert short[: int(found)].tolist() == z[left[: int(active)].astype(int)].tolist()
        assert same == tau or active == 1


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("firm", [False, True])
def test_variances_change_only_where_it_is_said_that_they_may(size, firm):
    z, variance, total, _ = cases(size, size)
    may, changed = door(reweighting.may_reweight), variance.copy()
    members = np.full(len(z), size)
    reweighting.reweight_all(z.reshape(-1), changed.reshape(-1), members, total, (16, firm))
    ends = np.uint64(0), np.uint64(size)
    said = np.array([may(z[f], variance[f], ends, (total[f], firm)) for f in range(len(z))])
    assert not (changed != variance)[~said].any()
    assert 0 < said.sum() < said.size
