"""Biases of settlements on the card: placed as they are said to be, and those of the releases."""

import hashlib

import numpy as np
import pytest

import geodp
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.io.verify.readback import read_release_table
from geodp.release import settlements
from geodp.release.report.markdown import markdown
from geodp.release.settlements import (
    COASTAL,
    EMPTY,
    INLAND,
    ISOLATED,
    SETTLEMENT_KINDS,
    SIZES,
    make_maps,
)

pytestmark = pytest.mark.law

SIDE = 160
BOX = geodp.Grid.regular((SIDE, SIDE))
ROW, COL = np.indices(BOX.shape)
LAND = (ROW - 80) ** 2 + (COL - 70) ** 2 < 75**2
ISLAND = BOX.with_mask(mask_of_blocks(BOX, blocks_of_array(LAND), "a round island"))
PEOPLE = 600_000


@pytest.fixture(scope="module", params=[BOX, ISLAND], ids=["box", "island"])
def made(request):
    maps, by_coast = make_maps(request.param, PEOPLE, 20)
    assert by_coast == (request.param is ISLAND)
    return request.param, maps


def cells(grid, key):
    mask = np.zeros(grid.shape, bool)
    mask[tuple(grid.decode(key))] = True
    return mask


def near(some, reach):
    row, col = (np.nonzero(some.any(axis=1 - axis))[0] for axis in (0, 1))
    mask = np.zeros(some.shape, bool)
    low = max(row[0] - reach, 0), max(col[0] - reach, 0)
    mask[low[0] : row[-1] + reach + 1, low[1] : col[-1] + reach + 1] = True
    return mask


def test_settlements_of_all_kinds_have_the_people_and_surroundings_that_are_said(made):
    grid, maps = made
    assert {kind for one in maps for kind in one.kinds} == {*range(len(SETTLEMENT_KINDS))}
    company = []
    for one in maps:
        people = one.table.to_dense()
        for kind, own, around in zip(one.kinds, one.cells, one.around, strict=True):
            size, place = SETTLEMENT_KINDS[kind]
            settled = cells(grid, own)
            assert 0.9 * SIZES[size] <= people[settled].sum() <= 1.1 * SIZES[size + 1]
            inside = grid.domain.to_dense() & near(settled, 4)
            assert np.array_equal(cells(grid, around), inside)
            others = people[near(settled, EMPTY) & ~settled]
            if place == ISOLATED:
                assert not others.any()
            elif place == INLAND:
                company.append(others.any())
            elif grid is ISLAND:
                assert (~LAND & near(settled, 1)).any()
            else:  # nobody on one side
                row, col = (np.nonzero(people * near(settled, EMPTY) * ~settled)[i] for i in (0, 1))
                middle = [np.mean(axis) for axis in np.nonzero(settled)]
                sides = [row - middle[0], middle[0] - row, col - middle[1], middle[1] - col]
                assert any((side < 4).all() for side in sides)
    assert np.mean(company) > 0.9


def test_surroundings_of_settlements_on_one_map_do_not_overlap(made):
    grid, maps = made
    for one in maps:
        every = np.concatenate(one.around)
        assert np.unique(every).size == every.size
        assert one.table.key.size > 0.05 * grid.size


@pytest.fixture(scope="module")
def release():
    table = geodp.CountTable.from_dense(np.where((ROW < 40) & (COL < 60), 50, 0), BOX)
    return geodp.publish(table, epsilon="1/10", key=geodp.NoiseKey(bytes(32)), contribution=1)


def test_biases_are_those_of_releases_of_the_maps(release):
    stated = settlements.measure_settlements(release, 20)
    maps, _ = make_maps(BOX, float(release.table.count.sum()), 5)
    off = {kind: [] for kind in SETTLEMENT_KINDS}
    for trial in range(20):
        one = maps[trial % len(maps)]
        key = geodp.NoiseKey(hashlib.sha256(f"geodp estimate, public, {trial}".encode()).digest())
        again = release.method.release(one.table, release.event, key)
        error = again.to_dense() - one.table.to_dense()
        for kind in {*one.kinds}:
            some = [i for i, other in enumerate(one.kinds) if other == kind]
            own, around = (
                sum(error[cells(BOX, keys[i])].sum() for i in some)
                for keys in (one.cells, one.around)
            )
            true = sum(one.table.to_dense()[cells(BOX, one.cells[i])].sum() for i in some)
            off[SETTLEMENT_KINDS[kind]].append((100 * own / true, 100 * around / true))
    assert len(stated.settlements) == len(SETTLEMENT_KINDS)
    for row, (kind, some) in zip(stated.settlements, off.items(), strict=True):
        assert (row.people, row.surroundings) == (SIZES[kind[0]], kind[1])
        own, around = np.array(some).T
        assert row.own == pytest.approx(own.mean(), abs=0.006)
        assert row.near == pytest.approx(around.mean(), abs=0.006)
        assert row.own_simulation_error == pytest.approx(
            own.std(ddof=1) / np.sqrt(len(own)), abs=0.006
        )
    assert stated.settlements[-1].below is None


def test_they_need_domain_method_and_sum_of_a_release_alone(release):
    """A table with as many people elsewhere has the same."""
    key = np.arange(release.table.count.size, dtype=np.uint64)
    moved = geodp.table.counts.ReleasedTable(BOX, key, release.table.count, release.event)
    first, again = (
        settlements.measure_settlements(one, 20) for one in (release, geodp.Release(moved))
    )
    assert first == again


def test_the_smaller_and_the_lonelier_lose_more(release):
    stated = settlements.measure_settlements(release, 40)
    own = {(row.people, row.surroundings): row.own for row in stated.settlements}
    for place in (ISOLATED, COASTAL):
        assert own[200, place] < own[3_000, place] < 0
    lonely, among = (
        np.mean([own[size, place] for size in SIZES[:-1]]) for place in (ISOLATED, INLAND)
    )
    assert lonely < among


def test_a_small_domain_states_the_kinds_that_fit():
    grid = geodp.Grid.regular((24, 24))
    table = geodp.CountTable.from_dense(np.full((24, 24), 30), grid)
    release = geodp.publish(table, epsilon=1, key=geodp.NoiseKey(bytes(32)), contribution=1)
    stated = settlements.measure_settlements(release, 20)
    assert 0 < len(stated.settlements) < len(SETTLEMENT_KINDS)


def test_maps_with_labels_have_none():
    grid = geodp.Grid.regular((16, 16)).with_attribute("sex", ["female", "male"])
    table = geodp.CountTable.from_dense(np.full((16, 16, 2), 30), grid)
    release = geodp.publish(table, epsilon=1, contribution=1, method="pyramid")
    assert settlements.measure_settlements(release, 20) is None


def test_the_card_for_people_has_a_row_for_each(tmp_path):
    table = geodp.CountTable.from_dense(np.full((16, 16), 30), geodp.Grid.regular((16, 16)))
    release = geodp.publish(table, epsilon=1, contribution=1, simulate=20)
    release.write(tmp_path / "out")
    _, card = read_release_table(tmp_path / "out")
    text = markdown(card)
    assert "they are placed on a map of synthetic towns on the domain" in text.lower()
    for row in card.expected_error.settlements.settlements:
        assert f"| {row.surroundings} | {row.own:+.1f} % ±" in text
