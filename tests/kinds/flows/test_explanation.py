"""The explanation of flows: of all tables together, from the index alone."""

import pyarrow as pa

import geodp
from geodp.kinds.flows.kind import StatedStays
from geodp.table.plain import write_plain
from tests.kinds.flows.forms import change_index, failed, make
from tests.kinds.flows.test_publish import publish


def sentences(card, language="en"):
    page = geodp.explain.explain(card, language)
    return page, " ".join(one for section in page.sections for one in section.sentences)


def test_blocks_of_what_was_counted_are_named(shared):
    """Also of labels between units."""
    assert "blocks of 2 by 2 zones" in sentences(publish(levels={2: "1/2"}).card())[1]
    card = make(shared, "labels of units").card()
    said = "from and to blocks of at most 4 zones and between blocks of at most 64"
    assert said in sentences(card)[1]
    assert "最大 4 ゾーン" in sentences(card, "ja")[1]


MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
ROWS = {"id": ["a"] * 3, "t": ["2024-05-01T08:00", "2024-05-01T08:10", "2024-05-01T09:00"]}
PINGS = pa.table({**ROWS, "lat": [35.05] * 3, "lon": [139.01, 139.01, 139.11]})


def test_other_rules_of_stays_are_found(tmp_path):
    where = {"grid": MESH, "place": ("lon", "lat"), "time": "t", "person": "id", "trips": 5}
    release = geodp.flows.publish(geodp.flows.read_stays(PINGS, gap="90s", **where), epsilon=1)
    assert release.card().stays == StatedStays(90)
    release.write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    # An index of before these rules were stated holds as well.
    for change, wrong in (
        (lambda card: None, {}),
        (lambda card: card.pop("stays"), {}),
        (lambda card: card.update(stays=write_plain(StatedStays(7))), {"guarantee"}),
    ):
        index = (public / "flows.json").read_bytes()
        change_index(public, change)
        assert failed(public).keys() & {"guarantee"} == {*wrong}
        (public / "flows.json").write_bytes(index)
