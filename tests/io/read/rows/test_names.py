"""A column is found under every spelling of its name, and never under one that only looks so."""

import unicodedata

import pytest

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.read.rows.names import find_matching_patterns, fold, match, spell
from geodp.io.read.table import read_table
from tests.io.read.dialects import make, zipped
from tests.refusals import refuses

CODE = "533946113"
SPELT = [
    *(("が", "か\u3099"), ("Bevölkerung", "Bevo\u0308lkerung"), ("メッシュ", "ﾒｯｼｭ")),
    *(("人口０〜１４歳", "人口０～１４歳"), ("人口０～１４歳", "人口０〜１４歳")),
    *(("人口（総数）　男", "人口(総数)男"), ("Total", "ＴＯＴＡＬ"), ("to tal", "to\u00a0tal")),
    *(("0-14", "0–14"), ("a-b", "a−b"), ("n", "n\u200b"), ("n", "N"), ("effectif", "eﬀectif")),
]
LOOKS = [
    ("total", "tοtal", r"2 is U\+03BF \(GREEK SMALL LETTER OMICRON"),
    ("code2", "сode2", r"1 is U\+0441 \(CYRILLIC SMALL LETTER ES"),
    ("T01", "TO1", r"2 is U\+004F \(LATIN CAPITAL LETTER O"),
    ("T1", "Tl", r"2 is U\+006C \(LATIN SMALL LETTER L"),
]
ASKED = {"grid": "jis:half", "code": "code", "value": "n"}
FORMS = pytest.mark.parametrize("form", ["csv", "jsonl", "arrow", "xlsx"])


def write(folder, text):
    (folder / "in.csv").write_text(text, encoding="utf-8", newline="")
    return folder / "in.csv"


@FORMS
def test_other_spellings_are_the_same_column(form, tmp_path):
    for wanted, header in SPELT:
        path = make(form, {"code": [CODE], header: [12]}, tmp_path)
        assert read_table(path, **{**ASKED, "value": wanted}).count.tolist() == [12]


@FORMS
@pytest.mark.parametrize(("wanted", "header", "said"), LOOKS)
def test_a_name_that_only_looks_so_is_refused_with_the_character(
    wanted, header, said, form, tmp_path
):
    path = make(form, {"code": [CODE], header: [12]}, tmp_path)
    with refuses(InputError, rf"column-unknown: \b{said}\)"):
        read_table(path, **{**ASKED, "value": wanted})


@pytest.mark.parametrize("header", ["n,n", "ｎ,Ｎ", "n\u200b,Ｎ"])
def test_two_columns_of_one_name_are_refused(header, tmp_path):
    with refuses(InputError, "columns-alike"):
        read_table(write(tmp_path, f"code,{header}\n{CODE},1,2\n"), **ASKED)


def test_the_exact_name_comes_first(tmp_path):
    path = write(tmp_path, f"code,N,n\n{CODE},1,2\n")
    for name, count in (("n", 2), ("N", 1)):
        assert read_table(path, **{**ASKED, "value": name}).count.tolist() == [count]


@pytest.mark.parametrize("label", ["６５〜", "６５～", "65~", "か\u3099", "が"])
def test_labels_are_found_under_every_spelling(label, tmp_path):
    grid = Grid.mesh("jis:half").with_attribute("age", ["65~", "が", "Ａ", "A "])
    path = write(tmp_path, f"code,age,n\n{CODE},{label},3\n")
    table = read_table(path, **{**ASKED, "grid": grid}, columns={"age": "age"})
    assert grid.decode(table.key)[2].tolist() == [int("か" in unicodedata.normalize("NFD", label))]


def test_labels_that_are_told_apart_by_width_alone_keep_their_own(tmp_path):
    grid = Grid.mesh("jis:half").with_attribute("kind", ["Ａ", "A"])
    path = write(tmp_path, f"code,kind,n\n{CODE},A,3\n{CODE},Ａ,4\n")
    table = read_table(path, **{**ASKED, "grid": grid}, columns={"kind": "kind"})
    assert table.count.tolist() == [4, 3]


def test_spellings():
    assert fold("ＡＢ　Ｃ") == fold("ab c") == "abc"
    assert spell("a\u3000 b") == "a b"
    assert fold("人口²") != fold("人口")


SEP = [
    *(("sep=;\ncode;n\n{};12\n", ";"), ("\ufeffSEP=,\r\ncode,n\r\n{},12\r\n", ",")),
    *(('"sep=;"\ncode;n\n{};12\n', ";"), ("sep=\t\ncode\tn\n{}\t12\n", "\t")),
    *(("sep=|\ncode|n\n{}|12\n", "|"), ("sep=:\ncode:n\n{}:12\n", ":")),
]


@pytest.mark.parametrize(("text", "delimiter"), SEP)
def test_the_delimiter_that_a_first_line_says(text, delimiter, tmp_path):
    path = write(tmp_path, text.format(CODE))
    table = read_table(path, **ASKED)
    assert table.count.tolist() == [12]
    facts = [(f.value, f.known_by) for f in table.reading.sources[0].facts if f.field[0] == "d"]
    assert facts == [(delimiter, "file")]
    with refuses(InputError, "delimiter-contradicted: --delimiter"):
        read_table(path, delimiter="!", **ASKED)
    write(tmp_path, text.format(CODE) + text.format("x").splitlines()[-1] + "\n")
    with pytest.raises(InputError) as caught:
        read_table(path, **ASKED)
    assert caught.value.row == 4


def test_a_member_that_is_empty_is_told(tmp_path):
    members = {"LIESMICH.txt": "", "a.csv": f"code,n\n{CODE},12\n"}
    with refuses(InputError, r"archive-tables-differ: --member, member=\): LIESMICH.txt, a.csv"):
        read_table(zipped(tmp_path / "in.zip", members), **ASKED)


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
