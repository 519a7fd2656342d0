"""What holds of releases between zones of every form, with labels and with a prior."""

import re

import numpy as np
import pytest

import geodp
from geodp.grid.region import Region
from geodp.kinds.flows.page import write_page
from geodp.kinds.flows.zones import Zones, pairs_of, zones_of
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.forms import FORMS, block_regions, count_between, failed, make
from tests.kinds.flows.test_publish import ends_of
from tests.kinds.flows.units import OTHER

any_form = pytest.mark.parametrize("name", FORMS)


@pytest.fixture
def release(name, shared):
    return make(shared, name)


def pairs_of_halves(grid):
    """Flows from one half of the zones to the other, and back."""
    key = Zones.of(grid).key
    one, other = (Region(grid, np.sort(some)) for some in np.array_split(key, 2))
    return [(one, other), (other, one)]


@any_form
def test_a_written_release_holds_and_is_opened(name, release, shared):
    """Both ends are met exactly, and lie inside."""
    for flows, released in ends_of(release):
        assert np.array_equal(flows, released)
    table, grid = release.flows.table, release.origins.grid
    assert table.count.dtype == np.int64
    assert (table.count > 0).all()
    index = table.grid.decode(table.key)
    assert all(grid.contains(index[at : at + 2]).all() for at in (0, 2))
    for one in release.noisy:
        assert one.noisy.shape == (Zones.of(grid).blocks(one.blocks.side).number,) * 2
    out = shared.write(release)
    assert failed(out / "public") == {}
    opened = geodp.open(out)
    for field in ("guarantee", "constraints", "decay", "prior", "pairs"):
        assert getattr(opened.index, field) == getattr(release.index, field)
    assert opened.state_errors() == release.index.pairs
    assert opened.flows.grid == release.flows.grid
    assert opened.to_pandas().equals(release.to_pandas())
    for one, other in zip(
        (*opened.noisy, *opened.labels), (*release.noisy, *release.labels), strict=True
    ):
        assert np.array_equal(one.noisy, other.noisy)
        assert one.variance == other.variance
    assert (opened.prior and opened.prior.sha256) == (release.prior and release.prior.sha256)
    given = {"labels": FORMS[name].labels}
    pairs = pairs_of_halves(release.origins.grid)
    found = opened.estimate_all(pairs, **given)
    assert found == release.estimate_all(pairs, **given)
    assert [one.count for one in found] == count_between(table, pairs, FORMS[name].labels)
    assert all(one.low <= one.count <= one.high for one in found)
    # Each table is a release by itself, and knows its zones.
    assert geodp.open(out / "public" / "flows").grid == release.flows.grid


@pytest.mark.parametrize("name", ["mask", "units", "labels of units"])
def test_intervals_hold_what_was_counted(name):
    table, held, labels = FORMS[name].trips(3), [], FORMS[name].labels
    regions = block_regions(zones_of(table.grid), 4)[:7]
    pairs = [(one, other) for one in regions for other in regions]
    true = count_between(table, pairs, labels)
    for number in range(6):
        key = NoiseKey(number.to_bytes(32, "little"))
        made = geodp.flows.publish(table, contribution=3, epsilon=1, key=key)
        found = made.estimate_all(pairs, labels=labels)
        held += [one.low <= n <= one.high for one, n in zip(found, true, strict=True)]
    assert np.mean(held) >= 0.9


@pytest.mark.parametrize("name", ["units", "labels of units"])
def test_two_releases_are_compared(name, release, shared):
    later = make(shared, name, seed=8)
    (pair, _), labels = pairs_of_halves(release.origins.grid), FORMS[name].labels
    given = {"labels": (labels, labels)} if labels else {}
    found = release.compare(pair, release=later, **given)
    counts = [one.estimate(*pair, **labels).count for one in (release, later)]
    assert found.value == counts[1] - counts[0]
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize(
    ("name", "language"), [("mask", "en"), ("other", "ja"), ("prior by label", "en")]
)
def test_a_page_draws_its_flows(name, language, release, shared):
    opened = geodp.open(shared.write(release))
    page = write_page(opened, language)
    assert "marker-end" in page
    assert not re.search('[" ]nan[" ]', page)
    assert (OTHER in page) == (name == "other")
    labels = sum(len(one.labels) for one in opened.flows.grid.attributes)
    assert page.count('type="radio"') == labels


@pytest.mark.parametrize("name", ["mask", "units", "prior"])
def test_nothing_is_random_where_the_budget_leaves_no_noise(name):
    table = FORMS[name].trips(3)
    given = {"epsilon": 10**6, "contribution": 1, "levels": {1: "1/2"}}
    made = geodp.flows.publish(table, **given, key=NoiseKey(bytes(32)))
    whole = table.grid.decode(table.key)[:4], made.flows.grid.decode(made.flows.table.key)[:4]
    one, other = (
        geodp.CountTable.from_index(pairs_of(made.origins.grid), index, count)
        for index, count in zip(whole, (table.count, made.flows.table.count), strict=True)
    )
    assert one.key.tolist() == other.key.tolist()
    assert one.count.tolist() == other.count.tolist()


@pytest.mark.parametrize("name", [name for name in FORMS if FORMS[name].prior])
def test_a_prior_is_trusted_and_told(name, release):
    told = FORMS[FORMS[name].prior].trips(4).count.sum()
    assert release.prior.trips == told
    assert release.index.prior.weight > 0
