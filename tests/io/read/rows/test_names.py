"""A column is found under every spelling of its name, and never under one that only looks so."""

import unicodedata
import zipfile

import openpyxl
import pytest

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.read.rows.names import find_matching_patterns, fold, match, spell
from geodp.io.read.table import read_mesh, read_table
from tests.io.read.dialects import make
from tests.refusals import refuses

CODE = "533946113"
SPELT = [
    ("が", "か\u3099"),
    ("Bevölkerung", "Bevo\u0308lkerung"),
    ("人口０〜１４歳", "人口０～１４歳"),
    ("人口０～１４歳", "人口０〜１４歳"),
    ("人口（総数）　男", "人口(総数)男"),
    ("メッシュ", "ﾒｯｼｭ"),
    ("Total", "ＴＯＴＡＬ"),
    ("to tal", "to\u00a0tal"),
    ("0-14", "0–14"),
    ("a-b", "a−b"),
    ("n", "n\u200b"),
    ("n", "N"),
    ("effectif", "eﬀectif"),
]
LOOKS = [
    ("total", "tοtal", 2, "GREEK SMALL LETTER OMICRON"),
    ("code2", "сode2", 1, "CYRILLIC SMALL LETTER ES"),
    ("T01", "TO1", 2, "LATIN CAPITAL LETTER O"),
    ("T1", "Tl", 2, "LATIN SMALL LETTER L"),
]


FORMS = pytest.mark.parametrize("form", ["csv", "jsonl", "arrow", "xlsx"])


@FORMS
@pytest.mark.parametrize(("wanted", "header"), SPELT)
def test_other_spellings_are_the_same_column(wanted, header, form, tmp_path):
    path = make(form, {"code": [CODE], header: [12]}, tmp_path)
    assert read_table(path, grid="jis:half", code="code", value=wanted).count.tolist() == [12]


@FORMS
@pytest.mark.parametrize(("wanted", "header", "at", "name"), LOOKS)
def test_a_name_that_only_looks_so_is_refused_with_the_character(
    wanted, header, at, name, form, tmp_path
):
    path = make(form, {"code": [CODE], header: [12]}, tmp_path)
    with refuses(InputError, f"column-unknown: \\b{at} is U\\+[0-9A-F]{{4}} \\({name}\\)"):
        read_table(path, grid="jis:half", code="code", value=wanted)


@pytest.mark.parametrize("header", ["n,n", "ｎ,Ｎ", "n\u200b,Ｎ"])
def test_two_columns_of_one_name_are_refused(header, tmp_path):
    (tmp_path / "in.csv").write_text(f"code,{header}\n{CODE},1,2\n", encoding="utf-8")
    with refuses(InputError, "columns-alike"):
        read_table(tmp_path / "in.csv", grid="jis:half", code="code", value="n")


def test_the_exact_name_comes_first(tmp_path):
    (tmp_path / "in.csv").write_text(f"code,N,n\n{CODE},1,2\n")
    for name, count in (("n", 2), ("N", 1)):
        table = read_table(tmp_path / "in.csv", grid="jis:half", code="code", value=name)
        assert table.count.tolist() == [count]


@pytest.mark.parametrize("label", ["６５〜", "６５～", "65~", "か\u3099", "が"])
def test_labels_are_found_under_every_spelling(label, tmp_path):
    grid = Grid.mesh("jis:half").with_attribute("age", ["65~", "が", "Ａ", "A "])
    (tmp_path / "in.csv").write_text(f"code,age,n\n{CODE},{label},3\n", encoding="utf-8")
    table = read_table(
        tmp_path / "in.csv", grid=grid, code="code", value="n", columns={"age": "age"}
    )
    assert grid.decode(table.key)[2].tolist() == [int("か" in unicodedata.normalize("NFD", label))]


def test_labels_that_are_told_apart_by_width_alone_keep_their_own(tmp_path):
    grid = Grid.mesh("jis:half").with_attribute("kind", ["Ａ", "A"])
    (tmp_path / "in.csv").write_text(f"code,kind,n\n{CODE},A,3\n{CODE},Ａ,4\n", encoding="utf-8")
    given = {"grid": grid, "code": "code", "value": "n", "columns": {"kind": "kind"}}
    assert read_table(tmp_path / "in.csv", **given).count.tolist() == [4, 3]
    (tmp_path / "in.csv").write_text(f"code,kind,n\n{CODE},B,3\n", encoding="utf-8")
    with refuses(InputError, "label-not-of-attribute"):
        read_table(tmp_path / "in.csv", **given)


def test_spellings():
    assert fold("ＡＢ　Ｃ") == fold("ab c") == "abc"
    assert spell("a\u3000 b") == "a b"
    assert fold("人口²") != fold("人口")
    assert fold("sex") != fold("age")


TITLED = {
    "a title": "Population by mesh\n\ncode,n\n",
    "titles with delimiters": "Population by mesh,\n2020,\ncode,n\n",
    "a comment": "# made by an office\ncode,n\n",
    "groups of columns": ",Population\ncode,n\n",
    "another delimiter": "Population, by mesh\ncode;n\n",
}


@pytest.mark.parametrize("title", TITLED, ids=str)
@pytest.mark.parametrize("workbook", [False, True])
def test_a_header_that_is_not_the_first_row_is_named(title, workbook, tmp_path):
    text = TITLED[title]
    row = text.count("\n")
    path = tmp_path / "in.csv"
    path.write_text(f"{text}{CODE}{';' if ';' in text else ','}12\n")
    if workbook:
        book, path = openpyxl.Workbook(), tmp_path / "in.xlsx"
        for line in f"{text.replace(';', ',')}{CODE},12".split("\n"):
            book.active.append([field or None for field in line.split(",")])
        book.save(path)
    rule = f"column-unknown: row {row} .*--header-row {row}, header_row={row}"
    with refuses(InputError, rule) as caught:
        read_table(path, grid="jis:half", code="code", value="n")
    assert CODE not in str(caught.value)
    found = read_table(path, grid="jis:half", code="code", value="n", header_row=row)
    assert found.count.tolist() == [12]


SEP = [
    ("sep=;\ncode;n\n{};12\n", ";"),
    ("\ufeffSEP=,\r\ncode,n\r\n{},12\r\n", ","),
    ('"sep=;"\ncode;n\n{};12\n', ";"),
    ("sep=\t\ncode\tn\n{}\t12\n", "\t"),
    ("sep=|\ncode|n\n{}|12\n", "|"),
    ("sep=:\ncode:n\n{}:12\n", ":"),
]


@pytest.mark.parametrize(("text", "delimiter"), SEP)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_the_delimiter_that_a_first_line_says(text, delimiter, encoding, tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(text.removeprefix("\ufeff").format(CODE).encode(encoding))
    if encoding == "utf-8":
        path.write_text(text.format(CODE), encoding="utf-8", newline="")
    given = {"grid": "jis:half", "code": "code", "value": "n"}
    table = read_table(path, **given)
    assert table.count.tolist() == [12]
    facts = [(f.value, f.known_by) for f in table.reading.sources[0].facts if f.field[0] == "d"]
    assert facts == [(delimiter, "file")]
    path.write_text(text.format(CODE) + text.format("x").splitlines()[-1] + "\n", newline="")
    with pytest.raises(InputError) as caught:
        read_table(path, **given)
    assert caught.value.row == 4
    with refuses(InputError, "delimiter-contradicted: --delimiter"):
        read_table(path, delimiter="!", **given)


def test_a_member_that_is_empty_is_told(tmp_path):
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        archive.writestr("LIESMICH.txt", "")
        archive.writestr("a.csv", f"code,n\n{CODE},12\n")
    with refuses(InputError, r"archive-tables-differ: --member, member=\): LIESMICH.txt, a.csv"):
        read_table(tmp_path / "in.zip", grid="jis:half", code="code", value="n")


def test_labels_of_mesh_files_are_found_under_every_spelling(tmp_path):
    path = tmp_path / "in.txt"
    text = f"ＫＥＹ＿ＣＯＤＥ,T1,T2\n,人口（０～１４歳）,人口（総数）\n{CODE},3,12\n"
    path.write_text(text, encoding="utf-8")
    assert read_mesh(path, grid="jis:half", value="人口(0〜14歳)").count.tolist() == [3]


@pytest.mark.parametrize(
    ("pattern", "names", "met"),
    [
        ("TOT_P", ["tot_p"], ["tot_p"]),
        ("TOT_P", ["tot_p", "TOT_P"], ["TOT_P"]),
        ("TOT_P", ["tot_p", "Tot_P"], ["tot_p", "Tot_P"]),
        ("GRD_ID*", ["ｇｒｄ＿ｉｄ＿１"], ["ｇｒｄ＿ｉｄ＿１"]),
        ("größe", ["GRO\u0308SSE", "GRÖßE"], ["GRO\u0308SSE", "GRÖßE"]),
        ("b|A", ["a", "B"], ["B"]),
        ("人口（総数）?男", ["人口(総数) 男"], ["人口(総数) 男"]),
        ("TOT_P", ["TOTP", "TOT-P"], []),
    ],
)
def test_names_are_compared_without_case_and_width(pattern, names, met):
    assert match(pattern, names) == met
    exactly = {pattern} & {*names}
    assert find_matching_patterns([pattern], names) == (exactly, {pattern} if met else set())
