"""A series as a kind of release: what ``geodp.open`` gives, and what other commands say of it."""

import geodp
from geodp.errors import VerificationError
from geodp.features.series.kind import KINDS
from tests.command import geodp as run
from tests.refusals import refuses


def test_it_opens_as_its_snapshots(folder):
    found = geodp.open(folder)
    assert [*found] == ["2024-01", "2024-02", "2024-03"]
    again = geodp.open(folder / "public" / "2024-02")
    assert found["2024-02"].table.total == again.table.total


def test_what_needs_a_table_names_a_snapshot(folder):
    (kind,) = KINDS
    with refuses(VerificationError, "series-is-no-release"):
        kind.refuse_table()
    for words in (["report", folder], ["map", folder, "--output", folder.parent / "map.png"]):
        done = run(*words)
        assert done.returncode == 3
        assert (
            "This is a series of releases; give the folder of one of its snapshots" in done.stderr
        )


def test_it_has_the_id_of_its_index(folder):
    (kind,) = KINDS
    assert len(kind.identify(folder / "public")) == 16
    assert kind.verify(folder / "public", None)[0].name == "index"
