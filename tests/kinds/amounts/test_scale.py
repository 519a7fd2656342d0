"""Clip, step, unit and classes of amounts: exact, and refused where they make no sense."""

from decimal import Decimal
from fractions import Fraction

import pytest

from geodp.errors import UsageError
from geodp.kinds.amounts.scale import Scale, exact, show_number
from geodp.privacy.noise.law import LARGEST_SCALE
from tests.refusals import refuses


@pytest.mark.parametrize("value", [0.1, "0.1", Decimal("0.1"), "1/10", Fraction(1, 10)])
def test_numbers_are_read_as_they_are_written(value):
    assert exact(value, "step") == Fraction(1, 10)


@pytest.mark.parametrize("value", ["a", None, True, "nan", "inf", "1/0", (1,)])
def test_what_is_no_number_is_refused(value):
    with refuses(UsageError, "amounts-number-form: step"):
        exact(value, "step")


@pytest.mark.parametrize(
    ("clip", "step", "unit", "name", "code"),
    [
        ((5,), 1, "EUR", "rent", "amounts-clip-form"),
        ("05", 1, "EUR", "rent", "amounts-clip-form"),
        (7, 1, "EUR", "rent", "amounts-clip-form"),
        ((5, 5), 1, "EUR", "rent", "amounts-clip-form"),
        ((5, 1), 1, "EUR", "rent", "amounts-clip-form"),
        ((0, 10), 3, "EUR", "rent", "amounts-clip-step"),
        ((0, 10), 0, "EUR", "rent", "amounts-step"),
        ((0, 10), -1, "EUR", "rent", "amounts-step"),
        ((0, 10), 1, "", "rent", "amounts-unit-missing"),
        ((0, 10), 1, None, "rent", "amounts-unit-missing"),
        ((0, 10), 1, "EUR", " ", "amounts-column"),
        ((0, 10**13), 1, "EUR", "rent", "amounts-too-many-steps"),
    ],
)
def test_scales_that_make_no_sense_are_refused(clip, step, unit, name, code):
    with refuses(UsageError, code):
        Scale.of(clip, step, unit, name)


def test_ends_and_steps_are_exact():
    scale = Scale.of((-0.3, "0.6"), "0.1", " 10,000  yen ", "income")
    assert (scale.lower, scale.upper, scale.span, scale.unit) == (-3, 6, 9, "10,000 yen")
    assert scale.clip == (Fraction(-3, 10), Fraction(6, 10))


def test_edges_get_the_ends_of_the_clip():
    scale = Scale.of((-10, 20), 5, "EUR", "rent")
    assert scale.read_edges((0, 10)) == (0, 2, 4, 6)
    assert scale.read_edges((-10, 0, 10, 20)) == (0, 2, 4, 6)
    assert scale.read_edges(()) == scale.read_edges(None) == ()


@pytest.mark.parametrize(
    ("edges", "code"),
    [
        ((3,), "amounts-edges-step"),
        ((10, 0), "amounts-edges-order"),
        ((0, 0), "amounts-edges-order"),
        ((-15,), "amounts-edges-order"),
        ((25,), "amounts-edges-order"),
        (("a",), "amounts-number-form"),
    ],
)
def test_edges_that_make_no_sense_are_refused(edges, code):
    with refuses(UsageError, code):
        Scale.of((-10, 20), 5, "EUR", "rent").read_edges(edges)


def test_at_most_a_hundred_classes():
    scale = Scale.of((0, 1000), 1, "EUR", "rent")
    assert len(scale.read_edges(range(1, 100))) == 101
    with refuses(UsageError, "amounts-edges-order"):
        scale.read_edges(range(1, 101))


@pytest.mark.parametrize("width", [0.5, 7.0, 1000.0, LARGEST_SCALE / 3])
@pytest.mark.parametrize("upper", [1000, 10**7, 2**30, 12_345_000])
def test_notches_divide_the_span_and_can_be_drawn(upper, width):
    scale = Scale.of((0, upper), 1, "yen", "income")
    notches = scale.notches(width)
    assert scale.span % notches == 0
    assert notches * width <= LARGEST_SCALE
    larger = [n for n in range(notches + 1, int(LARGEST_SCALE / width) + 1) if upper % n == 0]
    assert larger == []


def test_a_span_without_divisors_is_refused_where_its_noise_is_too_wide():
    scale = Scale.of((0, 999_983), 1, "yen", "income")
    assert scale.notches(0.05) == 999_983
    with refuses(UsageError, "amounts-noise-too-wide"):
        scale.notches(1.0)


def test_numbers_are_shown_in_decimals_where_these_are_exact():
    shown = [show_number(Fraction(one)) for one in ("-1/8", "0", "12", "-3/2", "1/3", "0.01")]
    assert shown == ["-0.125", "0", "12", "-1.5", "1/3", "0.01"]
