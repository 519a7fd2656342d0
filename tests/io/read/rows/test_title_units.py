"""Units that titles state: powers of ten, currencies, and texts that look like either."""

from fractions import Fraction

import openpyxl
import pytest

from geodp.io.read.rows.amount_titles import find_unit, list_titles, read_title, read_unit
from geodp.io.read.rows.columns import open_tables
from tests.io.read.dialects import write_rows

THOUSANDS = (
    *("income (1,000 EUR)", "Umsatz in Tsd. EUR", "TEUR", "Einkommen k€", "Income in 1.000 EUR"),
    *("Einkommen, 1 000 EUR", "turnover '000 GBP", "sales ($'000)", "価格(千円/m2)", "単位：千円"),
    *("income (USD thousands)", "miles de euros", "Income, kCHF", "¥1,000", "年収(千円)"),
)
"""Titles of money in thousands."""

PEOPLE = (
    *("population (1,000)", "人口（千人）", "population in thousands", "Pop. ('000)", "pop_k"),
    *("Bevölkerung in 1 000 Personen", "1000人", "Thousands of persons", "人口千人", "(k)"),
    *("Sales (x1000)", "Anzahl in 1000", "Einwohner [Tsd.]"),
)
"""Titles of thousands of what is counted."""

OTHERS = {
    "年収（万円）": (10_000, {"JPY"}),
    "10万円": (100_000, {"JPY"}),
    "売上（億円）": (10**8, {"JPY"}),
    "売上高（百万円）": (10**6, {"JPY"}),
    "sales, million yen": (10**6, {"JPY"}),
    "Umsatz (Mio. €)": (10**6, {"EUR"}),
    "sales_musd": (10**6, {"USD"}),
    "cost (GBP m)": (10**6, {"GBP"}),
    "Crore INR": (10**7, {"INR"}),
    "revenue, bn": (10**9, set()),
    "rent [CHF]": (None, {"CHF"}),
    "rent EUR/m2": (None, {"EUR"}),
    "家賃円": (None, {"JPY"}),
    "人口（万人）": (10_000, set()),
}

NO_UNITS = (
    *("n", "K", "try", "m", "male", "pop_t", "pop_m", "men (m)", "TOT_P_2021", "1km", "1000m"),
    *("Einwohner (100 m)", "age_2000", "population 1000", "1000", "300万円未満", "千葉", "円山"),
    *("百円ショップ", "千代田", "5 million and more", "population per 1,000 inhabitants", "(%)"),
    *("Survey of 1,000 households", "人口（人）", "T001101001", "Kreis Ron", "income_1000"),
)


@pytest.mark.parametrize("title", THOUSANDS)
def test_money_in_thousands_is_read(title):
    found = read_title(title)
    assert found.factor == 1000
    assert found.currencies
    assert not found.is_multiple


@pytest.mark.parametrize("title", PEOPLE)
def test_thousands_of_people_are_read(title):
    found = read_title(title)
    assert found.factor == 1000
    assert found.is_multiple


@pytest.mark.parametrize("title", OTHERS)
def test_other_units_are_read(title):
    found = read_title(title)
    assert (found.factor, {*found.currencies}) == OTHERS[title]


@pytest.mark.parametrize("title", NO_UNITS)
def test_other_words_are_no_units(title):
    assert not read_title(title)


@pytest.mark.parametrize(
    ("title", "stated", "differs"),
    [
        ("income (1,000 EUR)", "EUR", True),
        ("income (1,000 EUR)", "1,000 EUR", False),
        ("income (1,000 EUR)", "TEUR", False),
        ("income (EUR)", "1,000 EUR", True),
        ("income in thousands", "1,000 EUR", False),
        ("income in thousands", "EUR", True),
        ("income ($)", "USD", False),
        ("income ($)", "EUR", True),
        ("年収（万円）", "10,000 yen", False),
        ("年収（万円）", "yen", True),
        ("rent [CHF]", "Franken", False),
        ("rent [CHF]", "money", True),
        ("income", "EUR", False),
        ("distance", "1000 m", False),
    ],
)
def test_titles_are_compared_with_what_is_stated(title, stated, differs):
    assert read_title(title).differs_from(read_unit(stated)) is differs


@pytest.mark.parametrize(
    ("unit", "factor"), [("0.5 EUR", "1/2"), ("5,000 yen", "5000"), ("EUR per m2", "1")]
)
def test_stated_units_have_any_factor(unit, factor):
    assert read_unit(unit).factor == Fraction(factor)


ROWS = [("Income (1,000 EUR)",), (), ("code", "income"), ("", "EUR"), (53392400, 5)]


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_rows_above_and_below_the_header_are_titles(tmp_path, ending):
    path = write_rows(tmp_path / f"a.{ending}", ROWS)
    if ending == "xlsx":
        book = openpyxl.load_workbook(path)
        book.properties.title = "Table 7"
        book.save(path)
    (table,) = open_tables(path, header_row=3, first_row=5)
    assert find_unit(table, 1).factor == 1000
    assert {"income", "(EUR)", "(Income (1,000 EUR))"} <= {*list_titles(table, 1)}
    assert ("(Table 7)" in list_titles(table, 1)) is (ending == "xlsx")
    (plain,) = open_tables(path, header_row=3)
    assert "(EUR)" not in list_titles(plain, 1)
