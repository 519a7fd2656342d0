"""A series as a kind of release: what ``geodp.open`` gives, and what other commands say of it."""

import geodp
from geodp.errors import VerificationError
from geodp.kinds.series.kind import KINDS
from tests.command import geodp as run
from tests.refusals import refuses


def test_it_opens_as_its_snapshots(written):
    found = geodp.open(written)
    assert found.times == ("2024-01", "2024-02", "2024-03")
    again = geodp.open(written / "public" / "2024-02")
    assert found["2024-02"].table.total == again.table.total


def test_what_needs_a_table_names_a_snapshot(written):
    (kind,) = KINDS
    with refuses(VerificationError, "series-is-no-release"):
        kind.refuse_table()
    for words in (["report", written], ["map", written, "--output", written.parent / "map.png"]):
        done = run(*words)
        assert done.returncode == 3
        assert (
            "This is a series of releases; give the folder of one of its snapshots" in done.stderr
        )


def test_it_has_the_id_of_its_index(written):
    (kind,) = KINDS
    assert len(kind.identify(written / "public")) == 16
    assert kind.verify(written / "public", None)[0].name == "index"
