"""A series as a kind of release: what ``geodp.open`` gives, and what other commands say of it."""

import geodp
from geodp.kinds.series.kind import KINDS


def test_it_opens_as_its_snapshots(written):
    found = geodp.open(written)
    assert found.times == ("2024-01", "2024-02", "2024-03")
    again = geodp.open(written / "public" / "2024-02")
    assert found["2024-02"].table.total == again.table.total


def test_it_has_the_id_of_its_index(written):
    (kind,) = KINDS
    assert len(kind.identify(written / "public")) == 16
    assert kind.verify(written / "public", None)[0].name == "index"
