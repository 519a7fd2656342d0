"""The setting for a release with a prior: errors of blocks, and the choice by them."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.table.counts import ReleasedTable
from geodp.table.prior import Prior
from geodp.tools.plan.api import trust
from geodp.tools.plan.plan import block_errors, mean_error, plan
from tests.grids import half, masked
from tests.refusals import refuses

GRID = geodp.Grid.regular((16, 16))


@pytest.mark.parametrize(
    "grid", [GRID, masked(GRID, half(GRID.shape, 0)), GRID.with_attribute("sex", ["f", "m"])]
)
def test_errors_of_blocks_are_those_of_their_cells(grid):
    random = np.random.default_rng(1)
    every = np.sort(grid.domain.keys_of_ranks(np.arange(grid.domain.cells)))
    truth, counts = (random.integers(0, 4, every.size) for _ in range(2))
    table = geodp.CountTable.from_keys(grid, every[truth > 0], truth[truth > 0])
    event = geodp.publish(table, epsilon=1, contribution=1).event
    released = ReleasedTable(grid, every[counts > 0], counts[counts > 0], event)
    found = block_errors(table, released)
    for digits, mean in enumerate(found.tolist()):
        stride = int(np.prod(grid.order.radices[digits:]))
        blocks = np.unique(every // np.uint64(stride), return_inverse=True)[1].reshape(-1)
        wanted = np.abs(np.bincount(blocks, counts - truth)).mean()
        assert mean == pytest.approx(wanted)


def test_an_empty_map_that_is_released_as_such_has_no_errors():
    empty = np.empty(0, np.uint64), np.empty(0, np.int64)
    table = geodp.CountTable.from_keys(GRID, *empty)
    event = plan(GRID, epsilon=1).event
    assert block_errors(table, ReleasedTable(GRID, *empty, event)).tolist() == [0.0] * 9


def test_the_better_of_both_is_planned_and_both_errors_are_stated():
    random = np.random.default_rng(2)
    prior, other = (
        geodp.CountTable.from_dense(random.poisson(3, GRID.shape), GRID) for _ in range(2)
    )
    for table in (None, other):
        found = trust(GRID, prior, table=table, releases=2, epsilon=1)
        expected = Prior.of(GRID, prior, "the prior of the plan")
        errors = [
            mean_error(plan(GRID, name, epsilon=1), table or prior, expected, 2)
            for name in ("pyramid", "pyramid:setting=informed")
        ]
        stated = found.reasons[0].removesuffix(".").split("errors: ")[1].split("; ")
        assert [float(one.split()[1]) for one in stated] == pytest.approx(errors, rel=1e-3)
        assert found.name == ("pyramid", "pyramid:setting=informed")[errors[1] < errors[0]]
        assert len(found.reasons) == (2 if table is None else 1)


def test_the_choice_needs_a_release():
    with refuses(UsageError, "prior-needs-simulation"):
        trust(GRID, geodp.CountTable.from_keys(GRID, [1], [5]), releases=0, epsilon=1)
