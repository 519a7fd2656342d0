"""A quote that nobody closed hides rows, and notes of several lines are read."""

import gzip
import random

import pytest

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.read.rows import delimited
from geodp.io.read.table import read_table
from tests.refusals import refuses

ONE, TWO, THREE = "533946113", "533946114", "533946121"
OPEN, HOLDS = "quote-open", "quote-holds-rows"


def read(path, **options):
    return read_table(path, grid="jis:half", code="code", value="n", **options)


def rows(name, *texts):
    """Rows of code, name and count, in which one name after the other is written as it is."""
    codes = zip((ONE, THREE, TWO), texts, (12, 500, 7), strict=True)
    return "".join(f"{code},{text},{n}\n" for code, text, n in codes) if name else ""


HIDDEN = {
    "never closed": ("code,name,n\n" + rows(1, '"Alpha', "Gamma", "Beta"), OPEN, 2),
    "closed by the next one": ("code,name,n\n" + rows(1, '"Alpha', '"Gamma"', "Beta"), OPEN, 2),
    "closed below": ("code,name,n\n" + rows(1, '"Alpha', "Gamma", 'Beta"'), HOLDS, 2),
    "closed in the next row": ("code,name,n\n" + rows(1, '"Al', 'Ga"', "Beta"), HOLDS, 2),
    "an empty name": ("code,name,n\n" + rows(1, '"Alpha', '""', "Beta"), OPEN, 2),
    "three quotes": ("code,name,n\n" + rows(1, '"""Alpha', "Gamma", 'Beta"""'), HOLDS, 2),
    "a second line": ("code,name,n\n" + rows(1, "Alpha", '"Gamma', 'Beta"'), HOLDS, 3),
    "at the end": ("code,n,name\n" + f'{ONE},12,Alpha\n{TWO},7,"Beta', OPEN, 3),
    "at the end of the last line": ("code,n,name\n" + f'{ONE},12,A\n{TWO},7,"Beta\n', OPEN, 3),
    "two at line ends": (f'code,n,name\n{ONE},12,"A\n{THREE},500,C\n{TWO},7,"B\n', OPEN, 2),
    "all quoted": (f'"code","n","name"\n"{ONE}","12","A\n"{TWO}","7","B"\n', OPEN, 2),
    "a column before": (f'id,code,n\n"a,{ONE},12\nb,{THREE},500\nc",{TWO},7\n', HOLDS, 2),
    "after a note": (f'code,note,n\n{ONE},"a\nb",12\n{TWO},"c,7\n{THREE},d",5\n', HOLDS, 4),
    "in the count": (f'code,n,name\n{ONE},"12,A\n{TWO},7",B\n', "value-line-break", 2),
    "in the code": (f'code,n,name\n"{ONE},12,A\n{TWO}",7,B\n', "value-line-break", 2),
}
NOTES = {
    "an address": '"1-2-3 Shibuya\nTokyo, Japan"',
    "an address in Japan": '"東京都渋谷区\n1-2-3, 渋谷"',
    "lines": '"a\r\n\r\n- one\n- two, three\n"',
    "quotes in quotes": '"he said ""no""\nand left"',
    "an inch": '5" pipe',
    "more after the quote": '"a"b',
    "only a break": '"\n"',
}


PACKED = {
    "plain": lambda text: text.encode(),
    "gzip": lambda text: gzip.compress(text.encode()),
    "utf-16": lambda text: text.encode("utf-16"),
    "semicolons": lambda text: text.replace(",", ";").encode(),
    "cp932": lambda text: text.replace("Beta", "渋谷").replace("name", "名称").encode("cp932"),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
}


@pytest.mark.parametrize("case", HIDDEN, ids=str)
def test_rows_that_vanish_in_a_field_are_refused(case, tmp_path):
    text, rule, row = HIDDEN[case]
    for pack in ("plain", random.Random(case).choice([*PACKED])):
        (tmp_path / "in.csv").write_bytes(PACKED[pack](text))
        with refuses(InputError, rule) as caught:
            read(tmp_path / "in.csv")
        assert caught.value.row == row
        assert "Alpha" not in str(caught.value)


@pytest.mark.parametrize("note", NOTES, ids=str)
@pytest.mark.parametrize("columns", ["code,note,n", "code,n,note", "note,code,n"])
def test_notes_of_several_lines_are_read(note, columns, tmp_path):
    values = {"code": ONE, "note": NOTES[note], "n": "12"}
    row = ",".join(values[column] for column in columns.split(","))
    path = tmp_path / "in.csv"
    path.write_bytes(f"{columns}\n{row}\n{row.replace(ONE, THREE)}\n".encode())
    table = read(path)
    assert table.count.tolist() == [12, 12]
    facts = {fact.field: fact.value for fact in table.reading.sources[0].facts}
    broken = "\n" in NOTES[note]
    assert facts.get("rows with line breaks in fields") == ("2" if broken else None)


@pytest.mark.parametrize(("columns", "good"), [("code,note,n", True), ("code,n,note", False)])
def test_what_looks_like_a_row_is_none_where_its_own_row_is_incomplete_without_it(
    columns, good, tmp_path
):
    values = {"code": ONE, "note": f'"see\n{TWO},7,7\nabove"', "n": "12"}
    path = tmp_path / "in.csv"
    path.write_text(f"{columns}\n{','.join(values[one] for one in columns.split(','))}\n")
    if good:
        assert read(path).count.tolist() == [12]
        return
    with refuses(InputError, HOLDS):
        read(path)


def test_a_field_longer_than_a_block_names_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 1 << 14)
    many = "".join(f"{TWO},Name {i},0\n" for i in range(5000))
    path = tmp_path / "in.csv"
    path.write_text(f'code,name,n\n{many}{ONE},"Alpha,12\n{many}{THREE},Beta",7\n')
    with refuses(InputError, OPEN) as caught:
        read(path, duplicates="sum")
    assert caught.value.row == 5002


def test_places_of_several_kinds_tell_notes_from_rows(tmp_path):
    """Words stand where the row has a coordinate: no row."""
    path = tmp_path / "in.csv"
    path.write_text('x,y,note,n\n4000500.5,3000500.5,"a\nb, c, d, e",12\n')
    grid = Grid.regular((4, 4), crs="EPSG:3035", transform=(1000, 0, 4e6 + 0.5, 0, 1000, 3e6 + 0.5))
    assert read_table(path, grid=grid, x="x", y="y", value="n").count.tolist() == [12]
    path.write_text('x,y,note,n\n4000500.5,3000500.5,"a,12\n4001500.5,3000500.5,b",3\n')
    with refuses(InputError, HOLDS):
        read_table(path, grid=grid, x="x", y="y", value="n")


@pytest.mark.parametrize(("end", "said"), [("\n", "there"), ("", "missing"), ("\r\n", "there")])
@pytest.mark.parametrize("packed", [False, True])
def test_a_missing_line_end_is_told(end, said, packed, tmp_path):
    data = f"code,n\n{ONE},12{end}".encode()
    (tmp_path / "in.csv").write_bytes(gzip.compress(data) if packed else data)
    (source,) = read(tmp_path / "in.csv").reading.sources
    assert [f.value for f in source.facts if f.field == "line end at the end"] == [said]


@pytest.mark.parametrize(("end", "said"), [("\n", "there"), ("", "missing")])
def test_a_missing_line_end_of_json_lines_is_told(end, said, tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text(f'{{"code": "{ONE}", "n": 1}}\n{{"code": "{TWO}", "n": 2}}{end}')
    (source,) = read(path).reading.sources
    assert [f.value for f in source.facts if f.field == "line end at the end"] == [said]
