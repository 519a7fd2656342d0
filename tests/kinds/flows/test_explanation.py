"""The explanation of flows: of all tables together, from the index alone."""

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.grid.axes import Attribute
from geodp.kinds.flows.kind import StatedStays
from geodp.kinds.flows.page import write_page
from geodp.kinds.flows.zones import pairs_of
from geodp.table.plain import write_plain
from tests.kinds.flows.forms import change_index, failed
from tests.kinds.flows.test_publish import publish
from tests.kinds.flows.units import make_units
from tests.kinds.flows.worlds import table_of


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


def test_bounded_persons_and_periods_are_named():
    bounded = table_of([[(0, 1)], [(1, 3), (1, 0)]], 2)
    _, text = sentences(geodp.flows.publish(bounded, epsilon=1, levels={1: "1/2"}).card())
    assert "at most 2 trips count; geodp made sure" in text
    assert "between single zones were counted" in text
    assert "longer time" not in text
    _, text = sentences(publish(unit="person-day").card())
    assert "longer time" in text
    _, translated = sentences(publish(unit="person-week").card(), "ja")
    assert "一人の一週間" in translated


def test_what_was_counted_by_label_is_named():
    pairs = geodp.Grid.regular((8, 8)).pairs()
    for name, labels in (("daytype", ("weekday", "weekend")), ("mode", ("walk", "car"))):
        pairs = pairs.with_attribute(name, labels)
    trips = geodp.CountTable.from_index(pairs, np.zeros((6, 1), int), np.full(1, 900))
    card = geodp.flows.publish(trips, epsilon=1, contribution=3).card()
    for language, *parts in (
        (
            "en",
            "also counted by day type, mode of transport, from and to blocks of 8 by 8 zones",
            "32 by 32, and",
        ),
        ("ja", "平日・週末, 交通手段の別にも、8 × 8 ゾーン", "32 × 32"),
    ):
        _, text = sentences(card, language)
        assert all(one in text for one in parts)
    assert "also counted by" not in sentences(publish().card())[1]


@pytest.mark.parametrize(
    ("contribution", "counted", "translated"),
    [
        (1, "to single zones and between blocks of at most 16", "一つ一つのゾーンの発着"),
        (9, "to blocks of at most 4 zones and between blocks of at most 64", "最大 4 ゾーン"),
    ],
)
def test_what_was_counted_by_label_between_units_is_named(contribution, counted, translated):
    pairs = pairs_of(make_units()[0], [Attribute("mode", ("walk", "car"))])
    trips = geodp.CountTable.from_index(pairs, np.zeros((5, 1), int), np.full(1, 900))
    card = geodp.flows.publish(trips, epsilon=1, contribution=contribution).card()
    assert (
        f"also counted by mode of transport, from and {counted}, and got noise"
        in sentences(card)[1]
    )
    assert f"交通手段の別にも、{translated}" in sentences(card, "ja")[1]


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
    assert english in write_page(geodp.open(public))
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


def test_a_release_with_a_fixed_key_promises_nothing():
    page, text = sentences(publish(key=geodp.NoiseKey(bytes(32))).card())
    assert len(page.sections) == 2
    assert "of all trips" not in text
