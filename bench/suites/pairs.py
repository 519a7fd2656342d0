"""Pairs of areal units on every level, compared with other ways to publish the same table."""

from __future__ import annotations

import argparse
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.tables import table
from geodp.grid.grid import Grid
from geodp.grid.units import grid_of_units, pairs_of_units
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable

TITLE = """\
Jobs by block of home and of work, made up: mean absolute error of the pairs of each level that have
jobs, and of the others.
  units     pairs of units, the pairs of every level measured
  topdown   blocks in the order of their codes, as cells of a grid of pairs
  laplace   noise with a third of epsilon on the occupied pairs of each level; no private release,
            as it tells which pairs are occupied"""

BLOCKS, TRACTS, COUNTIES, JOBS = 5000, 300, 12, 135_000
EPSILONS = (1.0, 0.1)
NEAR = 0.7
"""Share of the jobs of a county's people that are drawn from the same county."""

Integers = NDArray[np.int64]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--releases", type=int, default=3)


def measure(releases: int = 3, blocks: int = BLOCKS, jobs: int = JOBS) -> dict[str, Any]:
    """Measure a row for each way, epsilon and level."""
    random = np.random.default_rng(20261125)
    units = make_units(random, blocks)
    index, count = make_jobs(random, units["county"], jobs)
    named = grid_of_units(
        {level: [f"{number:06}" for number in label] for level, label in units.items()}, "made up"
    )
    ways = {"units": pairs_of_units(named), "topdown": Grid.regular((1, blocks)).pairs()}
    true = {level: sums(label, index, count) for level, label in units.items()}
    rows = []
    for epsilon in EPSILONS:
        for way, grid in ways.items():
            counts_table = CountTable.from_index(grid, index, count)
            errors: dict[str, list[list[float]]] = {level: [] for level in units}
            for number in range(releases):
                key = NoiseKey(number.to_bytes(32, "big"))
                extra: dict[str, Any] = {} if way == "units" else {"method": way}
                release = geodp.publish(
                    counts_table, epsilon=epsilon, contribution=1, key=key, **extra
                )
                released_index = grid.decode(release.table.key)
                for level, label in units.items():
                    error = np.abs(sums(label, released_index, release.table.count) - true[level])
                    has_jobs = true[level] > 0
                    errors[level].append(
                        [error[has_jobs].mean(), error.sum() - error[has_jobs].sum()]
                    )
            for level, pairs_of_errors in errors.items():
                occupied, excess = np.mean(pairs_of_errors, axis=0)
                empty = excess / max(int((true[level] == 0).sum()), 1)
                rows.append(row(way, epsilon, level, float(occupied), float(empty)))
        # Mean deviation of discrete Laplace noise at a third of epsilon, in closed form.
        q = exp(-epsilon / len(units))
        rows += [row("laplace", epsilon, level, 2 * q / (1 - q * q), 0.0) for level in units]
    pairs = {level: int((count > 0).sum()) for level, count in true.items()}
    return {"jobs": int(count.sum()), "occupied_pairs": pairs, "rows": rows}


def show(result: dict[str, Any]) -> str:
    """Format the rows, and the number of occupied pairs."""
    pairs = ", ".join(f"{n:,} of {level}" for level, n in result["occupied_pairs"].items())
    return f"{result['jobs']:,} jobs; pairs with jobs: {pairs}\n\n{table(result['rows'])}"


def row(way: str, epsilon: float, level: str, occupied: float, empty: float) -> dict[str, Any]:
    """Build the row of one level."""
    return {"way": way, "epsilon": epsilon, "level": level, "occupied": occupied, "empty": empty}


def make_units(random: np.random.Generator, blocks: int) -> dict[str, Integers]:
    """Generate the block, tract and county of every block, finest first: int64[blocks] each."""
    county = _parts(random, TRACTS, COUNTIES, 2.0)
    tract = _parts(random, blocks, TRACTS, 4.0)
    return {"block": np.arange(blocks), "tract": tract, "county": county[tract]}


def _parts(random: np.random.Generator, size: int, parts: int, evenness: float) -> Integers:
    """Divide items among parts of uneven sizes, at least one each: int64[size], sorted."""
    share = random.dirichlet(np.full(parts, evenness))
    more = random.choice(parts, size - parts, p=share)
    return np.sort(np.concatenate([np.arange(parts), more]))


def make_jobs(
    random: np.random.Generator, county: Integers, jobs: int
) -> tuple[Integers, Integers]:
    """Generate pairs of blocks with jobs, as indices int64[4, n], and their jobs int64[n]."""
    blocks = county.size
    home, work = random.lognormal(0, 1, blocks), random.lognormal(0, 2.2, blocks)
    origin = random.choice(blocks, jobs, p=home / home.sum())
    destination = random.choice(blocks, jobs, p=work / work.sum())
    for number in range(COUNTIES):
        local_jobs = np.flatnonzero((county[origin] == number) & (random.random(jobs) < NEAR))
        county_work = work * (county == number)
        destination[local_jobs] = random.choice(
            blocks, local_jobs.size, p=county_work / county_work.sum()
        )
    pair, count = np.unique(origin * blocks + destination, return_counts=True)
    # Units are cells of a single row, so row numbers are 0.
    zero = np.zeros_like(pair)
    return np.stack([zero, pair // blocks, zero, pair % blocks]), count.astype(np.int64)


def sums(label: Integers, index: Integers, count: NDArray[Any]) -> NDArray[np.float64]:
    """Sum pairs of units, where ``label`` is the unit of each block."""
    parts = int(label.max()) + 1
    return np.bincount(label[index[1]] * parts + label[index[3]], count, parts * parts)
