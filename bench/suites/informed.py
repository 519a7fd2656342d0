"""The pyramid with a prior compared with the one without: the same noise, on pairs of censuses."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs import public
from bench.measure.errors import by_area, mean_and_error
from bench.measure.squares import PLACES, SIDES, hold_squares
from bench.parts import add_parts, choose_parts
from bench.tables import excerpt, fill, least, markdown, table
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.event import Measurement
from geodp.privacy.terms import Terms
from geodp.table.prior import Prior

TITLE = """\
The pyramid with a prior over the same release without one (R's shares), ratios of mean absolute
errors of blocks of 2^0, 2^2 ... cells; below 1 the prior helps.
  kept                    part of the changes of so many people against the prior that cells show"""

SAVED = Path(__file__).parents[1] / "results" / "informed.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "informed.md"
METHOD = Pyramid(setting="R")
PAIRS = {
    "Hiroshima 2015 → 2020": ("hiroshima-2015-wide", "hiroshima-2020-wide"),
    "Europe 7/5 2011 → 2018": ("europe-2011-7-5", "europe-2018-7-5"),
    "Europe 9/8 2011 → 2018": ("europe-2011-9-8", "europe-2018-9-8"),
}
TOWN, LARGE = 16, 500
"""Cells of a town, and the smallest number of its people."""

SIDE_OF_PLACE, LISTED, WIDTH_OF_PLACE = 8, 40, 6.0
"""Cells of a side of a gazetteer's place, number of places, and width of their clouds in cells."""

CHANGED = 200
"""Change in people up to which a cell has changed little."""

Reals = NDArray[np.float64]
Rows = list[dict[str, Any]]
Made = Callable[[geodp.CountTable, geodp.CountTable, str], Prior]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    add_parts(parser, PARTS)
    parser.add_argument("--trials", type=int, default=20, help="pairs of releases of each row")


def measure(
    data: Path | None = None, parts: list[str] | None = None, trials: int = 20
) -> dict[str, Any]:
    """Measure rows of the chosen parts; others are taken from the saved figures."""
    chosen, saved = choose_parts(parts, PARTS, SAVED)
    measured = {part: list(PARTS[part](data, trials)) for part in chosen}
    return {part: measured.get(part, saved.get(part, [])) for part in PARTS}


def show(result: dict[str, Any]) -> str:
    """Format all tables that have rows."""
    shown = {part: lines(part, result[part]) for part in PARTS if result[part]}
    return "\n\n".join(f"{part}\n{table(rows)}" for part, rows in shown.items())


def fill_document() -> dict[str, Any]:
    """Fill the document's tables with the saved figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    for part, rows in excerpts(result).items():
        fill(DOCUMENT, marks(part), markdown(rows))
    return result


def excerpts(result: dict[str, Any]) -> dict[str, Rows]:
    """Build the document's tables: of coverage, the least over all pairs."""
    between = [f"2^{i}" for i in (2, 6, 10, 12, 14, 16)]
    priors = [row for row in lines("priors", result["priors"]) if row["prior"] not in USELESS]
    squares = [
        {"epsilon": row["epsilon"], "squares": row["place"]}
        | dict(zip(map(str, SIDES), row["held"], strict=True))
        for row in result["coverage"]
    ]
    sides, ends = [*map(str, SIDES)], [*PAIRS][::2]
    return {
        "pairs": excerpt(lines("pairs", result["pairs"]), without=[*between, "2^18"]),
        "priors": excerpt(priors, {"": ends}, ["epsilon", *between, "2^8", "2^18"]),
        "settings": excerpt(
            lines("settings", result["settings"]),
            {"": ends},
            ["epsilon", *between[:3], *between[4:]],
        ),
        "towns": excerpt(lines("towns", result["towns"]), without=["epsilon"]),
        "coverage": [
            {name: f"{value:.1%}" if name in sides else value for name, value in row.items()}
            for row in least(squares, ["epsilon", "squares"], sides)
        ],
    }


USELESS = ("gazetteer of towns", "uniform", "mirrored", "shuffled")
"""Priors with which every error of the document's table is that without a prior."""


def marks(part: str) -> tuple[str, str]:
    """Return the markers around a table of the document."""
    return f"<!-- bench:informed:{part} -->", f"<!-- /bench:informed:{part} -->"


def lines(part: str, rows: Rows) -> Rows:
    """Build the lines of a part's table."""
    table_lines = []
    for row in rows:
        line: dict[str, Any] = {"": row["title"], "epsilon": row["epsilon"]}
        if part == "towns":
            line |= {"towns": f"{row['number']} {row['towns']}"}
            line |= {"error without": f"{row['mae'][0]:.1f}", "with": f"{row['mae'][1]:.1f}"}
            table_lines.append(line)
            continue
        if part == "coverage":
            line["squares"] = row["place"]
            sides = zip(SIDES, row["held"], strict=True)
            table_lines.append(line | {f"{side} x {side}": f"{held:.1%}" for side, held in sides})
            continue
        for name in ("prior", "setting"):
            if name in row:
                line[name] = row[name]
        for i in range(0, len(row["ratio"]), 2):
            line[f"2^{i}"] = f"{row['ratio'][i]:.2f}"
        if part == "priors":
            without, with_prior = row["empty"]
            line["empty cells with people"] = f"{with_prior / max(without, 1):.2f}"
        if part == "pairs":
            line["kept, below 200"] = f"{row['kept'][0]:.2f}"
            line["above"] = f"{row['kept'][1]:.2f}"
        table_lines.append(line)
    return table_lines


def compare(
    before: geodp.CountTable,
    now: geodp.CountTable,
    epsilon: str,
    trials: int,
    make_prior: Made,
    method: Pyramid = METHOD,
) -> dict[str, Any]:
    """Compute errors with a prior and without, of the same noisy counts: by size of block.

    Returns
    -------
    dict
        ``mae`` without and with, ``ratio`` and its standard error; ``kept``, the slopes of released
        against true changes of less than 200 people and of more.
    """
    prior = make_prior(before, now, epsilon)
    event = Measurement.of(method.spec, Terms.of(epsilon=epsilon, contribution=1), 1, "fixed")
    truth, expected = now.to_vector().astype(np.float64), before.to_vector().astype(np.float64)
    # The prior is scaled to the same total, so that growth alone is no change of place.
    change = truth - expected * truth.sum() / max(expected.sum(), 1)
    errors: tuple[list[Reals], list[Reals]] = [], []
    slopes, empty = [], np.zeros(2)
    for trial in range(trials):
        key = secret_of(f"{epsilon} {trial}")
        # The same key: both releases have the same noisy counts, and only the prior differs.
        plain = method.release(now, event, key).to_vector() - truth
        informed = method.release_informed(now, event, key, prior)[0].to_vector() - truth
        empty += [((one > 0) & (truth == 0)).sum() for one in (plain, informed)]
        for trials_of, difference in zip(errors, (plain, informed), strict=True):
            trials_of.append(by_area(difference.astype(np.float64)))
        little = np.abs(change) < CHANGED
        slopes.append([slope(change, informed, little), slope(change, informed, ~little)])
    plain_mae, informed_mae = (np.mean(error, axis=0) for error in errors)
    _, spread = mean_and_error(np.subtract(errors[1], errors[0]))
    return {
        "mae": [plain_mae.tolist(), informed_mae.tolist()],
        "ratio": (informed_mae / plain_mae).tolist(),
        "ratio_se": (np.array(spread) / plain_mae).tolist(),
        "empty": (empty / trials).tolist(),
        "kept": np.mean(slopes, axis=0).tolist(),
    }


def slope(change: Reals, error: Reals, cells: NDArray[np.bool_]) -> float:
    """Compute the slope of released changes against true ones, for some cells."""
    true = change[cells]
    return 1 + float((error[cells] * true).sum() / max((true**2).sum(), 1))


def secret_of(name: str) -> geodp.NoiseKey:
    """Derive a public key from a name."""
    return geodp.NoiseKey(hashlib.sha256(f"bench informed {name}".encode()).digest())


def exact(before: geodp.CountTable, now: geodp.CountTable, epsilon: str) -> Prior:
    """Use the earlier census unchanged as the prior."""
    return Prior.of(now.grid, before, "an earlier census")


def pairs(folder: Path | None, trials: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each pair and epsilon."""
    for title, (before, now) in PAIRS.items():
        tables = public.load(before, folder), public.load(now, folder)
        for epsilon in ("0.1", "1"):
            figures = compare(*tables, epsilon, trials, exact)
            yield {"title": title, "epsilon": epsilon, "trials": trials, **figures}


def settings(folder: Path | None, trials: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each pair and setting: errors with a prior over those of R without one."""
    for title, (before, now) in PAIRS.items():
        tables, baseline = (public.load(before, folder), public.load(now, folder)), np.empty(0)
        for method in (METHOD, Pyramid(), Pyramid(setting="informed")):
            figures = compare(*tables, "0.1", max(2, trials // 4), exact, method)
            plain, informed = np.array(figures["mae"])
            baseline = baseline if baseline.size else plain
            # All settings are compared with R without a prior.
            ratio = (informed / baseline).tolist()
            yield {"title": title, "epsilon": "0.1", "setting": method.spec, "ratio": ratio}


def squares(cells: int) -> Made:
    """Make a prior that knows the sums of squares of cells only."""

    def made(before: geodp.CountTable, now: geodp.CountTable, epsilon: str) -> Prior:
        place, at = np.unique(before.key // np.uint64(cells), return_inverse=True)
        count = np.zeros(place.size, np.int64)
        np.add.at(count, at, before.count)
        return Prior(now.grid, place * np.uint64(cells), count, cells, "an earlier census")

    return made


def inhabited(before: geodp.CountTable, now: geodp.CountTable, epsilon: str) -> Prior:
    """Make a prior of 1 in every cell that was inhabited."""
    return Prior(now.grid, before.key, np.ones_like(before.count), 1, "inhabited or not")


def earlier_release(before: geodp.CountTable, now: geodp.CountTable, epsilon: str) -> Prior:
    """Make a prior from a release of the earlier census under the same budget."""
    event = Measurement.of(METHOD.spec, Terms.of(epsilon=epsilon, contribution=1), 1, "fixed")
    released = METHOD.release(before, event, secret_of("an earlier release"))
    return Prior(now.grid, released.key, released.count, 1, "our own release of that year")


def moved(move: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Made:
    """Make a wrong prior: people of the earlier census, moved."""

    def made(before: geodp.CountTable, now: geodp.CountTable, epsilon: str) -> Prior:
        vector = move(before.to_vector())
        key = np.flatnonzero(vector).astype(np.uint64)
        cells = geodp.CountTable.from_keys(now.grid, key, vector[vector > 0])
        return Prior.of(now.grid, cells, "wrong")

    return made


def _shuffled(vector: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.random.default_rng(20150901).permutation(vector)


def gazetteer(before: geodp.CountTable, now: geodp.CountTable, epsilon: str) -> Prior:
    """Make a prior of the largest places of the earlier census, each a round cloud of people."""
    people = before.to_dense().astype(np.float64)
    rows, cols = (size // SIDE_OF_PLACE for size in people.shape)
    squares = people[: rows * SIDE_OF_PLACE, : cols * SIDE_OF_PLACE]
    squares = squares.reshape(rows, SIDE_OF_PLACE, cols, SIDE_OF_PLACE).sum(axis=(1, 3))
    row, col = np.indices(people.shape)
    clouds = np.zeros(people.shape)
    for place in np.argsort(squares, axis=None, kind="stable")[-LISTED:]:
        middle = np.array(divmod(int(place), cols)) * SIDE_OF_PLACE + SIDE_OF_PLACE // 2
        away = (row - middle[0]) ** 2 + (col - middle[1]) ** 2
        clouds += squares.flat[place] * np.exp(-away / (2 * WIDTH_OF_PLACE**2))
    # Whole numbers fine enough that the clouds' edges are kept.
    count = np.rint(clouds / (np.pi * WIDTH_OF_PLACE**2)).astype(np.int64)
    return Prior.of(now.grid, geodp.CountTable.from_dense(count, now.grid), "a gazetteer")


PRIORS: dict[str, Made] = {
    "exact": exact,
    "squares of 2 x 2": squares(4),
    "squares of 4 x 4": squares(16),
    "inhabited or not": inhabited,
    "own release, same epsilon": earlier_release,
    "gazetteer of towns": gazetteer,
    "uniform": moved(np.ones_like),
    "mirrored": moved(lambda vector: vector[::-1].copy()),
    "shuffled": moved(_shuffled),
}


def priors(folder: Path | None, trials: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each pair and kind of prior, with a quarter of the trials."""
    for title, (before, now) in PAIRS.items():
        tables = public.load(before, folder), public.load(now, folder)
        for name, made in PRIORS.items():
            figures = compare(*tables, "0.1", max(2, trials // 4), made)
            yield {"title": title, "epsilon": "0.1", "prior": name, **figures}


def towns(folder: Path | None, trials: int) -> Iterator[dict[str, Any]]:
    """Yield errors of cells in towns that the prior lacks, or that no longer exist."""
    for title, (before, now) in PAIRS.items():
        tables = public.load(before, folder), public.load(now, folder)
        truth = tables[1].to_vector()
        town = truth.reshape(-1, TOWN).sum(axis=1) >= LARGE
        # One town in twenty, so that the rest of the prior stays right.
        draw = np.random.default_rng(1).random(town.size) < 1 / 20
        in_towns = np.repeat(town & draw, TOWN)
        for kind in ("new", "razed"):
            remaining = tables[kind == "razed"].to_vector() * ~in_towns
            key = np.flatnonzero(remaining).astype(np.uint64)
            other = geodp.CountTable.from_keys(tables[1].grid, key, remaining[remaining > 0])
            # New towns are missing in the prior; razed ones exist only there.
            pair = (other, tables[1]) if kind == "new" else (tables[0], other)
            event = Measurement.of(METHOD.spec, Terms.of(epsilon="0.1", contribution=1), 1, "fixed")
            prior, errors = exact(*pair, "0.1"), np.zeros(2)
            for trial in range(max(2, trials // 4)):
                call = pair[1], event, secret_of(f"towns {trial}")
                both = METHOD.release(*call), METHOD.release_informed(*call, prior)[0]
                errors += [
                    np.abs(released.to_vector() - pair[1].to_vector())[in_towns].mean()
                    for released in both
                ]
            mae = (errors / max(2, trials // 4)).tolist()
            number = int(in_towns.sum()) // TOWN
            yield {"title": title, "epsilon": "0.1", "towns": kind, "number": number, "mae": mae}


def coverage(folder: Path | None, trials: int) -> Iterator[dict[str, Any]]:
    """Yield the coverage of 95 % intervals of squares, by where the squares are."""
    for title, (before, now) in PAIRS.items():
        tables = public.load(before, folder), public.load(now, folder)
        for epsilon in ("0.1", "1"):
            event = Measurement.of(
                METHOD.spec, Terms.of(epsilon=epsilon, contribution=1), 1, "fixed"
            )
            truth, held = tables[1].to_dense(), np.zeros((2, len(SIDES)))
            for trial in range(max(2, trials // 5)):
                prior = exact(*tables, epsilon)
                key = secret_of(f"coverage {epsilon} {trial}")
                released = METHOD.release_informed(tables[1], event, key, prior)[0]
                held += hold_squares(geodp.Release(released), truth)
            rows = held / max(2, trials // 5)
            for place, row in zip(PLACES, rows.tolist(), strict=True):
                yield {"title": title, "epsilon": epsilon, "place": place, "held": row}


PARTS: dict[str, Callable[[Path | None, int], Iterator[dict[str, Any]]]] = {
    "pairs": pairs,
    "priors": priors,
    "settings": settings,
    "towns": towns,
    "coverage": coverage,
}
"""Measurements, each a table of the document."""
