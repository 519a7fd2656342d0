"""Fractional counts are refused, or rounded as was asked for."""

import numpy as np
import pyarrow as pa
import pytest

from geodp.errors import CodeError, InputError, UsageError
from geodp.io.read.raster import read_raster
from geodp.io.read.rows.count_parser import CountParser, rounder
from geodp.io.read.table import read_table
from geodp.privacy.key import NoiseKey
from geodp.release.publish import publish
from tests.io.files import METRES, tiff
from tests.refusals import refuses

KEY = NoiseKey(bytes(range(32)))


def test_rounding_to_the_nearest_moves_nothing_by_more_than_half():
    values = np.array([0.0, 0.4, 1.6, 2.0**52])
    found = rounder("nearest", None)(np.zeros((2, 4), np.int64), values)
    assert found.tolist() == [0, 0, 2, 2**52]


def test_rounding_at_random_keeps_the_mean_and_depends_on_cell_and_key_alone():
    n = 40_000
    index = np.stack([np.arange(n), np.arange(n) % 7])
    values = np.resize([0.25, 3.0, 7.75], n)
    apply = rounder("stochastic", KEY)
    found = apply(index, values)
    assert {*(found - np.floor(values)).tolist()} == {0, 1}
    assert (found[values == 3.0] == 3).all()
    for value in (0.25, 7.75):  # six standard errors
        chosen = found[values == value]
        assert abs(chosen.mean() - value) < 6 * np.sqrt(0.1875 / chosen.size)
    again = rounder("stochastic", KEY)(index[:, ::-1], values[::-1])
    assert (again[::-1] == found).all()
    assert (rounder("stochastic", None)(index, values) != found).any()


def test_a_value_that_changes_by_one_is_rounded_to_one_that_does():
    """On which the bound on cells rests."""
    rng = np.random.default_rng(0)
    values, change = rng.random(20_000) * 9, rng.random(20_000)
    index = rng.integers(0, 1000, (2, 20_000))
    for rounding in ("nearest", "stochastic"):
        apply = rounder(rounding, KEY)
        more = apply(index, values + change) - apply(index, values)
        assert {*more.tolist()} == {0, 1}


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf, 2.0**53])
def test_what_is_no_count_is_refused(bad):
    with pytest.raises(CodeError) as caught:
        rounder("nearest", None)(np.zeros((2, 2), np.int64), np.array([1.0, bad]))
    assert caught.value.position == 1


@pytest.mark.parametrize("values", [pa.array(["5,5", "–", "-1"]), pa.array([5.5, None, -1])])
def test_missing_values_and_decimal_marks_are_read_before(values):
    counting = CountParser(["–", "nan", -1], ",", "nearest")
    numbers = counting.numbers(values)
    assert counting.counts(numbers, np.zeros((2, 3), np.int64)).tolist() == [6, 0, 0]


def test_fractions_are_refused_with_the_remedy_and_rounded_tables_ask_for_a_bound(tmp_path):
    path = tiff(np.array([[3.6, 0], [0, 8.2]]), (1000, 0, 4e6, 0, -1000, 3.002e6))(tmp_path)
    with refuses(InputError, "stored-fraction: --round"):
        read_raster(path, grid=METRES)
    text = tmp_path / "in.csv"
    text.write_text("row,col,n\n0,0,3.6\n1,1,8.2\n")
    options = {"grid": METRES, "value": "n", "columns": {"row": "row", "col": "col"}}
    with refuses(InputError, "count-fraction: --round"):
        read_table(text, **options)
    for table in (
        read_raster(path, grid=METRES, rounding="nearest"),
        read_table(text, rounding="nearest", **options),
    ):
        assert sorted(table.count.tolist()) == [4, 8]
        assert table.bound is None
        with refuses(UsageError, "contribution-unstated: --contribution"):
            publish(table, epsilon=1)
        stated = publish(table, epsilon=1, contribution=4).card().guarantee.not_protected
        assert any("rounded to the nearest" in words for words in stated)
