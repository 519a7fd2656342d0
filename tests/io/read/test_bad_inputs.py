"""Every bad table: refused with file, row and what to do, and without what the rows say."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from geodp.errors import GeodpError, InputError
from geodp.io.read.layout.inspect import inspect
from tests.io.files import (
    GOOD,
    HEAD,
    METRES,
    SECRET,
    Case,
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
POINTS = {"grid": METRES, "x": "x", "y": "y"}
NUL = "code,n\n" + "533946113,0\n" * 30000 + "533946113,\x001\n"
ALIKE = f"KEY_CODE,T1,T2\n,総数,総数\n533946113,{SECRET},2\n"
TENTH = HEAD + "5339461109,0,,,1,1\r\n"
CORNER = f"x,y,n\n4000500,3000500,{SECRET}\n4001000,3000000,5\n"

CASES = [
    # What is opened.
    Case("folder", lambda folder: folder, mesh, "holds no table"),
    Case("zip without a table", zipped({"readme.md": SECRET}), mesh, "holds no .txt"),
    Case("zip with hidden tables", zipped({".nfs1.txt": HEAD + GOOD}), mesh, "holds no .txt"),
    Case("zip in zip", zipped({"a.zip": SECRET}), mesh, "unpack it first"),
    Case("7-Zip", text(b"7z\xbc\xaf\x27\x1c", "in.zip"), mesh, "7-Zip"),
    Case("raster as table", tiff(RASTER), table, "read_raster"),
    Case("parquet as mesh file", parquet({"KEY_CODE": ["1"]}), mesh, "No column is named", 1),
    # How it is written.
    Case("binary", text(bytes(range(256)) * 9), mesh, "looks binary"),
    Case("binary without NUL", text(b"\x01\x02\x03\x04" * 9 + b"\n1,2"), mesh, "looks binary"),
    Case("neither UTF-8 nor CP932", text(b"code;n\x81 \n1;2\n"), table, "name its encoding"),
    Case("a kanji in a word", text("code;Wärme;n\n1;2;3\n".encode("cp1252")), table, "name its"),
    Case("Western text", text("code;Größe;n\n1;2;3\n".encode("cp1252")), table, "name its enc"),
    Case("lone CR", text(f"code;n\r1;{SECRET}\r2;3"), table, "LF"),
    Case("one endless field", text("x" * 200_000), table, "header cannot be read", 1),
    Case("one endless line", text("x" * 300_000), table, "longer than 262,144 bytes", 1),
    Case("an endless row", text("code,n\n" + "x" * (9 << 20)), table, "cannot be read as a table"),
    Case("row cut off", official("533946114,0,,"), mesh, "cut", 4),
    Case("row too long", official(f"533946114,0,,,{SECRET},1,2"), mesh, "as many columns", 4),
    Case("labels cut off", text("KEY_CODE,T1,T2\n,a\n1,2,3\n"), mesh, "two header rows", 2),
    Case("unquoted thousands", text("code,n\n533946113,987,654,321\n"), table, "quotes", 2),
    Case("NUL far down", text(NUL), partial(table, duplicates="sum"), "plain digits", 30002),
    Case("JSON array", text(f'[{{"code": 1, "n": {SECRET}}}]', "in.json"), table, "JSON array"),
    Case("a unit in the header", text("code;n (persons)\n1;2\n"), table, "are code, n (pers", 1),
    # Columns.
    Case("unknown value", official(""), partial(mesh, value="人口"), "there are T001 人口（総数）"),
    Case("unknown column", rows("1"), partial(table, value="pop"), "there are code, n", 1),
    Case("no value named", official(""), partial(mesh, value=None), "Name one of"),
    Case("ambiguous label", text(ALIKE), partial(mesh, value="総数"), "Several columns"),
    Case("no header", text(f"533946113;{SECRET}\n"), table, "looks like data", 1),
    Case("no key", text(f"CODE,T1\n1,{SECRET}\n"), mesh, "--code", 1),
    Case("wrong delimiter", rows("1"), partial(table, delimiter="\t"), "delimiter", 1),
    # Counts, codes and places.
    Case("blank below blank lines", text(f"code;n\n\n1;{SECRET}\n\n\n2;\n"), table, "blank", 6),
    Case("suppressed", official("533946114,2,533946113,,*,1"), mesh, "suppressed", 4),
    Case("confidential", official("533946114,2,533946113,,X,1"), mesh, 'suppressed="zero"', 4),
    Case("blank value", official("533946114,0,,,,1"), mesh, "人口（総数）", 4),
    Case("100 m code", text(TENTH), partial(mesh, grid="jis:quarter"), "1/10", 3),
    Case("same mesh twice", official(GOOD.strip()), mesh, "list a cell only once", 4),
    Case("corner as centre", text(CORNER), partial(table, **POINTS), "not the centre", 3),
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


@pytest.mark.parametrize(
    ("at", "change", "rule"),
    [(6, lambda byte: byte | 1, "archive-encrypted"), (8, lambda _: 9, "archive-compression")],
)
def test_an_archive_that_is_encrypted_or_packed_otherwise(at, change, rule, tmp_path: Path) -> None:
    path = zipped({"a.txt": HEAD + GOOD})(tmp_path)
    data = bytearray(path.read_bytes())
    for place in (data.index(b"PK\x03\x04") + at, data.index(b"PK\x01\x02") + at + 2):
        data[place] = change(data[place])
    path.write_bytes(bytes(data))
    with refuses(InputError, rule):
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


@pytest.mark.parametrize("case", CASES[:16], ids=lambda case: case.name)
def test_inspection_refuses_or_tells_nothing(case: Case, tmp_path: Path) -> None:
    try:
        shown = str(inspect(case.build(tmp_path)))
    except GeodpError as error:
        shown = str(error)
    assert SECRET[:6] not in shown
