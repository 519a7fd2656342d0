"""What trimmed weights leave out, by a public total, and totals that weights were raked to."""

import numpy as np
import pytest

from geodp.accuracy.interval import Estimate
from geodp.errors import UsageError
from geodp.features.amounts.estimates import AmountEstimate, Interval
from geodp.features.amounts.trimming import estimate_trimming
from geodp.privacy.key import NoiseKey
from tests.features.amounts.made import incomes, publish, rows
from tests.refusals import refuses

ALL = (0, 0, 16, 16)
RAKED_TO = "residents by age and sex of this survey"


def weighted(weight):
    return rows().append_column("w", [list(map(str, weight))])


def test_the_lost_share_is_that_of_the_public_total():
    one = AmountEstimate(Estimate(80, 1.0, 76, 84, clamped=False), mean=Interval(300, 290, 310))
    found = estimate_trimming(one, 100, (0.0, 1000.0))
    assert vars(found.lost) == pytest.approx({"value": 0.2, "low": 0.16, "high": 0.24})
    # A quarter of the people at most, with nothing or with the upper end each.
    assert found.mean.value == 300
    assert found.mean.low == pytest.approx(0.76 * 290)
    assert found.mean.high == pytest.approx(0.76 * 310 + 240)
    assert vars(estimate_trimming(one, 76, (0.0, 1000.0)).lost) == dict.fromkeys(
        ("value", "low", "high"), 0.0
    )


def test_a_total_below_the_released_records_is_refused():
    one = AmountEstimate(Estimate(80, 1.0, 76, 84, clamped=False), mean=Interval(300, 290, 310))
    with refuses(UsageError, "amounts-total-below"):
        estimate_trimming(one, 75.9, (0.0, 1000.0))


def test_the_lost_share_is_a_plain_number():
    ends = map(np.float64, (76, 84))
    one = AmountEstimate(Estimate(80, 1.0, *ends, clamped=False))
    assert {type(part) for part in vars(estimate_trimming(one, 100, (0.0, 1.0)).lost).values()} == {
        float
    }


def test_the_mean_of_all_people_is_in_the_interval():
    _, _, income = incomes()
    # Rich people answer rarely, and have large weights, which are trimmed.
    weight = np.where(income > 400, 9, 2)
    counted = np.minimum(np.floor(income + 0.5), 1000)
    release = publish(
        weighted(weight), weight="w", max_weight=5, epsilon=10, key=NoiseKey(bytes(32))
    )
    found = release.trimming(ALL, float(weight.sum()))
    lost = (weight - np.minimum(weight, 5)).sum() / weight.sum()
    assert found.lost.low <= lost <= found.lost.high
    true = np.average(counted, weights=weight)
    assert release.estimate(ALL).mean.high < true
    assert found.mean.low <= true <= found.mean.high


def test_a_release_without_weights_has_nothing_trimmed(release):
    with refuses(UsageError, "amounts-without-weights"):
        release.trimming(ALL, 100)
    some = publish(weighted(np.full(20_000, 3)), weight="w", max_weight=5)
    for people in (0, -1, float("nan"), float("inf"), True, np.True_):
        with refuses(UsageError, "amounts-total-form"):
            some.trimming(ALL, people)


def test_totals_that_weights_were_raked_to_stand_on_the_cards():
    data = weighted(np.full(20_000, 3))
    release = publish(data, weight="w", max_weight=5, raked_to=RAKED_TO)
    for promise in (release.index.guarantee, release.count.card().guarantee):
        (fact,) = [one for one in promise.not_protected if RAKED_TO in one]
        assert "invariants" in fact
    plain = publish(data, weight="w", max_weight=5)
    assert not any("raked" in one for one in plain.index.guarantee.not_protected)


@pytest.mark.parametrize("more", [{"weight": None}, {"raked_to": " "}, {"raked_to": 5},
                                  {"raked_to": "a\nb"}, {"raked_to": "a" * 501}])  # fmt: skip
def test_raked_to_is_a_sentence_about_weights(more):
    given = {"weight": "w", "max_weight": 5, "raked_to": RAKED_TO} | more
    if given["weight"] is None:
        given["max_weight"] = 1
    with refuses(UsageError, "weights-raked-to|weights-raked-without"):
        publish(weighted(np.full(20_000, 3)), **given)
