"""Every bad table: refused with file, row and what to do, and without what the rows say."""

from pathlib import Path

import numpy as np
import pytest

from geodp.errors import GeodpError, InputError
from geodp.grid.grid import Grid
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.table import read_table
from tests.io.files import (
    GOOD,
    HEAD,
    METRES,
    SECRET,
    Case,
    gzipped,
    mesh,
    official,
    parquet,
    refuse,
    rows,
    table,
    text,
    tiff,
    zipped,
)
from tests.refusals import refuses

RASTER = np.full((4, 4), 3, np.int32)

CASES = [
    # what is opened
    Case("missing file", lambda folder: folder / "none.csv", table, "no such file"),
    Case("folder", lambda folder: folder, mesh, "holds no table"),
    Case("empty file", text(""), mesh, "is empty"),
    Case("blank lines only", text("\n\n\n"), table, "no header"),
    Case("truncated zip", zipped({"t.txt": HEAD + GOOD * 50}, 90), mesh, "truncated or damaged"),
    Case("zip without a table", zipped({"readme.md": SECRET}), mesh, "holds no .txt"),
    Case("zip with hidden tables only", zipped({".nfs1.txt": HEAD + GOOD}), mesh, "holds no .txt"),
    Case("zip in zip", zipped({"a.zip": SECRET}), mesh, "unpack it first"),
    Case("truncated gzip", gzipped(HEAD + GOOD, 40), mesh, "truncated or damaged"),
    Case("truncated gzip, rows", gzipped(HEAD + GOOD * 9999, -30), mesh, "truncated or damaged"),
    Case("truncated parquet", parquet({"code": [1], "n": [int(SECRET)]}, -20), table, "damaged"),
    Case("7-Zip", text(b"7z\xbc\xaf\x27\x1c", "in.zip"), mesh, "7-Zip"),
    Case("raster as table", tiff(RASTER), table, "read_raster"),
    Case("parquet as mesh file", parquet({"KEY_CODE": ["1"]}), mesh, "No column is named", 1),
    # how it is written
    Case("binary", text(bytes(range(256)) * 9), mesh, "looks binary"),
    Case("binary without NUL", text(b"\x01\x02\x03\x04" * 9 + b"\n1,2"), mesh, "looks binary"),
    Case("neither UTF-8 nor CP932", text(b"code;n\x81 \n1;2\n"), table, "name its encoding"),
    Case("a kanji in a word", text("code;Wärme;n\n1;2;3\n".encode("cp1252")), table, "name its"),
    Case(
        "Western text", text("code;Größe;n\n1;2;3\n".encode("cp1252")), table, "name its encoding"
    ),
    Case("lone CR", text(f"code;n\r1;{SECRET}\r2;3"), table, "LF"),
    Case("one endless field", text("x" * 200_000), table, "header cannot be read", 1),
    Case("one endless line", text("x" * 300_000), table, "longer than 262,144 bytes", 1),
    Case("an endless row", text("code,n\n" + "x" * (9 << 20)), table, "cannot be read as a table"),
    Case("row cut off", official("533946114,0,,"), mesh, "cut", 4),
    Case("row too long", official(f"533946114,0,,,{SECRET},1,2"), mesh, "as many columns", 4),
    Case("labels cut off", text("KEY_CODE,T1,T2\n,a\n1,2,3\n"), mesh, "two header rows", 2),
    Case("unquoted thousands", text("code,n\n533946113,987,654,321\n"), table, "quotes", 2),
    Case("NUL in a count", rows("1\0"), table, "looks binary"),
    Case(
        "NUL after the head",
        text("code,n\n" + "533946113,0\n" * 30000 + "533946113,\x001\n"),
        table,
        "plain digits",
        30002,
        options={"duplicates": "sum"},
    ),
    Case("JSON array", text(f'[{{"code": 1, "n": {SECRET}}}]', "in.json"), table, "JSON array"),
    Case("a unit in the header", text("code;n (persons)\n1;2\n"), table, "are code, n (pers", 1),
    # columns
    Case(
        "unknown value",
        official(""),
        mesh,
        "there are T001 人口（総数）",
        options={"value": "人口"},
    ),
    Case("unknown column", rows("1"), table, "there are code, n", 1, options={"value": "pop"}),
    Case("no value named", official(""), mesh, "Name one of", options={"value": None}),
    Case(
        "ambiguous label",
        text(f"KEY_CODE,T1,T2\n,総数,総数\n533946113,{SECRET},2\n"),
        mesh,
        "Several columns",
        options={"value": "総数"},
    ),
    Case("repeated column", text(f"code;n;n\n1;{SECRET};3\n"), table, "Several columns", 1),
    Case("no header", text(f"533946113;{SECRET}\n"), table, "looks like data", 1),
    Case("no key", text(f"CODE,T1\n1,{SECRET}\n"), mesh, "--code", 1),
    Case("wrong delimiter", rows("1"), table, "delimiter", 1, options={"delimiter": "\t"}),
    # counts
    Case(
        "blank count after a blank line", text(f"code;n\n\n1;{SECRET}\n\n\n2;\n"), table, "blank", 6
    ),
    Case("mark", text(f"code;n\n533946114;{SECRET}\n533946113;–\n".encode()), table, "mark", 3),
    Case("suppressed", official("533946114,2,533946113,,*,1"), mesh, "suppressed", 4),
    Case("confidential", official("533946114,2,533946113,,X,1"), mesh, 'suppressed="zero"', 4),
    Case("blank value", official("533946114,0,,,,1"), mesh, "人口（総数）", 4),
    Case(
        "lists in parquet",
        parquet({"code": ["533946113"], "n": [[int(SECRET)]]}),
        table,
        "neither",
        1,
    ),
    # codes and places
    Case("1 km code", official("53394611,0,,,1,1"), mesh, "have 9 digits", 4),
    Case("2 km code", official("533946005,0,,,1,1"), mesh, "jis:2km", 4),
    Case(
        "100 m code",
        text(HEAD + "5339461109,0,,,1,1\r\n"),
        mesh,
        "1/10",
        3,
        options={"grid": "jis:quarter"},
    ),
    Case("blank code", official(f",0,,,{SECRET},1"), mesh, "missing or blank", 4),
    Case("same mesh twice", official(GOOD.strip()), mesh, "list a cell only once", 4),
    Case("same cell twice", rows("1", "533946114"), table, 'duplicates="sum"', 3),
    Case("outside the extent", rows("1", "003946113"), table, "outside the public domain", 3),
    Case(
        "outside the bounds",
        rows(SECRET, "543946113"),
        table,
        "outside the public domain",
        3,
        options={"grid": Grid.mesh("jis:half", bounds=(139, 35, 140, 36))},
    ),
    Case(
        "corner given as centre",
        text(f"x,y,n\n4000500,3000500,{SECRET}\n4001000,3000000,5\n"),
        table,
        "not the centre",
        3,
        options={"grid": METRES, "x": "x", "y": "y"},
    ),
    Case(
        "decimal comma in a coordinate",
        text(f"x;y;n\n4000500,0;3000500;{SECRET}\n"),
        table,
        "decimal point",
        2,
        options={"grid": METRES, "x": "x", "y": "y"},
    ),
    Case(
        "fractional index",
        text(f"x;y;n\n1.5;0;{SECRET}\n"),
        table,
        "whole number",
        2,
        options={"grid": METRES, "x": "x", "y": "y", "anchor": "index"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refused(case: Case, tmp_path: Path) -> None:
    refuse(case, tmp_path)


def test_a_member_of_an_archive_is_named(tmp_path: Path) -> None:
    path = zipped({"a.txt": HEAD + GOOD, "sub/b.csv": HEAD + GOOD + "533946113,0,,,-1,1\r\n"})(
        tmp_path
    )
    with refuses(InputError, "count-negative") as caught:
        mesh(path, duplicates="sum")
    assert caught.value.file == f"{path} (sub/b.csv)"
    assert caught.value.row == 4


def test_an_encrypted_archive(tmp_path: Path) -> None:
    path = zipped({"a.txt": HEAD + GOOD})(tmp_path)
    data = bytearray(path.read_bytes())
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + offset] |= 1
    path.write_bytes(bytes(data))
    with refuses(InputError, "archive-encrypted"):
        mesh(path)


def test_an_archive_of_another_compression(tmp_path: Path) -> None:
    path = zipped({"a.txt": HEAD + GOOD})(tmp_path)
    data = bytearray(path.read_bytes())
    for magic, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        data[data.index(magic) + offset] = 9  # Deflate64
    path.write_bytes(bytes(data))
    with refuses(InputError, "archive-compression"):
        mesh(path)


def test_the_same_mesh_in_two_files(tmp_path: Path) -> None:
    first = text(HEAD + GOOD, "a.txt")(tmp_path)
    second = text(HEAD + "533946114,0,,,5,1\r\n" + GOOD, "b.txt")(tmp_path)
    with refuses(InputError, "cell-repeated-in-files") as caught:
        mesh(first, second)
    assert (caught.value.file, caught.value.row) == (str(second), 4)
    assert mesh(first, second, duplicates="sum").count.tolist() == [2 * int(SECRET), 5]
    twice = text(HEAD + GOOD * 2, "c.txt")(tmp_path)
    with refuses(InputError, "cell-repeated-in-file") as caught:
        mesh(first, twice, duplicates="sum")
    assert (caught.value.file, caught.value.row) == (str(twice), 4)


def test_counts_that_sum_to_more_than_a_table_holds(tmp_path: Path) -> None:
    big = (1 << 60) - 1
    path = text(f"code,n\n533946113,{big}\n533946113,{big}\n")(tmp_path)
    with refuses(InputError, "counts-too-many") as caught:
        table(path, duplicates="sum")
    assert str(big) not in str(caught.value)


@pytest.mark.law
def test_an_error_far_down_a_large_file_names_its_line(tmp_path: Path) -> None:
    """Several blocks, blank lines, line breaks in quotes: the line is the one an editor shows."""
    body = "".join(f'{x},{y},"a\nb"\n\n' for x in range(900) for y in range(900))
    path = text(f"x,y,note\n{body}1,1.5,{SECRET}\n" + body)(tmp_path)
    with refuses(InputError, "cell-index-not-whole") as caught:
        read_table(
            path,
            grid=Grid.regular((900, 900), transform=(1, 0, 0, 0, 1, 0)),
            value="x",
            x="x",
            y="y",
            anchor="index",
            duplicates="sum",
        )
    assert caught.value.row == 2 + 3 * 900 * 900


@pytest.mark.parametrize("case", CASES[:16], ids=lambda case: case.name)
def test_inspection_refuses_or_tells_nothing(case: Case, tmp_path: Path) -> None:
    try:
        shown = str(inspect(case.build(tmp_path)))
    except GeodpError as error:
        shown = str(error)
    assert SECRET[:6] not in shown
