"""Flows between zones: how many trips are placed right, beside other ways to publish them."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs.hours import HOURS, add_hours
from bench.inputs.priors import halve, make_priors
from bench.inputs.trips import (
    MadeTrips,
    load_flights,
    load_taxis,
    make_commuters,
    make_concentrated,
    make_day,
    make_hubs,
    make_partners,
    make_radiation,
)
from bench.parts import add_parts, choose_parts
from bench.tables import excerpt, fill, least, markdown, table
from geodp.grid.region import Region
from geodp.kinds.flows import estimator, zones
from geodp.kinds.flows.estimator import FLAT, estimate_flows, round_table
from geodp.kinds.flows.evaluation import SIDES, PairSums, measure_flows
from geodp.kinds.flows.regions import divide_zones
from geodp.kinds.flows.streams import TripStreams
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable

TITLE = """\
Trips of taxis between zones of 1 km, at epsilon 1, by the most trips of a person.
  right 1 .. right 8    per cent of the trips placed in the right pair of zones of 1, 2, 4, 8 km, of
                        the true trips, or of the released ones where these are more
  error 1 .. error 8    mean absolute error of the pairs that have trips
  empty, missing        per cent of the released pairs without a trip, and of the pairs with trips
                        that are released as 0
  length                mean length of released trips, in per cent of the true one"""

SAVED = Path(__file__).parents[1] / "results" / "flows.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "flows.md"

DELTA = 1e-6
"""Of the peers that show occupied pairs only."""

GRAVITY = 4.0
"""Decay of the gravity law alone, in zones."""

REGION_SIDES, REGIONS = (1, 2, 4, 8, 16), 40
"""Sides of squares between which intervals are measured, and pairs of each in a trial."""

LINES = 20
"""Lines across the map in a trial, half of them from west to east."""

THIN = 0.004
"""Share of the taxis' pairs in the table of few trips."""

SHOWN_HOURS = (3, 8, 13, 18)
"""Hours in which intervals are measured."""

FAR = (30, 40, 50)
"""Lengths in zones beyond which trips are counted."""

LARGE = (316, 100_000_000)
"""Zones on a side, and trips, of the large made-up table."""

FIGURES = (
    *(f"{name} {side}" for side in SIDES for name in ("right", "error")),
    *("empty", "missing", "length"),
)
"""Figures of a release, in the order of the tables."""

Integers = NDArray[np.int64]

PARTS = (
    *("placed", "kinds", "kinds-held", "hours", "coverage", "concentrated", "hourly"),
    *("screenlines", "reach", "priors", "large"),
)
"""Tables of the document, by their markers."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--trials", type=int, default=5)
    add_parts(parser, PARTS, default="all but large")


Method = Callable[[CountTable, int, NoiseKey], CountTable]
"""Releases trips by pair, given the most trips of a person."""


def publish(trips: CountTable, most: int, key: NoiseKey, **more: Any) -> geodp.flows.Flows:
    """Publish flows with the epsilon of 1."""
    return geodp.flows.publish(trips, epsilon=1, contribution=most, key=key, **more)


def flows(trips: CountTable, most: int, key: NoiseKey, **more: Any) -> CountTable:
    """Release flows."""
    made = publish(trips, most, key, **more).flows.table
    return CountTable.from_keys(trips.grid, made.key, made.count)


def without_law(trips: CountTable, most: int, key: NoiseKey) -> CountTable:
    """Release flows from the same measurements, with no law of distance."""
    made = publish(trips, most, key)
    on = zones.Zones.of(made.origins.grid)
    ends = [one.table.counts_at(on.key) for one in (made.origins, made.destinations)]
    found = estimate_flows(on, (ends[0], ends[1]), made.noisy, 1, FLAT)
    return of_zones(trips, on, *found.join())


def tree(trips: CountTable, most: int, key: NoiseKey) -> CountTable:
    """Release the pairs by a tree on pairs: geodp publish --pairs."""
    made = geodp.publish(trips, method="pyramid", epsilon=1, contribution=most, key=key).table
    return CountTable.from_keys(trips.grid, made.key, made.count)


def gravity(trips: CountTable, most: int, key: NoiseKey) -> CountTable:
    """Release both ends with all of the budget, and spread them by a law of distance."""
    made = geodp.flows.publish(trips, epsilon=1, contribution=most, levels={8: "1/1000"}, key=key)
    streams = zones.Zones.of(geodp.Grid(trips.grid.places[:1]))
    ends = [one.table.counts_at(streams.key) for one in (made.origins, made.destinations)]
    blocks = streams.blocks(1)
    law = streams.law(GRAVITY, blocks)
    estimator.balance_ends(law, (ends[0], ends[1]), 60)
    row, column, count = round_table(law, (ends[0], ends[1]), np.array([1]))
    return of_zones(trips, streams, row, column, count)


def of_zones(
    trips: CountTable, on: zones.Zones, row: Integers, column: Integers, count: Integers
) -> CountTable:
    """Make a table of pairs from numbers of zones."""
    index = np.stack([axis[end] for end in (row, column) for axis in (on.row, on.column)])
    return CountTable.from_index(trips.grid, index, count)


def laplace(trips: CountTable, most: int, key: NoiseKey) -> CountTable:
    """Add noise to every pair of zones, occupied or not, and cut it at 0."""
    on = zones.Zones.of(geodp.Grid(trips.grid.places[:1]))
    dense = TripStreams.of(trips, on).pairs(1)
    draw = np.random.default_rng(int(key.words()[0]))
    dense += draw.geometric(1 - math.exp(-1 / most), dense.shape)
    dense -= draw.geometric(1 - math.exp(-1 / most), dense.shape)
    row, column = np.nonzero(dense > 0)
    return of_zones(trips, on, row, column, dense[row, column])


def threshold(trips: CountTable, most: int, key: NoiseKey) -> CountTable:
    """Add noise to occupied pairs alone, and show those above a threshold; it needs a delta."""
    draw = np.random.default_rng(int(key.words()[0]))
    noisy = trips.count + np.rint(draw.laplace(0, most, trips.count.size)).astype(np.int64)
    some = noisy > 1 + most * math.log(most / (2 * DELTA))
    return CountTable.from_keys(trips.grid, trips.key[some], noisy[some])


def opendp(trips: CountTable, most: int, key: NoiseKey) -> CountTable:
    """Do the same by OpenDP, where it is installed; its noise has no key."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    cell = dp.atom_domain(T="i64")
    space = dp.map_domain(cell, cell), dp.l01inf_distance(dp.absolute_distance(T="i64"))
    limit = math.ceil(2 + most * math.log(most / (2 * DELTA))) + most
    measure = dp.m.make_laplace_threshold(*space, scale=float(most), threshold=limit)
    spent, delta = measure.map((most, most, most))
    # The guarantee is checked, so that a new version cannot change what is compared.
    if spent > 1.0001 or delta > DELTA:
        raise ValueError("the threshold does not keep the budget")
    found = measure(dict(zip(trips.key.tolist(), trips.count.tolist(), strict=True)))
    key_of = np.array([*found], np.uint64)
    return CountTable.from_keys(trips.grid, key_of, np.array([*found.values()], np.int64))


PEERS: dict[str, Method] = {
    "geodp.flows": flows,
    "the same, no law of distance": without_law,
    "tree on pairs (geodp publish)": tree,
    "gravity alone": gravity,
    "Laplace on every pair": laplace,
    "occupied pairs above a threshold": threshold,
    "OpenDP, threshold": opendp,
}
"""By name; those with a threshold have a delta of 1e-6 besides."""


def measure(
    data: Path | None = None, trials: int = 5, parts: list[str] | None = None
) -> dict[str, Any]:
    """Measure all tables, or those that are named; others are taken from the saved figures."""
    chosen, saved = choose_parts(parts, PARTS, SAVED, [part for part in PARTS if part != "large"])
    result: dict[str, Any] = {part: saved[part] for part in PARTS if part in saved}
    made, taxis = Tables(data), [("taxis", 10), ("destinations mirrored", 10), ("taxis", 1)]
    people = [*taxis[:2], *PEOPLE, ("few taxis", 10)]
    measured: dict[str, Callable[[], Iterable[dict[str, Any]]]] = {
        "placed": lambda: place_all(made, taxis, trials),
        "kinds": lambda: measure_kinds(made, trials),
        "kinds-held": lambda: cover_kinds(made, trials),
        "hours": lambda: (
            row for most in (10, 1) for row in measure_hours(made.hourly, most, trials)
        ),
        "coverage": lambda: made.ask(people, cover, trials),
        "concentrated": lambda: cover_concentrated(trials),
        "hourly": lambda: (
            {"most trips": 10, **row} for row in cover_hours(made.hourly, 10, trials)
        ),
        "screenlines": lambda: made.ask(people, cross, trials),
        "reach": lambda: made.ask(taxis, measure_reach, trials),
        "priors": lambda: measure_priors(made.taxis, made.mirrored, trials),
        "large": lambda: [measure_large()],
    }
    result |= {part: [*measured[part]()] for part in chosen}
    return {**result, "settings": {"trials": trials}}


PEOPLE = ("radiation", 10), ("commuters", 10), ("commuters", 1)
"""Tables of made-up persons on which intervals are measured, with the most trips of one."""


class Tables:
    """Tables of trips, the large ones made once."""

    def __init__(self, data: Path | None) -> None:
        self._data = data

    @cached_property
    def taxis(self) -> CountTable:
        """Trips of taxis."""
        return load_taxis(self._data)

    @cached_property
    def mirrored(self) -> CountTable:
        """The same, with every destination mirrored."""
        return load_taxis(self._data, mirrored=True)

    @cached_property
    def hourly(self) -> CountTable:
        """The same as the first, with made-up hours."""
        return add_hours(self.taxis)

    @cached_property
    def radiation(self) -> MadeTrips:
        """Trips of made-up persons, by the radiation law and to hubs."""
        return make_radiation(7, 60_000)

    def of(self, name: str, most: int) -> CountTable:
        """Return a table, with at most so many trips of each person."""
        key = NoiseKey(bytes(32))
        made: dict[str, Callable[[], CountTable]] = {
            "taxis": lambda: self.taxis,
            "destinations mirrored": lambda: self.mirrored,
            "few taxis": lambda: thin(self.taxis),
            "radiation": lambda: bound(self.radiation, most, key),
            "commuters": lambda: bound(make_commuters(3), most, key),
            "hubs": lambda: bound(make_hubs(0), most, key),
            "partners": lambda: make_partners(0),
            "a day": lambda: make_day(0),
            "flights": lambda: load_flights(self._data),
        }
        return made[name]()

    def ask(
        self,
        tables: Iterable[tuple[str, int]],
        question: Callable[[CountTable, int, int], Iterator[dict[str, Any]]],
        trials: int,
    ) -> Iterator[dict[str, Any]]:
        """Yield the answers of some tables."""
        for name, most in tables:
            for row in question(self.of(name, most), most, trials):
                yield {"table": name, "most trips": most, **row}


def place_all(
    made: Tables, taxis: Iterable[tuple[str, int]], trials: int
) -> Iterator[dict[str, Any]]:
    """Yield how many trips every method places right."""
    for name, most in taxis:
        for peer, method in PEERS.items():
            one = measure_method(made.of(name, most), most, method, trials)
            yield {"table": name, "most trips": most, "method": peer, **one}
    for most in (10, 1):
        for peer, one in measure_persons(made.radiation, most, trials):
            yield {"table": "radiation", "most trips": most, "method": peer, **one}


KINDS: dict[str, tuple[int, dict[str, Any]]] = {
    "taxis": (10, {}),
    "destinations mirrored": (10, {}),
    "radiation": (10, {}),
    "flights": (10, {"concentrated": True}),
    "partners": (10, {"concentrated": True}),
    "hubs": (10, {"expected_trips": 90_000}),
    "a day": (1, {"expected_trips": 20_000}),
}
"""Kinds of trips: the most trips of a person, and what may be guessed of them in public."""

LARGEST, LARGEST_SIDES = 16, (1, 4, 8)
"""Pairs of squares with the most trips whose bias is measured, and sides of these squares."""


def measure_kinds(made: Tables, trials: int) -> Iterator[dict[str, Any]]:
    """Yield for each kind of trips how many are placed right, and the bias of the largest pairs."""
    for name, (most, guess) in KINDS.items():
        trips, ways = made.of(name, most), dict[str, Method]({"default": flows})
        if guess:
            ways["with the guess"] = partial(flows, **guess)
        for way, method in {**ways, "tree on pairs": tree}.items():
            keys = [NoiseKey(trial.to_bytes(32, "little")) for trial in range(trials)]
            found = [
                {**compare(trips, one), **measure_largest(trips, one)}
                for one in (method(trips, most, key) for key in keys)
            ]
            figures = (*PLACED, *(f"bias {side}" for side in LARGEST_SIDES))
            means = {name: float(np.mean([one[name] for one in found])) for name in figures}
            yield {"trips": name, "most trips": most, "method": way, **means}


def cover_kinds(made: Tables, trials: int) -> Iterator[dict[str, Any]]:
    """Yield for each kind of trips how often intervals hold the truth, and how wide they are."""
    for name, (most, guess) in KINDS.items():
        trips = made.of(name, most)
        for way, more in {"default": {}, "with the guess": guess}.items():
            if way == "default" or guess:
                row: dict[str, Any] = {"trips": name, "most trips": most, "method": way}
                for one, side in zip(cover(trips, most, trials, more), REGION_SIDES, strict=False):
                    row |= {f"held {side}": one["held"], f"width {side}": one["width"]}
                yield row


def measure_largest(true: CountTable, released: CountTable) -> dict[str, float]:
    """Return the bias of the pairs of squares with the most trips together, in per cent."""
    on, found = zones.Zones.of(geodp.Grid(true.grid.places[:1])), dict[str, float]()
    for side in LARGEST_SIDES:
        blocks = on.blocks(side).of_zone
        (place, count), (other, made) = (
            PairSums.of(on, one).between(blocks) for one in (true, released)
        )
        largest = np.argsort(-count, kind="stable")[:LARGEST]
        released_there = made[np.isin(other, place[largest])].sum()
        found[f"bias {side}"] = 100 * float(released_there / count[largest].sum() - 1)
    return found


def measure_method(trips: CountTable, most: int, method: Method, trials: int) -> dict[str, Any]:
    """Return the mean figures of a method."""
    keys = [NoiseKey(trial.to_bytes(32, "little")) for trial in range(trials)]
    found = [compare(trips, method(trips, most, key)) for key in keys]
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def measure_persons(
    made: MadeTrips, most: int, trials: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield figures of flows whose persons are bounded, and of the bound alone."""
    keys = [NoiseKey(trial.to_bytes(32, "little")) for trial in range(trials)]
    bounded = [bound(made, most, key) for key in keys]
    yield "trips that are dropped, no noise", compare(made.table, bounded[0])
    for peer in ("geodp.flows", "tree on pairs (geodp publish)"):
        found = []
        for trial, kept in enumerate(bounded):
            key = NoiseKey((100 + trial).to_bytes(32, "little"))
            plain = CountTable.from_keys(kept.grid, kept.key, kept.count)
            released = PEERS[peer](plain, most, key)
            # Beside what the bound has left: what it drops is reported apart.
            found.append(compare(kept, released))
        yield peer, {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def bound(made: MadeTrips, most: int, key: NoiseKey) -> CountTable:
    """Count made-up trips, with at most so many of each person."""
    import pyarrow as pa

    names = ("oy", "ox", "dy", "dx")
    rows = pa.table({"id": made.person.astype(str), **dict(zip(names, made.index, strict=True))})
    places = {"origin": names[:2], "destination": names[2:], "person": "id", "trips": most}
    return geodp.flows.read_trips(rows, grid=made.grid, **places, key=key)


def compare(true: CountTable, released: CountTable) -> dict[str, float]:
    """Compute the figures of one release, as ``geodp flows evaluate`` does."""
    on = zones.Zones.of(geodp.Grid(true.grid.places[:1]))
    figures = measure_flows(on, PairSums.of(on, true), PairSums.of(on, released))
    return {name: figures[name] for name in FIGURES}


def measure_priors(
    trips: CountTable, mirrored: CountTable, trials: int
) -> Iterator[dict[str, Any]]:
    """Measure releases of one half of the trips with priors that are made of the other one."""
    (before, now), (useless, _) = halve(trips), halve(mirrored)
    for name, prior in make_priors(before, useless).items():
        more = {} if prior is None else {"prior": prior, "prior_source": "made"}
        keys = [NoiseKey(trial.to_bytes(32, "little")) for trial in range(trials)]
        made = [
            geodp.flows.publish(now, epsilon=1, contribution=10, key=key, **more) for key in keys
        ]
        found = [compare(now, counts_of(one)) for one in made]
        figures = {one: float(np.mean([f[one] for f in found])) for one in PLACED}
        figures |= compare_ends(now, made)
        stated = [one.index.prior for one in made]
        weights = [0.0 if one is None else one.weight for one in stated]
        (held,) = (row for row in cover(now, 10, trials, more) if row["regions"] == "all")
        known = {name: held[name] for name in ("pairs", "held", "width")}
        yield {"prior": name, **figures, "weight": float(np.mean(weights)), **known}


def compare_ends(trips: CountTable, made: list[geodp.flows.Flows]) -> dict[str, float]:
    """Compute the per cent of trips that begin, and that end, in the right zone, on average."""
    zones = geodp.Grid(trips.grid.places[:1])
    index, figures = trips.grid.decode(trips.key), {}
    for at, name in ((0, "origins"), (2, "destinations")):
        true = CountTable.from_index(zones, index[at : at + 2], trips.count).to_dense()
        found = [getattr(one, name).table.to_dense() for one in made]
        right = [np.minimum(one, true).sum() / max(one.sum(), true.sum()) for one in found]
        figures[name] = 100 * float(np.mean(right))
    return figures


def counts_of(release: geodp.flows.Flows) -> CountTable:
    """Return the released flows as counts."""
    table = release.flows.table
    return CountTable.from_keys(table.grid, table.key, table.count)


def cover(
    trips: CountTable, most: int, trials: int, more: dict[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield how often intervals of flows between squares hold the truth, by their sides.

    ``more``: other arguments of the releases.
    """
    held: dict[int, list[tuple[bool, float]]] = {side: [] for side in REGION_SIDES}
    for trial in range(trials):
        key = NoiseKey((1000 + trial).to_bytes(32, "little"))
        release = geodp.flows.publish(trips, epsilon=1, contribution=most, key=key, **(more or {}))
        regions, true, sides = draw_squares(trips, np.random.default_rng(trial), REGIONS)
        found = release.estimate_all(regions)
        for one, n, side in zip(found, true, sides, strict=False):
            held[side].append((one.low <= n <= one.high, one.high - one.low))
    yield from tell_held(held)


def cover_concentrated(trials: int) -> Iterator[dict[str, Any]]:
    """Yield how often intervals hold where all trips from a zone go to one or two zones."""
    for partners in (1, 2):
        trips = make_concentrated(5, partners)
        for most in (10, 1):
            for row in cover(trips, most, trials):
                yield {"partners of a zone": partners, "most trips": most, **row}


def draw_squares(
    trips: CountTable, draw: np.random.Generator, number: int
) -> tuple[list[tuple[Region, Region]], list[int], tuple[int, ...]]:
    """Draw pairs of squares of zones, so many of each side; return their true flows and sides."""
    index, count = trips.grid.decode(trips.key), trips.count
    grid = geodp.Grid(trips.grid.places[:1])
    # Half of the pairs as trips are, half as occupied pairs are.
    half = number * len(REGION_SIDES) // 2
    picked = [draw.choice(count.size, half, p=p) for p in (count / count.sum(), None)]
    sides = REGION_SIDES * number
    regions, true = [], []
    for pair, side in zip(np.concatenate(picked).tolist(), sides, strict=False):
        ends, inside = [], np.ones(count.size, np.bool_)
        for at in (0, 2):
            limit = np.array(grid.shape) - side
            corner = np.clip(index[at : at + 2, pair] - draw.integers(0, side, 2), 0, limit)
            square = corner[:, None] + np.indices((side, side)).reshape(2, -1)
            ends.append(Region.of_map(grid, *square))
            part = index[at : at + 2] - corner[:, None]
            inside &= ((part >= 0) & (part < side)).all(axis=0)
        regions.append((ends[0], ends[1]))
        true.append(int(count[inside].sum()))
    return regions, true, sides


def tell_held(held: dict[int, list[tuple[bool, float]]]) -> Iterator[dict[str, Any]]:
    """Yield how many intervals hold the truth, by side and of all, and their median width."""
    every = [one for each in held.values() for one in each]
    named = {f"{side} x {side}": one for side, one in held.items()}
    for name, each in {**named, "all": every}.items():
        yield {
            "regions": name,
            "pairs": len(each),
            "held": 100 * float(np.mean([one for one, _ in each])),
            "width": float(np.median([width for _, width in each])),
        }


def thin(trips: CountTable) -> CountTable:
    """Keep few of the pairs of a table, so that noise hides most trips."""
    some = np.random.default_rng(0).random(trips.count.size) < THIN
    return CountTable.from_keys(trips.grid, trips.key[some], trips.count[some])


def cross(trips: CountTable, most: int, trials: int) -> Iterator[dict[str, Any]]:
    """Yield how often intervals of trips across lines hold the truth."""
    import shapely

    held: dict[str, list[tuple[bool, float, int]]] = {"one way": [], "both ways": []}
    grid, index = geodp.Grid(trips.grid.places[:1]), trips.grid.decode(trips.key)
    for trial in range(trials):
        key = NoiseKey((3000 + trial).to_bytes(32, "little"))
        release = geodp.flows.publish(trips, epsilon=1, contribution=most, key=key)
        draw, (rows, columns) = np.random.default_rng(trial), grid.shape
        lines = []
        # Within the middle part of the map, where trips are.
        for place in draw.uniform(0.15, 0.85, (LINES, 2)).tolist():
            a, b = ((0, rows * place[0]), (columns, rows * place[1]))
            if len(lines) % 2:
                a, b = ((columns * place[0], 0), (columns * place[1], rows))
            lines.append(shapely.LineString([a, b]))
        found = release.estimate_screenlines(lines)
        for line, one in zip(lines, found, strict=True):
            left = divide_zones(grid, line)[0].key
            ends = [np.isin(grid.encode(index[at : at + 2]), left) for at in (0, 2)]
            there, back = (int(trips.count[x & ~y].sum()) for x, y in (ends, ends[::-1]))
            for name, each, true in (
                ("one way", one.there, there),
                ("one way", one.back, back),
                ("both ways", one.both, there + back),
            ):
                held[name].append((each.low <= true <= each.high, each.high - each.low, true))
    for name, each in held.items():
        yield {
            "trips": name,
            "estimates": len(each),
            "held": 100 * float(np.mean([one for one, _, _ in each])),
            "width": float(np.median([width for _, width, _ in each])),
            "true": float(np.median([true for _, _, true in each])),
        }


def cover_hours(trips: CountTable, most: int, trials: int) -> Iterator[dict[str, Any]]:
    """Yield how often intervals of flows in one hour hold the truth, by sides of squares."""
    held: dict[int, list[tuple[bool, float]]] = {side: [] for side in REGION_SIDES}
    index = trips.grid.decode(trips.key)
    pairs = geodp.Grid(trips.grid.places)
    for trial in range(trials):
        key = NoiseKey((1000 + trial).to_bytes(32, "little"))
        release = publish(trips, most, key)
        draw = np.random.default_rng(trial)
        for hour in SHOWN_HOURS:
            some = index[4] == hour
            one = CountTable.from_index(pairs, index[:4, some], trips.count[some])
            regions, true, sides = draw_squares(one, draw, REGIONS // len(SHOWN_HOURS))
            found = release.estimate_all(regions, labels={"hour": hour})
            for each, n, side in zip(found, true, sides, strict=False):
                held[side].append((each.low <= n <= each.high, each.high - each.low))
    yield from tell_held(held)


def measure_reach(trips: CountTable, most: int, trials: int) -> Iterator[dict[str, Any]]:
    """Yield the trips within a zone, and those that are longer than so many zones."""

    def split(key: NDArray[np.uint64], count: Integers) -> dict[str, float]:
        row, column, to_row, to_column = trips.grid.decode(key)
        length = np.hypot(row - to_row, column - to_column)
        parts = {"within a zone": length == 0, **{f"longer than {n}": length > n for n in FAR}}
        return {name: float(count[some].sum()) for name, some in parts.items()}

    keys = [NoiseKey((2000 + trial).to_bytes(32, "little")) for trial in range(trials)]
    made = [publish(trips, most, key).flows.table for key in keys]
    found = [split(one.key, np.asarray(one.count, np.int64)) for one in made]
    for name, true in split(trips.key, trips.count).items():
        yield {
            "trips": name,
            "true": int(true),
            "released": float(np.mean([f[name] for f in found])),
        }


def measure_large() -> dict[str, Any]:
    """Measure time and memory of many trips between many zones."""
    import resource

    side, number = LARGE
    grid = geodp.Grid.regular((side, side))
    draw, rows = np.random.default_rng(1), number // 4
    centre = np.minimum(draw.gamma(2.0, side / 5, (2, rows)).astype(np.int64), side - 1)
    moved = centre + np.rint(draw.normal(0, 12, (2, rows))).astype(np.int64)
    index = np.concatenate([centre, np.clip(moved, 0, side - 1)])
    trips = CountTable.from_index(grid.pairs(), index, np.full(rows, 4, np.int64))
    del index, centre, moved
    # What is in memory now, and not what the table needed when it was made.
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    started = time.process_time()
    made = geodp.flows.publish(trips, epsilon=1, contribution=10)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "zones": side * side,
        "trips": int(trips.count.sum()),
        "pairs": int(made.flows.table.key.size),
        "CPU seconds": seconds,
        "GiB before": pages * resource.getpagesize() / 2**30,
        "GiB at most": peak / 2**20,
    }


def apart_by_hour(trips: CountTable, most: int, key: NoiseKey) -> CountTable:
    """Release the flows of every hour apart, each with the whole budget: a trip has one hour."""
    grid, index = geodp.Grid(trips.grid.places), trips.grid.decode(trips.key)
    made, counts = [], []
    for hour in range(HOURS):
        some = index[4] == hour
        one = CountTable.from_index(grid, index[:4, some], trips.count[some])
        found = publish(one, most, NoiseKey(bytes([hour]) + key.words().tobytes()[1:])).flows.table
        place = grid.decode(found.key)
        made.append(np.concatenate([place, np.full((1, found.key.size), hour)]))
        counts.append(np.asarray(found.count, np.int64))
    return CountTable.from_index(trips.grid, np.concatenate(made, 1), np.concatenate(counts))


def parts_by_hour(trips: CountTable, most: int, key: NoiseKey) -> CountTable:
    """Release pairs by hour as geodp publish --pairs --by hour does: by the method parts."""
    made = geodp.publish(trips, epsilon=1, contribution=most, key=key).table
    return CountTable.from_keys(trips.grid, made.key, made.count)


BY_HOUR: dict[str, tuple[Method, tuple[int, ...]]] = {
    "geodp.flows by hour": (flows, (10, 1)),
    "flows of every hour apart": (apart_by_hour, (10,)),
    "parts on pairs with hours (geodp publish)": (parts_by_hour, (10, 1)),
}
"""Methods by name, and the most trips of a person that they are measured with."""

PLACED = tuple(f"right {side}" for side in SIDES)
"""Figures of releases with a prior."""

HOUR_KEYS = 3000
"""First key of the releases by hour."""


def measure_hours(trips: CountTable, most: int, trials: int) -> Iterator[dict[str, Any]]:
    """Yield how many trips by hour are placed right, by method."""
    for name, (method, bounds) in BY_HOUR.items():
        if most not in bounds:
            continue
        keys = [NoiseKey((HOUR_KEYS + t).to_bytes(32, "little")) for t in range(trials)]
        found = [compare_hours(trips, method(trips, most, key)) for key in keys]
        figures = {one: float(np.mean([f[one] for f in found])) for one in found[0]}
        yield {"most trips": most, "method": name, **figures}


def compare_hours(true: CountTable, released: CountTable) -> dict[str, float]:
    """Compute the figures of one release by hour."""
    figures: dict[str, float] = {}
    number = max(int(true.count.sum()), int(released.count.sum()))
    parts = {"right {}": range(5), "all hours {}": range(4)}
    for name, axes in parts.items():
        for side in SIDES:
            figures[name.format(side)] = share_right(true, released, [*axes], side) / number
    for name, axes in {"origins 1": (0, 1, 4), "origins 8": (0, 1, 4)}.items():
        side = int(name[-1])
        figures[name] = share_right(true, released, [*axes], side) / number
    both = np.isin(released.key, true.key).sum()
    figures["empty"] = 100 * float(1 - both / max(released.key.size, 1))
    figures["missing"] = 100 * float(1 - both / true.key.size)
    return figures


def share_right(true: CountTable, released: CountTable, axes: list[int], side: int) -> float:
    """Sum 100 times the trips that are right by some axes, whose zones are in squares."""
    sums = []
    for one in (true, released):
        index = one.grid.decode(one.key)[axes]
        index[np.array(axes) < 4] //= side
        sizes = [int(one.grid.shape[axis]) for axis in axes]
        place = np.ravel_multi_index(tuple(index), sizes)
        sums.append(geodp.table.counts.coalesce(place.astype(np.uint64), one.count))
    (key, count), (other, made) = sums
    _, at, here = np.intersect1d(key, other, assume_unique=True, return_indices=True)
    return 100 * float(np.minimum(count[at], made[here]).sum())


def show(result: dict[str, Any]) -> str:
    """Format all tables."""
    shown = [table(result[part]) for part in PARTS if part in result]
    return "\n\n".join([f"{result['settings']['trials']} trials", *shown])


def fill_document() -> None:
    """Fill the document's tables from the saved figures."""
    result = json.loads(SAVED.read_text(encoding="utf-8"))
    for part, rows in excerpts(result).items():
        marks = f"<!-- bench:flows:{part} -->", f"<!-- /bench:flows:{part} -->"
        fill(DOCUMENT, marks, markdown(rows))


def excerpts(result: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Build the document's tables: of intervals, the least coverage over sizes of squares."""
    mirrored = ("geodp.flows", "tree on pairs (geodp publish)", "gravity alone")
    placed = [
        row
        for row in result["placed"]
        if row["method"] not in SIMILAR
        and (row["table"] != "destinations mirrored" or row["method"] in mirrored)
    ]
    kinds = [
        {name: row[name] for name in ("trips", "method")}
        | {
            "least held": min(row[f"held {side}"] for side in REGION_SIDES),
            "width 1": row["width 1"],
        }
        for row in result["kinds-held"]
    ]
    # Others are among the kinds.
    others = {row["table"] for row in result["coverage"]} - {row["trips"] for row in kinds}
    coverage = [row for row in result["coverage"] if row["table"] in others]
    return {
        "placed": excerpt(
            placed, without=["right 2", "right 4", "error 2", "error 4", "empty", "missing"]
        ),
        "kinds": excerpt(result["kinds"], without=["most trips", "right 2", "bias 4", "bias 8"]),
        "kinds-held": kinds,
        "hours": excerpt(
            result["hours"],
            without=["right 2", "right 4", "all hours 2", "all hours 4", "origins 8", "missing"],
        ),
        "coverage": held_of(coverage, ["table", "most trips"]),
        "concentrated": held_of(result["concentrated"], ["partners of a zone", "most trips"]),
        "hourly": held_of(result["hourly"], ["most trips"]),
        "screenlines": excerpt(
            result["screenlines"], {"trips": ["one way"]}, ["trips", "estimates"]
        ),
        "reach": excerpt(result["reach"], {"table": ["taxis"], "trips": REACHED}, ["table"]),
        "priors": excerpt(result["priors"], without=["right 2", "right 4", "pairs", "held"]),
        "large": result["large"],
    }


REACHED = ("within a zone", "longer than 30", "longer than 50")
"""Distances that the document shows."""

SIMILAR = ("the same, no law of distance", "occupied pairs above a threshold")
"""Methods that the document leaves out: they are nearly as good as others that it shows."""


def held_of(rows: list[dict[str, Any]], by: list[str]) -> list[dict[str, Any]]:
    """Build a row for each table: the least coverage over sizes of squares, and the least width."""
    return [
        {name: row[name] for name in by} | {"least held": row["held"], "width 1": row["width"]}
        for row in least(rows, by, ["held", "width"])
    ]
