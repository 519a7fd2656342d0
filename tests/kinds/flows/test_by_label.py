"""Flows by label on a page: what is shown is what estimates say, and one label at a time."""

import re
from itertools import chain

import numpy as np
import pytest

import geodp
from geodp.grid.region import Region
from geodp.kinds.flows import drawing
from geodp.kinds.flows import page as page_module
from geodp.kinds.flows.drawing import list_labels, sum_by_label
from geodp.kinds.flows.page import write_page
from tests.kinds.flows.test_page import Reader
from tests.kinds.flows.test_publish import GRID, MESH, publish, trips_on

HOURS = tuple(str(n) for n in range(6, 10))


def labelled(number=60_000, grid=MESH):
    """Trips by hour and day type."""
    table, draw = trips_on(grid, number=number), np.random.default_rng(5)
    labels = [draw.integers(0, n, table.key.size) for n in (4, 2)]
    index = np.concatenate([table.grid.decode(table.key), labels])
    grid = table.grid.with_attribute("hour", HOURS).with_attribute("day", ("work", "rest"))
    return geodp.CountTable.from_index(grid, index, table.count)


@pytest.fixture(scope="module")
def release():
    return publish(labelled())


@pytest.fixture(scope="module")
def nowhere():
    """A release on a grid that lies nowhere."""
    return publish(labelled(grid=GRID))


def test_sets_of_labels_are_estimated_as_each_alone(nowhere):
    pairs = [((0, 0, 4, 4), (0, 0, 8, 8)), ((0, 0, 8, 8), (4, 4, 8, 8))]
    sets = [{}, {"hour": "7"}, {"hour": ["6", "9"], "day": "rest"}]
    found = nowhere.estimate_sets(pairs, sets)
    alone = [nowhere.estimate_all(pairs, labels=labels) for labels in sets]
    for one, other in zip(chain(*found), chain(*alone), strict=True):
        assert one.count == other.count
        # Sums of more columns may be rounded otherwise.
        assert (one.low, one.high) == pytest.approx((other.low, other.high))
    assert nowhere.estimate_sets([], sets) == [[], [], []]


def test_trips_between_places_by_label_are_sums_of_the_flows(nowhere):
    grid = nowhere.origins.grid
    regions = [Region.of(grid, one) for one in ((0, 0, 4, 8), (4, 0, 8, 8), (0, 0, 16, 8))]
    (whole,) = sum_by_label(nowhere, regions, [{}])
    hours = sum_by_label(nowhere, regions, [{"hour": one} for one in HOURS])
    assert (hours.sum(axis=0) == whole).all()
    for a, one in enumerate(regions):
        for b, other in enumerate(regions):
            (estimate,) = nowhere.estimate_all([(one, other)])
            assert whole[a, b] == estimate.count


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_reader_chooses_one_label_without_any_script(release, language):
    page = write_page(release, language)
    assert "script" not in Reader(page).tags
    radios = re.findall(r'<input type="radio" name="label" id="label-(\d+)"( checked)?>', page)
    assert [int(number) for number, _ in radios] == [*range(6)]
    assert sum(bool(checked) for _, checked in radios) == 1
    # Every choice has a label of its own, with the name of its attribute for who cannot see it.
    hour = {"en": "hour", "ja": "時間帯"}[language]
    assert re.findall(r'<label for="label-(\d+)"><span class="\w+">(\w+) ', page) == [
        *((str(n), hour) for n in range(4)),
        *((str(n), "day") for n in range(4, 6)),
    ]
    for number in range(6):
        assert f"#label-{number}:checked~details .of-{number}" in page
    assert page.count('class="bars"') == 2 * page.count('class="of-label of-3"')


def test_the_page_shows_what_estimates_of_a_label_say(release):
    code = "52394022"
    page = write_page(release, origin=code)
    every = (139, 35, 139.2, 35.14)
    pairs = [(code, every), (every, code)]
    assert page.count("of-label of-") == 6
    for label, at in (("7", 1), ("9", 3)):
        part = page.split(f'class="of-label of-{at}"')[1].split('class="of-label')[0]
        assert f"hour: {label}" in part
        estimates = release.estimate_all(pairs, labels={"hour": label})
        shown = re.search(r": ([0-9,]+) counted .*, ([0-9,]+) end here", part).groups()
        for text, one in zip(shown, estimates, strict=True):
            assert abs(int(text.replace(",", "")) - one.count) <= one.high - one.low


def test_the_page_is_bounded(release, monkeypatch):
    monkeypatch.setattr(drawing, "MOST_PANELS", 12)
    page = write_page(release)
    assert page.count("of-label of-") == 12
    attributes = release.flows.table.grid.attributes
    assert len(list_labels(attributes)) == 6
    monkeypatch.setattr(drawing, "MOST_LABELS", 3)
    # The attribute that is small enough.
    assert {one.attribute for one in list_labels(attributes)} == {"day"}
    monkeypatch.setattr(drawing, "MOST_LABELS", 1)
    assert list_labels(attributes) == []


def test_the_page_says_which_labels_it_leaves_out(release, monkeypatch):
    for module in (drawing, page_module):
        monkeypatch.setattr(module, "MOST_LABELS", 3)
    page = write_page(release)
    assert "Flows of a place by day</h2>" in page
    said = re.findall(r"does not show flows by ([\w, ]+): it has at most (\d+) labels", page)
    assert said == [("hour", "3")]
