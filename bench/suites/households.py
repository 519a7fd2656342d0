"""Persons and households released together, beside two releases and beside truncation."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs.public import load_households
from bench.parts import add_parts, choose_parts
from bench.tables import excerpt, fill, least, markdown, table
from geodp.accuracy.interval import USUAL, WORST_CASE
from geodp.grid.region import Region
from geodp.kinds.households import streams as of_streams
from geodp.kinds.households.inputs import Streams, sizes_of
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.key import NoiseKey
from geodp.privacy.loss import rational
from geodp.privacy.terms import Terms

TITLE = """\
Mean absolute errors of persons and households in squares of 1, 16, 256 and 4,096 cells, on the
general households of the Kanto window, census 2020, where 7 and more persons count as 7.
  impossible   per cent of the released cells with more households than persons, or more than 7
               persons a household
  mean size    median error in per cent, of squares of 2 km with more than 200 households
  bias         mean error of cells with 1 to 9, 10 to 99, 100 and more true households
  held         how often 95 % intervals of squares hold the truth, by their released households
  full         how often those of persons of a cell do on made-up maps, where households are full"""

SAVED = Path(__file__).parents[1] / "results" / "households.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "households.md"

SIDES = (1, 4, 16, 64)
"""Cells on a side of squares whose errors are measured."""

MAX_SIZE, MEAN_SIDE, MEAN_HOUSEHOLDS = 7, 4, 200

CLASSES = (1, 10, 100)
"""Smallest numbers of households of the classes of cells whose bias is measured."""

RELEASED = {"below 50": (1, 50), "50 to 500": (50, 500), "more": (500, 1 << 60)}
"""Classes of squares by their released households, from the first number to before the second."""

REGION_SIDES, REGIONS = (1, 2, 4, 8, 16), 60
"""Sides of squares whose intervals are measured, and how many of each in a trial."""

COVERED = 4
"""Trials whose intervals are measured."""

FULL = ((3, 0.95), (7, 0.6), (7, 0.95), (20, 0.6), (20, 0.95))
"""Largest sizes, and shares of the most possible members beyond the first, of made-up maps whose
households are full."""

FULL_MAPS = {"lone": (40, (1, 12)), "dense": (1024, (30, 90))}
"""Of 32 x 32 cells, those with households, and from how many to before how many each has."""

FULL_TRIALS, FULL_CELLS = 10, 200
"""Trials on made-up maps, and most cells whose intervals are measured in each."""

Dense = NDArray[np.int64]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--epsilon", type=rational, nargs="+", default=EPSILONS)
    parser.add_argument("--trials", type=int, default=20)
    add_parts(parser, MEASURED)


MEASURED = ("rows", "coverage", "full")
"""What is measured; errors and bias are tables of the rows."""

EPSILONS = (Fraction(1), Fraction(1, 10))


@dataclass(frozen=True)
class Truth:
    """The counts to release.

    Attributes
    ----------
    sizes : CountTable
        Households by size.
    streams : Streams
    persons, homes : int64[rows, columns]
    """

    sizes: geodp.CountTable
    streams: Streams
    persons: Dense
    homes: Dense

    @classmethod
    def of(cls, sizes: geodp.CountTable) -> Truth:
        """Make the counts of households by size."""
        made = sizes_of(sizes, MAX_SIZE).streams()
        homes = made.households.to_dense()
        return cls(sizes, made, homes + made.members.to_dense(), homes)


Method = Callable[[Truth, Fraction, NoiseKey], tuple[Dense, Dense]]
"""Releases persons and households."""


def publish_one(counts: Dense, truth: Truth, contribution: int, **more: Any) -> Dense:
    """Release one map."""
    grid = truth.streams.households.grid
    one = geodp.CountTable.from_dense(counts, grid)
    released: Dense = geodp.publish(one, contribution=contribution, **more).table.to_dense()
    return released


def two_releases(contribution: int, largest: int = MAX_SIZE) -> Method:
    """Release both maps with half of the budget each, households truncated to a size."""

    def release(truth: Truth, epsilon: Fraction, key: NoiseKey) -> tuple[Dense, Dense]:
        dense = truth.sizes.to_dense()
        persons = (dense * np.minimum(np.arange(1, dense.shape[-1] + 1), largest)).sum(axis=-1)
        half = {"epsilon": epsilon / 2, "key": key}
        return (
            publish_one(persons, truth, contribution, **half),
            publish_one(truth.homes, truth, 1, **half),
        )

    return release


def fitted(truth: Truth, epsilon: Fraction, key: NoiseKey) -> tuple[Dense, Dense]:
    """Release both maps with half of the budget each, and fit them as streams are fitted."""
    grid, method = truth.streams.households.grid, Pyramid()
    event = method.event(grid, Terms.of(epsilon=epsilon / 2, contribution=1))
    descent = method.descent(grid, event)
    homes = method.release(truth.streams.households, event, key.derive(of_streams.HOUSEHOLDS))
    persons = geodp.CountTable.from_dense(truth.persons, grid)
    other = key.derive(of_streams.MEMBERS)
    measured = of_streams.measure_members(persons, homes, descent, other, MAX_SIZE)
    for level in measured.levels:
        # Persons are measured: members beyond the first are what the released households leave.
        level.z[:] -= level.cap / (MAX_SIZE - 1)
    members = np.zeros(grid.shape, np.int64)
    members[tuple(grid.decode(homes.key))] = of_streams.fit_members(measured, descent)
    dense = homes.to_dense()
    return dense + members, dense


def together(protect: str, method: str | None = None) -> Method:
    """Release persons and households as one."""

    def release(truth: Truth, epsilon: Fraction, key: NoiseKey) -> tuple[Dense, Dense]:
        made = publish_together(truth, protect, epsilon, key, method)
        return made.persons.table.to_dense(), made.households.table.to_dense()

    return release


def publish_together(
    truth: Truth, protect: str, epsilon: Fraction, key: NoiseKey, method: str | None = None
) -> geodp.households.Households:
    """Publish persons and households."""
    return geodp.households.publish(
        by_size=truth.sizes, protect=protect, epsilon=epsilon, contribution=1, key=key,
        method=method,
    )  # fmt: skip


METHODS: dict[tuple[str, str], Method] = {
    ("person", "two releases, half of the budget each"): two_releases(1),
    ("person", "the same, fitted"): fitted,
    ("person", "geodp.households"): together("person"),
    ("person", "geodp.households, pyramid:setting=R"): together("person", "pyramid:setting=R"),
    ("household", "two releases, half of the budget each"): two_releases(7),
    ("household", "truncated to 3 persons (PHSafe)"): two_releases(3, 3),
    ("household", "truncated to 5 persons (PHSafe)"): two_releases(5, 5),
    ("household", "geodp.households"): together("household"),
}
"""By whom they protect and by name. Truncation is that of PHSafe (Census Bureau 2024): persons of
a household beyond a number are left out, so that a household changes persons by that number."""


def measure(
    data: Path | None = None,
    epsilon: tuple[Fraction, ...] = EPSILONS,
    trials: int = 20,
    parts: list[str] | None = None,
) -> dict[str, Any]:
    """Measure errors of every method, and the coverage of intervals.

    Of ``parts`` only, where these are named; others are taken from the saved figures.
    """
    chosen, saved = choose_parts(parts, MEASURED, SAVED)
    result = {name: saved.get(name, []) for name in ("settings", *MEASURED)}
    truth = Truth.of(load_households(data)) if {*chosen} != {"full"} else None
    if truth is not None and "rows" in chosen:
        result["rows"] = [row for one in epsilon for row in measure_methods(truth, one, trials)]
        result["settings"] = {"trials": trials}
    if truth is not None and "coverage" in chosen:
        result["coverage"] = [
            {"epsilon": str(one), "protected": protect, **row}
            for one in epsilon
            for protect in ("person", "household")
            for row in cover(truth, protect, one, min(trials, COVERED))
        ]
    if "full" in chosen:
        result["full"] = [
            cover_full(kind, size, share, min(trials, FULL_TRIALS))
            for kind in FULL_MAPS
            for size, share in FULL
        ]
    return result


def measure_methods(truth: Truth, epsilon: Fraction, trials: int) -> Iterator[dict[str, Any]]:
    """Yield the errors of every method."""
    keys = [NoiseKey(trial.to_bytes(32, "little")) for trial in range(trials)]
    for (protect, name), method in METHODS.items():
        found = [errors_of(truth, *method(truth, epsilon, key)) for key in keys]
        mean = {part: np.mean([each[part] for each in found], axis=0) for part in found[0]}
        yield (
            {"epsilon": str(epsilon), "protected": protect, "method": name}
            | {part: values.tolist() for part, values in mean.items()}
        )


def sum_squares(counts: Dense, side: int) -> Dense:
    """Sum aligned squares of cells."""
    rows, columns = (size // side for size in counts.shape)
    return counts.reshape(rows, side, columns, side).sum(axis=(1, 3))


def errors_of(truth: Truth, persons: Dense, homes: Dense) -> dict[str, NDArray[np.float64]]:
    """Compute all figures of one release."""
    pairs = {"persons": persons - truth.persons, "households": homes - truth.homes}
    figures = {
        name: np.array([np.abs(sum_squares(error, side)).mean() for side in SIDES])
        for name, error in pairs.items()
    }
    impossible = (homes > persons) | (persons > MAX_SIZE * homes)
    listed = (homes > 0) | (persons > 0)
    figures["impossible"] = np.array([100 * impossible.sum() / max(listed.sum(), 1)])
    p, h, true_p, true_h = (
        sum_squares(one, MEAN_SIDE) for one in (persons, homes, truth.persons, truth.homes)
    )
    some = true_h > MEAN_HOUSEHOLDS
    ratio = p[some] / np.maximum(h[some], 1) / (true_p[some] / true_h[some])
    figures["mean size"] = np.array([100 * np.median(np.abs(ratio - 1))])
    ends = [*CLASSES, 1 << 60]
    for name, error in pairs.items():
        figures[f"bias of {name}"] = np.array(
            [
                error[(truth.homes >= low) & (truth.homes < high)].mean()
                for low, high in pairwise(ends)
            ]
        )
    return figures


def cover(truth: Truth, protect: str, epsilon: Fraction, trials: int) -> Iterator[dict[str, Any]]:
    """Yield how often intervals of squares hold the truth, by their released households."""
    held: dict[str, list[tuple[bool, bool, bool | None]]] = {name: [] for name in RELEASED}
    grid = truth.streams.households.grid
    for trial in range(trials):
        key = NoiseKey((1000 + trial).to_bytes(32, "little"))
        release = publish_together(truth, protect, epsilon, key)
        boxes = draw_squares(truth, trial)
        regions = [Region.of_map(grid, *np.mgrid[box].reshape(2, -1)) for box in boxes]
        for one, box in zip(release.estimate_all(regions), boxes, strict=True):
            p, h = int(truth.persons[box].sum()), int(truth.homes[box].sum())
            size, count = one.mean_size, one.households.count
            holds = None if size is None or not h else size.low <= p / h <= size.high
            for name, (low, high) in RELEASED.items():
                if low <= count < high:
                    persons, homes = one.persons, one.households
                    ends = (persons.low <= p <= persons.high, homes.low <= h <= homes.high)
                    held[name].append((*ends, holds))
    for name, each in held.items():
        sizes = [holds for *_, holds in each if holds is not None]
        yield {
            "released households": name,
            "squares": len(each),
            "persons": float(np.mean([p for p, *_ in each])),
            "households": float(np.mean([h for _, h, _ in each])),
            "mean size": float(np.mean(sizes)) if sizes else None,
            "estimable": len(sizes) / max(len(each), 1),
        }


def cover_full(kind: str, size: int, share: float, trials: int) -> dict[str, Any]:
    """Measure how often intervals of persons of a cell hold the truth where households are full."""
    grid, (occupied, numbers) = geodp.Grid.regular((32, 32)), FULL_MAPS[kind]
    usual, bound, unlisted = list[bool](), list[bool](), list[bool]()
    for trial in range(trials):
        draw, homes = np.random.default_rng(trial), np.zeros((32, 32), np.int64)
        cells = np.sort(draw.choice(homes.size, occupied, replace=False))
        homes.flat[cells] = draw.integers(*numbers, occupied)
        persons = homes + draw.binomial(homes * (size - 1), share)
        tables = [geodp.CountTable.from_dense(one, grid) for one in (persons, homes)]
        key = NoiseKey((2000 + trial).to_bytes(32, "little"))
        release = geodp.households.publish(
            *tables, max_size=size, protect="person", epsilon=1, contribution=1, key=key,
            method="pyramid:setting=R",
        )  # fmt: skip
        index = np.stack(np.unravel_index(cells[:FULL_CELLS], homes.shape))
        true, keys = persons[tuple(index)], grid.encode(index)
        for held, interval in ((usual, USUAL), (bound, WORST_CASE)):
            found = release.estimate_all(index.T[..., None], interval=interval)
            ends = [(one.persons.low, one.persons.high) for one in found]
            held += [low <= p <= high for (low, high), p in zip(ends, true, strict=True)]
        listed = np.isin(keys, release.persons.table.key)
        stated = release.households.card().expected_error.cells
        assert stated is not None  # a pyramid has closed forms
        unlisted += (true[~listed] <= size * stated.ends[1]).tolist()
    return {
        "map": kind, "max_size": size, "mean size": 1 + share * (size - 1),
        "intervals": len(usual),
        "estimate": float(np.mean(usual)),
        "estimate, worst case": float(np.mean(bound)),
        "not listed": float(np.mean(unlisted)) if unlisted else None,
    }  # fmt: skip


def draw_squares(truth: Truth, trial: int) -> list[tuple[slice, slice]]:
    """Draw squares around occupied cells."""
    draw, occupied = np.random.default_rng(trial), np.argwhere(truth.homes > 0)
    boxes = []
    for side in REGION_SIDES:
        corners = occupied[draw.integers(0, len(occupied), REGIONS)] - draw.integers(0, side)
        limit = np.array(truth.homes.shape) - side
        for row, column in np.clip(corners, 0, limit).tolist():
            boxes.append((slice(row, row + side), slice(column, column + side)))
    return boxes


def show(result: dict[str, Any]) -> str:
    """Format all tables."""
    caption = f"{result['settings']['trials']} trials"
    return "\n\n".join([caption, *(table(lines(part, result)) for part in PARTS)])


PARTS = ("errors", "bias", "coverage", "full")
"""Tables of the document, by their markers."""

COVERAGE = ("protected", "epsilon", "released households", "squares")
"""First columns of the table of coverage."""


def lines(part: str, result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the lines of a table."""
    if part == "coverage":
        shares = ("persons", "households", "mean size", "estimable")
        return [
            {
                **{name: row[name] for name in COVERAGE if name in row},
                **{n: "-" if row[n] is None else f"{row[n]:.1%}" for n in shares},
            }
            for row in result["coverage"]
        ]
    if part == "full":
        shares = ("estimate", "estimate, worst case", "not listed")
        return [
            {
                **{name: row[name] for name in ("map", "max_size", "mean size", "intervals")},
                **{n: "-" if row[n] is None else f"{row[n]:.1%}" for n in shares},
            }
            for row in result["full"]
        ]
    found = []
    for row in result["rows"]:
        line = {name: row[name] for name in ("protected", "epsilon", "method")}
        for name in ("persons", "households"):
            if part == "errors":
                cells = zip(SIDES, row[name], strict=True)
                line |= {f"{name} {side**2:,}": value for side, value in cells}
            else:
                cells = zip(CLASSES, row[f"bias of {name}"], strict=True)
                line |= {f"{name} {low}+": round(value, 2) for low, value in cells}
        if part == "errors":
            line |= {name: row[name][0] for name in ("impossible", "mean size")}
        found.append(line)
    return found


def excerpts(result: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Build the document's tables: of coverage, the least over both budgets."""
    methods = ["two releases, half of the budget each", "geodp.households"]
    by = ["protected", "released households"]
    held = least(result["coverage"], by, ["persons", "households", "mean size", "estimable"])
    return {
        "errors": [
            row
            for row in excerpt(lines("errors", result), without=["persons 256", "households 256"])
            if "to 3 persons" not in row["method"]
        ],
        "bias": excerpt(lines("bias", result), {"method": methods}),
        "coverage": lines("coverage", {"coverage": held}),
        "full": lines("full", result),
    }


def marks(part: str) -> tuple[str, str]:
    """Return the markers around a table of the document."""
    return f"<!-- bench:households:{part} -->", f"<!-- /bench:households:{part} -->"


def fill_document() -> dict[str, Any]:
    """Fill the document's tables with the saved figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    for part, rows in excerpts(result).items():
        fill(DOCUMENT, marks(part), markdown(rows))
    return result
