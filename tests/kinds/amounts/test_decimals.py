"""Amounts of columns: exact decimals on a step, and one sentence for what is none."""

from decimal import Decimal
from fractions import Fraction
from math import floor

import numpy as np
import pyarrow as pa
import pytest

from geodp.errors import CodeError
from geodp.kinds.amounts.records import count_steps
from geodp.kinds.amounts.scale import Scale
from tests.refusals import refuses

SCALES = [
    Scale.of((0, 1000), 1, "EUR", "x"),
    Scale.of((-50, 50), "0.01", "EUR", "x"),
    Scale.of((-1, 10), "1/3", "EUR", "x"),
    Scale.of((0, 10**9), 1000, "yen", "x"),
]


def by_hand(texts, scale):
    steps = [floor(Fraction(text) / scale.step + Fraction(1, 2)) for text in texts]
    return np.clip(np.array(steps) - scale.lower, 0, scale.span).tolist()


def clipped(column, scale, decimal=None):
    return np.clip(count_steps(column, scale, decimal), 0, scale.span).tolist()


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_texts_are_counted_exactly(scale):
    draw = np.random.default_rng(1)
    texts = [f"{draw.integers(0, 10**k)}.{draw.integers(0, 1000):03d}" for k in range(1, 16)]
    texts += ["0", "+7", "12.", "999999999999999999", "0.5", "0.005", "123.456789012"]
    texts += [f"-{text}" for text in texts if scale.lower < 0 and not text.startswith("+")]
    column = pa.array(texts)
    assert clipped(column, scale, ".") == by_hand([t.rstrip(".") for t in texts], scale)
    assert clipped(column.dictionary_encode(), scale, ".") == clipped(column, scale, ".")


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_numbers_are_counted_as_they_are_written(scale):
    values = [0, 1, 7, 999, 10**12, 2**62]
    for kind in (pa.int64(), pa.uint64()):
        assert clipped(pa.array(values, kind), scale) == by_hand(values, scale)
    floats = [0.0, 0.5, 2.675, 12.345, 1e15, 0.1]
    assert clipped(pa.array(floats), scale) == by_hand(map(repr, floats), scale)
    decimals = [Decimal("0.005"), Decimal("12.345"), Decimal("999.999")]
    column = pa.array(decimals, pa.decimal128(20, 3))
    assert clipped(column, scale) == by_hand(decimals, scale)


INF = float("inf")
BAD = {
    "amount-missing": ["", " ", "NaN", "n/a", "-", None, float("nan")],
    "amount-with-currency": ["¥300", "300 EUR", "$5", "12万円", "3 k", "5%"],
    "amount-with-point": ["1.200", "-12.345", "999.000"],
    "amount-underscore": ["1_000", "1_000.5"],
    "amount-in-brackets": ["(5)", "(1,200)"],
    "amount-rounded": ["1.5E+05", "1.23e5"],
    "amount-thousands": ["1,234", "1 234", "1.234.567", "12,5"],
    "amount-not-number": [*("abc", "1e100", "--3", "1.2.3", "1" * 19, "inf"), True, INF, -INF],
    "amount-negative": ["-1", "-0.01", -5, -0.5],
}


@pytest.mark.parametrize(
    ("value", "code"), [(value, code) for code, values in BAD.items() for value in values]
)
def test_what_is_no_amount_is_refused_in_one_sentence(value, code):
    column = pa.array([value, value]) if not isinstance(value, str) else pa.array(["7", value])
    with refuses(CodeError, code) as refused:
        count_steps(column, SCALES[0])
    assert refused.value.position == (1 if isinstance(value, str) else 0)
    if code != "amount-missing":
        assert str(value) not in str(refused.value)


def test_negative_amounts_count_where_the_lower_end_is_below_0():
    assert clipped(pa.array(["-3", "-80", "3"]), SCALES[1]) == [4700, 0, 5300]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_decimals_of_any_type_are_amounts(scale):
    for texts, kind in (
        (["10.5", "7"], pa.decimal256(60, 30)),
        (["12300", "0", "100"], pa.decimal128(5, -2)),
    ):
        assert clipped(pa.array(map(Decimal, texts), kind), scale) == by_hand(texts, scale)


def test_amounts_beyond_the_clip_are_told_apart():
    steps = count_steps(pa.array(["-80", "-50", "50", "80"]), SCALES[1])
    assert (steps < 0).tolist() == [True, False, False, False]
    assert (steps > SCALES[1].span).tolist() == [False, False, False, True]
