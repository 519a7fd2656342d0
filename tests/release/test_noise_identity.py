"""A kept key: the same release again at no cost, and independent noise for any other."""

from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import geodp
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.grid.order import Order
from geodp.mechanisms.central import pyramid
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.event import Measurement
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import NEIGHBOURS, Terms
from geodp.release.noise_identity import components, digest_stream, encode, release_digest
from tests.mechanisms.kept import forget_levels

GRID = geodp.Grid.regular((8, 8))
TABLE = geodp.CountTable.from_dense(np.arange(64).reshape(8, 8) * 100, GRID)


@pytest.fixture(autouse=True)
def forgetful():
    """No test leaves levels of changed constants behind."""
    yield
    forget_levels()


def test_changed_software_under_a_kept_key_draws_new_noise_and_is_charged(ledger, key, monkeypatch):
    """Shares of small grids, as a version of this project once changed them.

    With the noise of the first release the second would be another equation of the same
    unknowns: two of them at epsilon 1/100 tell a total of thousands to within some people.
    """
    terms = {"epsilon": "1/100", "key": key, "ledger": ledger, "dataset": "census"}
    terms["method"] = "pyramid:setting=R"
    one = geodp.publish(TABLE, **{"contribution": 1, **terms})
    assert geodp.publish(TABLE, **{"contribution": 1, **terms}).charge.replay
    monkeypatch.setattr(pyramid, "SMALL", 1)
    forget_levels()
    two = geodp.publish(TABLE, **{"contribution": 1, **terms})
    assert two.event == one.event, "the same call, as far as its parameters tell"
    assert not two.charge.replay
    assert ledger.spent("census") == PureDP(Fraction(2, 100))
    assert two.charge.fingerprint != one.charge.fingerprint


def test_two_releases_by_changed_software_do_not_tell_the_total(monkeypatch):
    """With one noise z, ``n + a z`` and ``n + b z`` would be two equations for z and n."""
    method, errors = Pyramid(setting="R", passes=1), []
    for number in range(60):
        key, totals, scales = geodp.NoiseKey(bytes([number] * 32)), [], []
        for small in (1 << 10, 1):
            monkeypatch.setattr(pyramid, "SMALL", small)
            forget_levels()
            release = geodp.publish(
                TABLE, method=method.spec, epsilon="1/100", key=key, contribution=1
            )
            totals.append(int(release.table.count.sum()))
            scales.append(float(release.event.scale / method.levels(GRID).shares[0]))
        a, b = scales
        errors.append((b * totals[0] - a * totals[1]) / (b - a) - TABLE.count.sum())
    assert np.median(np.abs(errors)) > min(scales) / 2, "it was 1 person of a noise of 400"


def use(method=None, grid=GRID, **amounts):
    """An event that has every kind of budget in it."""
    amounts = amounts or {"rho": "1/8", "delta": "1/1000"}
    return (method or Pyramid()).event(grid, Terms.of(**{"contribution": 1, **amounts}))


BASE = (GRID, Pyramid(), use())


def another_noise_format(patch):
    patch.setattr("geodp.release.noise_identity.NOISE_FORMAT", "another")
    return BASE


def another_place_on_the_earth(patch):
    return Grid.regular((8, 8), crs="EPSG:3035", transform=(1e3, 0, 0, 0, 1e3, 0)), *BASE[1:]


def another_order_of_the_same_name(patch):
    """Changed software that numbers cells differently, and still calls it Morton's order."""
    described = GRID.describe()
    patch.setattr(Grid, "_morton", lambda grid: Order((1, 0) * 3, (2,) * 6))
    grid = Grid.regular((8, 8))
    assert grid.describe() == described
    return grid, *BASE[1:]


class Twin(Pyramid):
    name = "twin"


def another_method(patch):
    return GRID, Twin(), use()


def another_version(patch):
    patch.setattr(Pyramid, "version", Pyramid.version + 1)
    return BASE


def another_setting(patch):
    """The digest depends on what is done to noisy values, which no query shows."""
    return GRID, Pyramid(prune=Fraction(1)), use()


def other_queries(patch):
    patch.setattr(pyramid, "SMALL", 1)
    patch.setattr(
        pyramid,
        "default_levels",
        lambda *_, **__: ([2, 4], [Fraction(1), Fraction(2), Fraction(3)]),
    )
    forget_levels()
    return BASE


def another_event(patch):
    return GRID, Pyramid(), replace(use(), unit="household")


CHANGES = {
    "noise format": another_noise_format,
    "grid": another_place_on_the_earth,
    "order": another_order_of_the_same_name,
    "method": another_method,
    "version": another_version,
    "settings": another_setting,
    "queries": other_queries,
    "event": another_event,
}


def test_every_component_has_a_change_that_it_alone_shows():
    assert CHANGES.keys() == components(*BASE).keys()


@pytest.mark.parametrize("component", CHANGES)
def test_a_change_of_one_component_is_another_release(component, monkeypatch):
    """What only this component tells: without it, the two would share their noise."""
    before, digest = components(*BASE), release_digest(TABLE, *BASE[1:])
    changed = CHANGES[component](monkeypatch)
    after = components(*changed)
    assert {name for name in after if after[name] != before[name]} == {component}
    table = geodp.CountTable.from_keys(changed[0], TABLE.key, TABLE.count)
    assert release_digest(table, *changed[1:]) != digest


class Silent(Pyramid):
    """Tells nothing of what it measures, so that only the event does."""

    def queries(self, grid, event):
        return ()


OTHER = {
    "mechanism": "another",
    "epsilon": Fraction(9),
    "neighbours": NEIGHBOURS[1],
    "contribution": 2,
    "enforced": True,
    "sensitivity": 2,
    "unit": "household",
    "rho": Fraction(1, 9),
    "delta": Fraction(1, 999),
    "share": Fraction(1, 4),
}


def test_all_that_an_event_says_is_in_the_digest_but_who_answers_and_where_the_key_came_from():
    event = use(Silent())
    digests = {release_digest(TABLE, Silent(), event)}
    assert OTHER.keys() | {"key_origin", "layout"} == {field.name for field in fields(Measurement)}
    for name, value in OTHER.items():
        digests.add(release_digest(TABLE, Silent(), replace(event, **{name: value})))
    assert len(digests) == 1 + len(OTHER)
    assert release_digest(TABLE, Silent(), replace(event, key_origin="file")) in digests
    assert release_digest(TABLE, Silent(), replace(event, layout="a census")) in digests


def test_other_keys_and_other_counts_are_other_releases():
    key, count = np.arange(3, dtype=np.uint64), np.array([5, 6, 7])
    tables = [(key, count), (key + np.uint64(1), count), (key, count + 1), (key[:2], count[:2])]
    made = [geodp.CountTable.from_keys(GRID, *table) for table in tables]
    assert len({release_digest(table, *BASE[1:]) for table in made}) == len(tables)


def test_masks_and_hierarchies_are_told_apart_by_every_cell_and_code():
    inside = np.ones((8, 8), bool)
    inside[0, 0] = False
    other = inside[::-1]
    masks = [mask_of_blocks(GRID, blocks_of_array(one), "a mask") for one in (inside, other)]
    land = np.argwhere(inside).T
    towns = [["a"] * 30 + ["b"] * 33, ["a"] * 31 + ["b"] * 32, ["a"] * 30 + ["c"] * 33]
    tables = [Hierarchy.of_cells(land, {"town": codes}, "a table") for codes in towns]
    tables.append(Hierarchy.of_cells(land[::-1], {"town": towns[0]}, "a table"))
    limited = [GRID, *map(GRID.with_mask, masks), *map(GRID.with_hierarchy, tables)]
    ages = [GRID.with_attribute("age", labels) for labels in ("abc", "bac", "abd")]
    orders = [ages[0].with_attribute_order(where) for where in ("above", "interleaved")]
    grids = [*limited, *ages, *orders, Grid.regular((8, 9)), Grid.regular((4, 16))]
    digests = {digest_stream(grid, BASE[1], BASE[2], 0, [], []) for grid in grids}
    assert len(digests) == len(grids)


@pytest.mark.parametrize("cuts", [[], [0], [3], [1, 1, 7], list(range(64))])
def test_a_table_in_pieces_has_the_digest_of_the_whole(cuts):
    keys, counts = np.split(TABLE.key, cuts), np.split(TABLE.count, cuts)
    contents = digest_stream(GRID, *BASE[1:], TABLE.key.size, iter(keys), iter(counts))
    assert contents == release_digest(TABLE, *BASE[1:])


def test_the_digest_is_what_it_was():
    """Whoever must change this value gives ``LABEL`` or the method another number with it."""
    event = use(epsilon="1/2")
    contents = release_digest(TABLE, Pyramid(), event).hex()
    assert contents == "0237817a865c84cac43999e32368cb263a51c002a6704337402a8b91447e4a65"


def test_the_ledger_and_the_noise_go_by_the_same_digest(ledger, key):
    release = geodp.publish(
        TABLE, epsilon="1/2", key=key, ledger=ledger, dataset="census", contribution=1
    )
    digest = release_digest(TABLE, release.method, release.event)
    assert release.charge.fingerprint == key.fingerprint(digest)
    draws = release.method.declare(GRID, release.event)
    again = release.method.release(TABLE, release.event, key.derive(digest, draws))
    assert again.count.tolist() == release.table.count.tolist()


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.fractions()
    | st.text(st.characters(codec="utf-8"))
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=12,
)


def typed(value):
    return (type(value), tuple(map(typed, value)) if isinstance(value, tuple) else value)


@given(PLAIN, PLAIN)
def test_different_values_have_different_encodings(one, other):
    assert (encode(one) == encode(other)) == (typed(one) == typed(other))
    assert encode((one, other)) != encode((other, one)) or typed(one) == typed(other)
    assert encode((one, (other,))) != encode((one, other))


@pytest.mark.parametrize("value", [0.5, np.float64(1), ["a"], {"a": 1}, (1, 0.5), object()])
def test_what_is_not_exact_is_not_encoded(value):
    with pytest.raises(TypeError, match="no exact encoding"):
        encode(value)
