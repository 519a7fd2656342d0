"""Folders, patterns and packed texts are the tables in them, and nothing else is opened."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.read.rows.forms.locations import NOTHING, find_files, partition_values
from geodp.io.read.rows.input_files import list_paths
from geodp.io.read.table import read_table
from tests.io.read.dialects import same, write_rows
from tests.refusals import refuses

GRID = Grid.mesh("jis:half", bounds=(139, 35, 140, 36)).with_attribute("sex", ["f", "m"])
CODES = ["533946113", "533946114", "533946122", "533946121"]
TABLE = pa.table({"code": CODES, "people": [5, 6, 7, 8], "sex": ["f", "m", "f", "m"]})
ASKED = {"grid": GRID, "value": "people", "code": "code", "columns": {"sex": "sex"}}


def lake(folder):
    """A table as Spark and DuckDB write it, with what they leave beside."""
    for year in ("2023", "2024"):
        for number, sex in enumerate(("f", "m")):
            part = folder / f"year={year}" / f"sex={sex}"
            part.mkdir(parents=True)
            rows = TABLE.filter(pa.compute.equal(TABLE["sex"], sex)).drop_columns("sex")
            pq.write_table(rows, part / f"part-{number}.parquet")
            (part / f".part-{number}.parquet.crc").write_bytes(b"crc")
    (folder / "_SUCCESS").touch()
    (folder / "readme.md").write_text("no table")
    return folder


def test_a_folder_of_hive_has_the_columns_of_its_paths(tmp_path):
    folder, wanted = lake(tmp_path / "lake"), read_table(TABLE, **ASKED)
    assert same(read_table(folder, where={"year": "2024"}, **ASKED), wanted)
    assert same(read_table(f"{folder}/year=2023/**/*.parquet", **ASKED), wanted)
    both = read_table(folder, duplicates="sum", **ASKED)
    assert both.count.tolist() == (2 * wanted.count).tolist()
    with refuses(InputError, "cell-repeated-in-rows"):
        read_table(folder, **ASKED)
    with refuses(InputError, "column-unknown: 'month'"):
        read_table(folder, where={"month": "1"}, **ASKED)


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        ((), "folder-without-table"),
        (("notes.md", "a.7z", "_a.csv", ".a.csv"), "folder-without-table"),
        (("a.csv", "b.parquet"), r"folder-of-several-forms: \(\.csv, \.parquet\)"),
    ],
)
def test_folders_that_are_no_table_are_refused(names, rule, tmp_path):
    for name in names:
        (tmp_path / name).write_text("x")
    with refuses(InputError, rule):
        find_files(tmp_path)


def test_a_pattern_without_a_file_is_refused(tmp_path):
    with refuses(InputError, "file-not-found"):
        find_files(tmp_path / "*.csv")
    odd = tmp_path / "a[1].csv"
    odd.touch()
    assert find_files(odd) == [odd]


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "secret.csv").write_text("code,people\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    os.symlink(tmp_path / "secret.csv", folder / "a.csv")
    for given in (folder, folder / "*.csv", folder / "[ab].csv", f"{tmp_path}/folder/**"):
        with refuses(InputError, "folder-link-leads-out"):
            find_files(given)
    assert len(find_files(tmp_path / "*" / "*.csv")) == 1, "it lies where the pattern begins"
    assert find_files(folder / "a.csv") == [folder / "a.csv"], "named by itself"


def test_no_file_is_read_twice(tmp_path):
    one, two = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("code,people\n")
    os.link(one, two)
    os.symlink(one, tmp_path / "c.csv")
    around = tmp_path / ".." / tmp_path.name / "a.csv"
    for given in ([one, one], [one, around], [tmp_path, one], tmp_path):
        with refuses(InputError, "file-twice"):
            list_paths(given)
    with refuses(InputError, "file-twice"):
        list_paths([one, tmp_path / "c.csv"])
    assert list_paths([one]) == [one]


def test_files_come_in_the_order_of_their_names(tmp_path):
    for name in ("b.csv", "a.csv.gz", "c/a.csv.zst", "A.CSV"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [path.relative_to(tmp_path).as_posix() for path in find_files(tmp_path)]
    assert found == ["A.CSV", "a.csv.gz", "b.csv", "c/a.csv.zst"]


def test_values_of_folders():
    assert partition_values(f"a=1/b={NOTHING}/c=x%3Dy=z/d.parquet") == {
        "a": "1",
        "b": None,
        "c": "x=y=z",
    }


def test_a_folder_of_workbooks_is_its_tables(tmp_path):
    for name, codes in (("a", CODES[:2]), ("b", CODES[2:]), ("~$b", ())):
        write_rows(tmp_path / f"{name}.xlsx", [("code", "people"), *((code, 5) for code in codes)])
    assert [path.name for path in find_files(tmp_path)] == ["a.xlsx", "b.xlsx"]
    plain = {"grid": Grid.mesh("jis:half", bounds=(139, 35, 140, 36)), "code": "code"}
    assert read_table(tmp_path, value="people", **plain).count.tolist() == [5, 5, 5, 5]
    (tmp_path / "c.csv").write_text("code,people\n")
    with refuses(InputError, r"folder-of-several-forms: \(\.csv, \.xlsx\)"):
        find_files(tmp_path)
