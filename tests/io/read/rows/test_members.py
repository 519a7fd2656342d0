"""Members of zip archives: which are tables, and which one is meant."""

import pyarrow as pa
import pytest

from geodp.errors import InputError, UsageError
from tests.io.read.dialects import read, zipped
from tests.refusals import refuses

TABLE = "code,n\n53394611,5\n53394612,6\n"
MORE = "n,CODE\n7,53394613\n"
PROSE = "Made by an office, in 2020.\nIt holds people, by cell.\n"


NO_TABLES = {
    "readme.txt": PROSE,
    "LICENSE.txt": "CC BY 4.0\n\nYou may share it.\n",
    "x/liesmich.txt": "Über\nZellen".encode("utf-16"),
    "説明.txt": "この表は、統計局が、作成。\n".encode("cp932"),
    "thousands.txt": "It holds 1,234 people, of 2,345,678.\n",
    "commas.txt": "Contains code, and n, of 2020.\n",
    "metadata.xml": "<metadata/>",
    "paper.pdf": b"%PDF-1.4\0",
    "index.html": "<html>",
    "__MACOSX/._a.csv": b"\0\5",
}


@pytest.mark.parametrize("name", NO_TABLES)
@pytest.mark.parametrize("table", ["a.csv", "a.txt", "data/a.tsv"])
def test_members_without_columns_are_no_tables(name, table, tmp_path):
    found = read(zipped(tmp_path / "a.zip", {name: NO_TABLES[name], table: TABLE}))
    assert found.count.tolist() == [5, 6]
    (source,) = found.reading.sources
    told = [fact.value for fact in source.facts if fact.field == "members that are not read"]
    assert told == ([] if name.startswith("__") else [name])


def test_tables_of_the_same_columns_are_parts_of_one(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a.csv": TABLE, "x/b.txt": MORE})
    assert read(path).count.tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    "other", ["code,men\n53394613,1\n", "field,meaning\ncode,cell\n", "Title\n\n" + TABLE, PROSE]
)
def test_tables_of_other_columns_are_asked_with_their_names(other, tmp_path):
    path = zipped(tmp_path / "a.zip", {"a.csv": TABLE, "x/b.csv": other, "readme.txt": PROSE})
    with refuses(InputError, r"archive-tables-differ: --member, member=\): a\.csv, x/b\.csv\.$"):
        read(path)
    for member in ("a.csv", "a*"):
        found = read(path, member=member)
        assert found.count.tolist() == [5, 6]
        (source,) = found.reading.sources
        told = {fact.field: fact for fact in source.facts}
        assert (told["member"].value, told["member"].known_by) == (member, "operator")
        assert told["members that are not read"].value == "x/b.csv, readme.txt"


def test_a_member_is_named_with_its_folders_or_without_or_by_a_pattern(tmp_path):
    path = zipped(
        tmp_path / "a.zip", {"x/a.dat": TABLE, "x/b.csv": MORE, "c.csv": "code,n\n53394614,8\n"}
    )
    for member, counts in {
        "x/a.dat": [5, 6],
        "a.dat": [5, 6],
        "x/*": [5, 6, 7],
        "*.csv": [7, 8],
    }.items():
        assert sorted(read(path, member=member).count.tolist()) == counts
    with refuses(InputError, r"member-unknown: x/a\.dat, x/b\.csv, c\.csv"):
        read(path, member="d.csv")


def test_titles_of_members_are_not_compared_where_the_header_is_named(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a.csv": "T 1\n" + TABLE, "b.csv": "T 2\n" + MORE})
    assert read(path, header_row=2).count.tolist() == [5, 6, 7]
    with refuses(InputError, "archive-tables-differ"):
        read(path)


def test_what_is_no_archive_has_no_members(tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    with refuses(InputError, "member-needs-archive"):
        read(tmp_path / "a.csv", member="a.csv")
    with refuses(UsageError, "member-needs-archive"):
        read(pa.table({"code": ["53394611"], "n": [5]}), member="a.csv")


@pytest.mark.parametrize("row", ["x", "53394613", "53394613,6,7", "53394613;8", ""])
def test_no_record_makes_a_table_one_that_is_not_read(row, tmp_path):
    """What a text is goes by its header: an odd row is refused, and its table never left out."""
    text = f"T\n\ncode,men\n{row}\n53394614,5\n"
    with refuses(InputError, r"archive-tables-differ: a\.csv, b\.txt"):
        read(zipped(tmp_path / "a.zip", {"a.csv": TABLE, "b.txt": text}))
