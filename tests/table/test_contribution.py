from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import geodp
from geodp.errors import UsageError
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.key import NoiseKey, Stream, blocks, digest
from geodp.table.contribution import bound_contribution, combine_bounds, truncate
from tests.refusals import refuses

records = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=40)
bounds = st.integers(1, 4)
rules = st.sampled_from(["first", "sample"])
SECRET = NoiseKey(bytes(32))


def columns(rows):
    person = np.array([p for p, _ in rows], np.int64)
    return person, np.array([k for _, k in rows], np.uint64)


def summed(rows, **options):
    """Counts by cell after truncation."""
    key, count = truncate(*columns(rows), **options)
    return {int(k): int(count[key == k].sum()) for k in np.unique(key)}


@given(records, bounds, bounds)
def test_first_cells_in_file_order_are_kept(rows, cells, per_cell):
    kept, expected = {}, {}
    for person, cell in rows:
        mine = kept.setdefault(person, {})
        if cell in mine or len(mine) < cells:
            mine[cell] = mine.get(cell, 0) + 1
    for mine in kept.values():
        for cell, n in mine.items():
            expected[cell] = expected.get(cell, 0) + min(n, per_cell)
    assert summed(rows, cells=cells, per_cell=per_cell) == expected


@given(records, bounds, bounds, rules, st.integers(0, 6))
def test_one_person_changes_the_counts_by_at_most_the_bound(rows, cells, per_cell, rule, who):
    options = {"cells": cells, "per_cell": per_cell, "truncation": rule, "secret": SECRET}
    everyone = [person for person, _ in rows]
    for person in set(everyone):
        alone = [row for row in rows if row[0] == person]
        assert sum(summed(alone, **options).values()) <= cells * per_cell
    if rule == "first":
        without = [row for row in rows if row[0] != who]
        one, two = summed(rows, **options), summed(without, **options)
        change = sum(abs(one.get(k, 0) - two.get(k, 0)) for k in {*one, *two})
        assert change <= cells * per_cell


def test_a_sample_of_cells_is_uniform():
    person, key = np.zeros(4, np.int64), np.arange(4, dtype=np.uint64)
    chosen = np.zeros(4, int)
    for trial in range(2000):
        kept, _ = truncate(
            person,
            key,
            cells=1,
            per_cell=1,
            truncation="sample",
            secret=NoiseKey(trial.to_bytes(32, "little")),
        )
        chosen[int(kept[0])] += 1
    assert (abs(chosen - 500) < 5 * np.sqrt(2000 * 0.25 * 0.75)).all()


def test_a_kept_key_samples_again_in_the_same_way():
    rows = [(p, c) for p in range(50) for c in range(5)]
    options = {"cells": 2, "per_cell": 1, "truncation": "sample"}
    one, two = (summed(rows, secret=SECRET, **options) for _ in range(2))
    assert one == two
    assert one != summed(rows, secret=NoiseKey(bytes([1]) * 32), **options)


@pytest.mark.parametrize("seed", range(8))
def test_a_sample_is_drawn_by_the_record_from_a_key_of_all_records(seed):
    """The two smallest words of the blocks of a person's first records in each cell."""
    rng = np.random.default_rng(seed)
    person, key = np.repeat([3, 8], 4), rng.permutation(8).astype(np.uint64)
    secret = SECRET.derive(digest(person, key))
    word = blocks(secret, Stream.SAMPLE, np.arange(8, dtype=np.uint64))[0]
    wanted = [*np.argsort(word[:4])[:2], *(4 + np.argsort(word[4:])[:2])]
    options = {"cells": 2, "per_cell": 1, "truncation": "sample", "secret": SECRET}
    assert sorted(truncate(person, key, **options)[0]) == sorted(key[wanted])


@pytest.mark.parametrize(
    "options",
    [
        {"cells": 0, "per_cell": 1},
        {"cells": 1, "per_cell": 1.5},
        {"cells": True, "per_cell": 1},
        {"cells": 1, "per_cell": 1, "truncation": "last"},
    ],
)
def test_wrong_bounds_are_refused(options):
    wrong = next(name for name, value in options.items() if type(value) is not int or value < 1)
    said = "truncation-unknown" if wrong == "truncation" else rf"contribution-form: \b{wrong}\b"
    with refuses(UsageError, said):
        truncate(*columns([(1, 2)]), **options)


GRID = geodp.Grid.regular((4, 4), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))


def points(tmp_path, text, **options):
    file = tmp_path / "trips.csv"
    file.write_text(text)
    return geodp.read_points(file, grid=GRID, x="x", y="y", **options)


TRIPS = "who,x,y\nann,0.5,0.5\nann,0.5,0.5\nann,2.5,0.5\nbob,3.5,3.5\n"


def test_points_with_persons_enforce_their_bound(tmp_path):
    table = points(tmp_path, TRIPS, person="who", cells=1, per_cell=2)
    assert table.to_dense()[0].tolist() == [2, 0, 0, 0]
    release = geodp.publish(table, epsilon=1)
    assert release.event.contribution == 2
    assert release.event.enforced
    assert "enforced" in release.card().guarantee.contribution_bound
    with refuses(UsageError, "contribution-below-table"):
        geodp.publish(table, epsilon=1, contribution=1)
    assert geodp.publish(table, epsilon=1, contribution=2).event.contribution == 2
    assert bound_contribution(table, 3) == ContributionBound(3, "geodp")


def test_points_without_persons_need_somebody_who_vouches(tmp_path):
    table = points(tmp_path, TRIPS)
    with refuses(UsageError, "contribution-unstated: --contribution"):
        geodp.publish(table, epsilon=1)
    release = geodp.publish(table, epsilon=1, contribution=3)
    assert "vouched" in release.card().guarantee.contribution_bound


def test_bounds_of_several_units_are_none_together():
    day, person = (ContributionBound(2, "geodp", unit=unit) for unit in ("person-day", "person"))
    assert combine_bounds([day, ContributionBound(3)]) == replace(
        day, value=3, stated_by="operator"
    )
    with refuses(UsageError, "bounds-of-several-units"):
        combine_bounds([day, person])
