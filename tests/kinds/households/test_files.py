"""The folder of persons and households: a release for each table, an index, all or nothing."""

import json
import os
from fractions import Fraction

import pytest

from geodp.errors import OutputError
from geodp.io.folder.kinds import find_kind
from geodp.io.folder.manifest import foreign
from geodp.io.folder.staged_release import StagedTables
from geodp.io.verify.card import public_folder
from geodp.io.verify.verify import verify
from geodp.kinds.households.kind import HouseholdsCard
from geodp.kinds.households.publish import prepare_households
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from geodp.release.simulated_cells import errors_of
from tests.kinds.households.test_publish import two_tables


def test_every_table_is_a_release_and_the_index_names_it(release, public):
    card = HouseholdsCard.from_json(json.loads((public / "households.json").read_text()))
    assert [one.name for one in card.tables] == [*release.tables]
    for one in card.tables:
        checks = verify(public / one.name, errors_of)
        assert [check.name for check in checks if not check.ok] == []
        own = json.loads((public / one.name / "release.json").read_text())
        assert own["release_id"] == one.release_id
        assert own["name"] == one.name
        facts = own["guarantee"]["not_protected"]
        assert any("together they spend epsilon = 1" in fact for fact in facts)
    files = (
        "SHA256SUMS",
        "households.json",
        *(f"persons-and-households.{e}" for e in ("csv", "csvt", "parquet")),
    )
    assert {*os.listdir(public)} == {*files, *release.tables}
    assert json.loads((public.parent / "restricted" / "run.json").read_text()) == {"told": 7}
    assert public_folder(public.parent) == public_folder(public) == public
    assert find_kind(public).name == "households"
    assert find_kind(public / "persons") is None
    assert foreign(public.parent) is None


def test_a_failed_write_leaves_nothing(release, tmp_path, monkeypatch):
    def full(*_args, **_more):
        raise OutputError("full", code="disk-full")

    monkeypatch.setattr("geodp.kinds.households.households.write_rows", full)
    with pytest.raises(OutputError):
        release.write(tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_what_can_fail_is_tried_before_the_charge(tmp_path, monkeypatch):
    """Formats, the table of both counts and the space for all of it, with empty tables."""
    ledger = Ledger.create(tmp_path / "l")
    ledger.add_dataset("census", PureDP(Fraction(5)))
    request = Request(terms=Terms.of(epsilon=1, contribution=1), ledger=ledger, dataset="census")
    prepared = prepare_households(*two_tables(), None, None, 7, request)
    with StagedTables.stage(tmp_path / "out", overwrite=False) as place:
        place.try_out(prepared.design.preview, [prepared.cells])
        assert not [one for one in os.listdir(place.folder) if one.startswith("tmp")]
        release = prepared.release()
        release.write_into(place, {})
    assert verify(tmp_path / "out" / "public", errors_of)[0].ok

    def full(*_args, **_more):
        raise OutputError("full", code="disk-full")

    write_joint = "geodp.kinds.households.households.write_rows"
    tried = "geodp.io.folder.staged_release"
    for name in (f"{tried}.try_formats", f"{tried}.require_space", write_joint):
        with monkeypatch.context() as patched:
            patched.setattr(name, full)
            with (
                pytest.raises(OutputError),
                StagedTables.stage(tmp_path / "other", overwrite=False) as place,
            ):
                place.try_out(prepared.design.preview, [prepared.cells])
    assert len(ledger.charges("census")) == 1
    assert not (tmp_path / "other").exists()
