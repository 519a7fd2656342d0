"""Persons, their sex and age, and households in one release, beside releases of each apart."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs.public import load, load_households
from bench.suites.households import MAX_SIZE
from bench.suites.table import key_of, squares
from bench.suites.together_more import SIDES, compare_amounts, compare_errors, compare_sizes
from bench.tables import fill, markdown, table
from geodp.kinds.census.inputs import status_columns
from geodp.kinds.census.kind import Column
from geodp.kinds.households.inputs import sizes_of
from geodp.typing import IntArray

TITLE = """\
Persons, sixteen parts of them by sex and age, and households, persons in these and persons
outside, in the Kanto window, census 2020. Mean absolute errors in squares of 1, 16, 256 and 4,096
cells, of releases apart with epsilon 1 each and of one release of the same epsilon in all, and
their ratio. Then how many 95 % intervals hold the truth, and in brackets their median half width
over the 95 % quantile of the errors. Then the same ratios of households by size in one release, and
of incomes that agree with a given map of persons, made up as for `amounts`."""

SAVED = Path(__file__).parents[1] / "results" / "together.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "census.md"

COVERED, SQUARES, SEED = 3, 300, 20201001
"""Trials whose intervals are measured, and most squares of each side in each."""

NAMES = ("households", "persons in households", "persons outside")
PERSONS, PARTS = "persons", "parts of sex x age"
COUNTED = "persons of sex x age"
"""All persons whose sex and age are stated: the sum of the parts."""


Dense = dict[str, IntArray]
"""Counts by quantity: int64[rows, columns], or with a last axis of parts."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="public statistics")
    parser.add_argument("--trials", type=int, default=10, help="releases; default: 10")


@dataclass(frozen=True)
class Tables:
    """Confidential tables of the same people.

    Attributes
    ----------
    persons, parts, households, members, others : CountTable
    truth : dict of str to int64[rows, columns]
    """

    persons: geodp.CountTable
    parts: geodp.CountTable
    households: geodp.CountTable
    members: geodp.CountTable
    others: geodp.CountTable
    truth: Dense

    @classmethod
    def of(cls, folder: Path | None) -> Tables:
        """Read them; whoever is in no general household is outside, with an age or without."""
        streams = sizes_of(load_households(folder), MAX_SIZE).streams()
        households, members = streams.households, streams.all_members
        grid = households.grid
        ages = load("kanto-parts", folder).to_dense()
        ages = ages.reshape(*ages.shape[:2], -1)
        inside = members.to_dense()
        persons = np.maximum(np.maximum(load("kanto", folder).to_dense(), inside), ages.sum(axis=2))
        truth = dict(zip(NAMES, (households.to_dense(), inside, persons - inside), strict=True))
        labels = [f"{sex} {age}" for sex in "mf" for age in range(ages.shape[2] // 2)]
        dense = geodp.CountTable.from_dense
        return cls(
            dense(persons, grid),
            dense(ages, grid.with_attribute("sex_age", labels)),
            households,
            members,
            dense(persons - inside, grid),
            {PERSONS: persons, PARTS: ages, COUNTED: ages.sum(axis=2), **truth},
        )


def publish(tables: Tables, trial: int, *, parts: bool, **options: Any) -> geodp.census.Census:
    """Publish persons and households in one release, perhaps with sex and age."""
    rest = {"rest": {"sex_age": "not stated"}} if parts else {}
    columns = (Column(PERSONS, PERSONS), *status_columns(*NAMES))
    return geodp.census.publish(
        tables.persons, {"sex_age": tables.parts} if parts else {}, **rest,
        households=tables.households, members=tables.members, max_size=MAX_SIZE,
        columns=columns, contribution=1, contradictions="refuse", key=key_of(trial), **options,
    )  # fmt: skip


def densify(release: geodp.census.Census) -> Dense:
    """Return the counts of one release by quantity."""
    found = {PERSONS: release.releases[PERSONS].table.to_dense()}
    if "sex_age" in release.releases:
        found[PARTS] = release.releases["sex_age"].table.to_dense()[..., :-1]
        found[COUNTED] = found[PARTS].sum(axis=2)
    if "household_status" in release.releases:
        homes, others, outside = np.moveaxis(
            release.releases["household_status"].table.to_dense(), -1, 0
        )
        found |= zip(NAMES, (homes, homes + others, outside), strict=True)
    return found


def publish_apart(tables: Tables, trial: int, *, parts: bool) -> Dense:
    """Publish each product with epsilon 1: persons, households, and perhaps sex and age."""
    options: dict[str, Any] = {"epsilon": 1, "contribution": 1}
    persons = geodp.publish(tables.persons, key=key_of(1000 + trial), **options)
    homes = geodp.households.publish(
        tables.members, tables.households, others=tables.others, max_size=MAX_SIZE,
        protect="person", key=key_of(2000 + trial), **options,
    )  # fmt: skip
    assert homes.others is not None
    released = [homes.households, homes.persons, homes.others]
    found = {PERSONS: persons.table.to_dense()}
    if parts:
        detail = geodp.publish(tables.parts, key=key_of(3000 + trial), **options)
        found[PARTS] = detail.table.to_dense()
        found[COUNTED] = found[PARTS].sum(axis=2)
    return found | dict(zip(NAMES, [one.table.to_dense() for one in released], strict=True))


def errors_of(found: Dense, truth: Dense) -> dict[str, list[float]]:
    """Return mean absolute errors of squares, by quantity and side; of parts of their parts."""
    return {
        name: [
            float(np.mean([np.abs(squares(one, side)).mean() for one in np.moveaxis(wrong, -1, 0)]))
            for side in SIDES
        ]
        for name, counts in found.items()
        for wrong in [np.atleast_3d(counts - truth[name])]
    }


def compare(tables: Tables, trials: int, *, parts: bool) -> list[dict[str, Any]]:
    """Compare one release with releases apart that have the same epsilon in all."""
    epsilon, one, apart, seconds = 3 if parts else 2, [], [], np.zeros(2)
    for trial in range(trials):
        start = time.process_time()
        apart.append(errors_of(publish_apart(tables, trial, parts=parts), tables.truth))
        middle = time.process_time()
        release = publish(tables, trial, parts=parts, epsilon=epsilon)
        one.append(errors_of(densify(release), tables.truth))
        seconds += middle - start, time.process_time() - middle
    return [{"products": 2 + parts, **row} for row in compare_errors(one, apart)]


def disagree(tables: Tables) -> float:
    """Return in how many inhabited cells releases apart state different numbers of persons."""
    found = publish_apart(tables, 0, parts=True)
    persons = [found[PERSONS], found[PARTS].sum(axis=2), found[NAMES[1]] + found[NAMES[2]]]
    differ = (persons[0] != persons[1]) | (persons[0] != persons[2])
    return float(differ[tables.truth[PERSONS] > 0].mean())


def cover(tables: Tables, name: str, amounts: dict[str, Any]) -> list[dict[str, Any]]:
    """Measure the intervals of squares that have persons."""
    random, held = np.random.default_rng(SEED), dict[tuple[str, int], list[tuple[float, ...]]]()
    for trial in range(COVERED):
        release = publish(tables, trial, parts=False, **amounts)
        for side in SIDES:
            at = np.argwhere(squares(tables.truth[PERSONS], side) > 0)
            some = at[random.permutation(len(at))[:SQUARES]] * side
            regions = [np.mgrid[r : r + side, c : c + side].reshape(2, -1) for r, c in some]
            for place, found in zip(regions, release.estimate_all(regions), strict=True):
                for quantity, one in found.items():
                    true = int(tables.truth[quantity][tuple(place)].sum())
                    row = one.low <= true <= one.high, one.high - one.low, abs(one.value - true)
                    held.setdefault((quantity, side), []).append(row)
    rows = []
    for quantity in (PERSONS, *NAMES):
        row: dict[str, Any] = {"budget": name, "quantity": quantity}
        for side in SIDES:
            inside, width, wrong = np.array(held[quantity, side]).T
            ratio = np.median(width) / 2 / max(np.quantile(wrong, 0.95), 1.0)
            row[f"{side * side} cells"] = f"{100 * inside.mean():.1f} % ({ratio:.1f})"
        rows.append(row)
    return rows


BUDGETS: dict[str, dict[str, Any]] = {
    "epsilon 2": {"epsilon": 2},
    "epsilon 1/5": {"epsilon": Fraction(1, 5)},
    "rho 1/2": {"rho": Fraction(1, 2), "delta": Fraction(1, 10**10)},
}


def measure(data: Path | None, trials: int) -> dict[str, Any]:
    """Measure errors, intervals, and how often releases apart contradict each other."""
    tables = Tables.of(data)
    return {
        "settings": {
            "trials": trials,
            **{name: int(counts.sum()) for name, counts in tables.truth.items()},
            "disagree apart": disagree(tables),
        },
        "errors": [row for parts in (False, True) for row in compare(tables, trials, parts=parts)],
        "intervals": [
            row for one, amounts in BUDGETS.items() for row in cover(tables, one, amounts)
        ],
        "sizes": compare_sizes(data, trials),
        "amounts": compare_amounts(data, trials),
    }


TABLES: dict[str, Callable[[dict[str, Any]], list[dict[str, Any]]]] = {
    "errors": lambda result: result["errors"],
    "intervals": lambda result: result["intervals"],
    "sizes": lambda result: result["sizes"],
    "amounts": lambda result: result["amounts"],
}


def show(result: dict[str, Any]) -> str:
    """Format all tables."""
    settings = "  ".join(f"{name}: {value}" for name, value in result["settings"].items())
    return "\n\n".join([settings, *(table(rows(result)) for rows in TABLES.values())])


def fill_document() -> None:
    """Fill the document's tables with the saved figures."""
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    for name, rows in TABLES.items():
        marks = f"<!-- bench:together:{name} -->", f"<!-- /bench:together:{name} -->"
        fill(DOCUMENT, marks, markdown(rows(saved)))
