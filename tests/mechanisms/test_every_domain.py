"""Three questions to every method on every form of grid: where, how many, and how it is judged."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.mechanisms import mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable
from geodp.tools.evaluate.queries import Truth
from tests.grids import FORMS, cells_of
from tests.reference import evaluate as reference

SMALL = Fraction(1, 100)
"""An epsilon whose noise is about a hundred people."""

SPECS = [
    *sorted(geodp.METHODS.keys() - {"filter", "matrix"}),
    "barak:nonnegative=no",
    "filter:theta=1",  # of every two empty cells nearly one passes
    "filter:theta=200",
    "hay:nonnegative=yes",
    "matrix:strategy=tree",  # without the descent, which is slow
    "mwem:average=yes",
    "quadtree:height=2",
]
RARE = ("barak", "filter:theta=200")
"""Which cells they hit takes many trials."""

EVENING = ("agrid", "dawa", "mwem", "mwem:average=yes", "ugrid")
"""Few people are counted in blocks of several cells, and spread over those of the domain."""

TRIALS = 3000
"""At most, until every cell has been hit."""

MANY_ERRORS = 9.0
"""Standard errors of a mean that a method without bias does not reach with these keys."""


UNPARTED = [
    name
    for name, grid in FORMS.items()
    if not grid.attributes and mechanism("parts").unsupported(grid) is None
]
"""Forms on which ``parts`` is the pyramid, see the first test; there it is asked nothing else."""

USUAL = ("padded", "attribute", "pairs", "mask", "regions")
"""Forms of which every method is asked each time; of the others our own, and laws ask the rest."""


def asked():
    """Every method on every form that it takes; other settings and mixed forms are laws."""
    for spec in SPECS:
        other = ":" in spec and not spec.startswith(("filter", "matrix"))
        for name, grid in FORMS.items():
            rest = name not in USUAL and spec not in ("pyramid", "topdown")
            long = [pytest.mark.law] * (other or "," in name or rest)
            if spec == "parts" and name in UNPARTED:
                continue
            if mechanism(spec).unsupported(grid) is None:
                yield pytest.param(spec, grid, id=f"{spec}, {name}", marks=long)


every_method_on_every_form = pytest.mark.parametrize(("spec", "grid"), list(asked()))


def key_of(number):
    return geodp.NoiseKey(number.to_bytes(32, "little"))


def releases(spec, table, trials):
    row = mechanism(spec)
    once = row.sensitivity(table.grid)
    spent = Measurement.of(row.spec, Terms.of(epsilon=SMALL, contribution=1), once, "fixed")
    for trial in range(trials):
        yield row.release(table, spent, key_of(trial))


def people(grid, total):
    """So many in all, in every cell of the domain some, unevenly."""
    keys = np.array(sorted(cells_of(grid)), np.uint64)
    draw = np.random.default_rng(11)
    count = draw.multinomial(total - keys.size, draw.dirichlet(np.full(keys.size, 5.0)))
    return CountTable.from_keys(grid, keys, count + 1)


def hits(spec, grid, table, trials):
    """Keys that were released, until there are all."""
    seen = set()
    for released in releases(spec, table, trials):
        seen |= set(released.key.tolist())
        if len(seen) == grid.size:
            break
    return seen


@pytest.mark.parametrize("name", UNPARTED)
def test_without_attributes_parts_are_the_pyramid_bit_for_bit(name):
    for total in (0, 2000):
        table = people(FORMS[name], total) if total else CountTable.from_keys(FORMS[name], [], [])
        for number in range(2):
            terms = {"epsilon": SMALL, "contribution": 1, "key": key_of(number)}
            one, two = (
                geodp.publish(
                    table, method=method, allow_empty=True, **{"contribution": 1, **terms}
                ).table
                for method in ("parts", "pyramid")
            )
            assert one.key.tobytes() == two.key.tobytes()
            assert one.count.tobytes() == two.count.tobytes()


@pytest.mark.parametrize("name", FORMS)
def test_the_domain_is_what_its_definition_says(name):
    grid, cells = FORMS[name], cells_of(FORMS[name])
    every = np.arange(1 << grid.bits, dtype=np.uint64)
    assert every[grid.contains_keys(every)].tolist() == sorted(cells)
    assert grid.size == len(cells)


@every_method_on_every_form
def test_every_cell_of_the_domain_can_be_hit_and_none_outside(spec, grid):
    """An empty table: a cell that cannot be hit would, once it is, be known as occupied."""
    nobody = CountTable.from_keys(grid, [], [])
    if spec in RARE:
        assert hits(spec, grid, nobody, 8) <= cells_of(grid).keys()
    else:
        assert hits(spec, grid, nobody, TRIALS) == cells_of(grid).keys()
    assert hits(spec, grid, people(grid, 2000), 3) <= cells_of(grid).keys()


@pytest.mark.law
@pytest.mark.parametrize("spec", RARE)
@pytest.mark.parametrize("name", FORMS)
def test_every_cell_is_hit_in_the_end_where_hits_are_rare(spec, name):
    grid = FORMS[name]
    assert hits(spec, grid, CountTable.from_keys(grid, [], []), TRIALS) == cells_of(grid).keys()


def quick(case):
    """A case for the suite that people wait for: matrix solves a dense system for every release."""
    spec, grid = case.values
    if spec.startswith("matrix") and grid.bits > 8:
        return pytest.param(spec, grid, id=case.id, marks=pytest.mark.law)
    return case


@pytest.mark.law
@pytest.mark.parametrize(("spec", "grid"), [quick(case) for case in asked()])
def test_the_total_is_unbiased_at_a_small_epsilon(spec, grid):
    """Where cells are populous enough that nothing is clamped, if the method clamps."""
    if spec == "barak:nonnegative=no" and grid.size < 1 << grid.bits:
        pytest.skip("it says that what it gives to keys outside the domain is lost")
    total = 10**5 if spec in EVENING else 10**8
    table = people(grid, total)
    trials = 6 if spec.startswith("matrix") else 16  # it solves a dense system each time
    error = np.array([float(r.total) - total for r in releases(spec, table, trials)])
    standard = error.std(ddof=1) / error.size**0.5
    assert MANY_ERRORS * standard < total / 5, "it would see a fifth of the people missing"
    assert abs(error.mean()) <= MANY_ERRORS * standard


@every_method_on_every_form
def test_the_last_block_of_an_evaluation_is_the_total(spec, grid):
    table = people(grid, 2000)
    truth = Truth(table)
    for released in releases(spec, table, 2):
        figures, _, _ = truth.errors(released)
        error = float(released.total) - 2000
        assert figures["absolute"][-1] == pytest.approx(abs(error), abs=1e-6)
        assert figures["signed"][-1] == pytest.approx(error, abs=1e-6)
        assert figures["square"][-1] == pytest.approx(error**2, abs=1e-6)


@pytest.mark.parametrize("name", FORMS)
def test_an_evaluation_divides_by_the_blocks_of_the_domain(name):
    grid = FORMS[name]
    truth = Truth(people(grid, 2000))
    sizes = reference.areas_of(grid.bits)
    assert [1 << shift for shift in truth.shifts] == sizes
    assert truth.blocks.tolist() == [len({key // n for key in cells_of(grid)}) for n in sizes]
    assert truth.blocks[-1] == 1


@pytest.mark.parametrize("spec", SPECS)
def test_few_regions_in_a_huge_rectangle_are_taken_or_refused_before_arrays_are_made(spec):
    """A quarter of a billion cells around four that are the domain."""
    corners = Hierarchy.of_cells(
        [[0, 0, 16383, 16383], [0, 16383, 0, 16383]], {"city": list("abcd")}, "drawn for a test"
    )
    grid = Grid.regular((1 << 14, 1 << 14)).with_hierarchy(corners)
    if (refusal := mechanism(spec).unsupported(grid)) is not None:
        assert refusal.startswith(mechanism(spec).name)
        assert refusal.endswith(".")
        return
    tracemalloc.start()
    try:
        assert hits(spec, grid, CountTable.from_keys(grid, [0], [1000]), 4) <= {0, 1, 2, 3}
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 32 << 20, "as compiling a kernel takes at most"
