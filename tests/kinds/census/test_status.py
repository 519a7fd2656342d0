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
