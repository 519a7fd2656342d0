"""The one table of a public file: its member and its header may be named."""

import os

import pytest

import geodp
from geodp.errors import InputError, UsageError
from geodp.io.read.public.tables import read_hierarchy, read_totals
from geodp.io.read.public.units import read_units
from geodp.io.read.rows.span import PublicFile, opening_options
from tests.command import geodp as command
from tests.io.read import workbooks
from tests.io.read.dialects import write_rows, zipped
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:basic", bounds=(139, 35 + 1 / 3, 140, 36))
TABLES = {
    "units": "block,tract\na1,a\na2,a\nb1,b\n",
    "regions": "code,town\n53394611,x\n53394612,y\n",
    "totals": "code,total\n53394611,8\n",
}


def read(what, path, **options):
    if what == "units":
        return read_units(path, source="office", **options).size
    if what == "regions":
        return read_hierarchy(path, GRID, source="office", **options).levels
    return read_totals(path, GRID, source="office", **options).total.tolist()


@pytest.fixture(params=TABLES)
def what(request):
    return request.param


def archive(folder, **members):
    return zipped(folder / "a.zip", {f"{name}.csv": text for name, text in members.items()})


def test_a_member_is_named(what, tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_text(TABLES[what])
    path = archive(tmp_path, other="a,b,c\n1,2,3\n", meant=TABLES[what])
    assert read(what, path, member="meant.csv") == read(what, plain)
    assert read(what, path, member="m*") == read(what, plain)


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_titles_above_and_notes_below_are_not_read(form, what, tmp_path):
    plain, rows = tmp_path / "plain.csv", [line.split(",") for line in TABLES[what].split()]
    plain.write_text(TABLES[what])
    path = tmp_path / f"titled.{form}"
    write_rows(path, [["Areas of the office"], [], *rows, [], ["Source: office"]])
    found = read(what, path, header_row=3, last_row=len(rows) + 2)
    assert found == read(what, plain)


def test_a_sheet_is_named(what, tmp_path):
    plain, rows = tmp_path / "plain.csv", [line.split(",") for line in TABLES[what].split()]
    plain.write_text(TABLES[what])
    path = workbooks.write(tmp_path / "book.xlsx", rows[:1], rows, names=["notes", "list"])
    assert read(what, path, layer="list") == read(what, plain)


def test_several_tables_are_asked_about(what, tmp_path):
    with refuses(InputError, "archive-tables-differ: --public-file .*member=VALUE"):
        read(what, archive(tmp_path, a="a,b,c\n1,2,3\n", b=TABLES[what]))
    with refuses(UsageError, f"public-archive-ambiguous: the {what}"):
        read(what, archive(tmp_path, a=TABLES[what], b=TABLES[what]))


def test_a_command_says_what_to_do_with_a_public_archive(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    archive(tmp_path, a="a,b,c\n1,2,3\n", b=TABLES["units"])
    (tmp_path / "n.csv").write_text("block,n\na1,3\n")
    words = ("n.csv", "--grid", "units:a.zip", "--units-source", "office", "--code", "block")
    more = ("--value", "n", "--contribution", 1, "--epsilon", 1, "--output", "out")
    done = command("publish", *words, *more)
    assert done.returncode != 0
    assert "--public-file units.member=VALUE" in done.stderr
    done = command("publish", *words, *more, "--public-file", "units.member=b.csv")
    assert done.returncode == 0, done.stderr


def test_a_public_file_is_a_path_that_says_how_it_is_opened(tmp_path):
    file = PublicFile(tmp_path / "a.csv", {"header_row": 2})
    assert os.fspath(file) == str(file) == str(tmp_path / "a.csv")
    assert opening_options(file) == {"header_row": 2}
    assert opening_options(tmp_path) == opening_options(str(tmp_path)) == {}
