"""Formats are found by file and by entry point; what they may do is checked."""

import json

import numpy as np
import pytest

import geodp
from geodp.errors import OutputError, UsageError, VerificationError
from geodp.io.folder.formats import find_formats
from geodp.io.verify.verify import verify
from geodp.privacy.terms import Terms
from geodp.release.publish import prepare
from geodp.release.request import Request
from tests.refusals import refuses

MODULE = """
from dataclasses import fields
from geodp.io.write.format import Entry, Format

class Lines(Format):
    name = {name!r}
    rank = {rank!r}
    endings = {endings!r}

    def unsupported(self, view):
        seen.append(sorted(one.name for one in fields(view)))
        return {unsupported!r}

    def write(self, view, folder):
        name = view.name
        (folder / (name + "." + {written!r})).write_text(str(view.table.total))
        yield Entry(name + "." + {listed!r}, "text/plain", "the sum", {said!r})

seen = []
LINES = Lines()
if {fault!r}:
    raise ValueError({fault!r})
"""
USUAL = {
    "name": "sum",
    "rank": 100,
    "endings": ("sum",),
    "unsupported": None,
    "fault": "",
    "written": "sum",
    "listed": "sum",
    "said": {"unit": "persons"},
}


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """Install somebody else's package, with a format, on the path."""

    def plant(entry="LINES", **changes):
        info = tmp_path / "site" / "strange_sums-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange-sums\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[geodp.formats]\nsum = strange_sums:{entry}\n")
        source = MODULE.format(**{**USUAL, **changes})
        (tmp_path / "site" / "strange_sums.py").write_text(source)
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        monkeypatch.delitem(__import__("sys").modules, "strange_sums", raising=False)
        find_formats.cache_clear()

    find_formats.cache_clear()
    yield plant
    find_formats.cache_clear()


GRID = geodp.Grid.regular((8, 8))
TABLE = geodp.CountTable.from_dense(np.full((8, 8), 20), GRID)


def release():
    return geodp.publish(TABLE, epsilon=1, contribution=1)


def test_the_order_is_stated():
    find_formats.cache_clear()
    names = (
        "csv parquet gpkg hierarchy outlines zones names areas geotiff measurements qgis picture "
        "totals"
    )
    assert [one.name for one in find_formats()] == names.split()


def test_a_format_of_another_package_is_written_and_verified(planted, tmp_path):
    planted()
    whole = release()
    whole.write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    card = json.loads((public / "release.json").read_text())
    assert card["files"][-1]["name"] == "population.sum"
    assert card["files"][-1]["unit"] == "persons"
    assert (public / "population.sum").read_text() == str(whole.table.total)
    assert [check for check in verify(tmp_path / "out") if not check.ok] == []
    import strange_sums

    assert strange_sums.seen == [
        [
            *("areas", "card", "ends", "errors", "level", "measurements", "regions", "stored"),
            *("table", "totals", "withdrawn"),
        ]
    ]


def test_what_it_refuses_is_left_out_with_its_words(planted, tmp_path):
    planted(unsupported="there is no sum on Sundays")
    release().write(tmp_path / "out")
    card = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    assert card["left_out"][-1] == {"name": "population.sum", "why": "there is no sum on Sundays"}
    assert [check for check in verify(tmp_path / "out") if not check.ok] == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"entry": "nothing"}, "format-not-loaded"),
        ({"entry": "seen"}, "format-without-endings: strange_sums:seen.*strange-sums"),
        ({"endings": ()}, "format-without-endings"),
        ({"endings": ("tif",)}, "format-twice: 'tif'"),
        ({"name": "csv"}, "format-twice: 'csv'"),
        ({"rank": -1}, "format-rank-too-low: strange_sums:LINES.*strange-sums"),
        ({"rank": 50}, "format-rank-too-low: strange_sums:LINES.*strange-sums"),
        ({"rank": "last"}, "format-without-rank"),
        ({"endings": "sum"}, "format-without-endings"),
        ({"name": "Sum of all"}, "format-without-rank"),
    ],
)
def test_a_broken_one_is_refused_before_anything_is_charged(
    planted, ledger, tmp_path, changes, said
):
    planted(**changes)
    terms = Terms.of(epsilon=1, contribution=1)
    request = Request(terms=terms, method="pyramid", ledger=ledger, dataset="census")
    preview = prepare(TABLE, request).design.preview
    with refuses(UsageError, said):
        preview.write(tmp_path / "out")
    assert ledger.charges("census") == ()
    assert not (tmp_path / "out").exists()


def test_what_others_chose_steers_no_terminal(planted):
    planted(fault="\x1b[2J")
    with refuses(UsageError, "format-not-loaded") as refused:
        find_formats()
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"written": "other", "listed": "sum"}, OutputError, "format-lists-own-files"),
        ({"written": "other", "listed": "other"}, OutputError, "format-lists-own-files"),
        (
            {"endings": ("sum", "csvx"), "written": "csvx", "listed": "csv"},
            OutputError,
            "format-lists-own-files",
        ),
        (
            {"said": {"mood": "good"}},
            VerificationError,
            "plain-key-unknown: file population.sum.mood",
        ),
        (
            {"said": {"rows": "many"}},
            VerificationError,
            "plain-type-wrong: file population.sum.rows.*whole number",
        ),
    ],
)
def test_what_it_may_not_do_publishes_nothing(planted, tmp_path, changes, error, said):
    planted(**changes)
    with refuses(error, said):
        release().write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
