"""Names that mean something to a browser, a spreadsheet or a shell mean nothing here."""

import csv
import json
from dataclasses import replace
from io import StringIO

import pytest

from tests.contract.desk import Desk, contents, require
from tests.contract.kinds import CODES
from tests.contract.reading import changed, text_of, with_name

SCRIPT = "<script>alert(1)</script>"
FORMULA = "=1+1"
FILE = "=cmd() & <b>'x'.csv"
NAMES = (SCRIPT, FORMULA, 'say "hi"', "../../etc/x", "a\\b", "o'neil", "@SUM(A1)")
METADATA = f"title = {json.dumps(SCRIPT)}\npublisher = {json.dumps(FORMULA)}\n"


def page_of(desk):
    """Return the page of the release of a desk."""
    require(desk.run("report", "out", "--output", "page.html"))
    return (desk.folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_column_may_have_any_name(reader, name):
    kind = reader.kind
    for column in (*kind.places, *kind.amounts):
        words = [name if word == column else word for word in reader.words()]
        read = reader.read(with_name(kind, column, name), words=words)
        assert read.counted == reader.whole, read.said


def test_a_file_may_have_any_name(reader):
    words = [str(word).replace("a.csv", FILE) for word in reader.words()]
    files = {name.replace("a.csv", FILE): text for name, text in reader.kind.files.items()}
    read = reader.read(files, words=words)
    assert read.counted == reader.whole, read.said


def test_a_page_shows_hostile_names_as_text(desk):
    """Of a column and of the office's metadata, on the page and in all that a browser reads."""
    kind = desk.kind
    column = (*kind.amounts, *kind.places)[0]
    replace(kind, files=with_name(kind, column, SCRIPT)).write(desk.folder)
    (desk.folder / "office.toml").write_text(METADATA, encoding="utf-8")
    words = [SCRIPT if word == column else word for word in desk.words()]
    require(desk.run(*words, "--metadata", "office.toml"))
    page = page_of(desk)
    assert SCRIPT not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    public = contents(desk.folder / "out" / "public")
    shown = [name for name in public if name.endswith((".html", ".svg", ".qml"))]
    assert [name for name in shown if SCRIPT.encode() in public[name]] == []


def test_hostile_labels_stay_texts(tmp_path, kind):
    """They are quoted in the tables and escaped on the page, and nothing else changes."""
    (column,) = kind.labels
    names = dict(zip("fm", (f'{SCRIPT} "x"', "o'neil"), strict=True))

    def relabel(rows):
        at = rows[0].index(column)
        return [[*row[:at], names.get(row[at], row[at]), *row[at + 1 :]] for row in rows]

    (tmp_path / "labels.toml").write_text(
        f"{column} = {json.dumps([*names.values()])}", encoding="utf-8"
    )
    given = [f"{column}=labels.toml" if word == f"{column}=f,m" else word for word in kind.options]
    desk = Desk(tmp_path, replace(kind, files=changed(kind, relabel), options=tuple(given)))
    out = desk.published()
    for table in out.glob("public/*.csv"):
        with table.open(encoding="utf-8", newline="") as file:
            rows = [*csv.DictReader(file)]
        assert {row[column] for row in rows} == {*names.values()}
    assert SCRIPT not in page_of(desk)
    given = [f"{column}=f,{FORMULA}" if word.startswith(f"{column}=") else word for word in given]
    done = desk.run(*kind.command, *kind.inputs, *given, *kind.terms, "--output", "formula")
    assert done.returncode == 2
    assert "formula" in done.stderr.rpartition("Error: ")[2]


def test_names_of_regions_stay_texts(desk):
    """They are quoted in the tables and escaped on the page."""
    names = (SCRIPT, 'o\'neil, "x"')
    table = [["code", "area"], *([code, names[n % 2]] for n, code in enumerate(CODES))]
    (desk.folder / "regions.csv").write_text(text_of(table), encoding="utf-8")
    words = [*desk.words("--regions", "regions.csv", "--regions-source", "S")]
    # The regions are the domain, in place of bounds.
    assert "--bounds" in words
    at = words.index("--bounds")
    require(desk.run(*words[:at], *words[at + 5 :]))
    tables = [*(desk.folder / "out" / "public").glob("**/*.csv")]
    rows = [row for table in tables for row in csv.reader(StringIO(table.read_text("utf-8")))]
    assert {SCRIPT, names[1]} <= {cell for row in rows for cell in row}
    assert SCRIPT not in page_of(desk)
