"""Pairs of units: their order, their domain, and sums that agree on every level."""

from itertools import product
from math import prod

import numpy as np
import pandas as pd
import pytest

import geodp
from geodp.errors import CodeError, InputError, UsageError
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import MAX_PARTS, PairOrder
from geodp.grid.tree import overlaps
from geodp.grid.units import grid_of_units, pairs_of_units
from geodp.privacy.key import NoiseKey
from tests.refusals import refuses

UNITS = {
    "block": ["0012", "0111", "0011", "0021", "0112", "0121", "0013"],
    "tract": ["001", "011", "001", "002", "011", "012", "001"],
    "county": ["00", "01", "00", "00", "01", "01", "00"],
}
BLOCKS = UNITS["block"]


@pytest.fixture(scope="module")
def grid() -> Grid:
    return pairs_of_units(grid_of_units(UNITS, "a test"))


def index_of(grid: Grid, pairs: list[tuple[str, str]]):
    ends = zip(*pairs, strict=True)
    return np.concatenate([grid.names.find(list(end)) for end in ends])


def pairs_within(level: str, origin: str, destination: str) -> list[tuple[str, str]]:
    within = dict(zip(BLOCKS, UNITS[level], strict=True))
    return [
        (a, b)
        for a, b in product(BLOCKS, BLOCKS)
        if (within[a], within[b]) == (origin, destination)
    ]


@pytest.mark.parametrize("level", ["block", "tract", "county"])
def test_pairs_of_every_level_are_runs_of_keys(level: str, grid: Grid) -> None:
    steps = grid.areas.steps or ()
    digits = sum(step for _, step in steps[: [name for name, _ in steps].index(level) + 1])
    stride = np.uint64(prod(grid.order.radices[digits:]))
    nodes = {}
    for pair in product(sorted({*UNITS[level]}), repeat=2):
        found = np.unique(grid.encode(index_of(grid, pairs_within(level, *pair))) // stride)
        assert found.size == 1
        nodes[int(found[0])] = pair
        cells = grid.order.count_cells(found * stride, digits, grid.shape)
        assert cells.tolist() == [len(pairs_within(level, *pair))]
    every = np.arange(prod(grid.order.radices[:digits]), dtype=np.uint64)
    assert every[overlaps(grid, every, int(stride))].tolist() == sorted(nodes)


def test_a_level_of_many_parts_is_split_by_origin_first() -> None:
    many = int(MAX_PARTS**0.5) + 1
    blocks = [f"{i:03}" for i in range(many)]
    wide = pairs_of_units(grid_of_units({"block": blocks, "county": ["1"] * many}, "a test"))
    assert wide.areas.steps == (("", 1), ("block", 1))
    assert wide.order.axes == (0, 2)


LABELS = (("hour", [str(hour) for hour in range(24)]), ("mode", ["walk", "car", "bus"]))


@pytest.fixture(scope="module")
def labelled(grid: Grid) -> Grid:
    for name, labels in LABELS:
        grid = grid.with_attribute(name, labels)
    return grid


def test_pairs_have_attributes_below_them(grid: Grid, labelled: Grid) -> None:
    assert labelled.order == PairOrder.of(grid.hierarchy, [(4, 24), (5, 3)])
    assert labelled.order.without_attributes(0, 4) == grid.order
    radices = labelled.order.radices
    every = np.arange(prod(radices), dtype=np.uint64)
    inside = labelled.contains_keys(every)
    # A pair is a run of keys, which is its own key in the order without labels.
    index = labelled.decode(every[inside])
    width = every.size // prod(grid.order.radices)
    assert (grid.encode(index[:4]) == every[inside] // np.uint64(width)).all()
    for digits in range(len(radices) + 1):
        stride = prod(radices[digits:])
        counts = labelled.order.count_cells(every[::stride], digits, labelled.shape)
        assert counts.tolist() == inside.reshape(-1, stride).sum(axis=1).tolist()
        found = overlaps(labelled, np.arange(len(counts), dtype=np.uint64), stride)
        assert found.tolist() == (counts > 0).tolist()


@pytest.mark.parametrize("method", [None, "pyramid"])
def test_counts_of_pairs_by_label_are_published(labelled: Grid, method: str | None) -> None:
    draw = np.random.default_rng(2)
    key = labelled.domain.keys_of_ranks(draw.choice(labelled.size, 500, replace=False))
    table = geodp.CountTable.from_keys(labelled, np.sort(key), draw.poisson(50, 500) + 1)
    terms = {"epsilon": 10**6, "contribution": 1, "key": key_of(3)}
    release = geodp.publish(table, method=method, **terms)
    assert np.array_equal(release.table.key, table.key)
    assert np.array_equal(release.table.count, table.count)
    hour = release.estimate("00:", labels={"hour": "8"})
    index = labelled.decode(table.key)
    north = labelled.names.find([*np.array(BLOCKS)[np.array(UNITS["county"]) == "00"]])[1]
    assert hour.count == table.count[np.isin(index[1], north) & (index[4] == 8)].sum()


def test_attributes_named_as_levels_are_refused(grid: Grid) -> None:
    with refuses(UsageError, "region-level-name-taken"):
        grid.with_attribute("tract", ["a", "b"])


def test_pairs_of_other_grids_and_of_attributes_are_refused(grid: Grid) -> None:
    units = grid_of_units(UNITS, "a test")
    for wrong in (grid, Grid.regular((1, 4)), units.with_attribute("sex", ["f", "m"])):
        with pytest.raises(UsageError):
            pairs_of_units(wrong)
    chain = {f"level{at}": [*"ab", *(f"c{max(i, at)}" for i in range(2, 40))] for at in range(39)}
    with refuses(UsageError, r"pairs-need-long-keys: \b62\b"):
        pairs_of_units(grid_of_units(chain, "a test"))


def test_orders_of_another_table_are_refused(grid: Grid) -> None:
    order = grid.order
    assert isinstance(order, PairOrder)
    with refuses(UsageError, "order-not-of-pairs"):
        PairOrder(order.axes[::-1], order.radices, hierarchy=order.hierarchy).require_fit((1, 7))
    with refuses(UsageError, "regions-beyond-grid"):
        order.require_fit((1, 6, 1, 7))
    with pytest.raises(CodeError):
        order.encode(np.array([[0], [3], [0], [7]]))


def key_of(seed: int) -> NoiseKey:
    return NoiseKey(seed.to_bytes(32, "big"))


def release_of(grid: Grid, **more):
    rng = np.random.default_rng(4)
    pairs = list(product(BLOCKS, BLOCKS))
    count = rng.poisson(60, len(pairs))
    table = geodp.CountTable.from_index(grid, index_of(grid, pairs), count)
    return geodp.publish(table, epsilon=1, contribution=1, **more), dict(
        zip(pairs, count.tolist(), strict=True)
    )


def test_sums_agree_on_all_levels_and_estimates_are_asked_for_by_codes(grid: Grid) -> None:
    release, true = release_of(grid, key=key_of(7))
    near = 60  # 18 standard errors and more
    for level in ("block", "tract", "county"):
        for pair in product(sorted({*UNITS[level]}), repeat=2):
            one = release.estimate(":".join(pair))
            within = pairs_within(level, *pair)
            assert one.count == sum(release.estimate(":".join(each)).count for each in within)
            assert abs(one.count - sum(true[each] for each in within)) < near
    everything = release.estimate(":").count
    assert everything == release.table.total
    assert everything == release.estimate("00:").count + release.estimate("01:").count
    assert release.estimate(":00").count == sum(
        release.estimate(f"{tract}:00").count for tract in ("001", "002", "011", "012")
    )
    mixed = release.estimate("0011:01")
    assert mixed.count == sum(release.estimate(f"0011:{b}").count for b in ("0111", "0112", "0121"))
    both = release.estimate(["00:00", "00/001:00"])  # a part of the first
    assert both.count == release.estimate("00:00").count


@pytest.mark.parametrize("code", ["0011", "0011:98", "98:0011", "00:00:00"])
def test_what_is_no_pair_of_codes_is_refused(code: str, grid: Grid) -> None:
    release, _ = release_of(grid, key=key_of(7))
    with refuses(CodeError, "pair-form"):
        release.estimate(code)


def test_frames_are_read_by_both_codes_and_replayed_from_a_key(grid: Grid) -> None:
    frame = pd.DataFrame(
        {"home": ["0111", "0011", "0111"], "work": ["0011", "0011", "0011"], "n": [3, 4, 5]}
    )
    columns = {"origin": "home", "destination": "work"}
    table = geodp.read_table(frame, grid=grid, columns=columns, value="n", duplicates="sum")
    wanted = index_of(grid, [("0111", "0011"), ("0011", "0011")])
    assert table.key.tolist() == sorted(grid.encode(wanted).tolist())
    assert dict(zip(table.key.tolist(), table.count.tolist(), strict=True)) == dict(
        zip(grid.encode(wanted).tolist(), [8, 4], strict=True)
    )
    with refuses(InputError, "unit-unknown") as refused:
        geodp.read_table(frame.replace("0111", "111"), grid=grid, columns=columns, value="n")
    assert refused.value.row == 1
    first, second = (release_of(grid, key=key_of(9))[0] for _ in range(2))
    assert first.to_pandas().equals(second.to_pandas())


def test_stated_errors_hold(grid: Grid) -> None:
    asked = ["00:01", "001:011", "0012:0111", ":00"]
    off: dict[str, list[float]] = {code: [] for code in asked}
    stated = {}
    for seed in range(90):
        release, true = release_of(grid, key=key_of(seed))
        for code in asked:
            one = release.estimate(code)
            origin, destination = code.split(":")
            held = [n for (a, b), n in true.items() if is_in(a, origin) and is_in(b, destination)]
            off[code].append(one.count - sum(held))
            stated[code] = one.standard_error
    for code in asked:
        seen = float(np.sqrt(np.mean(np.square(off[code]))))
        assert seen < 1.2 * stated[code]
        assert abs(np.mean(off[code])) < 0.4 * stated[code]


def is_in(block: str, unit: str) -> bool:
    return not unit or unit in [codes[BLOCKS.index(block)] for codes in UNITS.values()]
