"""The law of variants: an official table that is written otherwise is the same one, or refused.

How a file is written by the rules of its form is drawn as in ``test_dialects.py``, and then it must
be the same one. What a reader may refuse it never takes for another table, and no refusal quotes a
code of the data.
"""

import csv
import gzip
import io
import os
import random
import tempfile
import unicodedata
from pathlib import Path

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import GeodpError
from geodp.io.read.layout.presets import find_fitting
from geodp.table.counts import CountTable
from geodp.table.reading import require_rows
from tests.io.read import dialects
from tests.io.read.official.test_more_options import PUBLISHED, read_as, read_form, same

SPARE = ("98-401-X2021006_English_CSV_data.csv", "Zensus2022_Energietraeger_1km-Gitter.csv")
"""Files whose columns have one name, or whose encoding the command says."""

TEXTS = [words for words in PUBLISHED if ".csv" in words[0] and words[0] not in SPARE]
NAMES = [f"{number} {words[0]}" for number, words in enumerate(TEXTS)]
EVERY, SOME, OTHERS = (
    pytest.mark.parametrize("words", TEXTS[part], ids=NAMES[part])
    for part in (slice(None), slice(0, None, 2), slice(1, None, 2))
)
MANY = 2 if os.environ.get("CI") else 60
"""Writings of a table that the law asks; few where a run must be like the one before."""

FORMS = (*dialects.TEXTS, *dialects.BOOKS, "jsonl", "parquet")


def rows_of(path: Path) -> list[list[str]]:
    """Return the rows of a text, the header among them."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode("utf-8-sig")
    return [*csv.reader(io.StringIO(text), delimiter=";" if ";" in text.split("\n")[0] else ",")]


def read(words: list[str], folder: Path) -> CountTable | str:
    """Return the table that would be published, or the sentence of the refusal."""
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        try:
            table = read_as(words)[0]
            require_rows(table.rows, table.reading, allow_empty=False)
        except GeodpError as error:
            return str(error)
        except click.ClickException as error:
            return error.format_message()
    if table.bound is None and "--contribution" not in words:
        return "How often a person is counted is asked for before anything is published."
    return table


def people(table: CountTable) -> dict[tuple[str | int, ...], int]:
    """Return the counts by code, on however much of its code system they are."""
    index, places = table.grid.decode(table.key), table.grid.places
    axes = index.tolist()
    if len(places) == 1 and places[0].system:
        axes = [places[0].format(*index[:2]).tolist(), *axes[2:]]
    return dict(zip(zip(*axes, strict=True), table.count.tolist(), strict=True))


def outcome(words: list[str], folder: Path, name: str, write: object) -> CountTable | str:
    """Return what is read of a file that is written under a name, among the public files."""
    with tempfile.TemporaryDirectory(dir=folder) as other:
        for public in {word.removeprefix("units:") for word in words if word.startswith("units:")}:
            (Path(other) / public).write_bytes((folder / public).read_bytes())
        write(Path(other) / name)
        return read([name, *words[1:]], Path(other))


def typed(cells: list[str]) -> list[str | int]:
    """Return cells as numbers, where all of them are whole ones without a 0 in front."""
    whole = all(
        one.isdecimal() and (one == "0" or one[0] != "0") and len(one) < 16 for one in cells
    )
    return [int(one) for one in cells] if whole else cells


@st.composite
def writings(draw, table: list[list[str]]):
    """Draw a form and a dialect, and a table as columns in another order of columns and rows."""
    form = draw(st.sampled_from(FORMS))
    dialect = dialects.PLAIN
    if form in dialects.TEXTS:
        dialect = dialects.Dialect(
            delimiter=draw(st.sampled_from([",", ";", "\t", "|"])),
            encoding=draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])),
            end=draw(st.sampled_from(["\n", "\r\n"])),
            quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
            blank=draw(st.sampled_from([0, 1])),
            says=form != "tsv" and draw(st.booleans()),
            ends=draw(st.booleans()),
        )
    header, *rows = table
    columns = dict(zip(header, zip(*draw(st.permutations(rows)), strict=True), strict=True))
    if draw(st.booleans()):
        columns["Bemerkung"] = ["a b"] * len(rows)
    kept = {name: [*cells] for name, cells in columns.items()}
    if form not in dialects.TEXTS:
        # As numbers, quadkeys would lose the zeros in front of them.
        kept = {name: cells if name == "quadkey" else typed(cells) for name, cells in kept.items()}
    return form, dialect, {name: kept[name] for name in draw(st.permutations([*kept]))}


def require_same(words: list[str], folder: Path, examples: int) -> None:
    table, right = rows_of(folder / words[0]), read_form(folder, *words)[0]
    stem = words[0].partition(".")[0]

    @settings(max_examples=examples, database=None)
    @given(writings(table))
    def law(written):
        form, dialect, columns = written
        found = outcome(
            words, folder, f"{stem}.{form}", lambda path: dialects.write(path, columns, dialect)
        )
        assert not isinstance(found, str), found
        assert same(found, right)

    law()


@SOME
def test_a_table_that_is_written_otherwise_by_its_form_is_the_same(words, folder):
    require_same(words, folder, 1)


@pytest.mark.law
@EVERY
def test_a_table_in_any_writing_by_its_form_is_the_same(words, folder):
    require_same(words, folder, MANY)


def names(change):
    """Return what writes all names of columns otherwise."""
    return lambda rows: [[change(name) for name in rows[0]], *rows[1:]]


def beside(name, cells, first=False):
    """Return what adds a column of cells, that of the header among them."""
    return lambda rows: [
        [cell, *row] if first else [*row, cell]
        for row, cell in zip(rows, [name, *cells(rows)], strict=True)
    ]


def cells(change):
    """Return what writes all cells of the table otherwise."""
    return lambda rows: [rows[0], *([change(cell) for cell in row] for row in rows[1:])]


def grouped(mark):
    return cells(lambda cell: f"{int(cell):,}".replace(",", mark) if cell.isdecimal() else cell)


LETTERS = str.maketrans({"E": "Е", "T": "Т", "o": "о", "a": "а"})
"""Latin ones, and Cyrillic ones that look so."""

WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
OTHERWISE = {
    # What is done to rows, the header among them.
    "all rows twice": lambda rows: [*rows, *rows[1:]],
    "one row twice": lambda rows: [*rows, rows[1]],
    "one row twice, spelt otherwise": lambda rows: [*rows, [f" {one}" for one in rows[1]]],
    "one row twice, in full width": lambda rows: [*rows, [one.translate(WIDE) for one in rows[1]]],
    "the whole file twice": lambda rows: [*rows, *rows],
    "the header amid the rows": lambda rows: [*rows[:2], rows[0], *rows[2:]],
    "a total": lambda rows: [*rows, ["Total", *["12"] * (len(rows[0]) - 1)]],
    "a total without a code": lambda rows: [*rows, ["", *["12"] * (len(rows[0]) - 1)]],
    "a note below": lambda rows: [*rows, ["Source: census.", *[""] * (len(rows[0]) - 1)]],
    "a short note below": lambda rows: [*rows, ["Source: census of a country"]],
    "a mark below": lambda rows: [*rows, ["\x1a"]],
    "units below the header": lambda rows: [rows[0], ["people"] * len(rows[0]), *rows[1:]],
    "a row of blanks": lambda rows: [*rows[:2], [""] * len(rows[0]), *rows[2:]],
    "a title above": lambda rows: [["Population by cell"], *rows],
    "a title and a blank line above": lambda rows: [["Population by cell"], [], *rows],
    "a row cut off": lambda rows: [*rows, rows[1][: len(rows[1]) // 2]],
    "rows with one field more": lambda rows: [rows[0], *([*row, ""] for row in rows[1:])],
    "lines with one field more": beside("", lambda rows: [""] * (len(rows) - 1)),
    "numbers of rows in front": beside("", lambda rows: map(str, range(len(rows) - 1)), True),
    "codes of something else": beside("CODE", lambda rows: map(str, range(len(rows) - 1)), True),
    "the first column twice": lambda rows: [[*row, row[0]] for row in rows],
    "the last column twice": lambda rows: [[*row, row[-1]] for row in rows],
    "all columns twice in capitals": lambda rows: [
        [*row, *(map(str.swapcase, row) if row is rows[0] else row)] for row in rows
    ],
    "names between blanks": names(lambda name: f" {name}  "),
    "names in capitals": names(str.upper),
    "names in small letters": names(str.lower),
    "names decomposed": names(lambda name: unicodedata.normalize("NFD", name)),
    "names in full width": names(lambda name: name.translate(WIDE)),
    "names with dashes": names(lambda name: name.replace("_", "-")),
    "names with blanks": names(lambda name: name.replace("_", " ")),
    "names without lines": names(lambda name: name.replace("_", "")),
    "names with a hidden mark": names(lambda name: f"{name}\u200b"),
    "names in quotes of their own": names(lambda name: f"'{name}'"),
    "names that only look so": names(lambda name: name.translate(LETTERS)),
    "thousands with commas": grouped(","),
    "thousands with points": grouped("."),
    "thousands with narrow blanks": grouped("\u202f"),
    "cells in full width": cells(lambda cell: cell.translate(WIDE)),
    "cells between blanks": cells(lambda cell: f" {cell} "),
    "cells in quotes of their own": cells(lambda cell: f"'{cell}'"),
}


def require_no_other(words: list[str], folder: Path, examples: int) -> None:
    table, right = rows_of(folder / words[0]), read_form(folder, *words)[0]
    codes = {cell for row in table[1:] for cell in row if len(cell) > 6} - {
        *" ".join(words).replace("=", " ").split()
    }
    # What is added up by its rule, or is a person a row, is another table with rows twice.
    summed = "--points" in words or words[0].startswith("grade_id")
    for change in random.Random(words[0]).sample([*OTHERWISE], min(examples, len(OTHERWISE))):
        if summed and "twice" in change:
            continue
        made = OTHERWISE[change](table)
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(made)
        text = out.getvalue().encode()
        data = gzip.compress(text) if words[0].endswith(".gz") else text
        found = outcome(words, folder, words[0], lambda path, data=data: path.write_bytes(data))
        if isinstance(found, str):
            assert len(found) > 20, change
            assert not any(code in found for code in codes), change
        else:
            assert people(found) == people(right), change


@OTHERS
def test_a_few_other_writings_are_the_same_table_or_refused(words, folder):
    require_no_other(words, folder, 1)


@pytest.mark.law
@EVERY
def test_every_other_writing_is_the_same_table_or_refused(words, folder):
    require_no_other(words, folder, MANY)


def test_other_spellings_of_names_are_the_same_table(folder):
    """But for the two censuses of Germany, whose names differ in case alone."""
    words = next(words for words in TEXTS if words[0].startswith("ESTAT_Census_2021_V2"))
    table, right = rows_of(folder / words[0]), read_form(folder, *words)[0]
    for change in ("names between blanks", "names in capitals", "names in full width"):
        rows = OTHERWISE[change](table)
        assert len(find_fitting(Path(words[0]), rows[0])) == 1
        text = "".join(",".join(row) + "\n" for row in rows)
        found = outcome(words, folder, words[0], lambda path, text=text: path.write_text(text))
        assert not isinstance(found, str), found
        assert same(found, right)
