"""What an event costs and how much noise it gets, worked out by hand."""

from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import UsageError
from geodp.privacy.event import CONCENTRATED, PURE, Composed, Measurement
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, PureDP, ZeroConcentratedDP
from geodp.privacy.noise.law import DiscreteGaussian, DiscreteLaplace
from geodp.privacy.reports import LocalReports
from geodp.privacy.terms import ADD_REMOVE, REPLACE, Terms
from tests.refusals import refuses


def spent(
    neighbours=ADD_REMOVE, contribution=1, sensitivity=1, rho=None, key_origin="entropy", **changed
):
    """Make an event of epsilon 1/3, or of rho."""
    amounts = {"rho": rho} if rho else {"epsilon": "1/3"}
    terms = Terms.of(**amounts, neighbours=neighbours, contribution=contribution, **changed)
    return Measurement.of("m", terms, sensitivity, key_origin)


@pytest.mark.parametrize(
    ("neighbours", "contribution", "measured", "sensitivity"),
    [
        (ADD_REMOVE, 1, 1, 1),
        (ADD_REMOVE, 1, 7, 7),
        (ADD_REMOVE, 5, 7, 35),
        (REPLACE, 1, 7, 14),
        (REPLACE, 5, 7, 70),
    ],
)
def test_sensitivity_scale_and_variance_of_a_person(
    neighbours, contribution, measured, sensitivity
):
    pure = spent(neighbours, contribution, measured)
    assert pure.sensitivity == sensitivity
    assert pure.scale == 3 * sensitivity
    # The L2 norm is the factor times the root of what is measured: factor^2 * measured / (2 rho).
    factor = contribution * (2 if neighbours == REPLACE else 1)
    gaussian = spent(neighbours, contribution, measured, F(1, 8))
    assert gaussian.sensitivity == sensitivity
    assert gaussian.sigma2 == 4 * factor**2 * measured


@pytest.mark.parametrize("share", [None, F(1), F(1, 5)])
def test_a_share_of_the_budget_has_the_noise_of_that_share(share):
    given = () if share is None else (share,)
    part = share or F(1)
    pure, gaussian = spent(sensitivity=2), spent(sensitivity=2, rho=F(1, 8))
    assert pure.law(*given) == DiscreteLaplace.of_scale(6 / part)
    assert pure.width(*given) == float(6 / part)
    assert gaussian.law(*given) == DiscreteGaussian.of_sigma2(8 / part)
    assert gaussian.width(*given) == float(8 / part) ** 0.5


def test_noise_of_the_other_kind_has_no_such_parameter():
    with refuses(UsageError, "gaussian-has-no-scale"):
        _ = spent(rho=F(1)).scale
    with refuses(UsageError, "laplace-has-no-sigma2"):
        _ = spent().sigma2
    without = Measurement("m", None, ADD_REMOVE, 1, False, 1, "person", "entropy")
    with refuses(UsageError, "gaussian-has-no-scale"):
        _ = without.scale
    stated = Measurement("m", F(1), ADD_REMOVE, 1, False, 1, "person", "entropy", F(1), F(1, 9))
    with refuses(UsageError, "gaussian-has-no-scale"):
        _ = stated.scale


def test_what_each_kind_costs():
    assert spent().loss == PureDP(F(1, 3))
    assert spent(rho=F(1, 8)).loss == ZeroConcentratedDP(F(1, 8))
    stated = Measurement("m", F(1), ADD_REMOVE, 1, False, 1, "person", "entropy", F(1, 8), F(1, 9))
    assert stated.loss == ApproximateDP(1, F(1, 9), ZeroConcentratedDP(F(1, 8)))
    assert stated.loss.original == ZeroConcentratedDP(F(1, 8))
    for epsilon, delta in ((None, F(1, 9)), (F(1), None)):
        half = Measurement(
            "m", epsilon, ADD_REMOVE, 1, False, 1, "person", "entropy", F(1, 8), delta
        )
        assert half.loss == ZeroConcentratedDP(F(1, 8))
    assert (spent().variant, spent(rho=F(1)).variant) == (PURE, CONCENTRATED)


def test_only_a_key_that_nobody_knew_is_private():
    private = {name: spent(key_origin=name).is_private for name in ("entropy", "file", "fixed", "")}
    assert private == {"entropy": True, "file": True, "fixed": False, "": False}


def test_an_event_keeps_what_its_terms_say():
    delta = F(1, 9)
    terms = Terms(ApproximateDP(F(1, 3), delta, ZeroConcentratedDP(F(1))), REPLACE, 5, True, "trip")
    given = ("m", F(1, 3), REPLACE, 5, True, 70, "trip", "file", F(1), delta)
    assert Measurement.of("m", terms, 7, "file") == Measurement(*given)
    assert Measurement.of("m", terms, 7, "file").loss == terms.loss
    assert (spent().rho, spent().delta) == (None, None)
    assert spent().loss == PureDP(F(1, 3))


def test_terms_that_leave_the_contribution_to_a_table_cost_nothing_yet():
    with refuses(UsageError, "contribution-unbounded"):
        spent(contribution=None)


@pytest.mark.parametrize("amounts", [{"epsilon": "1/2"}, {"rho": "1/8"}], ids=["epsilon", "rho"])
@pytest.mark.parametrize("neighbours", [ADD_REMOVE, REPLACE])
def test_a_table_that_depends_on_more_costs_all_of_it_and_keeps_its_noise(neighbours, amounts):
    one, three = ({name: F(text) * times for name, text in amounts.items()} for times in (1, 3))
    part, whole = (
        Measurement.of("m", Terms.of(**each, neighbours=neighbours, contribution=1), 1)
        for each in (one, three)
    )
    made = part.depending_on(whole)
    assert (made.loss, made.share, made.own) == (whole.loss, F(1, 3), part)
    assert (made.law(), made.width(F(1, 2))) == (part.law(), part.width(F(1, 2)))
    assert "together with all that it depends on" in made.statement
    assert made.describe()["share"] == "1/3"
    assert part.depending_on(part) == part
    assert part.describe()["share"] is None
    (fact,) = {*made.not_protected} - {*part.not_protected}
    assert "its own noise has 1/3" in fact


# -- several events

pures = st.fractions(F(1, 100), 3, max_denominator=100).map(lambda e: measured(epsilon=e))
gaussians = st.fractions(F(1, 100), 3, max_denominator=100).map(lambda r: measured(rho=r))
events = st.lists(pures | gaussians, min_size=1, max_size=5)


def measured(**amounts):
    return Measurement.of("m", Terms.of(**amounts, contribution=1), 1)


@given(st.lists(pures, min_size=1), st.lists(gaussians, min_size=1))
def test_losses_of_one_kind_add_up_exactly(pure, gaussian):
    assert Composed(pure).loss == PureDP(sum(one.epsilon for one in pure))
    assert Composed(gaussian).loss == ZeroConcentratedDP(sum(one.rho for one in gaussian))


@given(events, st.randoms(use_true_random=False))
def test_neither_order_nor_grouping_of_like_events_matters(some, random):
    mixed = random.sample(some, len(some))
    assert Composed(mixed).loss == Composed(some).loss
    like = [one for one in some if (one.rho is None) == (some[0].rho is None)]
    cut = random.randint(1, len(like))
    groups = [Composed(part) for part in (like[:cut], like[cut:]) if part]
    assert Composed(groups).loss == Composed(like).loss


@given(events, pures | gaussians)
def test_a_further_event_never_costs_less_than_nothing(some, more):
    before, after = Composed(some).loss, Composed([*some, more]).loss
    if type(before) is type(after):
        assert all(a < b for a, b in zip(before.amounts, after.amounts, strict=True))
    else:  # a pure loss counts as half of its square once there is Gaussian noise
        rest = sum(one.epsilon**2 for one in some) / 2
        assert after.rho > more.rho
        assert after.rho == more.rho + rest


def test_a_ledger_spends_what_is_composed(tmp_path):
    some = [measured(epsilon=amount) for amount in ("1/2", "1/3", "1/7")]
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("census", PureDP(F(1)))
    for number, one in enumerate(some):
        ledger.charge(
            "census",
            one.loss,
            mechanism=one.mechanism,
            neighbours=one.neighbours,
            contribution=one.contribution,
            fingerprint=f"{number:016x}",
        )
    together = Composed(some)
    assert ledger.spent("census") == together.loss
    assert (together.unit, together.neighbours) == ("person", ADD_REMOVE)
    assert together.describe() == {
        "loss": PureDP(F(41, 42)).describe(),
        "neighbours": ADD_REMOVE,
        "unit": "person",
        "events": [one.describe() for one in some],
    }


@pytest.mark.parametrize(
    "some", [[], [spent(), spent(REPLACE)], [spent(), spent(unit="household")]]
)
def test_losses_that_do_not_add_up_are_not_composed(some):
    with refuses(UsageError, "losses-of-other-units"):
        Composed(some)


def test_reports_of_devices_cost_their_epsilon_once():
    event = LocalReports("haar", F(1, 2), "phone", "week", 4000)
    assert event.loss == PureDP(event.epsilon)
    assert (event.neighbours, event.contribution, event.is_private) == ("replace-one", 1, True)
    assert event.statement == (
        "The place of a phone changes the probability of what it sends by a factor of at most "
        "1.649 (exp(1/2)), with one report a week; only the phone needs to be trusted."
    )
    said = event.describe()
    assert (said["model"], said["reports"], said["period"]) == ("local", 4000, "week")
    assert any("taking part" in words for words in event.not_protected)
    assert Composed([event, event]).loss == PureDP(2 * event.epsilon)
