"""Flags beside numbers: named ones are taken away and counted, all others are refused."""

import json

import pyarrow as pa
import pytest

from geodp.errors import InputError, UsageError
from geodp.io.read.rows.count_parser import Flags
from geodp.io.read.table import read_table
from tests.command import geodp
from tests.io.read.dialects import write
from tests.refusals import refuses

CODES = ("53394611", "53394612", "53394613", "53394614")


def table(folder, counts):
    """Return a table of four cells."""
    return write(folder / "a.csv", {"mesh": CODES, "n": counts})


def read(source, **options):
    found = read_table(source, grid="jis:basic", code="mesh", value="n", **options)
    return sorted(found.count.tolist()), found.reading.sources[0]


def test_a_flag_that_was_not_named_is_refused_with_its_row(tmp_path):
    with refuses(InputError, r"count-flagged: \bn\b.*--flags p,e; flags=") as caught:
        read(table(tmp_path, ["7 p", "8", "98765 q", "10"]), flags=["p"])
    assert caught.value.row == 4
    assert "98765" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "marks", "number"),
    [
        ("7p", "p", 7),
        ("7 p", "p", 7),
        ("p 7", "p", 7),
        ("7 ep", "e,p", 7),
        ("7 e p", "e,p", 7),
        ("7*p", "*,p", 7),
        ("(7)", "()", 7),
        ("( 7 )", "()", 7),
        ("[7]", "[]", 7),
        ("(7 p)", "(),p", 7),
        ("(7) p", "(),p", 7),
        ("7 (p)", "(p)", 7),
        ("7²", "²", 7),
        ("７＊", "*", 7),
        ("7 r", "r", 7),
        ("7 est.", "est.", 7),
        ("約7", "約", 7),
        ("7人", "人", 7),
        ("7†‡", "†,‡", 7),
        ("7.0 p", "p", 7),
        ("1e3 e", "e", 1000),
        ("7e", "e", 7),
    ],
)
def test_marks_stand_before_and_behind_and_side_by_side(text, marks, number, tmp_path):
    counts, source = read(table(tmp_path, [text, "0", "0", "0"]), flags=marks)
    assert counts == [0, 0, 0, number] or counts == [number]
    assert source.flags == dict.fromkeys(marks.split(","), 1)


@pytest.mark.parametrize(
    "text",
    [
        "7 q",
        "7 P",
        "7 pp",
        "7 p q",
        "p",
        "p 7 8",
        "7 p 8",
        "<7 p",
        "7-8 p",
        "7% p",
        "..p",
        "(7",
        "7 p)",
    ],
)
def test_what_is_no_number_with_named_flags_is_refused(text, tmp_path):
    with refuses(InputError, "count-flagged|count-hidden|count-is-mark: Column n"):
        read(table(tmp_path, [text, "8", "9", "10"]), flags=["p"])


@pytest.mark.parametrize(
    "mark",
    [
        "",
        "<",
        ">",
        "≤",
        "~",
        "%",
        "€",
        "EUR",
        "円",
        "以下",
        "+",
        "-",
        ".",
        ",",
        "'",
        "1",
        "e1",
        "k",
        "千",
        "Mio.",
        "less than",
        "or more",
        "\n",
        ":",
    ],
)
def test_what_would_make_another_number_is_no_flag(mark, tmp_path):
    with refuses(UsageError, r"flag-unknown: \(--flags, flags=\)"):
        Flags.of([mark])
    with pytest.raises(UsageError):
        read(table(tmp_path, ["7", "8", "9", "10"]), flags=["p", mark])


def test_values_that_are_missing_as_they_are_written_stay_so(tmp_path):
    counts, source = read(
        table(tmp_path, ["7 p", "8 c", ": c", ".."]), flags="p,c", missing=["8 c", ": c", ".."]
    )
    assert counts == [7]
    assert source.flags == {"p": 1}
    assert source.missing == 3


def test_flags_go_with_thousands_and_fractions(tmp_path):
    counts, _ = read(table(tmp_path, ["1.234 p", "2 345e", "3", "4,0"]), flags="p,e", decimal=",")
    assert counts == [3, 4, 1234, 2345]
    counts, _ = read(table(tmp_path, ["1.6 p", "2.4", "3", "4"]), flags="p", rounding="nearest")
    assert counts == [2, 2, 3, 4]


def test_numbers_and_blanks_have_no_flags(tmp_path):
    flags = Flags.of(["p"])
    for column in (pa.array([1, None]), pa.array([1.5]), pa.nulls(2), pa.array(["1", None, ""])):
        found, counted = flags.drop(column)
        assert found is column or found.equals(column)
        assert not counted


def test_the_command_line_keeps_how_many_numbers_have_a_flag_to_itself(tmp_path):
    path = table(tmp_path, ["7 p", "8 e", "9 pe", "10"])
    options = ["--grid", "jis:basic", "--primary", "5339", "--code", "mesh", "--value", "n"]
    options += ["--contribution", "1", "--epsilon", "1", "--output", tmp_path / "out"]
    refused = geodp("publish", path, *options)
    assert refused.returncode != 0
    assert "--flags p,e" in refused.stderr
    done = geodp("publish", path, *options, "--flags", "p,e", "--check")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out/restricted/check.json").read_text())
    assert found["read"]["sources"][0]["flags"] == {"p": 2, "e": 2}
