"""Privacy loss: exact sums, and conversions that are bounds and agree with other libraries."""

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, localcontext
from decimal import Decimal as D
from fractions import Fraction as F
from itertools import permutations

import dp_accounting
import opendp.prelude as dp
import pytest
from dp_accounting import rdp
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import UsageError
from geodp.privacy import loss
from geodp.privacy.accounts import Account
from geodp.privacy.loss import (
    ApproximateDP,
    PureDP,
    ZeroConcentratedDP,
    compose,
    epsilon_for,
    no_loss,
    parse,
    rational,
    remainder,
    rho_for,
    to_approximate,
    to_zero_concentrated,
    within,
)
from tests.refusals import refuses

amounts = st.fractions(0, 1000, max_denominator=10**6)
above_zero = st.fractions(F(1, 10**6), 1000, max_denominator=10**6)
deltas = st.integers(1, 40).map(lambda n: F(1, 2**n)) | st.fractions(
    F(1, 10**15), F(999, 1000), max_denominator=10**15
)
pures = st.builds(PureDP, amounts)
concentrated = st.builds(ZeroConcentratedDP, amounts)
approximates = st.builds(
    ApproximateDP, amounts, st.fractions(0, F(1, 100)), st.none() | concentrated
)
losses = st.one_of(pures, concentrated, approximates)


def least_epsilon(rho, delta):
    """Proposition 7 as it stands, minimised by ternary search with 100 digits."""
    with localcontext(prec=100):
        rho, delta = (D(x.numerator) / D(x.denominator) for x in (rho, delta))

        def bound(t):
            alpha = 1 + t.exp()
            return alpha * rho + (1 / (alpha * delta)).ln() / (alpha - 1) + (1 - 1 / alpha).ln()

        low, high = D(-40), D(80)
        for _ in range(220):
            a, b = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, b) if bound(a) < bound(b) else (a, high)
        return bound(low)


BITS = 240


def log_bounds(number):
    """Bounds of a logarithm by whole numbers alone: the series of artanh, and its rest."""
    power = number.numerator.bit_length() - number.denominator.bit_length()

    def series(m):
        z = ((m - 1) / (m + 1) * 2**BITS).__floor__()
        total, term, square = 0, z, z * z >> BITS
        for i in range(80):
            total += term // (2 * i + 1)
            term = term * square >> BITS
        return 2 * total

    middle = series(number / F(2) ** power) + power * series(F(2))
    # Each of the divisions above is wrong by less than 1, and the rest of 80 terms is below 1, too.
    slack = 2**10 * (1 + abs(power))
    return F(middle - slack, 2**BITS), F(middle + slack, 2**BITS)


def log_delta_bound(rho, epsilon, u):
    """Upper bound of the logarithm of Proposition 7's delta at order 1 + u, by rationals."""
    above, below = log_bounds(u)[1], log_bounds(1 + u)[0]
    return u * ((1 + u) * rho - epsilon) + u * above - (1 + u) * below


def best_order(rho, delta):
    """The order at which Proposition 7 is tightest, less 1; any other would be valid, too."""
    with localcontext(prec=60):
        r, log_delta = (
            D(rho.numerator) / D(rho.denominator),
            (D(delta.numerator) / D(delta.denominator)).ln(),
        )
        low, high = D("1e-20"), D("1e20")
        while high / low > 1 + D("1e-25"):
            u = (low * high).sqrt()
            low, high = (low, u) if r * u * u + (1 + u).ln() + log_delta > 0 else (u, high)
        return F(low.quantize(D("1e-40"), context=Context(prec=80)))


# -- values


@pytest.mark.parametrize("bad", [0.5, "1/2", True, None, F(-1, 2), -1, 10**101])
@pytest.mark.parametrize(
    "kind", [PureDP, ZeroConcentratedDP, lambda x: ApproximateDP(x, F(1, 2)), None]
)
def test_only_exact_amounts_of_at_least_zero_are_losses(kind, bad):
    with pytest.raises(UsageError):
        ApproximateDP(F(1), bad) if kind is None else kind(bad)


@given(losses)
def test_the_written_loss_is_read_back(loss):
    assert parse(str(loss)) == loss


@pytest.mark.parametrize(
    "text",
    [
        *["", "epsilon", "epsilon 0.5", "epsilon 2/4", "epsilon 1/0", "epsilon -1", "epsilon 1 "],
        *["delta 1", "sigma 1", "epsilon 1, rho 1", "epsilon 1 from rho 1"],
        "epsilon 1, delta 1/2 from rho x",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(UsageError):
        parse(text)


def test_a_card_tells_every_parameter_also_the_original_ones():
    assert PureDP(F(1, 5)).describe() == {
        "variant": "pure",
        "epsilon": "1/5",
        "epsilon_decimal": 0.2,
    }
    told = to_approximate(ZeroConcentratedDP(F(1, 8)), F(1, 10**6)).describe()
    assert told["converted_from"] == {
        "variant": "zero-concentrated",
        "rho": "1/8",
        "rho_decimal": 0.125,
    }
    assert told["delta"] == "1/1000000"
    assert F(told["epsilon"]) == epsilon_for(F(1, 8), F(1, 10**6))


def test_an_approximate_loss_says_so():
    told = ApproximateDP(F(1, 2), F(1, 8)).describe()
    assert told == {
        "variant": "approximate",
        "epsilon": "1/2",
        "epsilon_decimal": 0.5,
        "delta": "1/8",
        "delta_decimal": 0.125,
    }


def test_the_largest_amount_and_one_beyond():
    assert PureDP(10**100).epsilon == 10**100
    with refuses(UsageError, "loss-number-range"):
        PureDP(10**100 + 1)
    for text in (f"epsilon {10**101}", "epsilon " + "1" * 5000):
        with refuses(UsageError, "loss-form"):
            parse(text)


# -- composition


def test_closed_sums():
    tenth = PureDP(rational("0.1"))
    assert compose([tenth] * 3) == PureDP(F(3, 10))
    assert compose([ZeroConcentratedDP(F(1, 3)), ZeroConcentratedDP(F(1, 6))]).rho == F(1, 2)
    assert compose([PureDP(F(1, 10)), ZeroConcentratedDP(F(1, 5))]).rho == F(1, 200) + F(1, 5)
    assert compose([PureDP(1), ApproximateDP(2, F(1, 9)), ApproximateDP(3, F(1, 9))]) == (
        ApproximateDP(6, F(2, 9))
    )
    assert to_zero_concentrated(PureDP(F(1, 3))) == ZeroConcentratedDP(F(1, 18))


def test_one_loss_composes_to_itself_and_none_to_nothing_sensible():
    converted = to_approximate(ZeroConcentratedDP(F(1, 8)), F(1, 100))
    assert compose([converted]).original == ZeroConcentratedDP(F(1, 8))
    with pytest.raises(UsageError):
        compose([])


@pytest.mark.parametrize("extra", [[], [PureDP(1)]])
def test_concentrated_and_approximate_losses_are_not_mixed(extra):
    for order in permutations([ZeroConcentratedDP(1), ApproximateDP(1, F(1, 10)), *extra]):
        with refuses(UsageError, "losses-of-other-kinds"):
            compose(order)


@pytest.mark.parametrize("kind", [pures, concentrated, approximates], ids=["pure", "zCDP", "app"])
@given(data=st.data())
def test_composition_of_like_kinds_is_associative_and_commutative(kind, data):
    a, b, c = (data.draw(kind) for _ in range(3))
    assert compose([compose([a, b]), c]) == compose([a, compose([b, c])]) == compose([c, b, a])


@given(st.lists(st.one_of(pures, concentrated), min_size=1, max_size=6))
def test_a_running_total_of_a_kind_equals_the_composition_at_once(parts):
    total = ZeroConcentratedDP(0)
    for part in parts:
        total = compose([total, part])
    assert total == compose([ZeroConcentratedDP(0), *parts])


@given(losses, losses)
def test_composition_is_monotone_and_undone_by_the_remainder(a, b):
    if {type(a), type(b)} == {ZeroConcentratedDP, ApproximateDP}:
        return
    total = compose([no_loss(a), no_loss(b), a, b])
    start = compose([no_loss(total), a])
    assert within(start, total)
    assert compose([start, remainder(total, start)]) == total


def test_within_compares_like_kinds_only_and_every_parameter():
    assert within(PureDP(F(1, 3)), PureDP(F(1, 3)))
    assert not within(PureDP(F(1, 3) + F(1, 10**50)), PureDP(F(1, 3)))
    assert not within(PureDP(0), ZeroConcentratedDP(1))
    assert not within(ApproximateDP(1, F(2, 9)), ApproximateDP(2, F(1, 9)))


# -- conversions


@pytest.mark.parametrize("rho", [F(1, 10**9), F(1, 3000), F(1, 2), F(10), F(10**4)])
@pytest.mark.parametrize("delta", [F(1, 10**30), F(1, 10**6), F(1, 3), F(99, 100)])
def test_epsilon_is_the_least_over_all_orders_and_never_rounded_below_it(rho, delta):
    least = F(max(D(0), least_epsilon(rho, delta)))
    found = epsilon_for(rho, delta)
    assert least <= found <= least * (1 + F(1, 10**14))


@given(above_zero, deltas)
def test_tighter_than_the_closed_bound_of_bun_and_steinke(rho, delta):
    simple = float(rho) + 2 * math.sqrt(float(rho) * -math.log(float(delta)))
    assert float(epsilon_for(rho, delta)) <= simple * (1 + 1e-12)


@given(above_zero, deltas)
def test_conversions_round_to_the_safe_side_of_each_other(rho, delta):
    epsilon = epsilon_for(rho, delta)
    if epsilon:
        assert 1 - F(1, 10**10) <= rho_for(epsilon, delta) / rho <= 1 + F(1, 10**10)


@pytest.mark.parametrize("rho", [F(723347347957, 10**11), F("0.0123456789012"), F("1.5")])
@pytest.mark.parametrize("delta", [F(1, 10**5), F(1, 10**9)])
def test_a_rho_whose_epsilon_is_rounded_over_the_given_one_gives_way(rho, delta):
    """An epsilon of more digits than are stated lies between the exact one and the stated."""
    epsilon = epsilon_for(rho, delta) * (1 - F(1, 10**17))
    found = rho_for(epsilon, delta)
    assert epsilon_for(found, delta) <= epsilon < epsilon_for(rho, delta)
    assert rho * (1 - F(1, 10**11)) < found < rho


@given(amounts, deltas)
def test_the_largest_rho_stays_within_epsilon_and_a_larger_one_does_not(epsilon, delta):
    rho = rho_for(epsilon, delta)
    assert rho > 0
    assert epsilon_for(rho, delta) <= epsilon
    assert epsilon_for(rho * (1 + F(1, 10**9)), delta) > epsilon


@given(above_zero, above_zero, deltas, deltas)
@settings(max_examples=30)
def test_conversions_are_monotone(a, b, d, e):
    (a, b), (d, e) = sorted([a, b]), sorted([d, e])
    assert epsilon_for(a, d) <= epsilon_for(b, d)
    assert epsilon_for(a, e) <= epsilon_for(a, d)
    assert rho_for(a, d) <= rho_for(b, d)


def test_nothing_spent_converts_to_nothing():
    assert epsilon_for(F(0), F(1, 10)) == 0


@pytest.mark.parametrize("rho", [F(1, 10**80), F(10**80)])
def test_absurd_parameters_still_give_valid_bounds(rho):
    epsilon = epsilon_for(rho, F(1, 10**100))
    assert epsilon >= rho
    assert epsilon_for(rho_for(epsilon, F(1, 10**100)), F(1, 10**100)) <= epsilon


@pytest.mark.parametrize("delta", [F(0), F(1), F(2), 0.1])
def test_delta_must_lie_between_0_and_1(delta):
    with refuses(UsageError, "budget-number-not-positive|loss-delta|loss-number-kind: delta"):
        epsilon_for(F(1), delta)
    with refuses(UsageError, "budget-number-not-positive|loss-delta|loss-number-kind: delta"):
        rho_for(F(1), delta)


def test_the_digits_that_the_safe_side_counts_on():
    """All but the last 20 digits of a rounded number are right, and the slack is 1e20."""
    assert (loss._WORK.prec, loss._WORK.Emin, loss._WORK.Emax) == (60, MIN_EMIN, MAX_EMAX)
    assert F(1, 10**40) == loss._SLACK


SPREAD = [(F(1, 3000), F(1, 10**9)), (F(1, 7), F(1, 10**6)), (F(9, 4), F(1, 300))]


def test_where_no_rho_is_small_enough_there_is_none():
    assert rho_for(F(1, 10**199), F(1, 10**199)) == 0


def digits(value):
    """Significant ones of an exact decimal."""
    with localcontext(prec=400):
        return len((D(value.numerator) / D(value.denominator)).normalize().as_tuple().digits)


def test_conversions_are_stated_with_so_many_digits_and_no_more():
    up = Context(prec=15, rounding=ROUND_CEILING)
    for rho, delta in SPREAD:
        assert epsilon_for(rho, delta) == F(up.plus(least_epsilon(rho, delta)))
    assert max(digits(rho_for(F(n, 3), delta)) for _, delta in SPREAD for n in (1, 5)) == 12


@pytest.mark.parametrize(("rho", "delta"), SPREAD)
def test_the_slack_is_on_the_safe_side(rho, delta, monkeypatch):
    before = epsilon_for(rho, delta), rho_for(F(1, 3), delta)
    monkeypatch.setattr(loss, "_SLACK", D("1e-3"))
    assert epsilon_for(rho, delta) > before[0] * F(1001, 1000)
    assert rho_for(F(1, 3), delta) < before[1]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: epsilon_for(F(-1), F(1, 9)), "loss-number-range: ^rho"),
        (lambda: epsilon_for(F(1), F(0)), "budget-number-not-positive: ^delta"),
        (lambda: rho_for(F(-1), F(1, 9)), "loss-number-range: ^epsilon"),
        (lambda: rho_for(F(1), F(0)), "budget-number-not-positive: ^delta"),
        (lambda: rho_for(F(1), F(1)), "loss-delta"),
    ],
)
def test_a_refused_parameter_is_named(call, says):
    with refuses(UsageError, says):
        call()


# -- other libraries

CASES = [(F(1, 200), F(1, 10**6)), (F(1, 8), F(1, 10**9)), (F(1, 2), F(1, 10**6))]
CASES += [(F(5, 2), F(1, 10**10)), (F(20), F(1, 1000))]


@pytest.mark.parametrize(("rho", "delta"), CASES)
def test_agreement_with_opendp(rho, delta):
    dp.enable_features("contrib")
    scale = math.sqrt(1 / (2 * float(rho)))
    gaussian = dp.m.make_gaussian(
        dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=scale
    )
    profile = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0)
    # OpenDP minimises the same bound in floats, rounded up: equal but for its rounding.
    epsilon = epsilon_for(rho, delta)
    assert profile.epsilon(delta=float(delta)) == pytest.approx(float(epsilon), rel=1e-9)
    assert profile.delta(epsilon=float(epsilon)) == pytest.approx(float(delta), rel=1e-7)


@pytest.mark.parametrize(("rho", "delta"), CASES)
def test_agreement_with_dp_accounting(rho, delta):
    """Rho describes a Gaussian among others: its own exact epsilon is below ours.

    The accountant's Rényi bound uses the same formula over a fixed list of orders, so it is never
    below ours, and close where the list is fine.
    """
    sigma = math.sqrt(1 / (2 * float(rho)))
    ours = float(epsilon_for(rho, delta))
    orders = [1 + math.exp(t / 500) for t in range(-2000, 5000)]
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(dp_accounting.GaussianDpEvent(sigma))
    renyi = accountant.get_epsilon(float(delta))
    exact = dp_accounting.get_epsilon_gaussian(sigma, float(delta))
    assert exact < ours <= renyi * (1 + 1e-12)
    assert renyi == pytest.approx(ours, rel=1e-5)
    # Two halves compose to the whole.
    halves = rdp.RdpAccountant(orders)
    halves.compose(dp_accounting.GaussianDpEvent(sigma * math.sqrt(2)), 2)
    assert halves.get_epsilon(float(delta)) == pytest.approx(renyi, rel=1e-9)
    assert compose([ZeroConcentratedDP(rho / 2)] * 2) == ZeroConcentratedDP(rho)


# -- conversions against rational arithmetic

usual_rhos = st.fractions(F(1, 10**5), 10, max_denominator=10**5)
usual_deltas = st.integers(2, 12).map(lambda n: F(1, 10**n))


@settings(max_examples=40, deadline=None)
@given(usual_rhos, usual_deltas)
def test_the_epsilon_of_a_rho_is_a_bound_by_rational_arithmetic_and_no_looser(rho, delta):
    epsilon, u = epsilon_for(rho, delta), best_order(rho, delta)
    lower, upper = log_bounds(delta)
    if epsilon:
        assert log_delta_bound(rho, epsilon, u) <= lower
        # An epsilon of one unit less in the 12th digit is none that this order proves.
        assert log_delta_bound(rho, epsilon * (1 - F(1, 10**12)), u) > upper


@settings(max_examples=40, deadline=None)
@given(st.fractions(F(1, 100), 10, max_denominator=1000), usual_deltas)
def test_the_rho_of_an_epsilon_implies_it_by_rational_arithmetic(epsilon, delta):
    rho = rho_for(epsilon, delta)
    assert log_delta_bound(rho, epsilon, best_order(rho, delta)) <= log_bounds(delta)[0]
    larger = rho * (1 + F(1, 10**9))
    assert log_delta_bound(larger, epsilon, best_order(larger, delta)) > log_bounds(delta)[1]


@given(st.lists(st.one_of(pures, concentrated), min_size=1, max_size=6))
def test_losses_cost_a_cap_in_rho_exactly_what_they_are(charged):
    account = Account.open("a", ZeroConcentratedDP(10**9), "person", "add-remove-one")
    twin = F(0)
    for one in charged:
        account = account.charge(one)
        amount = one.amounts[0]
        cost = amount * amount / 2 if isinstance(one, PureDP) else amount
        assert account.cost(one) == ZeroConcentratedDP(cost)
        twin += cost
    assert account.spent == ZeroConcentratedDP(twin)
    assert account.remaining == ZeroConcentratedDP(10**9 - twin)


def test_a_cost_is_told_where_it_differs():
    in_rho = Account.open("a", ZeroConcentratedDP(1), "person", "add-remove-one")
    assert in_rho.describe_cost(PureDP(F(1, 10))) == "epsilon 1/10 (rho 1/200)"
    assert in_rho.describe_cost(ZeroConcentratedDP(F(1, 200))) == "rho 1/200"
    with_delta = Account.open("a", ApproximateDP(1, F(1, 9)), "person", "add-remove-one")
    assert with_delta.describe_cost(PureDP(1)) == "epsilon 1"
    assert with_delta.cost(PureDP(1)) == ApproximateDP(1, 0)
