"""Styles of spreadsheets of OpenDocument: signs beside numbers, by cell, row and column."""

import zipfile

import pytest

from geodp.errors import InputError
from geodp.io.read.rows.forms.books import OpenDocumentBook, read_signs
from geodp.io.read.rows.input_files import input_files
from geodp.io.read.table import read_table
from tests.io.read.workbooks import write_ods
from tests.refusals import refuses

NUMBERS = "".join(
    f'<number:{kind}-style style:name="{name}">{inside}</number:{kind}-style>'
    for name, kind, inside in (
        ("plain", "number", '<number:number number:grouping="true"/>'),
        ("persons", "number", "<number:number/><number:text>人</number:text>"),
        ("thousands", "number", "<number:number/><number:text>千人</number:text>"),
        ("share", "percentage", "<number:number/><number:text>%</number:text>"),
        ("written", "number", "<number:number/><number:text>%</number:text>"),
        ("yen", "currency", "<number:currency-symbol>¥</number:currency-symbol><number:number/>"),
        ("some", "currency", "<number:currency-symbol/><number:number/>"),
        ("moment", "date", "<number:year/><number:text>千</number:text>"),
    )
)
SIGNS = {
    "thousands": " 千人",
    "share": "%",
    "written": " %",
    "yen": " ¥",
    "some": " ¤",
}


def style(name, said):
    return f'<style:style style:name="{name}" style:family="table-cell" {said}/>'


CELLS = "".join(
    style(f"c-{name}", f'style:data-style-name="{name}"')
    for name in (*SIGNS, "plain", "persons", "moment")
)


def signs_of(path):
    with zipfile.ZipFile(path) as archive:
        return read_signs(archive)


def test_signs_are_those_of_the_style_of_numbers(tmp_path):
    path = write_ods(tmp_path / "a.ods", "", styles=NUMBERS + CELLS)
    assert signs_of(path) == {f"c-{name}": sign for name, sign in SIGNS.items()}


def test_a_style_has_what_the_one_that_it_is_made_of_has(tmp_path):
    made = style("of", 'style:parent-style-name="c-yen"')
    own = style("own", 'style:parent-style-name="c-yen" style:data-style-name="plain"')
    ring = style("a", 'style:parent-style-name="b"') + style("b", 'style:parent-style-name="a"')
    path = write_ods(tmp_path / "a.ods", "", styles=made + own + ring, others=NUMBERS + CELLS)
    found = signs_of(path)
    assert found["of"] == " ¥"
    assert not {"own", "a", "b"} & {*found}


FLOAT = 'office:value-type="float" office:value="{}"'


@pytest.mark.parametrize("where", ["cell", "row", "column", "columns"])
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("yen", "count-money"),
        ("share", "count-percentage"),
        ("thousands", "count-flagged"),
        ("persons", ""),
        ("plain", ""),
    ],
)
def test_a_number_has_the_style_of_its_cell_its_row_or_its_column(where, name, rule, tmp_path):
    default = f'table:default-cell-style-name="c-{name}"'
    column = {"column": f"<table:table-column/><table:table-column {default}/>"}.get(where, "")
    if where == "columns":
        column = f'<table:table-column {default} table:number-columns-repeated="16384"/>'
    row = default if where == "row" else ""
    cell = f'table:style-name="c-{name}"' if where == "cell" else 'table:style-name=""'
    code = 'office:value-type="string"'
    body = (
        f'<table:table table:name="a">{column}<table:table-row>'
        f"<table:table-cell {code}><text:p>mesh</text:p></table:table-cell>"
        f"<table:table-cell {code}><text:p>n</text:p></table:table-cell></table:table-row>"
        f"<table:table-row {row}><table:table-cell {code}><text:p>53394611</text:p>"
        f"</table:table-cell><table:table-cell {cell} {FLOAT.format(7)}/>"
        "</table:table-row></table:table>"
    ).replace(' table:style-name=""', "")
    path = write_ods(tmp_path / "a.ods", body, styles=NUMBERS + CELLS)
    given = {"grid": "jis:basic", "code": "mesh", "value": "n"}
    if not rule:
        assert read_table(path, **given).count.tolist() == [7]
        return
    with refuses(InputError, rule) as caught:
        read_table(path, **given)
    assert caught.value.row == 2


def test_cells_that_are_repeated_over_columns_have_the_sign_of_any(tmp_path):
    default = 'table:default-cell-style-name="c-yen"'
    body = (
        f'<table:table table:name="a"><table:table-column/><table:table-column {default}/>'
        f'<table:table-row><table:table-cell {FLOAT.format(7)} table:number-columns-repeated="2"/>'
        "</table:table-row></table:table>"
    )
    (file,) = input_files(write_ods(tmp_path / "a.ods", body, styles=NUMBERS + CELLS))
    assert [*OpenDocumentBook(file).rows("a")] == [(["7 ¥", "7 ¥"], False)]
