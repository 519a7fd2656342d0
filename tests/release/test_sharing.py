"""The budget of a series: exact parts, the declared unit, and the rule between the two noises."""

from fractions import Fraction

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.mechanisms import METHODS, mechanism
from geodp.privacy.event import Composed
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import Terms
from geodp.release.sharing import SHOWN, _compare_means, count_levels, share_budget
from tests.refusals import refuses

GRID = Grid.regular((64, 64))
PYRAMID = mechanism("pyramid")
LONG = [pytest.param(n, marks=pytest.mark.law) for n in (7, 323)]
LARGE = [pytest.param(n, marks=pytest.mark.law) for n in (28, 40)]
BOTH = {"epsilon": "1/10", "delta": "1e-10", "contribution": 1}


def share(snapshots=36, person="all", method=PYRAMID, noise="best", **terms):
    given = Terms.of(**{**BOTH, **terms})
    return share_budget(GRID, method, given, snapshots=snapshots, person=person, noise=noise)


@pytest.mark.parametrize("snapshots", [2, 36, *LONG])
@pytest.mark.parametrize("terms", [{"delta": None}, {}, {"epsilon": None, "rho": "1/7"}])
@pytest.mark.parametrize("neighbours", ["add-remove-one", "replace-one"])
def test_the_parts_add_up_exactly(snapshots, terms, neighbours):
    noise = "laplace" if terms == {"delta": None} else "best"
    for person in ("all", "one"):
        found = share(snapshots, person, noise=noise, neighbours=neighbours, **terms)
        parts = [PYRAMID.event(GRID, found.each)] * found.changed
        whole = PYRAMID.event(GRID, found.total)
        total = Composed(parts).loss
        assert getattr(total, "rho", None) == whole.rho
        assert whole.rho is not None or total == whole.loss == PureDP(Fraction(1, 10))


@pytest.mark.parametrize(
    ("person", "neighbours", "changed"),
    [
        ("all", "add-remove-one", 36),
        ("all", "replace-one", 36),
        ("one", "add-remove-one", 1),
        ("one", "replace-one", 2),
    ],
)
def test_how_many_snapshots_change_with_a_person(person, neighbours, changed):
    assert share(person=person, neighbours=neighbours).changed == changed


def test_the_noise_is_the_one_with_the_smaller_errors():
    """At blocks of the usual sizes, and of few snapshots the pure one."""
    assert count_levels(GRID, PYRAMID, Terms.of(**BOTH)) == 2
    assert [share(n).gaussian for n in (7, 8)] == [False, True]
    large = Grid.regular((512, 512))
    for snapshots in (2, 3, 5):
        found = share_budget(
            large, PYRAMID, Terms.of(**BOTH), snapshots=snapshots, person="all", noise="best"
        )
        means = {
            name: np.prod([one.standard_error for one in errors if one.cells in SHOWN])
            for name, errors in found.errors.items()
        }
        assert found.gaussian == (means["Gaussian"] < means["Laplace"]) == (snapshots > 2)
        assert found.levels == (10 if found.gaussian else 5)
    ratio = (means["Gaussian"] / means["Laplace"]) ** (1 / len(SHOWN))
    assert f"of 1, 16, 256 and 4,096 cells are {ratio:.2f} of the other's." in found.rule
    assert share(5).total.loss == PureDP(Fraction(1, 10))  # a delta that is not needed is not spent
    assert not share(36, "one").gaussian
    assert share(5, noise="gaussian").gaussian
    assert not share(8, noise="laplace").gaussian
    assert not share(300, method=mechanism("laplace")).gaussian
    assert share(2, epsilon=None, rho="1/10", delta=None).gaussian


def test_a_method_without_closed_forms_is_judged_by_its_measurements():
    assert _compare_means({"Laplace": None, "Gaussian": None}, 29) == (
        False,
        "as 29 measurements of a person with Laplace noise are below 30",
    )
    assert _compare_means({"Laplace": None, "Gaussian": None}, 30)[0]
    assert "too wide to be drawn" in share(10**5).rule


def test_a_person_is_counted_as_often_as_the_sensitivity_says():
    terms = Terms.of(epsilon=1, contribution=3, neighbours="replace-one")
    assert count_levels(GRID, METHODS["topdown"], terms) == 13
    assert count_levels(GRID, METHODS["laplace"], terms) == 1


@pytest.mark.law
def test_both_closed_forms_are_told():
    found = share(36)
    own = found.method.block_errors(GRID, found.method.event(GRID, found.each))
    assert found.errors["Gaussian"] == own
    assert found.errors["Laplace"][0].standard_error > 2 * own[0].standard_error
    said = " ".join(found.sentences)
    assert f"Gaussian noise: standard errors of a snapshot of {own[-1].standard_error:,.1f}" in said
    assert "Laplace noise: standard errors" in said
    assert "Laplace noise would be too wide" in " ".join(share(10**5).sentences)
    assert share(36, method=mechanism("dawa")).sentences[1:] == (
        "Laplace noise: the error of a snapshot depends on the data.",
    )


@pytest.mark.parametrize("bits", [12, 14, 18, *LARGE])
def test_all_sizes_gain_by_gaussian_noise(bits):
    """Errors of 36 snapshots of the default, before any of them informs another."""
    grid = Grid.regular((1 << bits // 2, 1 << bits // 2))
    found = share_budget(grid, PYRAMID, Terms.of(**BOTH), snapshots=36, person="all").errors
    laplace = PYRAMID.block_errors(
        grid,
        PYRAMID.event(
            grid,
            share_budget(
                grid, PYRAMID, Terms.of(**BOTH), snapshots=36, person="all", noise="laplace"
            ).each,
        ),
    )
    gains = {
        own.cells: one.standard_error / own.standard_error
        for one, own in zip(laplace, found["Gaussian"], strict=True)
        if own.cells <= 1 << 12
    }
    assert min(gains.values()) > (1.5 if bits == 12 else 1.8)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"person": "most"}, "person-in-missing"),
        ({"noise": "normal"}, "noise-unknown"),
        ({"snapshots": 1}, "snapshots-fewer-than-two"),
        ({"unit": "person-month"}, "snapshots-need-person-one: person-month"),
        ({"delta": None}, "gaussian-needs-delta"),
        ({"people": 1.1e10}, "delta-above-inverse-people"),
        ({"epsilon": None, "rho": 1, "noise": "laplace"}, "rho-needs-gaussian"),
        ({"method": mechanism("laplace"), "noise": "gaussian"}, "method-has-no-gaussian"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(given, said):
    with refuses(UsageError, said) as error:
        share(**given)
    assert "\n" not in str(error.value)


def test_a_unit_of_time_fits_one_snapshot_and_a_small_delta_all_people():
    assert share(unit="person-month", person="one").changed == 1
    assert share(people=1e9).gaussian
