"""Every oracle is its slow, obvious twin: the same coins give the same reports and estimates.

Then all that coins can say is tried for small domains: the largest ratio of probabilities of a
report is that of the claim, and with half the chances of turning it is larger.
"""

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from geodp.local.coins import FixedCoins
from geodp.local.oracles import ORACLES
from tests.local.oracles.cases import EPSILONS, TWINS, fixed, plain
from tests.reference.coins import Units, walks

any_twin = pytest.mark.parametrize("twin", TWINS, ids=str)
any_epsilon = pytest.mark.parametrize("epsilon", EPSILONS, ids=str)


def test_every_oracle_has_a_twin():
    own = [name for name, kind in ORACLES.items() if kind.__module__.startswith("geodp.")]
    assert {*own} <= {twin.name for twin in TWINS} | {"subset"}  # the example of docs/how-to


@any_twin
@any_epsilon
@pytest.mark.parametrize("cells", [2, 9])
def test_the_same_coins_give_the_same_reports(twin, epsilon, cells):
    one = twin.oracle(cells, epsilon)
    coins = fixed(1, 40_000)
    units = Units(coins.ahead(0).tolist())
    for value in np.random.default_rng(2).integers(0, cells, 60).tolist():
        left = coins.ahead(0).size
        (report,) = one.randomize([value], coins)
        used = units.used
        assert plain(report) == twin.report(value, units, one)
        assert left - coins.ahead(0).size == units.used - used


@any_twin
def test_many_devices_are_one_after_the_other(twin):
    one, values = twin.oracle(9), np.random.default_rng(3).integers(0, 9, 500)
    if one.settings.get("f", "0") != "0":  # two stages, each of all devices
        return
    together = one.randomize(values, fixed(4, 20_000))
    coins = fixed(4, 20_000)
    assert np.array_equal(
        together, np.concatenate([one.randomize([value], coins) for value in values])
    )


@pytest.mark.law
@any_twin
@any_epsilon
@pytest.mark.parametrize("cells", [2, 9])
def test_the_same_reports_give_the_same_estimates(twin, epsilon, cells):
    one = twin.oracle(cells, epsilon)
    reports = one.randomize(np.random.default_rng(5).integers(0, cells, 200), fixed(6, 60_000))
    theirs = [twin.estimate(reports, value, one) for value in range(cells)]
    state = one.aggregate(reports)
    assert one.estimate(state) == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    assert one.estimate(state, [1, 0, 1]) == pytest.approx([theirs[i] for i in (1, 0, 1)])


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("grr", []),
        ("pgr", []),
        ("olh", [5, 0]),
        ("hadamard", [5]),
        ("hcms", [1, 2]),
    ],
)
@pytest.mark.parametrize("ties", [1, 2, 9, 40])
@pytest.mark.parametrize("step", [-1, 1])
def test_coins_that_tie_take_further_digits(name, before, ties, step):
    """Units that are the digits of the chance leave it open; the next unit decides."""
    twin = next(twin for twin in TWINS if twin.name == name)
    one = twin.oracle(9)
    digits = one.flip_chances[0].digits(ties + 1)
    units = [*before, *digits[:-1], digits[-1] + step, *range(40)]
    theirs = twin.report(4, Units(units), one)
    assert plain(one.randomize([4], FixedCoins(units))[0]) == theirs
    other = [*before, *digits[:-1], digits[-1] - step, *range(40)]
    assert twin.report(4, Units(other), one) != theirs


def law_of(twin, one, value, scale=1.0):
    """Probabilities of all reports, drawn by the oracle itself from units that lead to each."""
    found = defaultdict(float)
    for theirs, probability, units in walks(lambda coins: twin.report(value, coins, one), scale):
        (mine,) = one.randomize([value], FixedCoins(units))
        assert plain(mine) == theirs
        found[mine.tobytes()] += probability
    return found


def largest_ratio(twin, one, scale=1.0):
    laws = [law_of(twin, one, value, scale) for value in range(one.cells)]
    for law in laws:
        assert sum(law.values()) == pytest.approx(1)
    reports = {report for law in laws for report in law}
    assert all({*law} == reports for law in laws)
    return max(
        math.log(max(law[report] for law in laws) / min(law[report] for law in laws))
        for report in reports
    )


TIGHT = {"grr", "hadamard", "sue", "oue", "pgr", "rappor"}
"""Oracles whose reports show all of epsilon; hashes of few values may agree."""


@pytest.mark.law
@any_twin
@any_epsilon
def test_no_report_is_more_likely_than_the_claim_says(twin, epsilon):
    many = twin.name == "rappor" and twin.own.get("bits")
    one = twin.oracle(2 if many or twin.name in ("rappor", "cms") else 4, epsilon)
    if many:
        one = ORACLES["rappor"](cells=9, epsilon=epsilon, hashes=1, bits=3, cohorts=2)
    found = largest_ratio(twin, one)
    assert found <= float(one.epsilon) + 1e-9
    if twin.name in TIGHT and not many:
        assert found == pytest.approx(float(one.epsilon), abs=1e-9)
    assert largest_ratio(twin, one, 0.5) > found + 0.05


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_permanent_bits_tell_no_more_than_they_last_for(epsilon):
    """What any number of reports of a device can tell is the permanent bits themselves."""
    from tests.reference import rappor

    one = ORACLES["rappor"](cells=3, epsilon=epsilon)
    own = {"f": one.f, "p": one.p, "q": one.q}
    laws = []
    for value in range(3):
        law = defaultdict(float)
        for kept, probability, _ in walks(
            lambda coins, v=value: rappor.remember(v, coins, 3, **own)
        ):
            law[str(kept)] += probability
        laws.append(law)
    ratios = [
        math.log(max(law[kept] for law in laws) / min(law[kept] for law in laws))
        for kept in laws[0]
    ]
    assert max(ratios) == pytest.approx(float(one.lasting_epsilon), abs=1e-9)
    assert float(one.lasting_epsilon) == pytest.approx(2 * float(epsilon), abs=1e-6)


def test_the_figures_of_the_closed_forms():
    for name, e1, e4 in (
        ("oue", 3.68269, 0.07602),
        ("hadamard", 4.68269, 1.07602),
        ("sue", 3.91770, 0.18102),
    ):
        for epsilon, figure in ((1, e1), (4, e4)):
            one = ORACLES[name](cells=64, epsilon=epsilon)
            assert one.variance(1) == pytest.approx(figure, abs=6e-6)


@pytest.mark.parametrize(
    ("more", "one_report", "lasting"),
    [({}, 0.53714, 2.19722), ({"hashes": 2, "bits": 64}, 1.07429, 4.39445)],
)
def test_the_figures_of_rappor(more, one_report, lasting):
    chances = {"f": Fraction(1, 2), "p": Fraction(1, 2), "q": Fraction(3, 4)}
    one = ORACLES["rappor"](cells=64, **chances, **more)
    assert float(one.epsilon) == pytest.approx(one_report, abs=6e-6)
    assert float(one.lasting_epsilon) == pytest.approx(lasting, abs=6e-6)
    if not more:
        assert one.variance(1000) == pytest.approx(15_750)


@pytest.mark.parametrize("name", ["grr", "hadamard", "sue", "oue", "olh"])
@any_epsilon
def test_closed_forms_are_those_of_the_sources(name, epsilon):
    (twin,) = (twin.twin for twin in TWINS if twin.name == name)
    one = ORACLES[name](cells=64, epsilon=epsilon)
    assert one.variance(100) == pytest.approx(100 * twin.variance(64, epsilon))


@pytest.mark.parametrize("epsilon", [1, 2, 3, 4])
def test_projective_geometry_is_nearly_as_good_as_the_best(epsilon):
    best = ORACLES["oue"](cells=64, epsilon=epsilon).variance(1)
    assert best <= ORACLES["pgr"](cells=1 << 18, epsilon=epsilon).variance(1) < 1.04 * best
