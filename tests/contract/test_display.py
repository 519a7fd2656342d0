"""A limit of display hides small counts wherever people read numbers, and changes no file."""

import json
import re

import pytest

from tests.contract.desk import contents, require
from tests.contract.using import LIMIT, list_dicts, list_figures, value_of, write_page
from tests.release.report.html.structure import Elements

SHOWN = f"<{LIMIT:,}"


def test_a_limit_of_display_changes_no_count(released, limited):
    """All data files are those of a release without it, but for what the card says."""
    plain, hidden = (contents(desk.folder / "out" / "public") for desk in (released, limited))
    assert {*plain} == {*hidden}
    tables = [name for name in plain if name.endswith(".csv")]
    assert {name: hidden[name] for name in tables} == {name: plain[name] for name in tables}
    cards = [desk.index() for desk in (released, limited)]
    assert cards[0]["guarantee"] == cards[1]["guarantee"]


def test_estimates_below_the_limit_are_not_printed(kind, limited):
    words = ("estimate", limited.asked(), *kind.region)
    text = require(limited.run(*words)).stdout
    assert SHOWN in text
    assert find_shown(text, numbers_of(limited, *words)) == []


def test_differences_below_the_limit_are_not_printed(kind, limited):
    """A difference would tell one of its two numbers to who knows the other."""
    words = ("compare", limited.asked(), *kind.region, *kind.other)
    text = require(limited.run(*words)).stdout
    assert find_shown(text, numbers_of(limited, *words)) == []


def test_changes_below_the_limit_are_not_printed(kind, limited, later):
    words = ("diff", "out", later.folder / "out", *kind.region)
    text = require(limited.run(*words)).stdout
    assert SHOWN in text
    rows = text.rpartition("new")[2].partition("\n\n")[0].splitlines()[1:]
    assert rows
    # Of the change and its interval.
    assert all(row.count("\N{EN DASH}") >= 2 for row in rows)


@pytest.mark.parametrize("word", ["estimate", "compare"])
def test_documents_mark_what_is_below_the_limit(kind, limited, word):
    words = (*kind.region, *kind.other)
    done = require(limited.run(word, limited.asked(), *words, "--json"))
    marked = [one["below"] for one in list_dicts(json.loads(done.stdout)) if "below" in one]
    assert marked
    assert all(marked)


def test_pages_hide_counts_below_the_limit(limited, pages):
    for language, shown in (("en", SHOWN), ("ja", f"{LIMIT:,}未満")):
        plain, hidden = (
            " ".join(Elements(page).text)
            for page in (pages[language], write_page(limited, language))
        )
        assert shown not in plain
        assert shown in hidden


def test_reports_state_the_limit(kind, limited):
    text = require(limited.run("report", "out")).stdout
    assert f"{LIMIT:,}" in text


def numbers_of(desk, *words):
    """Return the values and ends that the same command tells programs."""
    document = json.loads(require(desk.run(*words, "--json")).stdout)
    return [
        number
        for one in list_figures(document)
        for number in (value_of(one), one["low"], one["high"])
    ]


def find_shown(text, numbers):
    """Return the numbers that stand in the rows of a table, with or without a sign, rounded."""
    rows = text.rpartition("95 % interval")[2].partition("found (*)")[0]
    found = re.findall(r"(?<![\w<.])[\d,]*\d(?:\.\d+)?(?!\w)", rows)
    shown = {float(one.replace(",", "")) for one in found}
    return [one for one in numbers if {round(abs(one), places) for places in range(4)} & shown]
