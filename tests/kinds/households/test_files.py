"""The folder of persons and households: what can fail is tried before anything is charged."""

import os

import pytest

from geodp.errors import OutputError
from geodp.io.folder.staged_release import StagedTables
from geodp.io.verify.verify import verify
from geodp.kinds.households.publish import prepare_households
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from geodp.release.simulated_cells import errors_of
from tests.kinds.households.test_publish import two_tables


def test_what_can_fail_is_tried_before_the_charge(ledger, tmp_path, monkeypatch):
    """Formats, the table of both counts and the space for all of it, with empty tables."""
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
