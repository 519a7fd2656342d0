"""Households, the persons in them and persons outside: they add up, and every household can be."""

from dataclasses import replace

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.joint import split_grid
from geodp.kinds.census.margins import STATUS, Margin, Margins
from geodp.privacy.key import NoiseKey
from geodp.table.counts import ReleasedTable
from tests.kinds.changing import failed
from tests.refusals import refuses

GRID = geodp.Grid.regular((16, 16))
OPTIONS = {"epsilon": 1, "contribution": 1, "contradictions": "refuse"}


def table(counts, grid=GRID):
    return geodp.CountTable.from_dense(counts, grid)


def counts(seed=3):
    """Persons, households, and persons in households."""
    draw = np.random.default_rng(seed)
    homes = draw.poisson(draw.choice([0, 0, 3, 40], GRID.shape))
    members = homes + draw.binomial(5 * homes, 0.3)
    outside = draw.poisson(draw.choice([0, 0, 0, 60], GRID.shape))
    return members + outside, homes, members


def publish(**options):
    persons, homes, members = counts()
    tables = {"households": table(homes), "members": table(members), "max_size": 6}
    return geodp.census.publish(table(persons), **tables, **{**OPTIONS, **options})


@pytest.mark.parametrize("epsilon", [2, "1/30"])
@pytest.mark.parametrize("given", [False, True])
def test_every_household_can_be(epsilon, given, tmp_path):
    """Also where noise is much larger than counts, and where the persons are given."""
    options = {"epsilon": epsilon}
    if given:
        earlier = geodp.publish(table(counts()[0]), epsilon="1/30", contribution=1)
        earlier.write(tmp_path / "map")
        options |= {"given": tmp_path / "map", "given_source": "the office's map"}
    census = publish(**options)
    homes, others, outside = np.moveaxis(census.releases[STATUS].table.to_dense(), -1, 0)
    assert (others <= 5 * homes).all()
    persons = census.releases["persons"].table.to_dense()
    assert np.array_equal(homes + others + outside, persons)
    assert (homes.sum() > 0) == (persons.sum() > 0)
    census.write(tmp_path / "out")
    assert not failed(tmp_path / "out" / "public")


def test_columns_have_the_numbers_of_people_and_households():
    census, (persons, homes, members) = publish(epsilon=1000), counts()
    found = {name: one.value for name, one in census.estimate((0, 0, 16, 16)).items()}
    expected = dict(
        zip(
            census.quantities,
            (persons.sum(), homes.sum(), members.sum(), (persons - members).sum()),
            strict=True,
        )
    )
    assert found == pytest.approx(expected, abs=2)


def test_standard_errors_are_those_that_are_made():
    """Where nobody is clamped, and the parts have different shares, as all have equal noise."""
    homes, members = np.full(GRID.shape, 300), np.full(GRID.shape, 700)
    tables = {"households": table(homes), "members": table(members), "max_size": 6}
    regions = [(x, y, x + side, y + side) for side in (1, 8) for x in (0, 8) for y in (0, 8)]
    ratios = []
    for trial in range(60):
        key = NoiseKey((trial + 1).to_bytes(32, "little"))
        census = geodp.census.publish(table(members + 400), **tables, **OPTIONS, key=key)
        for (west, south, east, north), found in zip(
            regions, census.estimate_all(regions), strict=True
        ):
            cells = (east - west) * (north - south)
            for name, true in (
                ("households", 300),
                ("persons in households", 700),
                ("persons outside households", 400),
            ):
                error = found[name].value - true * cells
                ratios.append((cells, error / found[name].standard_error))
    cells, ratio = np.array(ratios).T
    for number in np.unique(cells):
        assert 0.85 < np.sqrt(np.mean(ratio[cells == number] ** 2)) < 1.1


def test_a_member_without_a_household_is_found(tmp_path):
    census = publish()
    status = census.releases[STATUS]
    joint = split_grid(status.grid)
    cell, part = joint.split(status.table.key)
    # All of a cell that has households become other members.
    count = status.table.count * (cell == cell[part == 1][0])
    key = np.where(count > 0, joint.join(cell, np.ones_like(part)), status.table.key)
    keys, at = np.unique(key, return_inverse=True)
    moved = ReleasedTable(
        status.grid, keys, np.bincount(at, status.table.count).astype(int), status.table.event
    )
    changed = {**census.releases, STATUS: replace(status, table=moved)}
    replace(census, releases=changed).write(tmp_path / "out")
    assert "reference person" in failed(tmp_path / "out" / "public")["constraints"]


def test_cells_that_cannot_be_are_refused_or_trimmed():
    persons, homes, members = counts()
    persons[0, :4], homes[0, :4], members[0, :4] = 9, (0, 1, 9, 9), (5, 9, 12, 4)
    tables = {"households": table(homes), "members": table(members), "max_size": 6}
    with refuses(UsageError, "census-households-impossible"):
        geodp.census.publish(table(persons), **tables, **OPTIONS)
    geodp.census.publish(table(persons), **tables, **{**OPTIONS, "contradictions": "fit"})


SIZED = GRID.with_attribute("size", ["1", "2", "3", "4+"])


def sized_counts(seed=3):
    """Persons, households by size, and persons in households."""
    draw = np.random.default_rng(seed)
    mean = draw.choice([0, 0, 3, 40], GRID.shape)[..., None]
    homes = draw.poisson(mean * np.array([0.4, 0.3, 0.2, 0.1]))
    members = (homes * np.arange(1, 5)).sum(axis=2) + draw.binomial(2 * homes[..., 3], 0.3)
    return members + draw.poisson(draw.choice([0, 0, 0, 60], GRID.shape)), homes, members


def publish_sized(**options):
    persons, homes, members = sized_counts()
    tables = {"households": table(homes, SIZED), "members": table(members), "max_size": 6}
    return geodp.census.publish(table(persons), **tables, **{**OPTIONS, **options})


@pytest.mark.parametrize("epsilon", [2, "1/30"])
def test_households_of_every_size_can_be(epsilon, tmp_path):
    """Also where noise is much larger than counts."""
    census = publish_sized(epsilon=epsilon)
    counts = census.releases[STATUS].table.to_dense()
    ranks, others, outside = counts[..., :4], counts[..., 4], counts[..., 5]
    assert (np.diff(ranks, axis=-1) <= 0).all()
    assert (others <= 2 * ranks[..., 3]).all()
    persons = census.releases["persons"].table.to_dense()
    assert np.array_equal(ranks.sum(axis=-1) + others + outside, persons)
    census.write(tmp_path / "out")
    assert not failed(tmp_path / "out" / "public")


def test_households_of_a_size_or_more_have_columns():
    census, (persons, homes, members) = publish_sized(epsilon=10_000), sized_counts()
    found = {name: one.value for name, one in census.estimate((0, 0, 16, 16)).items()}
    larger = {f"households of {n} or more": homes[..., n - 1 :].sum() for n in (2, 3, 4)}
    assert found == pytest.approx(
        {
            "persons": persons.sum(),
            "households": homes.sum(),
            **larger,
            "persons in households": members.sum(),
            "persons outside households": (persons - members).sum(),
        },
        abs=2,
    )
    of_two = census.difference("households of 2 or more", "households of 3 or more", (0, 0, 8, 8))
    assert of_two.value == pytest.approx(homes[:8, :8, 1].sum(), abs=2)


def test_more_large_households_than_small_ones_are_found(tmp_path):
    census = publish_sized()
    status = census.releases[STATUS]
    joint = split_grid(status.grid)
    cell, part = joint.split(status.table.key)
    # The first and the second persons of a cell change places.
    first = cell == cell[(part == 1) & np.isin(cell, cell[part == 2])][0]
    place = np.where(first & (part < 2), 1 - part, part)
    keys = joint.join(cell, place)
    order = np.argsort(keys)
    moved = ReleasedTable(status.grid, keys[order], status.table.count[order], status.table.event)
    changed = {**census.releases, STATUS: replace(status, table=moved)}
    replace(census, releases=changed).write(tmp_path / "out")
    assert "n or more persons" in failed(tmp_path / "out" / "public")["constraints"]


def with_cell(persons, homes, members):
    """Return the tables with other counts in one cell."""
    tables = [*sized_counts()]
    for one, here in zip(tables, (persons, homes, members), strict=True):
        one[0, 0] = here
    made = zip(("households", "members"), map(table, tables[1:], (SIZED, GRID)), strict=True)
    return table(tables[0]), {**dict(made), "max_size": 6}


@pytest.mark.parametrize(
    "cell",
    [(9, (1, 1, 1, 0), 5), (10, (1, 1, 1, 0), 7), (9, (0, 0, 0, 1), 7), (5, (1, 1, 1, 0), 6)],
    ids=["too few", "too many without large ones", "too many", "more than persons"],
)
def test_sizes_that_cannot_be_are_refused(cell):
    persons, tables = with_cell(*cell)
    with refuses(UsageError, "census-sizes-impossible"):
        geodp.census.publish(persons, **tables, **OPTIONS)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"members": None}, "census-sizes-without-members"),
        ({"max_size": 4}, "census-sizes"),
        ({"contradictions": "fit"}, "census-fit-sizes"),
        ({"unit": "household"}, "census-unit"),
    ],
    ids=["members", "size", "fit", "unit"],
)
def test_sizes_that_do_not_go_together_are_refused(changed, code):
    persons, tables = with_cell(9, (1, 1, 1, 0), 6)
    with refuses(UsageError, code):
        geodp.census.publish(persons, **{**tables, **OPTIONS, **changed})


def test_more_sizes_than_are_told_apart_are_refused():
    grid = GRID.with_attribute("size", [*map(str, range(1, 9))])
    sized = table(np.ones((16, 16, 8), int), grid)
    with refuses(UsageError, "census-sizes"):
        geodp.census.publish(
            table(np.full((16, 16), 99)), households=sized, members=table(np.full((16, 16), 36)),
            max_size=20, **OPTIONS,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"households": None}, "census-tables"),
        ({"max_size": 1}, "option-out-of-range"),
        ({"members": table(np.eye(8, dtype=int), geodp.Grid.regular((8, 8)))}, "census-tables"),
        ({"household_margins": {"size": None}}, "census-tables|census-members-and-margins"),
    ],
    ids=["alone", "size", "grid", "margins"],
)
def test_tables_that_do_not_go_together_are_refused(options, code):
    persons, homes, members = counts()
    tables = {"households": table(homes), "members": table(members), **options}
    with refuses(UsageError, code):
        geodp.census.publish(table(persons), **tables, **OPTIONS)


def test_a_margin_of_another_name_has_no_largest_size():
    with refuses(UsageError, "margin-max-size"):
        Margins((Margin("kind", "persons", ("a", "b", "c"), max_size=7),))
