"""Marginals with separate measurements, and tables of many parts: errors and time."""

from __future__ import annotations

import argparse
import json
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs import public
from bench.suites.attributes import SIZES, budgets
from bench.tables import area, excerpt, fill, markdown, table
from geodp.grid.joint import split_grid
from geodp.mechanisms import mechanism
from geodp.privacy.terms import Terms

TITLE = """\
Kanto, census 2020, 512 x 512 cells of 500 m: sex x 8 ages as they are, and in more detail that is
made up: each age is divided evenly and at random until there are 21, and people by nationality with
shares 1/2, 1/4 ... of those before. Mean absolute errors of aligned blocks of so many cells, of one
sex; then processor time of one release, and that of its map, and the rows of both tables."""

SAVED = Path(__file__).parents[1] / "results" / "detail.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "attributes.md"
MARKS = ("<!-- bench:detail -->", "<!-- /bench:detail -->")
BANDS = (3, 1, 1, 9, 2, 2, 2, 1)
"""Number of the 21 ages in each of the eight."""

METHODS = ("parts", "parts:marginals=sex", "parts:marginals=sex+age")
NATIONS, SEED = (1, 6, 97), 20201001


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="public statistics")
    parser.add_argument("--epsilons", type=budgets, default=budgets("1/10,1"), metavar="E,E")
    parser.add_argument("--trials", type=int, default=5, help="releases of each; default: 5")


def measure(data: Path | None, epsilons: list[Fraction], trials: int) -> dict[str, Any]:
    """Measure rows of errors by table, budget and method, and rows of time by detail."""
    source = public.load("kanto-parts", data)
    fine = refine(source, 1)
    rows = []
    for name, counts in (("8 ages", source), ("21 ages, made up", fine)):
        for epsilon in epsilons:
            for spec in METHODS:
                row = {"table": f"sex x {name}", "epsilon": str(epsilon), "method": spec}
                rows.append(row | {"errors": errors(counts, spec, epsilon, trials)})
    times = [clock(refine(source, nations), nations) for nations in NATIONS]
    return {"rows": rows, "times": times, "trials": trials}


def refine(source: geodp.CountTable, nations: int) -> geodp.CountTable:
    """Refine sex and eight ages to sex, 21 ages and nationalities."""
    rng, joint = np.random.default_rng(SEED), split_grid(source.grid)
    assert joint is not None
    shares = np.zeros((len(BANDS), sum(BANDS)))
    for age, (stop, n) in enumerate(zip(np.cumsum(BANDS), BANDS, strict=True)):
        # Ages within a band are equally likely, as nothing finer is published.
        shares[age, stop - n : stop] = 1 / n
    weights = 0.5 ** np.arange(1, nations + 1)
    names = [str(n) for n in range(sum(BANDS))]
    grid = joint.map.with_attribute("sex", ["m", "f"]).with_attribute("age", names)
    if nations > 1:
        grid = grid.with_attribute("nationality", [str(n) for n in range(nations)])
    fine_joint = split_grid(grid)
    assert fine_joint is not None
    cell, part = joint.split(source.key)
    keys, counts = [], []
    # In parts, as people by age and nation would not fit memory at once.
    for run in np.array_split(np.arange(cell.size), max(cell.size * nations >> 18, 1)):
        people = rng.multinomial(source.count[run], shares[part[run] % len(BANDS)])
        split = rng.multinomial(people, weights / weights.sum())
        at, age, nation = np.nonzero(split)
        sex = part[run][at] // len(BANDS)
        keys.append(fine_joint.join(cell[run][at], (sex * sum(BANDS) + age) * nations + nation))
        counts.append(split[at, age, nation])
    return geodp.CountTable.from_keys(grid, np.concatenate(keys), np.concatenate(counts), bound=1)


def draw(source: geodp.CountTable, spec: str, epsilon: Fraction, trial: int) -> geodp.ReleasedTable:
    """Draw one release."""
    method = mechanism(spec)
    event = method.event(source.grid, Terms.of(epsilon=epsilon, contribution=1), "fixed")
    return method.release(source, event, geodp.NoiseKey(trial.to_bytes(32, "little")))


def add_up(counts: Any) -> NDArray[np.int64]:
    """Sum people of the first sex in all cells, in key order: int64[cells]."""
    joint = split_grid(counts.grid)
    assert joint is not None
    cell, part = joint.split(counts.key)
    is_first_sex = part < joint.parts // 2
    people = np.zeros(1 << joint.map.bits, np.int64)
    np.add.at(people, cell[is_first_sex].astype(np.int64), counts.count[is_first_sex])
    return people


def errors(source: geodp.CountTable, spec: str, epsilon: Fraction, trials: int) -> list[float]:
    """Compute mean absolute errors of people of a sex by size of block."""
    truth, trial_errors = add_up(source), []
    for trial in range(trials):
        error = add_up(draw(source, spec, epsilon, trial)) - truth
        trial_errors.append([float(np.abs(error.reshape(-1, n).sum(axis=1)).mean()) for n in SIZES])
    return [float(x) for x in np.mean(trial_errors, axis=0)]


def clock(source: geodp.CountTable, nations: int) -> dict[str, Any]:
    """Time a release at epsilon 1, and that of its map; the second run of two."""
    joint = split_grid(source.grid)
    assert joint is not None
    map_only = geodp.CountTable.from_keys(joint.map, joint.split(source.key)[0], source.count)
    seconds, released = [0.0, 0.0], source.key
    # The first run compiles.
    for trial in range(2):
        for i, (counts, spec) in enumerate(((map_only, "pyramid"), (source, "parts"))):
            start = time.process_time()
            released = draw(counts, spec, Fraction(1), trial).key
            seconds[i] = time.process_time() - start
    return {
        "parts": f"2 x {sum(BANDS)}" + (f" x {nations}" if nations > 1 else ""),
        "rows": int(source.key.size),
        "released rows": int(released.size),
        "seconds": seconds[1],
        "times the map": seconds[1] / seconds[0],
    }


def show(result: dict[str, Any]) -> str:
    """Format aligned tables."""
    return "\n\n".join([table(lines(result)), table(clocked(result))])


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's first table."""
    return [
        {name: row[name] for name in ("table", "epsilon", "method")}
        | {area(n): error for n, error in zip(SIZES, row["errors"], strict=True)}
        for row in result["rows"]
    ]


def clocked(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of its second table."""
    return [
        row
        | {name: f"{row[name]:,}" for name in ("rows", "released rows")}
        | {"seconds": f"{row['seconds']:.1f}", "times the map": f"{row['times the map']:.1f}"}
        for row in result["times"]
    ]


def fill_document() -> None:
    """Fill the document's tables with the saved figures."""
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    rows = excerpt(lines(saved), {"epsilon": ["1"]}, ["epsilon", "MAE 4", "MAE 64", "MAE 256"])
    fill(DOCUMENT, MARKS, f"{markdown(rows)}\n\n{markdown(clocked(saved))}")
