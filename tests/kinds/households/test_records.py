"""Records of persons with a household id: sizes, and places that no member decides."""

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import InputError, UsageError
from tests.kinds.households.test_publish import require_possible
from tests.refusals import refuses

GRID = geodp.Grid.regular((4, 4), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))


def records(households):
    """One row for each member of households, which are a cell and a size; in mixed order."""
    rows = [
        (f"h{number}", column + 0.5, row + 0.5)
        for number, ((row, column), size) in enumerate(households)
        for _ in range(size)
    ]
    rows = [rows[i] for i in np.random.default_rng(1).permutation(len(rows))]
    ids, x, y = zip(*rows, strict=True)
    return pa.table({"id": ids, "x": x, "y": y})


def read(table, **more):
    options = {"grid": GRID, "household": "id", "x": "x", "y": "y"}
    return geodp.households.read_records(table, **{**options, **more})


def random_households(seed=2, number=200):
    draw = np.random.default_rng(seed)
    return [
        (tuple(draw.integers(0, 4, 2).tolist()), int(draw.integers(1, 10))) for _ in range(number)
    ]


@pytest.mark.parametrize("max_size", [2, 7])
def test_households_are_counted_by_cell_and_size(max_size):
    households = random_households()
    expected = np.zeros((4, 4, max_size), int)
    for (row, column), size in households:
        expected[row, column, min(size, max_size) - 1] += 1
    table = read(records(households), max_size=max_size)
    assert np.array_equal(table.to_dense(), expected)
    assert (table.bound.value, table.bound.enforced, table.bound.unit) == (1, True, "household")
    with refuses(UsageError, "bound-of-other-unit"):
        geodp.publish(table, epsilon=1)


def test_records_are_published_with_what_each_unit_needs():
    table = read(records(random_households()))
    release = geodp.households.publish(by_size=table, protect="household", epsilon=1)
    require_possible(release)
    assert release.index.guarantee.assumptions[0].stated_by == "geodp"
    facts = release.persons.public_facts
    said = "all records of a household inside the domain lie in one cell"
    assert any(said in fact for fact in facts)
    # Ids of households bound how often these are counted, and not in how many one person is.
    with refuses(UsageError, "households-contribution-unstated"):
        geodp.households.publish(by_size=table, protect="person", epsilon=1)
    release = geodp.households.publish(by_size=table, protect="person", epsilon=1, contribution=1)
    assert release.index.guarantee.assumptions[0].stated_by == "operator"


def test_a_household_in_two_cells_is_refused():
    """Its members would decide where it is: one person could change two cells."""
    table = pa.table({"id": ["a", "b", "a"], "x": [0.5, 1.5, 2.5], "y": [0.5] * 3})
    with refuses(InputError, "household-in-two-places"):
        read(table)


def test_fractions_are_no_ids():
    table = pa.table({"id": [1.5, 2.5], "x": [0.5, 1.5], "y": [0.5, 0.5]})
    with refuses(InputError, "households-not-told-apart: households are identified"):
        read(table)


def test_a_household_partly_outside_has_the_members_inside_and_the_card_says_so():
    table = pa.table({"id": ["a", "a", "a"], "x": [0.5, 0.5, 9.5], "y": [0.5] * 3})
    sizes = read(table, outside="drop")
    assert sizes.to_dense()[0, 0].tolist() == [0, 1, 0, 0, 0, 0, 0]
    release = geodp.households.publish(by_size=sizes, protect="household", epsilon=1)
    card = release.households.card()
    said = "Records outside the domain, where these are dropped, are no members"
    assert any(said in line for line in card.guarantee.not_protected)


@pytest.mark.parametrize("name", ["size", "HH size", "household_size", "世帯人員", "Taille"])
def test_rows_with_a_size_may_be_households(name):
    table = records([((0, 0), 3), ((1, 1), 2)])
    sized = table.append_column(name, [[1] * table.num_rows])
    with refuses(InputError, "rows-may-be-households: --rows-are-persons"):
        read(sized)
    assert np.array_equal(read(sized, rows_are_persons=True).to_dense(), read(table).to_dense())


@pytest.mark.parametrize("name", ["city_size", "sizeable", "membership"])
def test_other_names_are_no_sizes(name):
    table = records([((0, 0), 3)])
    assert read(table.append_column(name, [[1] * 3])).count.tolist() == [1]
