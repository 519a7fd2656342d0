"""Placeholders and totals are no names, whatever a column is for."""

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.markers import NOBODY, PLACEHOLDERS, TOTAL_TEXTS, TOTAL_WORDS, find_no_place
from geodp.grid.units import add_other, grid_of_units
from geodp.io.read.layout.recognise import is_blank
from geodp.io.read.public.units import read_units
from geodp.table.totals import find_totals
from tests.kinds.flows.test_other_units import GRID, OTHER
from tests.refusals import refuses

TOTALS = (
    *("Total", "_T", "T", "計", "総数", "Insgesamt", "GRAND TOTAL", "Population, total"),
    "全国　合計",
)
NOTHING = (
    *("NA", "n/a", "NULL", "NIL", "#N/A", "-", "－", "..", "不明", "Unknown", "-99", "k.A."),
    *("秘匿", "Suppressed"),
)
CODES = ("NO", "NAM", "Totnes", "TX", "12000", "x", "Allschwil", "Nulles")


def test_lists_are_folded_and_have_nothing_in_common():
    every = [PLACEHOLDERS, TOTAL_WORDS, TOTAL_TEXTS]
    assert all(one == one.casefold().strip() != "" for some in every for one in some)
    assert len(frozenset.union(*every)) == sum(map(len, every))
    assert {*NOBODY} > PLACEHOLDERS | TOTAL_WORDS


@pytest.mark.parametrize("code", TOTALS)
def test_totals_are_no_places(code):
    assert find_no_place(code).code == "code-is-total"
    assert find_totals([code, "x", "y"]) == [code]


@pytest.mark.parametrize("code", NOTHING)
def test_placeholders_are_no_places(code):
    assert find_no_place(code).code == "code-is-placeholder"
    assert is_blank(code)


@pytest.mark.parametrize("code", CODES)
def test_codes_that_look_a_little_like_words_are_codes(code):
    assert find_no_place(code) is None


def _grid(*codes, other="elsewhere"):
    levels, source = add_other({"town": np.array(codes)}, "made up", other)
    return grid_of_units(levels, source)


@pytest.mark.parametrize(
    ("word", "rule"),
    [("全国　合計", "code-is-total"), ("_T", "code-is-total"), ("－", "code-is-placeholder")],
)
def test_a_table_of_counts_never_counts_them_elsewhere(word, rule):
    rows = pa.table({"code": ["01", "77", word], "n": [5, 3, 8]})
    given = {"grid": _grid("01", "02"), "code": "code", "value": "n"}
    with refuses(InputError, f"{rule}: row 3"):
        geodp.read_table(rows, other="elsewhere", **given)
    with refuses(InputError, rule):
        geodp.read_table(rows.take([0, 2]), **given)
    # Rows of unknown codes are dropped where the operator says so.
    assert geodp.read_table(rows, outside="drop", **given).count.tolist() == [5]


@pytest.mark.parametrize("end", ["o", "d"])
@pytest.mark.parametrize(("word", "rule"), [("Total", "total"), ("NA", "placeholder")])
def test_flows_never_count_them_elsewhere(end, word, rule):
    one, two = GRID.names.format(0, np.array([[0, 0], [0, 1]])).tolist()
    trips = {"o": [one, one, two], "d": [two, "abroad", two], "n": [5, 1, 2]}
    trips[end][1] = word
    given = {"grid": GRID, "origin": "o", "destination": "d", "other": OTHER}
    with refuses(InputError, f"code-is-{rule}: row 2"):
        geodp.flows.read_trips(pa.table(trips), value="n", **given)
    people = pa.table({**trips, "id": ["a", "b", "c"]})
    with refuses(InputError, f"code-is-{rule}: row 2"):
        geodp.flows.read_trips(people, person="id", trips=3, **given)


def test_what_the_operator_lists_is_a_code():
    rows = pa.table({"code": ["NA", "ZA", "XX"], "n": [5, 3, 8]})
    given = {"code": "code", "value": "n", "other": "elsewhere"}
    assert geodp.read_table(rows, grid=_grid("NA", "ZA"), **given).count.tolist() == [5, 3, 8]
    # So is the name of the unit for other codes.
    named = geodp.read_table(
        rows, grid=_grid("ZA", other="NA"), code="code", value="n", other="NA", duplicates="sum"
    )
    assert sorted(named.count.tolist()) == [3, 13]


@pytest.mark.parametrize("word", ["Total", "_T", "総数", "Insgesamt"])
def test_a_total_of_units_is_no_unit(word, tmp_path):
    (tmp_path / "units.csv").write_text(f"code\n01\n{word}\n02\n", encoding="utf-8")
    with refuses(InputError, "unit-is-total: row 3"):
        read_units(tmp_path / "units.csv", source="made up")


@pytest.mark.parametrize("word", TOTALS)
def test_the_unit_for_other_codes_is_no_total(word):
    with refuses(UsageError, "other-unit-is-total"):
        _grid("01", other=word)
