"""Classes, trees of values, and generalisation, against slow twins."""

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.literature.recoding import Taxonomy, generalize, ncp
from geodp.table.counts import CountTable
from geodp.tools.audit.classes import EquivalenceClasses, k_anonymity
from tests.reference import suppression
from tests.refusals import refuses

DIGITS = {"*": ("low", "high"), "low": ("1", "2", "3"), "high": ("4", "5", "6")}
LETTERS = {"*": ("ab", "c", "def"), "ab": ("a", "b"), "def": ("d", "ef"), "ef": ("e", "f")}


def tree_of(children):
    return Taxonomy.of([(child, parent) for parent, below in children.items() for child in below])


def test_classes_are_those_of_equal_rows():
    draw = np.random.default_rng(7)
    table = {"age": draw.integers(17, 40, 3000), "sex": draw.choice(["f", "m"], 3000)}
    plain = Counter(zip(*(column.tolist() for column in table.values()), strict=True))
    found = EquivalenceClasses.of(table, None, None)
    rows = {
        tuple(values[i] for values, i in zip(found.values.values(), code, strict=True)): n
        for code, n in zip(found.code.T.tolist(), found.count.tolist(), strict=True)
    }
    assert rows == plain
    assert k_anonymity(table) == min(plain.values())
    assert k_anonymity(table, ["sex"]) == min(Counter(table["sex"].tolist()).values())


def test_rows_may_stand_for_many_and_for_nobody():
    table = {"sex": ["f", "m", "m", "x"], "n": [4, 2**59, 2**59 - 3, 0]}
    assert k_anonymity(table, count="n") == 4
    assert EquivalenceClasses.of(table, None, "n").count.tolist() == [4, 2**60 - 3]


@pytest.mark.parametrize("make", [list, tuple, np.array, pa.array, lambda x: pa.chunked_array([x])])
def test_columns_come_as_they_are(make):
    assert k_anonymity({"a": make([1, 1, 2, 2, 2])}) == 2
    assert k_anonymity({"a": make(["x", "y", "x"])}) == 1


def test_cells_of_a_map_are_classes():
    grid = Grid.regular((2, 2))
    assert k_anonymity(CountTable.from_dense([[0, 3], [5, 2**59]], grid)) == 3
    with refuses(InputError, "table-without-records"):
        k_anonymity(CountTable.from_dense([[0, 0], [0, 0]], grid))


@pytest.mark.parametrize(
    ("table", "given", "error", "said"),
    [
        ({"a": [1, None]}, {}, InputError, "column-has-missing"),
        ({"a": [1.0, float("nan")]}, {}, InputError, "column-has-missing"),
        ({"a": [1, "x"]}, {}, InputError, "column-of-mixed-types"),
        ({"a": [1], "b": [1, 2]}, {}, UsageError, "columns-differ-in-length"),
        ({"a": []}, {}, InputError, "table-without-records"),
        ({}, {}, UsageError, "columns-unknown"),
        ({"a": [1]}, {"columns": ["b"]}, UsageError, r"columns-unknown: \ba\b"),
        ({"a": [1], "n": [-1]}, {"count": "n"}, InputError, "count-not-whole"),
        ([1, 2], {}, UsageError, "records-form"),
    ],
)
def test_bad_tables_are_refused_without_a_value(table, given, error, said):
    with refuses(error, said):
        k_anonymity(table, **given)


def test_the_penalty_of_the_literature():
    trees = {"letter": tree_of(LETTERS), "digit": tree_of(DIGITS)}
    assert ncp({"letter": "ab", "digit": "high"}, trees) == Fraction(5, 6)
    assert ncp({"letter": "a", "digit": 4}, trees) == 0
    assert ncp({"letter": "*", "digit": "*"}, trees) == 2
    with refuses(UsageError, "hierarchy-missing"):
        ncp({"colour": "red"}, trees)
    with refuses(UsageError, "value-not-in-hierarchy"):
        ncp({"digit": "7"}, trees)


@pytest.mark.parametrize(
    "pairs",
    [
        [("a", "x"), ("a", "y"), ("x", "*"), ("y", "*")],
        [("a", "x"), ("b", "y")],
        [("a", "b"), ("b", "a")],
        [("a", "*"), ("x", "y"), ("y", "x")],
        [],
    ],
)
def test_what_is_no_tree_is_refused(pairs):
    with refuses(UsageError, "hierarchy-in-circle|hierarchy-one-root|hierarchy-two-parents"):
        Taxonomy.of(pairs)


@pytest.mark.parametrize("seed", range(12))
def test_generalisation_is_its_slow_twin(seed):
    draw = random.Random(seed)
    k = draw.choice((1, 2, 3, 6))
    records = [
        (draw.choice("aabbccddeef"), draw.choice("111223456")) for _ in range(draw.randrange(k, 40))
    ]
    table = {"letter": [a for a, _ in records], "digit": [b for _, b in records]}
    found = generalize(table, {"letter": tree_of(LETTERS), "digit": tree_of(DIGITS)}, k)
    cuts = suppression.generalised(records, (LETTERS, DIGITS), k)
    count, lost = suppression.classes(records, (LETTERS, DIGITS), cuts)
    stands = Counter((found.nodes["letter"][a], found.nodes["digit"][b]) for a, b in records)
    assert found.ncp == lost
    assert stands == count
    assert sorted(found.count.tolist()) == sorted(count.values())
    assert found.smallest == min(count.values()) >= k


@pytest.mark.law
def test_areas_of_a_map_keep_k_people():
    grid = Grid.mesh("jis:half", bounds=(139, 35, 141, 36.3333333333))
    draw = np.random.default_rng(3)
    dense = draw.poisson(2.0, grid.shape) * (draw.random(grid.shape) < 0.3)
    table = CountTable.from_dense(dense, grid)
    for k in (1, 5, 60):
        found = generalize(table, None, k)
        assert found.smallest >= k
        assert found.count.sum() == table.count.sum()
        # Where an area stands for cells, one of its parts would have had too few.
        assert (found.ncp == 0) == (k == 1)
    nodes = generalize(table, ["secondary"], 60).nodes["cell"]
    assert {name.partition(" ")[0] for name in nodes.values()} <= {"jis:secondary"}
    official = CountTable.from_dense(dense, grid.with_official_order())
    assert generalize(official, None, 5).ncp == generalize(table, None, 5).ncp


def test_squares_and_regions_stand_for_cells():
    dense = np.zeros((8, 8), np.int64)
    dense[0, 0], dense[0, 1], dense[7, 7], dense[4, 4] = 5, 2, 9, 9
    grid = Grid.regular((8, 8))
    found = generalize(CountTable.from_dense(dense, grid), [4, 2], 3)
    assert found.nodes["cell"] == {
        "0 0": "2 cells a side, 0 0",
        "0 1": "2 cells a side, 0 0",
        "7 7": "7 7",
        "4 4": "4 4",
    }
    assert found.ncp == 7 * Fraction(4, 64)
    cell = np.indices((8, 8)).reshape(2, -1)
    city = [f"{row // 4}" for row in cell[0]]
    regions = Hierarchy.of_cells(cell, {"city": city}, "an example")
    table = CountTable.from_dense(dense, grid.with_hierarchy(regions))
    found = generalize(table, None, 3)
    assert found.nodes["cell"]["0 0"] == "city 0"
    assert found.nodes["cell"]["7 7"] == "7 7"
    assert found.ncp == 7 * Fraction(32, 64)


def test_only_cells_of_a_mask_are_blurred():
    inside = np.zeros((8, 8), bool)
    inside[:4, :4] = inside[6, 6] = True
    grid = Grid.regular((8, 8))
    masked = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "an example"))
    dense = np.zeros((8, 8), np.int64)
    dense[0, 0], dense[3, 3], dense[6, 6] = 2, 2, 3
    found = generalize(CountTable.from_dense(dense, masked), [4], 3)
    assert found.nodes["cell"] == {
        **dict.fromkeys(("0 0", "3 3"), "4 cells a side, 0 0"),
        "6 6": "6 6",
    }
    assert found.ncp == 4 * Fraction(16, 17)


def city_of(row):
    return f"city {row // 7}"


def aged(form):
    """A map with ages, in different orders and with different domains."""
    grid = Grid.mesh("jis:basic", bounds=(139, 35, 139.25, 35.1666666667))
    cell = np.indices(grid.shape).reshape(2, -1)
    grid = grid.with_attribute("age", ["0", "1", "2", "3"])
    if form == "above":
        return grid.with_attribute_order("above")
    if form == "official":
        return grid.with_official_order()
    if form == "regions":
        city = [city_of(row).removeprefix("city ") for row in cell[0]]
        return grid.with_hierarchy(Hierarchy.of_cells(cell, {"city": city}, "an example"))
    inside = np.random.default_rng(2).random(grid.shape[:2]) < 0.8
    return grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "an example"))


AGES = Taxonomy.of({"0": "young", "1": "young", "2": "old", "3": "old", "young": "*", "old": "*"})


@pytest.mark.parametrize("form", ["above", "official", "mask", "regions"])
@pytest.mark.parametrize("trees", [{}, {"age": AGES}])
def test_cells_and_attributes_are_columns_of_records(form, trees):
    """A map with attributes is generalised as the table of its records is."""
    grid, levels = aged(form), None if form == "regions" else ["secondary"]
    draw = np.random.default_rng(5)
    keys = grid.domain.keys_of_ranks(np.sort(draw.permutation(grid.size)[:90]))
    table = CountTable.from_keys(grid, keys, draw.integers(1, 9, 90))
    found = generalize(table, {"cell": levels, **trees} if trees else levels, 20)

    place, index = grid.places[0], grid.decode(table.key)
    every = grid.decode(grid.domain.keys_of_ranks(np.arange(grid.size)))[:2]
    codes = place.format(*every).tolist()
    above = [
        city_of(row) if form == "regions" else f"jis:secondary {code[:6]}"
        for row, code in zip(every[0], codes, strict=True)
    ]
    cells = Taxonomy.of([*zip(codes, above, strict=True), *((one, "*") for one in {*above})])
    records = {
        "cell": place.format(*index[:2]).tolist(),
        "age": index[2].astype(str).tolist(),
        "n": table.count.tolist(),
    }
    ages = trees.get("age", Taxonomy.of(dict.fromkeys("0123", "*")))
    plain = generalize(records, {"cell": cells, "age": ages}, 20, count="n")
    assert found.nodes == plain.nodes
    assert found.ncp == plain.ncp
    assert sorted(found.count) == sorted(plain.count)
    assert found.smallest >= 20


def test_hierarchies_of_what_a_map_does_not_have_are_refused():
    grid = Grid.regular((4, 4)).with_attribute("sex", ["f", "m"])
    table = CountTable.from_dense(np.ones((4, 4, 2), np.int64), grid)
    with refuses(UsageError, "hierarchies-of-other-columns"):
        generalize(table, {"cell": [2], "age": tree_of(DIGITS)}, 2)
    with refuses(InputError, "value-no-leaf"):
        generalize(table, {"cell": [2], "sex": tree_of(DIGITS)}, 2)
    alike = Grid.regular((4, 4)).with_attribute("cell", ["f", "m"])
    with refuses(UsageError, "attribute-named-cell"):
        generalize(CountTable.from_dense(np.ones((4, 4, 2), np.int64), alike), [2], 2)
    pairs = CountTable.from_dense(np.ones((2, 2, 2, 2), np.int64), Grid.regular((2, 2)).pairs())
    with refuses(UsageError, "audit-needs-one-map"):
        generalize(pairs, [2], 2)


@pytest.mark.parametrize(
    ("levels", "said"),
    [([2, 4], "sides-are-tree"), ([6, 4], "sides-are-tree"), (None, "areas-unpublished")],
)
def test_areas_that_do_not_nest_are_refused(levels, said):
    table = CountTable.from_dense(np.ones((8, 8), np.int64), Grid.regular((8, 8)))
    with refuses(UsageError, said):
        generalize(table, levels, 2)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"k": 5}, UsageError, "k-above-records"),
        ({"k": 0}, UsageError, "k-not-whole"),
        ({"table": {"letter": ["a", "z", "a", "a"]}}, InputError, "value-no-leaf"),
        ({"table": {"letter": ["a", "ab", "a", "a"]}}, InputError, "value-no-leaf"),
        ({"hierarchies": None}, UsageError, "hierarchy-for-every-column"),
        ({"hierarchies": {"colour": tree_of(LETTERS)}}, UsageError, "columns-unknown: letter"),
    ],
)
def test_bad_calls_are_refused(given, error, said):
    call = {
        "table": {"letter": ["a", "a", "b", "c"]},
        "hierarchies": {"letter": tree_of(LETTERS)},
        "k": 2,
        **given,
    }
    with refuses(error, said) as found:
        generalize(**call)
    assert "4" not in str(found.value)


def test_neither_shows_what_it_holds():
    found = generalize({"letter": ["a", "a", "b", "c"]}, {"letter": tree_of(LETTERS)}, 1)
    assert repr(found) == str(found) == "Recoding(CONFIDENTIAL, k=1, columns=['letter'])"
    classes = EquivalenceClasses.of({"letter": ["a", "a", "b", "c"]}, None, None)
    assert repr(classes) == "Classes(confidential, columns=['letter'])"
