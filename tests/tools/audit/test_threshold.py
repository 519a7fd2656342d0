"""Guarantees of sampled tables: exact, to the safe side, and no larger than they must be."""

import json
import math
import re
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import islice

import pytest

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.literature.recoding import Taxonomy, generalize
from geodp.privacy.loss import ApproximateDP
from geodp.tools.audit.binomial import (
    MIN_DELTA_BITS,
    SampleRatio,
    delta_bounds,
    exponent,
    iterate_terms,
    min_certain,
    min_epsilon,
)
from geodp.tools.audit.threshold import (
    ASSUMPTIONS,
    MAX_EPSILON,
    compare_release,
    curve,
    sampled_threshold,
    smallest_k,
)
from geodp.tools.plan.plan import plan
from tests.reference import suppression
from tests.refusals import refuses

PAIRS = (("0.1", 10, "0.7571"), ("0.2", 10, "1.0252"), ("0.2", 3, "1.5973"))
"""Those of Horigome 2016, who states epsilon alone."""


@pytest.mark.parametrize(
    ("pair", "exact", "li"),
    [
        (PAIRS[0], "5.472e-08", "9.998e-07"),
        (PAIRS[1], "3.443e-06", "4.605e-05"),
        (PAIRS[2], "0.008", "0.008"),
    ],
)
def test_deltas_of_the_literature(pair, exact, li):
    rate, k, epsilon = pair
    for bound, figure in (("exact", exact), ("li", li)):
        found = sampled_threshold(k, rate, epsilon=epsilon, bound=bound)
        low, high = found.interval
        assert f"{found.delta:.4g}" == figure
        assert high - low < Fraction(1, 10**30)
        assert (high - low) * 10**70 <= low
        assert Fraction(found.delta) >= high


def test_nobody_else_is_as_certain_as_all_of_k_people():
    found = sampled_threshold(3, "0.2", epsilon="1.5973")
    assert found.interval == (Fraction(1, 125), Fraction(1, 125))


def test_a_delta_that_no_float_holds_is_stated_as_the_least_one():
    found = sampled_threshold(16_384, "0.01", epsilon=1)
    assert found.interval == (found.interval[0], Fraction(1, 2**MIN_DELTA_BITS))
    assert found.interval[0] < found.interval[1]
    assert found.delta == 5e-324


def largest_rate(epsilon):
    """That of which an epsilon is the least one, rounded down: 1 - exp(-epsilon)."""
    up = Context(prec=12, rounding=ROUND_CEILING)
    return 1 - Fraction(up.plus((-Decimal(epsilon)).exp(Context(prec=40))))


@pytest.mark.parametrize(
    ("epsilon", "delta", "exact", "li"),
    [("1", "1e-4", 33, 47), ("1", "1e-6", 58, 74), ("1.5", "1e-6", 78, 99)],
)
def test_smallest_thresholds(epsilon, delta, exact, li):
    rate = largest_rate(epsilon)
    for bound, k in (("exact", exact), ("li", li)):
        assert smallest_k(rate, epsilon, delta, bound) == k
        within = sampled_threshold(k, rate, epsilon=epsilon, bound=bound)
        over = sampled_threshold(k - 1, rate, epsilon=epsilon, bound=bound)
        assert within.interval[1] <= Fraction(delta) < over.interval[0]


@pytest.mark.parametrize("bound", ["exact", "li"])
@pytest.mark.parametrize("rate", ["1/10", "1/3", "1/2"])
def test_the_plain_search_finds_the_same(rate, bound):
    rate, epsilon, delta = Fraction(rate), Fraction(3, 4), Fraction(1, 500)
    assert smallest_k(rate, epsilon, delta, bound) == suppression.smallest_k(
        rate, epsilon, delta, bound
    )


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("rate", ["1/4", "1/2", "4/5"])
@pytest.mark.parametrize("times", ["1", "5/4", "2"])
def test_both_laws_written_out_agree(k, rate, times):
    rate = Fraction(rate)
    epsilon = min_epsilon(rate) * Fraction(times)
    low, high = delta_bounds(k, rate, epsilon, "exact")
    assert low <= suppression.delta(k, rate, epsilon, 40) <= high
    # A table that hides one count fewer shows more than that, but for a count of 0, which is none.
    assert suppression.delta(k - 1, rate, epsilon, 40) > high or k == 1


@pytest.mark.parametrize("bound", ["exact", "li"])
@pytest.mark.parametrize(
    ("rate", "epsilon"),
    [("1/4", "1/2"), ("3/5", "1"), ("9/10", "5/2"), ("1/7", "2/9"), ("1/2", "2")],
)
def test_every_term_lies_between_its_bounds_however_few_bits_it_has(rate, epsilon, bound):
    rate, epsilon = Fraction(rate), Fraction(epsilon)
    g, growth = suppression.ratio(rate, epsilon), suppression.exp(epsilon)
    for bits in (4, 6, 8, 10, 12, 16, 40, 300):
        for term in islice(iterate_terms(rate, epsilon, bits, bound), 24):
            t = term.threshold
            n = math.floor(t / g) if bound == "li" else math.floor((t - 1) / g) + 1
            assert (term.people, term.certain) == (n, n == t)
            exact = sum(suppression.binomial(n, rate)[t:])
            if bound == "exact":
                exact -= growth * sum(suppression.binomial(n - 1, rate)[t:])
            assert Fraction(term.low, 2**bits) <= exact <= Fraction(term.high, 2**bits)
            assert term.high - term.low < 2**12


@pytest.mark.parametrize("k", [1, 4, 9])
def test_the_bound_of_the_literature_is_as_they_write_it(k):
    rate, epsilon = Fraction(1, 4), Fraction(1, 2)
    low, high = delta_bounds(k, rate, epsilon, "li")
    assert low <= suppression.li(k, rate, epsilon, 80) <= high
    assert delta_bounds(k, rate, epsilon, "exact")[1] <= high


def test_cells_of_every_size_stay_below_and_one_reaches_it():
    k, rate, epsilon = 5, Fraction(1, 4), Fraction(1, 2)
    _, high = delta_bounds(k, rate, epsilon, "exact")
    growth = suppression.exp(epsilon)
    laws = [suppression.outcomes(n, k, rate) for n in range(41)]
    found = [suppression.divergence(laws[n], laws[n - 1], growth) for n in range(1, 41)]
    assert max(found) <= high < max(found) * (1 + Fraction(1, 10**40))
    # The cell that shows most is where the walk says, for every threshold.
    g = SampleRatio(rate, epsilon, 64)
    assert found.index(max(found)) + 1 in {g.divide(t - 1) + 1 for t in range(k, 20)}


def test_below_the_least_epsilon_suppressed_counts_tell_who_is_missing():
    k, rate = 3, Fraction(1, 2)
    least = min_epsilon(rate)
    for epsilon, tells in ((least, False), (least * Fraction(9, 10), True)):
        growth = suppression.exp(epsilon)
        laws = [suppression.outcomes(n, k, rate) for n in range(40)]
        fewer = (suppression.divergence(laws[n - 1], laws[n], growth) for n in range(1, 40))
        assert any(fewer) == tells


@pytest.mark.parametrize(
    ("k", "bound", "epsilon"),
    [(10, "exact", 1.3418), (10, "li", 1.6487), (20, "exact", 0.4375), (20, "li", 0.6242)],
)
def test_epsilons_of_a_delta(k, bound, epsilon):
    found = sampled_threshold(k, 0.2, delta=1e-6, bound=bound)
    assert found.epsilon == pytest.approx(epsilon, abs=6e-5)
    assert found.interval[1] <= Fraction(1, 10**6) <= Fraction(found.delta)
    less = found.pair[0] - Fraction(1, 10**9)
    assert delta_bounds(k, Fraction(1, 5), less, bound)[0] > Fraction(1, 10**6)


def test_the_least_delta_of_all_is_reached():
    found = sampled_threshold(3, "1/5", delta="0.008")
    assert found.pair[1] == Fraction(1, 125) == found.interval[1]
    with refuses(UsageError, r"delta-below-least: 0\.008 = rate\*\*3"):
        sampled_threshold(3, "1/5", delta="0.00799")


def test_it_falls_with_epsilon_and_threshold_and_rises_with_the_rate():
    base = delta_bounds(6, Fraction(1, 4), Fraction(1, 2), "exact")
    for k, rate, epsilon in ((6, "1/4", "3/4"), (7, "1/4", "1/2"), (6, "1/5", "1/2")):
        assert delta_bounds(k, Fraction(rate), Fraction(epsilon), "exact")[1] < base[0]


def test_what_a_ledger_is_charged_is_short_and_not_below():
    found = sampled_threshold(10, "0.2", epsilon="1.0252")
    assert isinstance(found.loss, ApproximateDP)
    assert found.loss.epsilon == Fraction("1.0252")
    assert found.interval[1] <= found.loss.delta < found.interval[1] * (1 + Fraction(1, 10**11))
    assert len(str(found.loss)) < 100


def test_it_says_what_it_rests_on():
    found = sampled_threshold(10, "0.2", delta="1e-6").to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["assumed"] == [*ASSUMPTIONS]
    assert found["neighbours"] == "add-remove-one"


def test_where_everybody_is_drawn_no_long_powers_are_compared():
    for rate in (Fraction(1, 5), Fraction(9, 10), Fraction(999, 1000)):
        for delta in (
            Fraction(1, 7),
            rate,
            rate**6,
            rate**6 + Fraction(1, 10**40),
            Fraction("1e-9"),
        ):
            least = min_certain(rate, delta)
            assert rate**least <= delta < rate ** (least - 1)
    # Nearly everybody is drawn, of every cell: the first threshold of that delta is 20,723,255.
    assert min_certain(Fraction("0.999999"), Fraction("1e-9")) == 20_723_256
    with refuses(UsageError, "cells-of-too-many-people: 1,048,576"):
        smallest_k("0.999999", 20, "1e-9")
    assert smallest_k("0.99", 20, "1e-3") == 688


@pytest.mark.parametrize("exact", ["0.2", Fraction(1, 5), 0.2, Decimal("0.2")])
def test_numbers_are_read_as_all_budgets_are(exact):
    assert sampled_threshold(10, exact, epsilon=1).rate == Fraction(1, 5)


PEOPLE = {"sex": ["f", "f", "m", "m"]}
SEXES = {"sex": Taxonomy.of({"f": "*", "m": "*"})}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rate": 1}, "rate-is-one"),
        ({"rate": 1.5}, "rate-no-chance"),
        ({"rate": 0}, "budget-number-not-positive"),
        ({"rate": "-1/5"}, "budget-number-not-positive"),
        ({"rate": "often"}, "budget-number-form"),
        ({"k": 0}, "k-not-whole"),
        ({"k": 2.5}, "k-not-whole"),
        ({"k": True}, "k-not-whole"),
        ({"k": 2**20 + 1}, "k-too-large: 1,048,576"),
        ({"epsilon": "0.2231"}, r"epsilon-below-least: 0\.223143551315"),
        ({"epsilon": MAX_EPSILON + 1}, "epsilon-promises-nothing"),
        ({"epsilon": None}, "epsilon-or-delta"),
        ({"delta": 1e-6}, "epsilon-or-delta"),
        ({"epsilon": None, "delta": 1}, "delta-not-below-1"),
        ({"epsilon": None, "delta": 1e-9}, "delta-below-least"),
        ({"bound": "bild"}, "bound-unknown"),
        ({"sample_size": 1000}, "sample-of-fixed-size"),
        ({"weight": 4}, "weights-outside-model"),
        ({"tables": 2}, "several-tables-of-sample"),
        ({"k": generalize(PEOPLE, SEXES, 2)}, "recoding-from-data"),
        ({"rate": "1e-9", "epsilon": "1.00000001e-9"}, "cells-of-too-many-people: 1,048,576"),
    ],
)
def test_what_is_outside_of_the_model_is_refused_with_the_reason(given, said):
    call = {"k": 10, "rate": "0.2", "epsilon": "1", **given}
    with refuses(UsageError, said) as found:
        sampled_threshold(**call)
    assert str(found.value).count("\n") == 0


def test_a_weight_of_the_inverse_rate_changes_nothing():
    assert sampled_threshold(10, "0.2", 1, weight=5) == sampled_threshold(10, "0.2", 1)


def test_the_least_epsilon_is_decided_exactly():
    least = min_epsilon(Fraction(1, 5))
    sampled_threshold(10, "1/5", epsilon=least)
    with refuses(UsageError, "epsilon-below-least"):
        sampled_threshold(10, "1/5", epsilon=least - Fraction(2, 10**12))


def test_the_rate_of_decline_is_rounded_down():
    # exp(-n d) is Chernoff's bound; at this rate the Gaussian one of it is known in closed form.
    assert float(exponent(Fraction(1, 2), Fraction("0.693147180560"))) == pytest.approx(
        0.75 * 0.4054651081081644 - 0.25 * 0.6931471805599453, abs=1e-11
    )


def test_a_curve_ends_where_both_bounds_are_the_least():
    found = curve(10, "0.2")
    assert len(found.points) == 13
    assert all(point.exact <= point.li for point in found.points)
    ends = found.points[0], found.points[-1]
    assert ends[0].exact > 1000 * ends[1].exact
    assert ends[1].exact == ends[1].li == Fraction(1, 5**10)
    last = json.loads(json.dumps(found.to_dict()))["points"][-1]
    assert Fraction(last["li"]) >= Fraction(1, 5**10)
    with refuses(UsageError, "epsilon-below-least"):
        curve(10, "0.2", ["0.1"])


def test_a_release_of_the_same_epsilon_is_planned_without_data():
    found = sampled_threshold(10, "0.2", epsilon="1.0252")
    grid = Grid.regular((64, 64))
    other = compare_release(found, grid, "topdown")
    planned = plan(grid, "topdown", epsilon="1.0252")
    assert other.error == planned.blocks[0].standard_error
    assert other.sizes[0].people == 50
    law = suppression.outcomes(50, 10, Fraction(1, 5))
    assert other.sizes[0].shown == pytest.approx(float(1 - law[None]), rel=1e-12)
    assert other.sizes[0].sampled == pytest.approx((50 * 0.8 / 0.2) ** 0.5)
    assert other.even == pytest.approx(other.error**2 / 4)
    assert re.search("standard error of [0-9.]+, and is closer", other.statement)
    assert "every cell that is not alone in an empty region" in other.statement
    assert "alone" not in compare_release(found, grid, "laplace").statement
    with refuses(UsageError, "error-depends-on-data"):
        compare_release(found, grid, "mwem")
