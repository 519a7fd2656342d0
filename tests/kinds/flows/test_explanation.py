"""The explanation of flows: of all tables together, from the index alone."""

import json

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.grid.axes import Attribute
from geodp.io.verify.verify import verify
from geodp.kinds.flows.kind import StatedStays
from geodp.kinds.flows.page import write_page
from geodp.kinds.flows.zones import pairs_of
from geodp.table.plain import write_plain
from tests.command import geodp as run
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
    _, text = sentences(card)
    assert "also counted by daytype, mode, from and to blocks of 8 by 8 zones" in text
    assert "between blocks of 32 by 32, and got noise" in text
    _, translated = sentences(card, "ja")
    assert "daytype, mode の別にも、8 × 8 ゾーン" in translated
    assert "32 × 32" in translated
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
    assert f"also counted by mode, from and {counted}, and got noise" in sentences(card)[1]
    assert f"mode の別にも、{translated}" in sentences(card, "ja")[1]


def test_the_rules_of_pings_and_stays_are_named(tmp_path):
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
    rows = {"id": ["a"] * 3, "t": ["2024-05-01T08:00", "2024-05-01T08:10", "2024-05-01T09:00"]}
    pings = pa.table({**rows, "lat": [35.05] * 3, "lon": [139.01, 139.01, 139.11]})
    asked = {"grid": grid, "place": ("lat", "lon"), "time": "t", "person": "id", "trips": 5}
    rules = {"radius": 250, "dwell": "15min", "gap": "12h"}
    for number, (table, stated, english, japanese) in enumerate(
        (
            (
                geodp.flows.read_pings(pings, **asked, **rules),
                StatedStays(43_200, 250.0, 900),
                "within 250 m over at least 15 min a stay",
                "250 m 以内に 15 分以上続く記録が滞在",
            ),
            (
                geodp.flows.read_stays(pings, **asked, gap="90s"),
                StatedStays(90),
                "unless this begins more than 90 s after it",
                "次の滞在が 90 秒より後に始まる",
            ),
            (
                geodp.flows.read_stays(pings, **asked),
                StatedStays(),
                "each leads from a stay to the next one.",
                "一つの滞在から次の滞在までが一回の移動です。",
            ),
        )
    ):
        release = geodp.flows.publish(table, epsilon=1)
        card = release.card()
        assert card.stays == stated
        assert english in sentences(card)[1]
        assert japanese in sentences(card, "ja")[1]
        folder = tmp_path / str(number)
        release.write(folder)
        assert english in write_page(geodp.open(folder))
        index = folder / "public" / "flows.json"
        written = json.loads(index.read_text())
        # An index of before these rules were stated holds as well.
        for again, holds in ((stated, True), (None, True), (StatedStays(7), False)):
            changed = {**written, "stays": write_plain(again)}
            if again is None:
                del changed["stays"]
            index.write_text(json.dumps(changed, ensure_ascii=False, indent=1) + "\n")
            found = [one.ok for one in verify(index.parent) if one.name == "guarantee"]
            assert found == [holds]
    assert publish().card().stays is None


def test_a_release_with_a_fixed_key_promises_nothing():
    page, text = sentences(publish(key=geodp.NoiseKey(bytes(32))).card())
    assert len(page.sections) == 2
    assert "of all trips" not in text


def test_the_command_explains_the_folder(public):
    done = run("explain", public.parent)
    assert done.returncode == 0, done.stderr
    assert "What trips and the maps of their ends together reveal" in done.stdout
