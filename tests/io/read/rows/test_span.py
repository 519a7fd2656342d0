"""Notes below a table are not read where its last row is named; anything else there is refused."""

import io
import itertools

import pytest

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.rows.span import Opening, UpToLine, is_note
from tests.command import geodp as run
from tests.io.read.dialects import write_rows
from tests.refusals import refuses

MESH = Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
ROWS = [["Population"], ["mesh", "n"], ["533901001", 5], ["533901002", 7]]
NOTES = [[], ["Source: an office"], ["* estimated"]]


FORMS = pytest.mark.parametrize("form", ["csv", "xlsx"])


def read(path, **options):
    call = {"grid": MESH, "code": "mesh", "value": "n", "header_row": 2, **options}
    return sorted(geodp.read_table(path, **call).count.tolist())


@FORMS
def test_notes_below_the_last_row_are_not_read(form, tmp_path):
    path = write_rows(tmp_path / f"a.{form}", ROWS + NOTES)
    assert read(path, last_row=4) == [5, 7]
    with refuses(InputError, "count-is-mark|row-ragged: --last-row"):
        read(path)


@FORMS
@pytest.mark.parametrize("more", [[["533901003", 9]], [*NOTES, ["533901003", 9]]])
def test_a_row_below_the_last_one_is_refused(form, more, tmp_path):
    """Whoever names too early a row would leave people out without a word."""
    path = write_rows(tmp_path / f"a.{form}", ROWS + more)
    with refuses(InputError, "row-below-last") as told:
        read(path, last_row=4)
    assert told.value.row == 4 + len(more)


@FORMS
@pytest.mark.parametrize("last", [6, 99])
def test_a_last_row_that_is_not_there_is_refused(form, last, tmp_path):
    with refuses(InputError, "last-row-beyond-file|last-row-blank"):
        read(write_rows(tmp_path / f"a.{form}", ROWS), last_row=last)


@pytest.mark.parametrize(
    ("header", "first", "last"),
    [
        *((0, None, None), (None, None, 0), (2, None, 2), (3, None, 2), (None, None, 1)),
        *((2, 2, None), (3, 2, 9), (2, 5, 4), (None, 0, None), (None, 1, None)),
    ],
)
def test_rows_in_no_order_are_refused(header, first, last):
    with refuses(UsageError, "first-row-order|rows-counted-from-1: --first-row"):
        Opening(header_row=header, last_row=last, first_row=first)


UNITS = [["", "persons"], ["Total", 12]]


@FORMS
def test_a_bad_row_below_units_is_named_by_its_own_number(form, tmp_path):
    """Workbooks once counted rows from the header on."""
    path = write_rows(tmp_path / f"a.{form}", [*ROWS[:2], *UNITS, *ROWS[2:], ["533901003", "x"]])
    with refuses(InputError, "count-is-mark") as told:
        read(path, first_row=5)
    assert told.value.row == 7


@FORMS
def test_a_row_above_the_first_one_is_refused(form, tmp_path):
    """Whoever names too late a row would leave people out without a word."""
    path = write_rows(tmp_path / f"a.{form}", [*ROWS, ["533901003", 9]])
    for first in (4, 5):
        with refuses(InputError, "row-above-first") as told:
            read(path, first_row=first)
        assert told.value.row == 3


@FORMS
@pytest.mark.parametrize("first", [5, 6, 99])
def test_a_first_row_that_is_not_there_is_refused(form, first, tmp_path):
    with refuses(InputError, "first-row-blank"):
        read(write_rows(tmp_path / f"a.{form}", [*ROWS, []]), first_row=first)


@FORMS
def test_totals_below_the_last_row_are_not_read(form, tmp_path):
    path = write_rows(tmp_path / f"a.{form}", [*ROWS, ["Total", 12], ["Source: an office"]])
    assert read(path, last_row=4) == [5, 7]
    path = write_rows(tmp_path / f"a.{form}", [*ROWS, ["533901003", "*"]])
    with refuses(InputError, "row-below-last"):
        read(path, last_row=4)


def test_other_forms_have_no_notes(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"mesh": "533901001", "n": 5}\n', encoding="utf-8")
    with refuses(UsageError, "rows-need-text"):
        geodp.read_table(path, grid=MESH, code="mesh", value="n", last_row=2)


def test_a_stream_is_cut_at_the_same_line_whatever_is_read_at_once():
    data = b"a,1\nb,2\nc,3\nnote\n"
    for size, lines in itertools.product(range(1, 20), range(1, 5)):
        stream = UpToLine(io.BytesIO(data), lines)
        assert b"".join(iter(lambda one=stream, n=size: one.read(n), b"")) == b"".join(
            data.splitlines(keepends=True)[:lines]
        )


def test_a_note_fills_one_field_or_has_a_word_for_a_code():
    row = ["53390", "5", "6"]
    assert is_note(["", "", " * estimated "], row)
    assert is_note(["Total", "", "6"], row)
    for like in (["53391", "*", ""], ["", "1", "2"], ["*", "1", "2"]):
        assert not is_note(like, row)
    assert not is_note(["a", "b"], ["a", "5"])
    assert not is_note(["a", "b"], [])


def test_a_command_names_the_last_row_and_inspect_takes_it(tmp_path):
    path = write_rows(tmp_path / "a.xlsx", ROWS + NOTES)
    rows = ("--header-row", 2, "--last-row", 4)
    assert "--last-row 4" in run("inspect", path, *rows).stdout
    call = ("publish", path, *rows, "--grid", "jis:half", "--bounds", 139, 35, 140, 36)
    more = ("--contribution", 1, "--check", "--output", tmp_path / "out")
    done = run(*call, *more)
    assert done.returncode == 0, done.stderr
