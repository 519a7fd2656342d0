"""Flags beside numbers: named ones are taken away and counted, all others are refused."""

import pyarrow as pa
import pytest

from geodp.errors import InputError, UsageError
from geodp.io.read.rows.count_parser import Flags
from geodp.io.read.table import read_table
from tests.refusals import refuses

CODES = ("53394611", "53394612", "53394613", "53394614")


def read(counts, **options):
    rows = pa.table({"mesh": CODES[: len(counts)], "n": counts})
    found = read_table(rows, grid="jis:basic", code="mesh", value="n", **options)
    return sorted(found.count.tolist()), found.reading.sources[0]


MARKED = {
    "p": ("7p", "7 p", "p 7", "7.0 p"),
    "e,p": ("7 ep", "7 e p"),
    "*,p": ("7*p",),
    "()": ("(7)", "( 7 )"),
    "(),p": ("(7 p)", "(7) p"),
    "†,‡": ("7†‡",),
    **{"[]": ("[7]",), "(p)": ("7 (p)",), "²": ("7²",), "*": ("７＊",), "r": ("7 r",)},
    **{"est.": ("7 est.",), "約": ("約7",), "人": ("7人",), "e": ("7e", "7.0e0 e")},
}


@pytest.mark.parametrize("marks", MARKED)
def test_marks_stand_before_and_behind_and_side_by_side(marks):
    for text in MARKED[marks]:
        counts, source = read([text, "0"], flags=marks)
        assert counts == [7]
        assert source.flags == dict.fromkeys(marks.split(","), 1)


@pytest.mark.parametrize(
    "text",
    [
        *("7 q", "7 P", "7 pp", "7 p q", "p", "p 7 8", "7 p 8", "<7 p", "7-8 p", "7% p", "..p"),
        *("(7", "7 p)"),
    ],
)
def test_what_is_no_number_with_named_flags_is_refused(text):
    with refuses(InputError, "count-flagged|count-hidden|count-is-mark: Column n"):
        read([text, "8"], flags=["p"])


@pytest.mark.parametrize(
    "mark",
    [
        *("", "<", ">", "≤", "~", "%", "€", "EUR", "円", "以下", "+", "-", ".", ",", "'", "1"),
        *("e1", "k", "千", "Mio.", "less than", "or more", "\n", ":"),
    ],
)
def test_what_would_make_another_number_is_no_flag(mark):
    with refuses(UsageError, r"flag-unknown: \(--flags, flags=\)"):
        Flags.of([mark])
    with pytest.raises(UsageError):
        read(["7"], flags=["p", mark])


def test_values_that_are_missing_as_they_are_written_stay_so():
    missing = ["8 c", ": c", ".."]
    counts, source = read(["7 p", *missing], flags="p,c", missing=missing)
    assert counts == [7]
    assert source.flags == {"p": 1}
    assert source.missing == 3


def test_flags_go_with_thousands_and_fractions():
    counts, _ = read(["1.234 p", "2 345e", "3", "4,0"], flags="p,e", decimal=",")
    assert counts == [3, 4, 1234, 2345]
    counts, _ = read(["1.6 p", "2.4", "3", "4"], flags="p", rounding="nearest")
    assert counts == [2, 2, 3, 4]


def test_numbers_and_blanks_have_no_flags():
    flags = Flags.of(["p"])
    for column in (pa.array([1, None]), pa.array([1.5]), pa.nulls(2), pa.array(["1", None, ""])):
        found, counted = flags.drop(column)
        assert found is column or found.equals(column)
        assert not counted
