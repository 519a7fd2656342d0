"""Common queries of a map, by the default, its former version and others, in one table."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.baselines import libraries
from bench.inputs import derived
from bench.inputs.families import draw_families
from bench.measure.errors import mean_and_error
from bench.measure.regions import MapDifference
from bench.measure.simulation import FRESH, public_key
from bench.suites import held_out
from bench.suites.methods import names
from bench.suites.shares import DOCUMENT
from bench.tables import excerpt, fill_saved, markdown, table, text
from geodp.mechanisms import mechanism
from geodp.privacy.terms import Terms
from geodp.table.proxy import Proxy

TITLE = """\
Mean absolute errors of the sums of regions, and their standard errors.
  kept apart              neither levels nor shares nor constants of geodp were chosen by the map
  version 4               the default before levels and shares followed from closed forms; with
                          Gaussian noise, pyramid:setting=flat"""

USED = ["kanto", "germany-1km", "europe-2018-7-5", "europe-2018-9-8", "hiroshima-2020"]
"""Maps on which levels were tried, see :mod:`bench.suites.shares`."""

FORMER = {
    13: "pyramid:chain=3-4-6,shares=297-1898-2507-5298",
    18: "pyramid:chain=1-3-4-4-6,shares=297-466-1213-1618-1892-4514",
    20: "pyramid:chain=3-3-4-4-6,shares=297-1064-1009-1475-1706-4449",
    21: "pyramid:chain=1-3-3-4-4-6,shares=297-380-1057-959-1407-1626-4274",
}
"""The default of version 4 of the pyramid, by the bits of a key."""

PAPER, CELLS, GRID = "topdown", "OpenDP laplace, each cell", "AG, as its authors have it"
FAMILIES = ("cells", "polygons", "municipalities", "rectangles")
SAVED = Path(__file__).parents[1] / "results" / "questions.json"
MARKS = ("<!-- bench:questions -->", "<!-- /bench:questions -->")

Errors = NDArray[np.float64]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--maps", type=names, default=[*USED, *held_out.MAPS], metavar="A;B")
    parser.add_argument("--trials", type=int, default=10, help="releases")
    parser.add_argument(
        "--patience", type=float, default=20, help="seconds for the releases of one method"
    )


def measure(data: Path | None, maps: list[str], trials: int, patience: float) -> dict[str, Any]:
    """Measure a row for each map, budget and method."""
    rows = []
    for name in maps:
        source = derived.load(name, data)
        for budget in ({"epsilon": "1/10"}, {"rho": "1/200"}):
            for label, release in methods(source, budget).items():
                errors = list_errors(source, name, release, trials, patience)
                mean, spread = mean_and_error([*np.array(list(errors.values())).T])
                rows.append(
                    {
                        "map": name,
                        "budget": " ".join(*budget.items()),
                        "method": label,
                        "trials": len(next(iter(errors.values()))),
                        "regions": [*errors],
                        "mae": list(mean),
                        "se": list(spread),
                    }
                )
    return {"rows": rows, "settings": {"trials": trials, "patience": patience}}


def methods(source: geodp.CountTable, budget: dict[str, str]) -> dict[str, Callable[[int], Errors]]:
    """Return a function of each method that releases the table and returns all counts by key."""
    former = FORMER[source.grid.bits] if "epsilon" in budget else "pyramid:setting=flat"
    specs = {PAPER: PAPER, "version 4": former, "pyramid": "pyramid"}
    runs = {label: _of_geodp(source, spec, budget) for label, spec in specs.items()}
    if "epsilon" in budget:
        epsilon = Fraction(budget["epsilon"])
        runs |= {name: _of_others(source, name, epsilon) for name in (CELLS, GRID)}
    return runs


def _of_geodp(
    source: geodp.CountTable, spec: str, budget: dict[str, str]
) -> Callable[[int], Errors]:
    method = mechanism(spec)
    event = method.event(source.grid, Terms.of(**budget, contribution=1))

    def release(trial: int) -> Errors:
        released = method.release(source, event, public_key(FRESH + trial))
        return np.asarray(released.to_vector(), np.float64)

    return release


def _of_others(source: geodp.CountTable, name: str, epsilon: Fraction) -> Callable[[int], Errors]:
    run, to_vector = libraries.by_name(name).prepare(source, epsilon)
    return lambda trial: to_vector(run(trial))


def list_errors(
    source: geodp.CountTable,
    name: str,
    release: Callable[[int], Errors],
    trials: int,
    patience: float,
) -> dict[str, list[float]]:
    """List the mean absolute errors of each family of regions, release by release."""
    grid, people = source.grid, source.to_vector().astype(np.float64)
    inside = grid.domain.to_vector(np.ones(grid.shape, np.bool_))
    groups = [g for f in draw_families(FAMILIES, grid, Proxy(source, name)) for g in f.groups]
    errors: dict[str, list[float]] = {group.name: [] for group in groups}
    for error in _releases(release, trials, patience):
        # Cells outside the domain are no answer of any method.
        difference = MapDifference(grid, None, people, np.where(inside, error - people, 0.0))
        for group in groups:
            sums = np.abs(group.sums(difference)[1]).sum()
            errors[group.name].append(float(sums) / group.count(grid))
    return errors


def _releases(release: Callable[[int], Errors], trials: int, patience: float) -> Iterator[Errors]:
    start = time.perf_counter()
    for trial in range(trials):
        # Two at least, as standard errors need them.
        if trial >= 2 and time.perf_counter() - start > patience:
            return
        yield release(trial)


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table."""
    built = []
    for row in result["rows"]:
        apart = "yes" if row["map"] in held_out.MAPS else "no"
        line = {"map": row["map"], "kept apart": apart}
        line |= {key: row[key] for key in ("budget", "method")}
        for name, mae, se in zip(row["regions"], row["mae"], row["se"], strict=True):
            line[name.replace("polygons of ", "polygons ").removesuffix(" cells")] = (
                f"{text(mae)} ± {text(se)}"
            )
        built.append(line)
    return built


def show(result: dict[str, Any]) -> str:
    """Format all rows."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


def section(result: dict[str, Any]) -> str:
    """Format the document's table: errors of some maps, without the former version."""
    rows = [row for row in result["rows"] if row["map"] in SHOWN and row["method"] != "version 4"]
    table_lines = [
        {key: row[key] for key in ("map", "budget", "method")}
        | dict(zip(row["regions"], row["mae"], strict=True))
        for row in rows
    ]
    return markdown(excerpt(table_lines, without=["polygons of 64 to 512 cells"]))


SHOWN = ("kanto", "kanto-foreigners")
"""Maps of the document's table: a dense one, and a sparse one that nothing was chosen by."""
