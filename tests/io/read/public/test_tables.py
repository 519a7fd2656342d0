"""The one table of a public file: its member and its header may be named."""

import io
import os
import zipfile

import pandas as pd
import pytest

import geodp
from geodp.errors import InputError, UsageError
from geodp.io.read.public.tables import read_hierarchy, read_totals
from geodp.io.read.public.units import read_units
from geodp.io.read.rows.span import PublicFile, opening_options
from tests.command import geodp as command
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
    with zipfile.ZipFile(folder / "a.zip", "w") as file:
        for name, text in members.items():
            file.writestr(f"{name}.csv", text)
    return folder / "a.zip"


def test_a_member_is_named(what, tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_text(TABLES[what])
    path = archive(tmp_path, other="a,b,c\n1,2,3\n", meant=TABLES[what])
    assert read(what, path, member="meant.csv") == read(what, plain)
    assert read(what, path, member="m*") == read(what, plain)


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_titles_stand_above_a_header_that_is_named(form, what, tmp_path):
    plain, titled = tmp_path / "plain.csv", tmp_path / f"titled.{form}"
    plain.write_text(TABLES[what])
    if form == "csv":
        titled.write_text(f"Areas of the office,\n,\n{TABLES[what]}")
    else:
        rows = pd.read_csv(io.StringIO(TABLES[what]), dtype=str)
        with pd.ExcelWriter(titled) as book:
            rows.to_excel(book, index=False, startrow=2)
            book.sheets["Sheet1"]["A1"] = "Areas of the office"
    assert read(what, titled, header_row=3) == read(what, plain)


def test_a_sheet_is_named_and_notes_below_are_not_read(what, tmp_path):
    plain, book = tmp_path / "plain.csv", tmp_path / "book.xlsx"
    plain.write_text(TABLES[what])
    rows = pd.read_csv(plain, dtype=str)
    with pd.ExcelWriter(book) as writer:
        rows.to_excel(writer, sheet_name="notes", index=False)
        rows.to_excel(writer, sheet_name="list", index=False)
        writer.sheets["list"].cell(len(rows) + 2, 1, "Source: office")
    assert read(what, book, layer="list", last_row=len(rows) + 1) == read(what, plain)


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


def test_official_mesh_files_have_members_and_headers_too(tmp_path):
    text = "KEY_CODE,T001\n53394611,8\n53394612,3\n"
    path = archive(tmp_path, other="a,b,c\n1,2,3\n", meant=text)
    found = geodp.read_mesh(path, grid=GRID, value="T001", member="meant.csv")
    titled = tmp_path / "titled.csv"
    titled.write_text(f"A table of the office,\n{text}")
    again = geodp.read_mesh(titled, grid=GRID, value="T001", header_row=2)
    assert found.count.tolist() == again.count.tolist() == [8, 3]


def test_a_public_file_is_a_path_that_says_how_it_is_opened(tmp_path):
    file = PublicFile(tmp_path / "a.csv", {"header_row": 2})
    assert os.fspath(file) == str(file) == str(tmp_path / "a.csv")
    assert opening_options(file) == {"header_row": 2}
    assert opening_options(tmp_path) == opening_options(str(tmp_path)) == {}
