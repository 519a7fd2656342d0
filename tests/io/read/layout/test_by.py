"""Attributes by their names: columns by words and patterns, labels from public lists alone."""

import io
import json
import shlex
import tomllib

import pandas as pd
import pyarrow as pa
import pytest

import geodp
from geodp.errors import InputError, UsageError
from geodp.io.read.reader import SERIES_OR_ATTRIBUTE
from tests.command import geodp as command
from tests.io.read.dialects import make
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:basic", bounds=(139, 35 + 1 / 3, 140, 36))
CODES = ("53394611", "53394526")
COMMON = ("--grid", "jis:basic", "--primary", 5339, "--contribution", 1, "--epsilon", 1)

LONG = "code,SEX,AGE_GROUP,n\n" + "".join(
    f"{code},{sex},{age},{number}\n"
    for code in CODES
    for number, (sex, age) in enumerate((s, a) for s in "mf" for a in ("0-64", "65+"))
)
WIDE = "code,M_old,F_young,M_young,F_old\n" + "".join(f"{code},1,2,3,4\n" for code in CODES)
BOTH = {"sex": ["m", "f"], "Geschlecht": ["m", "f"]}
AGES = {"age": ["0-4", "5-9"]}
LISTS = {"sex": ["m", "f"], "age": ["0-64", "65+"]}
ESTAT = (
    "KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T001,T002,T003\n"
    ",,,,人口（総数）,人口（総数）　男,人口（総数）　女\n"
    + "".join(f"{code},0,,,5,2,3\n" for code in CODES)
)


def read(source, **given):
    return geodp.read_table(source, **{"grid": GRID, "code": "code", **given})


def people(table):
    """Return the people of every combination of labels."""
    index = table.grid.decode(table.key)
    found = {}
    for column, count in enumerate(table.count.tolist()):
        labels = tuple(
            one.labels[index[len(index) - len(table.grid.attributes) + number, column]]
            for number, one in enumerate(table.grid.attributes)
        )
        found[labels] = found.get(labels, 0) + count
    return found


def facts(table, field=""):
    return {
        one.field: (one.value, one.known_by)
        for one in table.reading.sources[0].facts
        if one.field.startswith(field)
    }


@pytest.mark.parametrize("form", ["csv", "xlsx", "pandas"])
def test_columns_are_found_and_labels_stated_in_every_form(form, tmp_path):
    columns = pd.read_csv(io.StringIO(LONG), dtype={"code": str}).to_dict("list")
    found = read(make(form, columns, tmp_path), value="n", by=["sex", "age"], labels=LISTS)
    assert {one.name: [*one.labels] for one in found.grid.attributes} == LISTS
    assert people(found) == {("m", "65+"): 2, ("f", "0-64"): 4, ("f", "65+"): 6}
    assert facts(found, "column of") == {
        "column of attribute sex": ("SEX", "file"),
        "column of attribute age": ("AGE_GROUP", "file"),
    }
    assert facts(found, "labels of")["labels of attribute sex"] == ("m,f", "operator")


def test_labels_are_never_taken_from_records():
    frame = pd.read_csv(io.StringIO(LONG), dtype={"code": str})
    with pytest.raises(UsageError) as refused:
        read(frame, value="n", by="sex,age")
    text = str(refused.value)
    assert "sex as its column SEX writes them and age as its column AGE_GROUP" in text
    assert "--labels 'sex=LABEL,LABEL,...' --labels 'age=LABEL,LABEL,...'" in text
    assert "0-64" not in text


@pytest.mark.parametrize(
    ("header", "options", "rule"),
    [
        ("SEXE,Gender", {}, "columns-of-one-attribute: sex: SEXE, Gender.*--column 'sex=SEXE'"),
        ("a,b", {}, r"column-unknown: 'sex'.*code, a, b, n.*\bsex\b"),
        ("sex,sex", {}, "columns-of-one-attribute: sex: sex, sex"),
        ("sex,a", {"by": ["sex", "sex"]}, "attribute-names-form"),
        ("sex,a", {"by": ["sex*age"]}, "attribute-names-form"),
        ("sex,a", {"labels": {"sex": ["m"], "job": ["x"]}}, r"labels-of-unnamed: \bjob\b"),
        ("sex,a", {"by": ()}, "labels-need-names"),
        ("sex,a", {"by": ["sex", "Geschlecht"], "labels": BOTH}, "column-of-two-attributes"),
        ("sex,a", {"columns": {"sex": "q"}}, "column-unknown: 'q'"),
    ],
)
def test_what_is_in_doubt_is_asked_with_the_candidates(header, options, rule):
    names = ["code", *header.split(","), "n"]
    table = pa.Table.from_arrays([[CODES[0]], ["m"], ["f"], [3]], names)
    given = {"by": ["sex"], "labels": {"sex": ["m", "f"]}, **options}
    with refuses((UsageError, InputError), rule):
        read(table, value="n", **given)


@pytest.mark.parametrize(
    ("header", "columns"),
    [("SEXE,Gender", {"sex": "Gender"}), ("sex,gender", {}), ("Gender,a", {}), ("性別,a", {})],
)
def test_the_surest_name_counts_and_a_stated_column_comes_first(header, columns):
    stated = columns.get("sex", header.split(",")[0])
    cells = {name: ["m" if name == stated else "?"] for name in header.split(",")}
    table = pa.table({"code": [CODES[0]], **cells, "n": [3]})
    found = read(table, value="n", by="sex", labels={"sex": ["m", "f"]}, columns=columns)
    assert people(found) == {("m",): 3}
    who = "operator" if columns else "file"
    assert facts(found, "column of")["column of attribute sex"] == (stated, who)


@pytest.mark.parametrize("values", [[8, 9], ["08:00", "9"], pd.Categorical(["08", "9"])])
def test_hours_are_standard_however_they_are_stored(values):
    rows = pd.DataFrame({"code": [CODES[0]] * 2, "hour": values, "n": [1, 2]})
    found = read(rows, value="n", by="hour")
    assert found.grid.attributes[0].labels == tuple(map(str, range(24)))
    assert people(found) == {("8",): 1, ("9",): 2}
    assert facts(found, "labels of")["labels of attribute hour"][1] == "default"


def test_a_list_without_a_name_is_for_the_attribute_that_has_no_other(tmp_path):
    path = tmp_path / "ages.txt"
    path.write_text("0-64\n65+\n")
    frame = pd.read_csv(io.StringIO(LONG), dtype={"code": str})
    given = {"value": "n", "by": "sex,age"}
    grid = GRID.with_attribute("sex", ["f", "m"])
    found = read(frame, grid=grid, **given, labels=path)
    assert [one.labels for one in found.grid.attributes] == [("f", "m"), ("0-64", "65+")]
    with refuses(UsageError, "labels-of-which"):
        read(frame, **given, labels=path)
    with refuses(UsageError, "labels-differ"):
        read(frame, grid=grid, **given, labels={"sex": ["m", "w"]})


@pytest.mark.parametrize(
    ("pattern", "by", "labels", "found"),
    [
        ("*_young", "sex", {}, {("F",): 4, ("M",): 6}),
        ("M_*", "age", {}, {("old",): 2, ("young",): 6}),
        ("M_*", "age", {"age": ["young", "old"]}, {("young",): 6, ("old",): 2}),
        ("m_*", "age", {}, {("old",): 2, ("young",): 6}),
        ("Ｍ_*", "age", {}, {("old",): 2, ("young",): 6}),
        (
            "*_*", "sex,age", {},
            {("M", "old"): 2, ("M", "young"): 6, ("F", "old"): 8, ("F", "young"): 4},
        ),
        (
            ["M_*", "F_*"], "sex,age", {"sex": ["f", "m"], "age": ["young", "old"]},
            {("f", "young"): 4, ("f", "old"): 8, ("m", "young"): 6, ("m", "old"): 2},
        ),
        (
            "*_*", "sex,age", {"sex": ["f", "m"]},
            {("f", "young"): 4, ("f", "old"): 8, ("m", "young"): 6, ("m", "old"): 2},
        ),
    ],
)  # fmt: skip
def test_a_pattern_pairs_columns_by_their_names_and_never_by_order(
    pattern, by, labels, found, tmp_path
):
    path = tmp_path / "wide.csv"
    path.write_text(WIDE)
    table = read(path, value=pattern, by=by, labels=labels)
    assert people(table) == found
    assert {who for _, who in facts(table, "label of column").values()} == {"file"}
    assert len(facts(table, "label of column")) == len(found)


@pytest.mark.parametrize(
    ("header", "options", "rule"),
    [
        ("F_0_4 F_5_9 F_x", {"labels": AGES}, "pattern-column-without-label: F_x"),
        ("F_0_4", {"labels": AGES}, "pattern-meets-none: 5-9"),
        ("F_0_4 F_5_9", {"by": ()}, "pattern-meets-several: F_0_4, F_5_9"),
        ("F_0_4 F_5_9", {"value": "*"}, "pattern-says-nothing"),
        ("F_0_4 F_5_9", {"value": "F_**"}, "pattern-says-nothing"),
        ("F_0_4 F_5_9", {"value": "Z*"}, "column-unknown: 'Z.'.*code, F_0_4"),
        ("M_0_4 F_0_4", {"value": "*_*", "by": "sex,age"}, "pattern-in-several-ways: M_0_4"),
        ("M_a M_b F_a", {"value": "*_*", "by": "sex,age"}, r"pattern-meets-none: F,b.*\bM_a\b"),
        ("F_a F_b", {"by": "sex,age"}, "pattern-tells-no-labels"),
        ("F_a F-a", {"value": "F*"}, r"columns-of-one-label: \bF_a\b"),
        ("F_a F_b", {"labels": {"sex": ["a"]}}, r"labels-of-unnamed: \bsex\b"),
    ],
)
def test_a_pattern_that_does_not_tell_each_label_is_refused(header, options, rule):
    columns = {name: [1, 2] for name in header.split()}
    table = pa.table({"code": CODES, **columns})
    given = {"value": "F_*", "by": "age", **options}
    with refuses((UsageError, InputError), rule):
        read(table, **given)


def test_a_first_row_of_data_is_never_quoted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{CODES[0]},12,13\n{CODES[1]},14,15\n")
    with refuses(InputError, "header-missing") as refused:
        read(path, code=None, value="1*", by="age")
    assert "12" not in str(refused.value).replace(str(path), "")
    path.write_text(f"mesh,0-4,5-9\n{CODES[0]},1,2\n")
    found = read(path, code="mesh", value=["0*", "5*"], by="age", labels=AGES)
    assert people(found) == {("0-4",): 1, ("5-9",): 2}


def test_the_very_name_comes_before_the_pattern():
    table = pa.table({"code": CODES, "n*": [1, 2], "n2": [5, 5]})
    assert read(table, value="n*").count.sum() == 3
    table = pa.table({"code": CODES, "people_2020": [1, 2]})
    assert read(table, value="people*").count.sum() == 3


def test_columns_of_codes_meet_no_pattern():
    table = pa.table({"MESH": CODES, "M_a": [1, 2], "M_b": [3, 4]})
    found = read(table, code="MESH", value="M*", by="age")
    assert people(found) == {("a",): 3, ("b",): 7}


@pytest.mark.parametrize(
    ("options", "who"),
    [
        ({}, "layout"),
        ({"value": "人口（総数）*"}, "layout"),
        ({"value": "人口（総数）*", "labels": {"sex": ["女", "男"]}}, "file"),
        ({"labels": {"sex": ["男", "女"]}}, "layout"),
    ],
)
def test_a_layout_with_columns_side_by_side_has_its_labels(options, who, tmp_path):
    path = tmp_path / "estat.txt"
    path.write_text(ESTAT, encoding="cp932")
    found = read(path, code=None, by="sex", **options)
    assert people(found) == {("男",): 4, ("女",): 6}
    assert {known for _, known in facts(found, "label of column").values()} <= {who, "file"}
    with refuses(UsageError, r"layout-has-labels: \bsex\b.*男, 女"):
        read(path, code=None, by="sex", labels={"sex": ["m", "f"]})


def test_points_have_attributes_by_name_too():
    frame = pd.DataFrame(
        {"who": ["a", "b", "c"], "lon": 139.711, "lat": 35.661, "sexe": ["m", "f", "f"]}
    )
    given = {"grid": GRID, "x": "lon", "y": "lat", "person": "who", "by": "sex"}
    found = geodp.read_points(frame, **given, labels={"sex": ["m", "f"]})
    assert people(found) == {("m",): 1, ("f",): 2}
    assert facts(found, "column of") == {"column of attribute sex": ("sexe", "file")}
    with refuses(UsageError, r"question-open: \bsex\b.*\bsexe\b"):
        geodp.read_points(frame, **given)


@pytest.fixture
def office(tmp_path, monkeypatch):
    """A folder with tables and lists, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.csv").write_text(LONG)
    (tmp_path / "wide.csv").write_text(WIDE)
    (tmp_path / "estat.txt").write_text(ESTAT, encoding="cp932")
    (tmp_path / "lists.csv").write_text("attribute,label\nsex,m\nsex,f\nage,0-64\nage,65+\n")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "stands_for"),
    [
        (
            "long.csv --value n --by sex,age --labels lists.csv",
            "--labels sex=m,f --labels age=0-64,65+ --column sex=SEX --column age=AGE_GROUP",
        ),
        (
            "long.csv --value n --by age,sex --labels lists.csv --labels sex=f,m",
            "--labels sex=f,m --labels age=0-64,65+ --column age=AGE_GROUP --column sex=SEX",
        ),
        (
            "wide.csv --value *_* --by sex,age",
            "--labels sex=M,F --labels age=old,young --value M,old=M_old --value M,young=M_young "
            "--value F,old=F_old --value F,young=F_young",
        ),
        (
            "wide.csv --value F_* --labels age=young,old",
            "--labels age=young,old --value young=F_young --value old=F_old",
        ),
        (
            "estat.txt --by sex",
            "--labels sex=男,女 --value 男=人口（総数）　男 --value 女=人口（総数）　女",
        ),
    ],
)
def test_the_options_that_they_stand_for_are_shown_and_kept(office, given, stands_for):
    done = command("publish", *shlex.split(given), *COMMON, "--output", "a")
    assert done.returncode == 0, done.stderr
    (line,) = [one for one in done.stderr.splitlines() if one.startswith("Read as: ")]
    words = shlex.split(line.removeprefix("Read as: "))
    assert all(f"--{one.removeprefix('--')}" in " ".join(words) for one in stands_for.split(" --"))
    assert not {"--by", "lists.csv"} & {*words}
    kept = tomllib.loads((office / "a/restricted/recipe.toml").read_text())["options"]
    assert "by" not in kept
    assert "lists.csv" not in kept["labels"]


def test_all_that_is_missing_is_asked_in_one_sentence(office):
    more = ("--value", "n", "--by", "sex,age", "--epsilon", 1, "--output", "a")
    done = command("publish", "long.csv", *more)
    assert done.returncode == 2
    assert "--contribution 1" in done.stderr
    assert "sex as its column SEX writes them and age as its column AGE_GROUP" in done.stderr
    assert not (office / "a").exists()


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("long.csv --value n --by sex --labels long.csv", "--labels is one of the inputs"),
        ("long.csv --value n --labels lists.csv", "Labels go with the names of attributes (--by"),
        ("long.csv --value n --by sex --labels lists.csv --labels long.csv", "Give one list of"),
        ("estat.txt --value T* --by sex", "the total stands beside its parts"),
        ("x.tif --by sex", "Not for a raster: --by"),
    ],
)
def test_what_cannot_be_is_refused_on_the_command_line(office, given, rule):
    done = command("publish", *given.split(), *COMMON, "--output", "a")
    assert done.returncode == 2, done.stderr
    assert rule in done.stderr


def test_a_preset_of_ones_own_states_a_column_of_labels(office):
    (office / "own.toml").write_text(
        'title = "Ours"\n[options]\ncode = "code"\nvalue = "n"\n'
        '[[attributes]]\nname = "sex"\ncolumn = "SEX|KJ"\nlabels = ["f", "m"]\n'
    )
    more = ("--preset", "own.toml", "--by", "sex", "--where", "AGE_GROUP=65+", "--check")
    done = command("publish", "long.csv", *more, *COMMON, "--output", "a")
    assert done.returncode == 0, done.stderr
    assert "--labels sex=f,m" in done.stderr
    assert "--column sex=SEX" in done.stderr


@pytest.mark.parametrize(("typed", "who"), [([], "file"), (["--column", "sex=SEX"], "operator")])
def test_a_command_tells_what_was_found_from_what_was_typed(office, typed, who):
    text = LONG.replace("AGE_GROUP", "hour").replace("65+", "7").replace("0-64", "08:00")
    (office / "long.csv").write_text(text)
    words = ("long.csv", "--by", "sex,hour", "--value", "n", "--labels", "sex=m,f", *typed)
    done = command("publish", *words, *COMMON, "--output", "out", "--check")
    assert done.returncode == 0, done.stderr
    assert SERIES_OR_ATTRIBUTE in done.stderr
    read = json.loads((office / "out" / "restricted" / "check.json").read_text())["read"]
    found = {one["field"]: (one["value"], one["known_by"]) for one in read["sources"][0]["facts"]}
    assert found["column of attribute sex"] == ("SEX", who)
    assert found["labels of attribute sex"] == ("m,f", "operator")
    assert found["column of attribute hour"] == ("hour", "file")
    assert found["labels of attribute hour"][1] == "default"
