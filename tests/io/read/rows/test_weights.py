"""Weights of a survey's records: their form, and what is not taken for one."""

from decimal import Decimal

import pyarrow as pa
import pytest

from geodp import CodeError
from geodp.io.read.rows.decimals import count_weights
from tests.refusals import refuses


def test_weights_are_rounded_to_the_nearest_whole_number():
    column = pa.array(["0.5", "1.49", "1.50", "2", "1000000000"])
    assert count_weights(column, 7).tolist() == [1, 1, 2, 2, 8]
    column = pa.array([Decimal(300), Decimal(1200)], pa.decimal128(5, -2))
    assert count_weights(column, 700).tolist() == [300, 701]


@pytest.mark.parametrize(
    ("weight", "code"),
    [("", "weight-missing"), ("1,000", "weight-form"),
     ("¥3", "weight-form"), ("0.4", "weight-not-positive")],
)  # fmt: skip
def test_weights_are_refused_as_weights(weight, code):
    with refuses(CodeError, code) as refused:
        count_weights(pa.array(["1", weight]), 5)
    assert refused.value.position == 1
    assert "amount" not in str(refused.value)
