"""Files of every form have the columns that the names of their folders stand for, and obey them."""

import pytest

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.rows.forms.locations import NOTHING
from geodp.io.read.table import read_table
from tests.io.read import dialects
from tests.refusals import refuses

GRID = Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
CODES = ["533946113", "533946114"]
ASKED = {"grid": GRID, "value": "people", "code": "code"}
FORMS = ("csv", "tsv", "csv.gz", "csv.zst", "csv.zip", "jsonl", "parquet", "xlsx", "geojson")


def write(path, people, **more):
    """Write a file of one form, by its ending, with a column for each of ``more``."""
    return dialects.write(path, {"code": CODES[: len(people)], "people": people, **more})


@pytest.mark.parametrize("form", FORMS)
def test_the_names_of_folders_are_columns(tmp_path, form):
    files = [
        write(tmp_path / f"month={month}" / f"city=New%20York/a.{form}", [month, 10 * month])
        for month in (1, 2)
    ]
    found = read_table(files, where={"month": 2, "city": "New York"}, **ASKED)
    assert found.count.tolist() == [2, 20]
    first, second = found.reading.sources
    assert (first.left_out, second.left_out) == (True, False)
    facts = {(fact.field, fact.value) for fact in second.facts}
    assert {("partition month", "2"), ("partition city", "New York")} <= facts
    columns = [column["name"] for column in inspect(files[0])["tables"][0]["columns"]]
    assert columns[-2:] == ["month", "city"]
    with refuses(InputError, "column-unknown: 'week'.*code, people"):
        read_table(files, where={"week": 2}, **ASKED)


@pytest.mark.parametrize("form", ["csv", "csv.gz", "jsonl", "parquet"])
def test_the_names_of_folders_are_labels(tmp_path, form):
    for sex, people in (("f", 3), ("m", 4)):
        write(tmp_path / "all" / f"sex={sex}" / f"a.{form}", [people])
    asked = {**ASKED, "grid": GRID.with_attribute("sex", ["f", "m"]), "columns": {"sex": "sex"}}
    assert read_table(tmp_path / "all", **asked).count.tolist() == [3, 4]
    write(tmp_path / "all" / f"sex={NOTHING}" / f"a.{form}", [5])
    with refuses(InputError, r"label-not-of-attribute: \bsex\b"):
        read_table(tmp_path / "all", **asked)
    assert read_table(tmp_path / "all", where={"sex": ""}, **ASKED).count.tolist() == [5]


@pytest.mark.parametrize("form", FORMS)
def test_a_column_and_its_folder_agree(tmp_path, form):
    alike = write(tmp_path / "month=1" / f"a.{form}", [3, 4], month=[1, 1])
    assert read_table(alike, **ASKED).count.tolist() == [3, 4]
    assert read_table(alike, where={"month": 1}, **ASKED).count.tolist() == [3, 4]
    other = write(tmp_path / "Month=2" / f"a.{form}", [5, 6], month=[2, 1])
    for where in ({}, {"month": 1}, {"month": 2}):
        with refuses(InputError, "folder-disagrees-with-row") as no:
            read_table(other, where=where, **ASKED)
        assert no.value.row == (2 if form in ("jsonl", "parquet", "geojson") else 3)
    words = write(tmp_path / "month=may" / f"a.{form}", [5, 6], month=[5, 5])
    with refuses(InputError, "folder-disagrees-with-row"):
        read_table(words, **ASKED)


def test_files_that_their_folder_leaves_out_are_none_of_the_counts(tmp_path):
    one = write(tmp_path / "month=1" / "a.csv", [3, 4], month=[1, 1])
    two = write(tmp_path / "month=2" / "a.csv", [5, 6])
    found = read_table([one, two], where={"month": 2}, **ASKED)
    assert found.count.tolist() == [5, 6]
    assert [source.rows for source in found.reading.sources] == [0, 2], "a text does not say it"


def test_folders_in_an_archive_are_columns_too(tmp_path):
    members = {f"month={n}/a.csv": f"code,people\n{CODES[0]},{n}\n" for n in (1, 2)}
    path = dialects.zipped(tmp_path / "a.zip", members)
    assert read_table(path, where={"month": 2}, **ASKED).count.tolist() == [2]


@pytest.mark.parametrize(
    ("folders", "rule"),
    [
        ("a=1/a=2", r"folder-column-two-values: \ba\b"),
        ("a=1/A=2", r"folder-column-two-values: \bA\b"),
        ("a=%E4", "folder-name-not-utf8"),
    ],
)
def test_folders_that_say_no_one_value_are_refused(tmp_path, folders, rule):
    with refuses(InputError, rule):
        read_table(write(tmp_path / folders / "a.csv", [3]), **ASKED)


def test_a_folder_may_say_where_and_how_many(tmp_path):
    path = tmp_path / f"code={CODES[0]}" / "people=3" / "a.csv"
    path.parent.mkdir(parents=True)
    path.write_text("note\nx\n")
    assert read_table(path, **ASKED).count.tolist() == [3]
