"""Public lists of labels: tables, one label a line, TOML and JSON."""

import pandas as pd
import pytest

import geodp
from geodp.errors import InputError, UsageError
from geodp.io.read.layout.attributes import Named, read_lists
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:basic", bounds=(139, 35 + 1 / 3, 140, 36))


def written(folder, name, text, encoding="utf-8"):
    path = folder / name
    path.write_text(text, encoding=encoding)
    return path


@pytest.mark.parametrize(
    ("name", "text", "lists"),
    [
        ("a.txt", "0-4\n5-9\n10+\n", {"": ("0-4", "5-9", "10+")}),
        ("a.txt", "01\n02", {"": ("01", "02")}),
        ("a.txt", "label\nm\nf\n", {"": ("m", "f")}),
        ("a.csv", "attribute,label\nsex,m\nage,0-4\nsex,f\n", {"sex": ("m", "f"), "age": ("0-4",)}),
        ("a.csv", "属性,ラベル\n性別,男\n性別,女\n", {"性別": ("男", "女")}),
        ("a.csv", "code;name\nM;men\nF;women, girls\n", {"": ("M", "F")}),
        ("a.csv", "name,code\nmen,1\nwomen,2\n", {"": ("1", "2")}),
        ("a.csv", "Notation,Order\nA,2\nB,1\n", {"": ("A", "B")}),
        ("a.csv", "dimension,id,name\nSEX,M,Male\nSEX,F,Female\n", {"SEX": ("M", "F")}),
        ("a.toml", 'sex = ["m", "f"]\nhour = [1, 2]', {"sex": ("m", "f"), "hour": ("1", "2")}),
        ("a.toml", '[labels]\nsex = ["m", "f"]', {"sex": ("m", "f")}),
        ("a.json", '{"sex": {"1": "men", "2": "women"}}', {"sex": ("1", "2")}),
        ("a.json", '["m", "f"]', {"": ("m", "f")}),
    ],
)
def test_every_form_of_a_list_is_read(name, text, lists, tmp_path):
    assert read_lists({"": written(tmp_path, name, text)}) == lists


def test_a_list_from_a_spreadsheet_in_japan_is_read(tmp_path):
    assert read_lists({"": written(tmp_path, "a.txt", "男\n女\n", "cp932")}) == {"": ("男", "女")}


def test_a_file_may_be_for_one_attribute(tmp_path):
    several = written(tmp_path, "a.csv", "attribute,label\nsex,m\nsex,f\nage,0-4\n")
    one = written(tmp_path, "b.txt", "0-4\n5+\n")
    assert read_lists({"sex": several, "age": one}) == {"sex": ("m", "f"), "age": ("0-4", "5+")}
    assert read_lists({"sex": [" m", "f"], "hour": (1, 2)}) == {
        "sex": ("m", "f"),
        "hour": ("1", "2"),
    }
    with refuses(UsageError, r"list-for-attribute-missing: \bhour\b"):
        read_lists({"hour": several})


def test_a_list_is_found_by_the_name_of_the_column_or_a_word_for_the_attribute(tmp_path):
    by_column = written(tmp_path, "a.toml", 'B4 = ["1", "2", "9"]\nAGEP = ["0", "1"]')
    rows = pd.DataFrame({"code": ["53394611"] * 2, "B4": ["1", "2"], "n": [3, 4]})
    found = geodp.read_table(
        rows, grid=GRID, code="code", value="n", columns={"sex": "B4"}, by=["sex"], labels=by_column
    )
    assert found.grid.attributes[0].labels == ("1", "2", "9")
    by_word = written(tmp_path, "b.toml", 'Geschlecht = ["1", "2", "9"]')
    plain = rows.rename(columns={"B4": "sex"})
    again = geodp.read_table(plain, grid=GRID, code="code", value="n", by=["sex"], labels=by_word)
    assert again.count.tolist() == found.count.tolist() == [3, 4]
    two = written(tmp_path, "c.toml", 'SEXE = ["1", "2"]\nGender = ["x"]')
    with refuses(UsageError, "lists-ambiguous: sex: SEXE, Gender"):
        read_lists({"sex": two})


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("a.xml", '<?xml version="1.0"?><codeBook><dataDscr/></codeBook>', "labels-in-xml: TOML"),
        ("a.XML", "<codeBook>\n<dataDscr/>\n</codeBook>\n", "labels-in-xml"),
        ("a.json", '{"data": {"codelists": [{"id": "CL_SEX"}]}}', "labels-not-a-list"),
        ("a.json", '{"@context": "http://www.w3.org/ns/csvw", "url": "a"}', "labels-not-a-list"),
        ("a.txt", "m\nm\n", "label-twice"),
        ("a.csv", "a,b,c\n1,2,3\n", "labels-columns-missing"),
        ("a.csv", "attribute,label\nsex,m\n,f\n", "labels-without-attribute"),
        ("a.csv", 'code,name\n"a,b",x\n', "label-has-comma"),
        ("a.toml", "sex = 3", "labels-not-a-list"),
        ("a.toml", "sex = [true]", "labels-not-a-list"),
        ("a.toml", "sex = []", "labels-not-a-list"),
        ("a.toml", "sex =", "preset-not-toml"),
        ("a.json", "{", "labels-not-json"),
        ("a.json", '{"sex": [["m"]]}', "labels-not-a-list"),
    ],
)
def test_what_is_no_list_is_refused(name, text, rule, tmp_path):
    with refuses(UsageError, rule):
        read_lists({"": written(tmp_path, name, text)})


def test_a_list_that_is_not_there_or_is_given_in_two_ways_is_refused(tmp_path):
    with refuses(InputError, "file-missing"):
        read_lists({"": tmp_path / "none.txt"})
    both = written(tmp_path, "a.toml", 'sex = ["m", "f"]')
    with refuses(UsageError, "labels-differ"):
        read_lists({"": both, "sex": ["m", "w"]})


@pytest.mark.parametrize(
    ("named", "asks"),
    [
        (Named(), False),
        (Named(values="n", columns={"sex": "SEX"}), False),
        (Named(values={"f": "F_*"}), False),
        (Named(by=["sex"]), True),
        (Named(values="F_*"), True),
        (Named(values=["n", "F_*"]), True),
    ],
)
def test_a_header_is_asked_for_attributes_and_patterns_alone(named, asks):
    assert named.needs_header is asks
