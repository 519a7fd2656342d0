"""Names of amounts, which are no counts, and what makes counts or classes of them."""

import pyarrow as pa
import pytest

import geodp
from geodp.errors import InputError
from geodp.io.read.layout.presets import presets
from geodp.io.read.rows.amount_titles import is_amount
from tests.refusals import refuses

AMOUNTS = (
    *("income", "INCOME_2020", "householdIncome", "hh_income", "ＩＮＣＯＭＥ", "Salaries", "wage"),
    *("earnings", "rent", "price", "cost", "fare", "turnover", "sales", "revenue", "tax", "age"),
    *("distance_km", "duration", "height", "weight", "area", "income per person", "price_eur"),
    *("mean income of persons", "income of households", "年収", "世帯年収", "所得", "給与", "家賃"),
    *("価格", "運賃", "平均年齢", "Einkommen", "Gehalt", "Gehälter", "gehaelter", "Miete", "Preis"),
    *("Umsätze", "Alter", "revenu", "Loyers", "ingreso", "renta", "所得（千円）", "소득", "EUR"),
    *("n (EUR)", "households [1,000 yen]"),
)

COUNTS = (
    *("n", "population", "Einwohner", "percentage", "village", "parent", "current", "costal"),
    *("income_group", "persons by income", "age_0_14", "rent_500_700", "年収別世帯数", "納税者数"),
    *("人口（年齢不詳）", "年収300万円未満", "wage_earners", "tax_payers", "number_of_sales"),
    *("area_code", "Age group", "T001101001", "OBS_VALUE", "trips", "Verwalter", "Zeitalter"),
    *("Einwohner nach Einkommen (EUR)", "income class (EUR)"),
)


@pytest.mark.parametrize("name", AMOUNTS)
def test_names_of_money_and_measures_are_known(name):
    assert is_amount(name)


@pytest.mark.parametrize("name", COUNTS)
def test_other_words_and_what_is_counted_are_none(name):
    assert not is_amount(name)


def test_no_layout_of_a_publisher_counts_amounts():
    values = [str(one.options["value"]) for one in presets() if "value" in one.options]
    assert [one for value in values for one in value.split("|") if is_amount(one)] == []


GRID = geodp.Grid.mesh("jis:basic", bounds=("139.5", "35.5", "139.625", "35.5833333333"))
CODES = ["53392400", "53392411"]


def read(column, numbers, **more):
    table = pa.table({"code": CODES, column: numbers})
    return geodp.read_table(table, grid=GRID, code="code", value=column, **more).count.tolist()


@pytest.mark.parametrize("column", ["income", "年収", "Miete", "average rent of households"])
def test_an_amount_is_asked_about_and_the_operator_confirms(column):
    with refuses(InputError, "amount-as-count: --raster-unit 1, value_unit=1"):
        read(column, [300, 400])
    assert read(column, [300, 400], value_unit=1) == [300, 400]


@pytest.mark.parametrize("column", ["n [%]", "％", "women (‰)"])
def test_a_percentage_is_asked_about(column):
    with refuses(InputError, "share-as-count: --raster-unit 1, value_unit=1"):
        read(column, [30, 40])
    assert read(column, [30, 40], value_unit=1) == [30, 40]


def test_multiples_are_asked_about_and_multiplied_exactly():
    with refuses(InputError, "count-in-multiples: --raster-unit 0.001"):
        read("population (1,000)", ["1.5", "0.001"])
    assert read("population (1,000)", ["1.5", "0.001"], value_unit=0.001) == [1500, 1]
    assert read("人口（万人）", [1.5, 0.1], value_unit=0.0001) == [15_000, 1_000]
    assert read("n", ["1,5", "-9"], value_unit=0.001, decimal=",", missing=[-9]) == [1500]
    assert read("population (1,000)", ["1500", "1"], value_unit=1) == [1500, 1]
    with refuses(InputError, "stored-fraction"):
        read("population (1,000)", ["1.5004", "1"], value_unit=0.001)
    with refuses(InputError, "count-negative"):
        read("population (1,000)", ["1.5", "-1"], value_unit=0.001)


def test_rounded_thousands_need_a_contribution_of_their_own():
    table = pa.table({"GRD_ID": ["CRS3035RES1000mN2599000E4695000"], "T": [5]})
    grid = geodp.Grid.mesh("inspire:1km")
    plain = geodp.read_table(table, grid=grid, code="GRD_ID", value="T")
    assert (
        geodp.read_table(table, grid=grid, code="GRD_ID", value="T", value_unit=1).bound
        == plain.bound
    )
    assert (
        geodp.read_table(table, grid=grid, code="GRD_ID", value="T", value_unit=0.001).bound is None
    )
