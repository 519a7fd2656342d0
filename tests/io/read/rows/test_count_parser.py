"""How counts are written: decimal marks, thousands, values that mean nobody, fractions."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from geodp.errors import CodeError, InputError, UsageError
from geodp.io.read.points import read_points
from geodp.io.read.raster import read_raster
from geodp.io.read.rows import fields
from geodp.io.read.rows.count_parser import CountParser, rounder
from geodp.io.read.rows.fields import decimal_points
from geodp.io.read.table import read_table
from geodp.privacy.key import NoiseKey
from geodp.release.publish import publish
from tests.io.files import METRES, tiff
from tests.refusals import refuses

KEY = NoiseKey(bytes(range(32)))
NAN = float("nan")
LEAST = float(np.finfo(np.float32).min)


@pytest.mark.parametrize(
    ("decimal", "given", "read"),
    [
        *((".", "1,234", "1234"), (".", "1,234,567.0", "1234567.0"), (".", "1 234", "1234")),
        *((".", "1'234", "1234"), (".", "1\u202f234", "1234"), (".", "1,23", "1,23")),
        *((".", "12,34,567", "12,34,567"), (",", "1.234", "1234"), (",", "1.234,5", "1234.5")),
        *((",", "0,5", "0.5"), (",", "-0,5", "-0.5"), (",", "1,5e3", "1,5e3")),
        *((",", "1.234.567,5", "1234567.5"), (",", "1.234 567", "1.234 567")),
        *((",", "１．２３４", "1234"), (None, "1,234", "1,234"), (",", "–", "–")),
    ],
)
def test_a_number_is_what_its_marks_say(decimal, given, read):
    assert decimal_points(pa.array([given, given]), decimal).to_pylist() == [read, read]


@pytest.mark.parametrize("given", ["1.23", "0.5", "1234.567", "1.5e3", ".5"])
def test_a_point_beside_a_decimal_comma_separates_thousands_or_is_refused(given):
    with refuses(CodeError, "count-point-other-mark") as caught:
        decimal_points(pa.array(["1,5", "7", given]), ",")
    assert caught.value.position == 2


@pytest.mark.parametrize(
    ("decimal", "given", "rule"),
    [
        (",", "500.123", "coordinate-with-point"),
        (",", "500.1", "coordinate-with-point"),
        (",", "4.000.500", "coordinate-thousands-mark"),
        (".", "4,000,500", "coordinate-thousands-mark"),
        (".", "500,123", "coordinate-decimal-comma"),
        (None, "500,123", "coordinate-decimal-comma"),
        (None, "much", "coordinate-is-mark"),
    ],
)
@pytest.mark.parametrize(
    ("reader", "more"), [(read_table, {"value": "n", "rounding": "nearest"}), (read_points, {})]
)
def test_nothing_separates_thousands_in_coordinates(decimal, given, rule, reader, more, tmp_path):
    """Which of two marks three digits follow is not guessed, and counts keep theirs."""
    path = tmp_path / "a.csv"
    path.write_text(f"x;y;n\n{given};3000500;1.234\n")
    options = {"grid": METRES, "x": "x", "y": "y", **more}
    with refuses(InputError, rule) as caught:
        reader(path, **options, decimal=decimal)
    assert caught.value.row == 2
    assert given not in str(caught.value)
    path.write_text("x;y;n\n4000500,0;3000500,0;3\n")
    assert reader(path, **options, decimal=",").key.size == 1


MISSING = [
    # A column whose second value means nobody, and how that is said.
    *(
        (column, ["-1", token])
        for column in (
            *(["3", "NaN"], ["3", "nan"], ["3.0", " NAN "], ["3", "-nan"]),
            *(pa.array([3.0, NAN]), pa.array([3.0, NAN], pa.float32()), pa.array([3, None])),
            pa.array([3.0, None]),  # as pandas writes NaN
            pa.array([Decimal(3), None], pa.decimal128(9, 2)),
            pa.array(["3", "NaN"]).dictionary_encode(),
            pa.array([3.0, NAN]).dictionary_encode(),
        )
        for token in ("nan", "NaN", "NAN", " nan", NAN, np.float64("nan"))
    ),
    *((["3", "99"], [99]), (["3", "99"], ["99.0"]), (["3", "99.0"], ["99"]), (["3", "-1.0"], [-1])),
    *((["3", "-1"], ["-1.0"]), (["3.0", "-1e0"], [-1]), (["3", "-9999.00"], ["-9999"])),
    *((["3", "inf"], ["Infinity"]), (["3", "1" * 30], ["1" * 30])),
    *((pa.array([3.0, np.inf]), ["inf"]), (pa.array([3.0, LEAST], pa.float32()), [LEAST])),
    (pa.array([3.0, LEAST], pa.float32()), ["-3.4028235e+38"]),
    *((pa.array([3, 99]), ["99.0"]), (pa.array([3, 99], pa.int8()), ["300", "99"])),
]


def test_a_value_that_means_nobody_matches_however_it_is_written():
    for column, missing in MISSING:
        assert fields.counts(pa.array(column), missing=missing).tolist() == [3, 0]
    for column in (["3", "100"], [3, 100]):
        assert fields.counts(pa.array(column), missing=[99, "nan", "x"]).tolist() == [3, 100]


@pytest.mark.parametrize("column", [["3", ""], ["3", None], ["3", "x"], ["3", "inf"]])
def test_nan_is_no_blank_of_a_text(column):
    with pytest.raises(CodeError) as caught:
        fields.counts(pa.array(column), missing=["nan"])
    assert caught.value.position == 1


@pytest.mark.parametrize("column", [["3", "nan"], pa.array([3.0, NAN])])
@pytest.mark.parametrize("missing", [[], ["-1"], ["inf"]])
def test_nan_that_is_not_named_is_refused(column, missing):
    with refuses(CodeError, "count-is-mark|count-not-finite: --missing"):
        fields.counts(pa.array(column), missing=missing)


def test_rounding_to_the_nearest_moves_nothing_by_more_than_half():
    values = np.array([0.0, 0.4, 1.6, 2.0**52])
    found = rounder("nearest", None)(np.zeros((2, 4), np.int64), values)
    assert found.tolist() == [0, 0, 2, 2**52]


def test_rounding_at_random_keeps_the_mean_and_depends_on_cell_and_key_alone():
    n = 40_000
    index = np.stack([np.arange(n), np.arange(n) % 7])
    values = np.resize([0.25, 3.0, 7.75], n)
    found = rounder("stochastic", KEY)(index, values)
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
    raster = tiff(np.array([[3.6, np.nan], [0, 8.2]]), (1000, 0, 4e6, 0, -1000, 3.002e6))(tmp_path)
    text = tmp_path / "in.csv"
    text.write_text("row,col,n\n0,0,3.6\n1,1,8.2\n")
    options = {"value": "n", "columns": {"row": "row", "col": "col"}}
    for read, path, more in ((read_raster, raster, {}), (read_table, text, options)):
        more |= {"grid": METRES, "missing": [NAN]}
        with refuses(InputError, "stored-fraction|count-fraction: --round"):
            read(path, **more)
        table = read(path, rounding="nearest", **more)
        assert sorted(table.count.tolist()) == [4, 8]
        assert table.bound is None
        with refuses(UsageError, "contribution-unstated: --contribution"):
            publish(table, epsilon=1)
        stated = publish(table, epsilon=1, contribution=4).card().guarantee.not_protected
        assert any("rounded to the nearest" in words for words in stated)
