"""Intervals with a prior: between closed forms and simulations, and how often they hold."""

import numpy as np
import pytest

import geodp
from geodp.accuracy.interval import Estimate
from geodp.errors import UsageError
from geodp.kinds.amounts import numbers
from geodp.kinds.amounts.numbers import narrow_estimates
from geodp.release import simulation
from tests.kinds.amounts.test_prior import (  # noqa: F401
    SIDE,
    as_published,
    before,
    boxes_of,
    earlier,
    held,
    now,
    release,
    told,
)
from tests.refusals import refuses

RELEASES = 20


@pytest.fixture(autouse=True)
def _few_releases(monkeypatch):
    monkeypatch.setattr(simulation, "RELEASES", RELEASES)


def width(interval):
    return interval.high - interval.low


@pytest.mark.parametrize("kind", ["census", "release"])
def test_intervals_are_narrower_and_hold(now, before, earlier, kind):  # noqa: F811
    prior = as_published(before) if kind == "census" else earlier
    made = release(now, **told(prior))
    # All from the same simulated releases.
    boxes = [box for side in (1, 4, 16) for box in boxes_of(side)]
    pairs = [*zip(made.estimate_all(boxes), made.estimate_all(boxes, prior=prior), strict=True)]
    for side in (1, 4, 16):
        some = [i for i, (x, _, right, _) in enumerate(boxes) if right - x == side]
        narrow = [pairs[i][1] for i in some]
        assert (held(narrow, [boxes[i] for i in some], now) >= 0.94).all()
        # Where nothing was released, stand-ins know of nobody either.
        shown = [pairs[i] for i in some if pairs[i][0].count.count]
        for name in ("count", "sum"):
            ratios = [width(getattr(b, name)) / width(getattr(a, name)) for a, b in shown]
            assert np.median(ratios) < 0.7
            assert max(ratios) < 1.001
    # Values are those of the release, and more is known of means.
    assert all(a.count.count == b.count.count and a.sum.value == b.sum.value for a, b in pairs)
    known = [sum(one.mean is not None for one in some) for some in zip(*pairs, strict=True)]
    assert known[0] < known[1]


def test_half_an_interval_is_the_root_of_the_product():
    def stream(low, high, count=100):
        return Estimate(count, low, high, 5.0, clamped=True)

    def between(closed, simulated):
        return numbers._between(closed, simulated)

    one = between(stream(60, 190), stream(96, 110))
    assert (one.count, one.standard_error) == (100, 5.0)
    assert (one.low, one.high) == pytest.approx((100 - 160**0.5, 100 + 900**0.5))
    # A settlement that the prior lacks may have lost more than the closed form knows.
    assert between(stream(60, 190), stream(96, 300)).high == 300
    assert between(stream(0, 90, 0), stream(0, 1, 0)).high == 90


def test_a_prior_that_was_not_used_is_refused(now):  # noqa: F811
    """Nothing would get narrower by it, without a word of that."""
    flat = geodp.CountTable.from_dense(np.ones((SIDE, SIDE), np.int64), now.records.grid)
    made = release(now, **told(flat))
    assert not made.index.prior.is_used
    with refuses(UsageError, "amounts-prior-not-trusted"):
        made.estimate_all(boxes_of(16), prior=flat)


def test_streams_without_a_stated_prior_keep_their_closed_forms(now, before):  # noqa: F811
    stream = release(now).streams[0]
    known = geodp.Prior.of(now.records.grid, as_published(before), "made up")
    boxes = [geodp.Region.of(stream.grid, one) for one in boxes_of(16)]
    assert narrow_estimates(stream, boxes, known) == stream.estimate_all(boxes)


def test_another_prior_is_refused(now, before, earlier):  # noqa: F811
    made, region = release(now, **told(earlier)), (0, 0, 4, 4)
    other = geodp.amounts.publish(before, epsilon=1, contribution=1)
    for prior in (as_published(before), other):
        with refuses(UsageError, "amounts-prior-differs"):
            made.estimate(region, prior=prior)
    with refuses(UsageError, "amounts-prior-not-used"):
        release(now).estimate(region, prior=earlier)
    with refuses(UsageError, "amounts-prior-not-used"):
        release(now, means=False, **told(earlier)).estimate(region, prior=earlier)
    with refuses(UsageError, "amounts-prior-kind"):
        made.estimate(region, prior={"count": 1})


def test_a_prior_is_given_again(now, before, earlier, tmp_path):  # noqa: F811
    """Whatever it is given as, and after it was written."""
    region = (0, 0, 16, 16)
    made = release(now, key=None, **told(as_published(before)))
    # No card has a digest of a map, by which a guess could be confirmed.
    assert made.index.prior.identity is None
    made.write(tmp_path / "made")
    opened = geodp.open(tmp_path / "made")
    assert opened.index.prior == made.index.prior
    as_prior = geodp.Prior.of(now.records.grid, as_published(before), "in other words")
    expected = made.estimate(region, prior=as_published(before))
    assert opened.estimate(region, prior=as_prior) == expected
    of_release = release(now, **told(earlier))
    earlier.write(tmp_path / "earlier")
    again = of_release.estimate(region, prior=geodp.open(tmp_path / "earlier"))
    assert again == of_release.estimate(region, prior=earlier)
