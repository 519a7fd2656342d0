"""Files that people keep beside releases, and later versions read: their schemas and fields."""

import json

import pytest

from geodp.kinds.households.kind import HouseholdsSeriesCard
from geodp.table.card import PARTS_SCHEMA
from geodp.table.plain import key_of, list_in_order
from geodp.table.reading import StatedLayout, StatedReading
from geodp.table.stated.error import StatedCells
from geodp.table.stated.release import StatedSlope
from tests.command import geodp
from tests.golden.case import LEDGER
from tests.golden.fixed import fixed
from tests.golden.folders import CASES


@pytest.fixture
def run(tmp_path):
    """Return what runs a command in a folder with the files of a case."""
    CASES["counts-topdown"].prepare(tmp_path)
    with fixed():
        yield lambda *words: geodp(*words, cwd=tmp_path)


def fields_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_card_of_parts():
    """Machines of a cluster write it, and others read it."""
    assert PARTS_SCHEMA == "geodp-release-parts-2"


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (StatedSlope, "change slope"),
        (StatedCells, "meaning version low beside alone closed_form high simulated parts tree"),
        (StatedLayout, "name title source"),
        (StatedReading, "form places labels counts layout anchor crs person unit unit_value"),
        (
            HouseholdsSeriesCard,
            "schema software private step protects max_size guarantee budget periods",
        ),
    ],
)
def test_fields_that_no_pinned_folder_has_keep_their_order(kind, keys):
    """Slopes need large maps, layouts files of offices, series of households a command .."""
    assert [key_of(one) for one in list_in_order(kind)] == keys.split()


def test_a_check(run, tmp_path):
    assert run(*CASES["counts-topdown"].command("--check")).returncode == 0
    check = fields_of(tmp_path / "out" / "restricted" / "check.json")
    assert check.pop("schema") == "geodp-check-1"
    counted = ["domain_cells", "bounds", "occupied_cells", "counted_people"]
    assert [*check] == ["inputs", *counted, "read", "stated", "assumptions"]


def test_a_notice_of_withdrawal(run, tmp_path):
    assert run(*CASES["counts-topdown"].command()).returncode == 0
    assert run("withdraw", "out", "--reason", "Counted twice.").returncode == 0
    notice = fields_of(tmp_path / "out" / "WITHDRAWN.json")
    assert notice["schema"] == "geodp-withdrawal/1"
    assert [*notice] == ["schema", "release_id", "card_sha256", "date", "reason", "use"]


def test_a_plan(run, tmp_path):
    words = ("--grid", "regular:4x4", "--epsilon", "1/2", "--contribution", "1")
    assert run("plan", *words, "--output", "plan.toml").returncode == 0
    lines = (tmp_path / "plan.toml").read_text(encoding="utf-8").splitlines()
    assert [one for one in lines if not one.startswith("#") and one] == [
        "format = 1",
        'method = "pyramid"',
        'epsilon = "1/2"',
        'neighbours = "add-remove-one"',
        "contribution = 1",
        'unit = "person"',
        'grid_sha256 = "d6be4c294068782c2ffc31f2fc33bba4179b3cb11364952ce63580539d1ca37e"',
    ]


def test_a_note_of_an_opening(tmp_path, monkeypatch):
    case = CASES["local"]
    case.prepare(tmp_path)
    plan, opening, *_ = case.steps()
    with fixed():
        assert geodp(*plan, cwd=tmp_path).returncode == 0
        monkeypatch.setattr("geodp.local.opening.read_plain", lambda *_: 1 / 0)
        assert geodp(*opening, cwd=tmp_path).returncode == 1
    note = fields_of(tmp_path / ".round.json.opening")
    assert [note.pop("schema"), *note] == ["geodp-round-opening-1", "ledger", "round"]
    assert note["ledger"] == str(tmp_path / LEDGER)
