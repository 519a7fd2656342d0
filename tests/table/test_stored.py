"""Stored numbers become counts exactly, or are refused."""

from fractions import Fraction

import numpy as np
import pytest

from geodp.errors import CodeError, UsageError
from geodp.table.stored import (
    Stored,
    describe_stored,
    exact,
    read_stored,
    require_counts,
    signed_as,
)
from tests.refusals import refuses

INT16, UINT16 = np.dtype(np.int16), np.dtype(np.uint16)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
@pytest.mark.parametrize(
    ("scale", "offset", "unit"), [("1", "0", "1"), ("0.1", "0", "1"), ("3", "-6", "0.5")]
)
def test_integers_become_what_fractions_say(dtype, scale, offset, unit):
    stored = Stored(Fraction(scale), Fraction(offset), Fraction(unit))
    values = np.array([10, 20, 120], dtype)
    wanted = [(Fraction(int(v)) * stored.scale + stored.offset) / stored.unit for v in values]
    assert stored.counts(values).tolist() == wanted


def test_large_integers_keep_every_digit():
    values = np.array([2**53 + 1, 2**59 + 1], np.int64)
    assert Stored().counts(values).tolist() == values.tolist()
    tenth = Stored(scale=Fraction(1, 10))
    assert tenth.counts(values[1:] * 10 - 10).tolist() == [2**59]
    third = Stored(scale=exact(1 / 3))
    assert third.counts(np.array([3_000_000], np.int64)).tolist() == [1_000_000]


@pytest.mark.parametrize("value", [2**60, 2**63 - 1])
def test_more_than_any_population_is_refused(value):
    with refuses(CodeError, "stored-too-large"):
        Stored().counts(np.array([1, value], np.int64))


@pytest.mark.parametrize(
    ("dtype", "digits", "first"),
    [
        *(("float16", None, 2**11), ("float32", None, 2**24), ("float64", None, 2**53)),
        *(("float32", 11, 2**11), ("float64", 24, 2**24)),
    ],
)
@pytest.mark.parametrize("unit", [1, 4, Fraction(1, 8)])
def test_floats_are_counts_as_far_as_they_hold_every_whole_number(dtype, digits, first, unit):
    """First: the least number of units of which the next larger float is two units away."""
    stored = Stored(unit=Fraction(unit), digits=digits)
    last = np.array([(first - 1) * float(unit)], dtype)
    assert stored.counts(last).tolist() == [first - 1]
    lost = np.array([1 * float(unit), first * float(unit)], dtype)
    for step in (stored.counts, stored.fractions):
        with refuses(CodeError, "stored-digits-lost") as caught:
            step(lost)
        assert caught.value.position == 1


def test_floats_may_be_off_by_their_rounding():
    values = (np.array([1, 14, 3000]) * 1.039454).astype(np.float32)
    assert Stored(unit=exact(1.039454)).counts(values).tolist() == [1, 14, 3000]
    assert Stored().counts(np.array([0.1 * 3 * 10])).tolist() == [3]


@pytest.mark.parametrize(
    ("value", "phrase"),
    [
        (np.inf, "stored-not-finite"),
        (-1.0, "stored-negative"),
        (0.5, "stored-fraction"),
        (2.01, "stored-fraction"),
    ],
)
@pytest.mark.parametrize("offset", [0, 7])
def test_what_is_no_count_is_refused(value, phrase, offset):
    with refuses(CodeError, phrase) as caught:
        Stored(offset=Fraction(offset)).counts(np.array([3.0, value - offset]))
    assert caught.value.position == 1


@pytest.mark.parametrize(
    ("number", "fraction"),
    [(0.1, "1/10"), (float(np.float32(0.1)), "1/10"), (0.25, "1/4"), (1e-5, "1/100000"), (7, "7")],
)
def test_a_scale_is_the_decimal_that_was_written(number, fraction):
    assert exact(number) == Fraction(fraction)


def test_missing_numbers_are_those_of_the_type():
    attributes = {"_FillValue": np.int16(-1), "missing_value": np.array([7, 8], np.int16)}
    values = np.array([65535, 7, 8, 9, 10], np.uint16)
    found = read_stored(attributes, UINT16, missing=[9, 9.5, 1e9])
    assert found.present(values).tolist() == [False, False, False, False, True]
    floats = np.array([np.nan, 0.1, 3.0], np.float32)
    assert read_stored({}, floats.dtype, missing=[0.1]).present(floats).tolist() == [
        *(False, False, True)
    ]


@pytest.mark.parametrize(
    ("attributes", "valid"),
    [
        ({"valid_min": 2}, [0, 1, 1, 1]),
        ({"valid_max": 3}, [1, 1, 1, 0]),
        ({"valid_range": np.array([2, 3], np.int16)}, [0, 1, 1, 0]),
    ],
)
def test_numbers_outside_of_the_valid_ones_are_missing(attributes, valid):
    values = np.array([1, 2, 3, 4], np.int16)
    assert read_stored(attributes, INT16).present(values).tolist() == [*map(bool, valid)]


@pytest.mark.parametrize(
    ("attributes", "phrase"),
    [
        ({"scale_factor": "0.1"}, "stored-attribute-not-number: scale_factor"),
        ({"scale_factor": [0.1, 0.2]}, "stored-attribute-several: scale_factor"),
        ({"scale_factor": 0.0}, "scale-factor-0"),
        ({"add_offset": np.inf}, "scale-not-finite"),
        ({"_FillValue": "none"}, "stored-attribute-not-number: _FillValue"),
        ({"valid_range": [1]}, "valid-range-form"),
        ({"valid_range": [1, 2], "valid_max": 3}, "valid-range-form"),
        ({"valid_max": 3.5, "scale_factor": 0.1}, "valid-limit-type"),
    ],
)
def test_attributes_that_cannot_be_applied_are_refused(attributes, phrase):
    with refuses(UsageError, phrase):
        read_stored(attributes, INT16)


@pytest.mark.parametrize(
    "units",
    [
        *("persons/km2", "people per km2", "1/km^2", "km-2", "hab./km²", "%", "Personen je km²"),
        *("1000 persons", "thousands", "Millionen", "1e3", "万人", "m", "metres", "K", "kg", "h"),
    ],
)
def test_units_that_are_no_counts_are_asked_for(units):
    with refuses(UsageError, "numbers-in-unit: --raster-unit, value_unit="):
        require_counts({"units": units}, None)
    require_counts({"units": units}, 1.0)


@pytest.mark.parametrize("units", ["", "1", "persons", "Einwohner", "人", "count", "inhabitants"])
def test_units_of_counts_are_taken(units):
    require_counts(
        {"units": units, "long_name": "Population 2020", "cell_methods": "area: sum"}, None
    )


def test_classes_are_never_counted():
    for name in ("flag_values", "flag_masks", "flag_meanings"):
        with refuses(UsageError, "numbers-are-classes"):
            require_counts({name: "a b"}, 1.0)


def test_integers_are_signed_as_the_attribute_says():
    assert signed_as({"_Unsigned": "true"}, INT16) == UINT16
    assert signed_as({"_Unsigned": "FALSE"}, UINT16) == INT16
    assert signed_as({}, INT16) == INT16


def test_facts_name_who_says_what():
    stored = read_stored({"_FillValue": 5, "valid_min": 1}, INT16, unit=2.0, missing=[9])
    found = {
        (fact.field, fact.value, fact.known_by)
        for fact in describe_stored(stored, "int16", 2.0, [9])
    }
    assert found == {
        ("stored type", "int16", "file"),
        ("value of one person", "2", "operator"),
        ("smallest valid", "1", "file"),
        ("missing", "5", "file"),
        ("missing", "9", "operator"),
    }
