"""The explanation of flows: of all tables together, from the index alone."""

import pyarrow as pa
import pytest

import geodp
from geodp.kinds.flows.kind import StatedStays
from geodp.table.plain import write_plain
from tests.kinds.flows.forms import change_index, failed
from tests.kinds.flows.test_publish import publish


def sentences(card, language="en"):
    page = geodp.explain.explain(card, language)
    return page, " ".join(one for section in page.sections for one in section.sentences)


@pytest.mark.parametrize("amounts", [{"epsilon": 1}, {"epsilon": None, "rho": "1/2"}], ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove-one", "replace-one"])
def test_it_says_what_is_promised_in_every_language(amounts, neighbours):
    card = publish(neighbours=neighbours, levels={2: "1/2"}, **amounts).card()
    page, text = sentences(card)
    assert "blocks of 2 by 2 zones" in text
    assert "if one person has at most 3 of all trips" in text
    headings = [section.heading for section in page.sections]
    assert headings[:2] == ["What is released together", "What is promised"]
    japanese, translated = sentences(card, "ja")
    assert "移動" in japanese.title
    assert "最大 3 回" in translated


MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
ROWS = {"id": ["a"] * 3, "t": ["2024-05-01T08:00", "2024-05-01T08:10", "2024-05-01T09:00"]}
PINGS = pa.table({**ROWS, "lat": [35.05] * 3, "lon": [139.01, 139.01, 139.11]})


@pytest.mark.parametrize(
    ("read", "rules", "stated", "english", "japanese"),
    [
        (
            geodp.flows.read_pings,
            {"radius": 250, "dwell": "15min", "gap": "12h"},
            StatedStays(43_200, 250.0, 900),
            "within 250 m over at least 15 min a stay",
            "250 m 以内に 15 分以上続く記録が滞在",
        ),
        (
            geodp.flows.read_stays,
            {"gap": "90s"},
            StatedStays(90),
            "unless this begins more than 90 s after it",
            "次の滞在が 90 秒より後に始まる",
        ),
        (
            geodp.flows.read_stays,
            {},
            StatedStays(),
            "each leads from a stay to the next one.",
            "一つの滞在から次の滞在までが一回の移動です。",
        ),
    ],
)
def test_the_rules_of_pings_and_stays_are_named(read, rules, stated, english, japanese, tmp_path):
    where = {"grid": MESH, "place": ("lon", "lat"), "time": "t", "person": "id", "trips": 5}
    release = geodp.flows.publish(read(PINGS, **where, **rules), epsilon=1)
    card = release.card()
    assert card.stays == stated
    assert english in sentences(card)[1]
    assert japanese in sentences(card, "ja")[1]
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
