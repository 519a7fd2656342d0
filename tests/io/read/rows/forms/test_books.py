"""Cells of workbooks: the same text for the same thing, and signs of numbers by their styles."""

import datetime
import zipfile

import pytest

from geodp.errors import InputError
from geodp.io.read.rows.forms import books
from geodp.io.read.rows.forms.books import Book, OpenDocumentBook, as_cell, read_signs, sign_of
from geodp.io.read.rows.input_files import InputFile, input_files
from geodp.io.read.table import read_table
from tests.io.read.workbooks import ods_cell, write_ods
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        *((None, None), (3.0, 3), (3.5, 3.5), (True, "True"), ("007", "007")),
        (datetime.date(2024, 5, 31), "2024-05-31"),
        (datetime.datetime(2024, 5, 31, 9), "2024-05-31T09:00:00"),
        (datetime.timedelta(hours=30), "1 day, 6:00:00"),
    ],
)
def test_values_become_numbers_or_texts(value, cell):
    found = as_cell(value)
    assert found == cell
    assert type(found) is type(cell)


FORMATS = {
    "": (
        *("", "General", "0", "#,##0.00", "0.00E+00", "# ?/?", "@", "#,##0_);(#,##0)", "[Red]-0;0"),
        *("[>=1000]0;0.0", "* #,##0_-", '#,##0"人"', '0" persons"', '"△ "0', "yyyy/mm/dd"),
        *("[$-411]0", '0;-0;"-"', "[h]:mm:ss", '_("x"* #,##0_)', "\\p0"),
    ),
    "%": ("0%", "0.0 %", "0,0%", "0;0%", "[Red]0%"),
    " %": ('0"%"', "0\\%"),
    " ‰": ('0"‰"',),
    # The last but one is how Japanese fonts show it.
    " ¥": ('"¥"#,##0', "\\¥#,##0", "\\\\#,##0", "[$¥-411]#,##0"),
    **{" EUR": ("[$EUR] 0",), " kr.": ("[$kr.-406] 0",), " $": ("$#,##0",)},
    **{" €": ('_-* #,##0.00\\ "€"_-',), " Kč": ('#,##0\\ "Kč"',), " 円": ('0"円"',)},
    **{" 千人": ('0"千人"',), " thousand": ('0" thousand"',), " 000": ('0"000"',)},
    " <5": ('[<5]"<5";0',),
}


@pytest.mark.parametrize("sign", FORMATS)
def test_a_format_says_what_makes_a_number_no_count(sign):
    for code in FORMATS[sign]:
        assert sign_of(code) == sign, code


class Failing(Book):
    """A book whose second row cannot be read."""

    def close(self):
        """Close nothing."""

    def _rows(self, sheet):
        yield [1], False
        raise KeyError("a secret")


def test_the_words_of_a_library_are_not_passed_on():
    found = Failing(InputFile("a.ods", "a.ods", "ods")).rows("a")
    assert next(found) == ([1], False)
    with refuses(InputError, "workbook-unreadable") as caught:
        next(found)
    assert caught.value.__context__ is None


def rows_of(path):
    (file,) = input_files(path)
    book = OpenDocumentBook(file)
    found = [*book.rows(book.sheets[0])]
    book.close()
    return found


def table(*rows, name="a"):
    return f'<table:table table:name="{name}">{"".join(rows)}</table:table>'


def row(*cells, repeated=1, said=""):
    said = f'table:number-rows-repeated="{repeated}" {said}'
    return f"<table:table-row {said}>{''.join(cells)}</table:table-row>"


def cell(said="", inside="", kind="table-cell"):
    return f"<table:{kind} {said}>{inside}</table:{kind}>"


def typed(kind, value="", inside="", more=""):
    """Return a cell of a type, whose value is of the attribute that is named after it."""
    name = {"date": "date-value", "time": "time-value", "boolean": "boolean-value"}
    said = f'office:{name.get(kind, "value")}="{value}"' if value else ""
    return cell(f'office:value-type="{kind}" {said} {more}', inside)


def string(inside, more=""):
    return typed("string", "", inside, more)


NOTE = "<office:annotation><text:p>no</text:p></office:annotation>"
RUBY = "<text:ruby-base>東京</text:ruby-base><text:ruby-text>と</text:ruby-text>"
ERROR = 'calcext:value-type="error"'


@pytest.mark.parametrize(
    ("xml", "value"),
    [
        (cell(), []),
        (cell(inside="<text:p>7</text:p>"), ["7"]),
        (typed("float", "7", "<text:p>7,0</text:p>"), [7]),
        (typed("float", "5.3394611E7"), [53394611]),
        (typed("float", "7.5"), [7.5]),
        (typed("percentage", "0.07"), ["7%"]),
        (typed("currency", "7", more='office:currency="EUR"'), ["7 EUR"]),
        (typed("currency", "7"), ["7 ¤"]),
        (typed("date", "2024-05-31"), ["2024-05-31T00:00:00"]),
        (typed("date", "2024-05-31T09:30:00.5"), ["2024-05-31T09:30:00.500000"]),
        (typed("date", "-0044-03-15"), ["-0044-03-15"]),
        (typed("time", "PT09H30M00S"), ["09:30:00"]),
        (typed("time", "PT30H00M00S"), ["1 day, 6:00:00"]),
        (typed("time", "P1D"), ["P1D"]),
        (typed("boolean", "true"), ["True"]),
        (string("<text:p>a</text:p><text:p>b</text:p>"), ["a\nb"]),
        (string("<text:p> a  \n b</text:p>"), ["a b"]),
        (string('<text:p>a<text:s text:c="2"/>b<text:tab/>c</text:p>'), ["a  b\tc"]),
        (string("<text:p><text:span>a</text:span>b</text:p>"), ["ab"]),
        (string(f"{NOTE}<text:p>a</text:p>"), ["a"]),
        (string(f"<text:p><text:ruby>{RUBY}</text:ruby></text:p>"), ["東京"]),
        (string("<text:p>a</text:p>", 'office:string-value="b"'), ["b"]),
        (typed("float", "7").replace("table-cell", "covered-table-cell"), [7]),
        (typed("float", "0", "<text:p>#DIV/0!</text:p>", ERROR), ["#DIV/0!"]),
        (string("", f'office:string-value="" {ERROR}'), ["#N/A"]),
    ],
)
def test_a_cell_is_read_by_its_type(xml, value, tmp_path):
    (found,) = rows_of(write_ods(tmp_path / "a.ods", table(row(xml, cell()), row(ods_cell(1)))))[:1]
    assert found == (value, False)


def test_rows_and_columns_come_as_often_as_they_are_repeated(tmp_path):
    two = typed("float", "2", more='table:number-columns-repeated="2"')
    blank = cell('table:number-columns-repeated="3"')
    body = table(
        row(blank, repeated=2),
        row(blank, two, blank),
        f"<table:table-header-rows>{row(two, repeated=2)}</table:table-header-rows>",
        f"<table:table-row-group>{row(blank, repeated=1_000_000)}</table:table-row-group>",
    )
    found = rows_of(write_ods(tmp_path / "a.ods", body))
    assert [cells for cells, _ in found] == [[], [], [None] * 3 + [2, 2], [2, 2], [2, 2]]
    codes = row(ods_cell("mesh"), ods_cell("n")), row(ods_cell(53394611), ods_cell(5), repeated=2)
    path = write_ods(tmp_path / "a.ods", table(*codes))
    with refuses(InputError, "cell-repeated-in-rows") as caught:
        read_table(path, grid="jis:basic", code="mesh", value="n")
    assert caught.value.row == 3


def test_formulas_are_told_where_they_gave_nothing_too(tmp_path):
    formula = 'table:formula="of:=A1"'
    computed = map(row, (cell(formula), typed("float", "0", more=formula)))
    found = rows_of(write_ods(tmp_path / "a.ods", table(row(ods_cell(1)), *computed)))
    assert [said for _, said in found] == [False, True, True]


@pytest.mark.parametrize(
    "xml",
    [
        *(typed("float"), typed("float", "1_0"), typed("float", "nan"), typed("boolean", "2")),
        typed("odd", "1"),
        *(
            cell(f'table:number-columns-repeated="{many}"', "<text:p>a</text:p>")
            for many in ("0", "x", "99999")
        ),
        *(string("<text:list/>"), string('<text:p><text:s text:c="9999999999"/></text:p>')),
        *(string(table(row(ods_cell(1)), name="inner")), string("<text:p>&unknown;</text:p>")),
        *("<text:p>a</text:p>", "</table:table-row>"),
    ],
)
def test_what_is_no_cell_is_refused_and_never_left_out(xml, tmp_path):
    path = write_ods(tmp_path / "a.ods", table(row(ods_cell("n")), row(xml)))
    with refuses(InputError, "workbook-unreadable"):
        rows_of(path)


def test_a_damaged_locked_or_ambiguous_workbook_is_refused(tmp_path):
    """The checksum is asked though a sheet ends before."""
    sheets = table(row(ods_cell("mesh")), row(ods_cell(1))) + table(
        row(ods_cell("other")), name="b"
    )
    path = write_ods(tmp_path / "a.ods", sheets, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"other", b"othes"))
    locked = tmp_path / "locked.ods"
    with zipfile.ZipFile(locked, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", bytes(range(256)))
    twice = write_ods(tmp_path / "twice.ods", table(row(ods_cell(1))) * 2)
    for bad in (path, locked, twice):
        with refuses(InputError, "workbook-unreadable"):
            rows_of(bad)


def test_blank_rows_at_the_end_are_not_made(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(books, "_read_row", lambda one, _: made.append(one) or ([], False))
    assert rows_of(write_ods(tmp_path / "a.ods", table(row(repeated=1_048_576)))) == []
    assert len(made) == 1


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
SIGNS = {"thousands": " 千人", "share": "%", "written": " %", "yen": " ¥", "some": " ¤"}


def style(name, said):
    return f'<style:style style:name="{name}" style:family="table-cell" {said}/>'


STYLES = NUMBERS + "".join(
    style(f"c-{name}", f'style:data-style-name="{name}"')
    for name in (*SIGNS, "plain", "persons", "moment")
)


def signs_of(path):
    with zipfile.ZipFile(path) as archive:
        return read_signs(archive)


def test_a_style_has_what_the_one_that_it_is_made_of_has(tmp_path):
    plain = write_ods(tmp_path / "a.ods", "", styles=STYLES)
    assert signs_of(plain) == {f"c-{name}": sign for name, sign in SIGNS.items()}
    made = style("of", 'style:parent-style-name="c-yen"')
    own = style("own", 'style:parent-style-name="c-yen" style:data-style-name="plain"')
    ring = style("a", 'style:parent-style-name="b"') + style("b", 'style:parent-style-name="a"')
    found = signs_of(write_ods(tmp_path / "a.ods", "", styles=made + own + ring, others=STYLES))
    assert found["of"] == " ¥"
    assert not {"own", "a", "b"} & {*found}


@pytest.mark.parametrize("where", ["cell", "row", "column", "columns"])
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *(("yen", "count-money"), ("share", "count-percentage"), ("thousands", "count-flagged")),
        *(("persons", ""), ("plain", "")),
    ],
)
def test_a_number_has_the_style_of_its_cell_its_row_or_its_column(where, name, rule, tmp_path):
    default = f'table:default-cell-style-name="c-{name}"'
    columns = {
        "column": f"<table:table-column/><table:table-column {default}/>",
        "columns": f'<table:table-column {default} table:number-columns-repeated="16384"/>',
    }
    own = f'table:style-name="c-{name}"' if where == "cell" else ""
    body = table(
        columns.get(where, ""),
        row(string("<text:p>mesh</text:p>"), string("<text:p>n</text:p>")),
        row(
            string("<text:p>53394611</text:p>"),
            typed("float", "7", more=own),
            said=default if where == "row" else "",
        ),
    )
    path = write_ods(tmp_path / "a.ods", body, styles=STYLES)
    given = {"grid": "jis:basic", "code": "mesh", "value": "n"}
    if not rule:
        assert read_table(path, **given).count.tolist() == [7]
        return
    with refuses(InputError, rule) as caught:
        read_table(path, **given)
    assert caught.value.row == 2


def test_cells_that_are_repeated_over_columns_have_the_sign_of_any(tmp_path):
    column = '<table:table-column/><table:table-column table:default-cell-style-name="c-yen"/>'
    twice = typed("float", "7", more='table:number-columns-repeated="2"')
    path = write_ods(tmp_path / "a.ods", table(column, row(twice)), styles=STYLES)
    assert rows_of(path) == [(["7 ¥", "7 ¥"], False)]
