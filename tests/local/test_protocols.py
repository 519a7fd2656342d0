"""What every protocol must do: private as claimed, exact whatever the split, and no bad report."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from geodp.errors import CodeError, UsageError
from geodp.grid.grid import Grid
from geodp.local.coins import Chance, FixedCoins
from geodp.local.protocols import protocol
from geodp.local.tree import restore_state
from tests.refusals import refuses

ONE = Fraction(1)
ALWAYS, NEVER = 0, 0xFFFFFFFF
SPECS = ["haar", "haar:weights=3-1-1-2-1-1", "counts:chain=2-4", "counts:chain=1-5"]


def collect(spec, grid, n=2000, seed=1, epsilon=ONE):
    """A protocol, its oracles, and reports of devices in random cells."""
    method, rng = protocol(spec), np.random.default_rng(seed)
    index = np.stack([rng.integers(0, size, n) for size in grid.shape])
    oracles, units = method.oracles(grid, epsilon), rng.integers(0, 1 << 32, 12 * n, np.uint32)
    return method, oracles, method.randomize(oracles, grid.encode(index), FixedCoins(units))


@pytest.mark.parametrize(
    ("spec", "bits"),
    [("haar", 6), ("haar", 24), ("haar", 40), ("haar", 62), ("counts:chain=4-4", 8),
     ("counts:chain=2-2-2-2", 8)],
)  # fmt: skip
def test_any_split_gives_the_same_state(spec, bits):
    method, oracles, reports = collect(spec, Grid.regular((1 << bits // 2,) * 2))
    whole, order = method.aggregate(oracles, reports), np.random.default_rng(0).permutation(2000)
    merged, *parts = (
        method.aggregate(oracles, some) for some in np.array_split(reports[order], 40)
    )
    for part in parts:
        merged += part
    assert merged == whole
    assert merged.reports == 2000


@pytest.mark.parametrize("spec", SPECS)
def test_a_state_comes_back_from_its_arrays(spec):
    method, oracles, reports = collect(spec, Grid.regular((8, 8)))
    state = method.aggregate(oracles, reports)
    assert restore_state(oracles, state.arrays()) == state
    with pytest.raises(UsageError):
        restore_state(method.oracles(Grid.regular((8, 8)), 2 * ONE), state.arrays())


@pytest.mark.parametrize(
    ("spec", "name", "value"),
    [
        *(("haar:weights=3-1-1-2-1-1", *one) for one in
          (("level", 6), ("level", 255), ("row", 1 << 5), ("bit", 2))),
        *(("counts:chain=1-5", *one) for one in
          (("level", 2), ("row", 64), ("bit", 2), ("value", 2))),
    ],
)  # fmt: skip
def test_a_report_out_of_range_is_refused_and_not_quoted(spec, name, value):
    method, oracles, reports = collect(spec, Grid.regular((8, 8)))
    reports["level"][5] = 2 if spec.startswith("haar") else name != "value"
    reports[name][5] = value
    with refuses(CodeError, "report-field-out-of-range: damaged") as error:
        method.aggregate(oracles, reports)
    assert error.value.position == 5
    assert str(tuple(reports[5])) not in str(error.value)
    other = np.zeros(3, np.dtype([("level", "u1"), ("more", "<u4")]))
    with refuses(UsageError, "report-fields-differ|oracle-report-fields"):
        method.aggregate(oracles, other)


def law_of(spec, key, p):
    """Exact probabilities of all reports of a device in a cell of 2**2, from the code itself."""
    method, found = protocol(spec), {}
    oracles = method.oracles(Grid.regular((2, 2)), ONE)
    for chosen, row, turned in product(range(4), range(4), (True, False)):
        coins = FixedCoins([chosen, row, ALWAYS if turned else NEVER])
        report = method.randomize(oracles, np.array([key], np.uint64), coins)
        made = tuple(map(int, report[0]))
        found[made] = found.get(made, 0) + (p if turned else 1 - p) / 16
    assert sum(found.values()) == pytest.approx(1)
    return found


@pytest.mark.parametrize(
    "spec", ["haar:weights=1-3", "counts:chain=1-1,oracle=hadamard,weights=1-3"]
)
@pytest.mark.parametrize(("part", "holds"), [(1, True), (0.5, False)])
def test_the_privacy_claim_holds_with_equality_and_half_the_flips_are_caught(spec, part, holds):
    p = float(Chance(1, 1, ONE)) * part
    laws = [law_of(spec, key, p) for key in range(4)]
    outputs = set().union(*laws)
    assert all(set(law) == outputs for law in laws)
    largest = max(
        abs(math.log(one[o] / other[o])) for one in laws for other in laws for o in outputs
    )
    assert (largest == pytest.approx(1, rel=1e-9)) is holds
    assert (largest <= 1 + 1e-9) is holds


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        *((f"haar:weights={weights}", "weights-form: haar:weights") for weights in
          ("1-0", "1", "1-x", "1-2-3")),
        ("counts:passes=3", "counts-passes"),
        ("counts:chain=x", "chain-form: counts:chain"),
        ("counts:oracle=none", "counts-oracle-unknown"),
        ("counts:oracle=oue", "counts-oracle-long"),
        ("counts:weights=1-2-3", "weights-form"),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(spec, rule):
    with refuses(UsageError, rule):
        protocol(spec).oracles(Grid.regular((16, 16)), ONE)[0].randomize([1])
