"""The table of the pyramid's default: levels and shares by domain and signal, and how they do."""

from __future__ import annotations

import argparse
import json
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs import public
from bench.tables import fill, markdown, table
from geodp.analysis.plan.families import Objectives, draw_families
from geodp.analysis.plan.search import Candidate
from geodp.analysis.plan.shares import PARTS, chains, least_product
from geodp.analysis.plan.simulation import FRESH, Ratio, Simulation
from geodp.grid.grid import Grid
from geodp.mechanisms import mechanism
from geodp.privacy.terms import Terms
from geodp.table.proxy import Proxy

TITLE = """\
Plans for the pyramid's default: mean absolute errors over those of the paper's method.
  chosen                  of each map the plan that the other maps choose
  largest                 of aligned blocks of up to 2^12 cells, and of all, that are 64 or more"""

PAPER = "topdown"
OBJECTIVES = Objectives.parse("cells=1,polygons=1,municipalities=1,rectangles=1,squares=1")
TABLES = (
    *("kanto", "germany-1km", "europe-2011-7-5", "europe-2018-7-5", "europe-2011-9-8"),
    *("europe-2018-9-8", "hiroshima-2010", "hiroshima-2020", "samoa-100m", "flow"),
)
PATTERNS = {
    "3-6": (3, (6,)),
    "3-2-4-4": (3, (2, 4, 4)),
    "3-4-5": (3, (4, 5)),
    "3-4-6": (3, (4, 6)),
    "3-4-4-6": (3, (4, 4, 6)),
}
"""Bits of the levels from the cells up: the lowest, and those that are repeated above them."""

MOST_BITS = 36
"""Of the table; a larger domain repeats one of its levels."""

FEW_BITS = 11
"""Of domains on which all chains are tried."""

LEAST = 300
"""Fewest parts of a level: one of more noise would prune what is occupied, the total first of all.
"""

SMALL, LARGE = 1.05, 1.25
"""How much worse than the paper's method a block of up to 2^12 cells may be, and a larger one."""

PLANNED = ((8, 1.02), (13, 0.98), (64, 1.14))
"""The same for closed forms of blocks of fewer bits: less, as mean absolute errors are larger."""

ENOUGH = 64
"""Blocks below which measured ratios of a few releases are left to chance."""

SAVED = Path(__file__).parents[1] / "results" / "auto.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "pyramid.md"
MARKS = ("<!-- bench:auto -->", "<!-- /bench:auto -->")

Floats = NDArray[np.float64]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options; their names are :func:`measure`'s."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--trials", type=int, default=6, help="releases of each plan")
    parser.add_argument(
        "--epsilons", type=lambda text: text.split(","), default=["0.1", "1"], metavar="A,B"
    )


def chain_of(bits: int, pattern: str) -> tuple[int, ...]:
    """Return the bits of the levels of a pattern; what does not fit is left out at the top.

    Examples
    --------
    >>> chain_of(18, "3-2-4-4"), chain_of(5, "3-2-4-4"), chain_of(18, "3-6")
    ((2, 3, 3, 2, 4, 4), (1, 4), (3, 3, 3, 3, 6))
    """
    step, bottom = PATTERNS[pattern]
    found: list[int] = []
    for size in (*reversed(bottom), *[step] * bits):
        size = min(size, bits - sum(found))
        found = [size, *found] if size else found
    return tuple(found)


@lru_cache(maxsize=1)
def regions() -> tuple[Floats, Floats]:
    """Return squares of families of regions on a public made-up map, and their weights."""
    grid = Grid.regular((512, 512))
    families = draw_families(OBJECTIVES, grid, Proxy.make_up(grid, None))[:-1]
    rows = [group.squares(grid) for one in families for group in one.groups]
    weights = np.array([1 / len(one.groups) for one in families for _ in one.groups])
    return np.array(rows), weights / weights.sum()


def regions_of(bits: int) -> tuple[Floats, Floats]:
    """Return the same on a domain of any size.

    A region has the same cells on a larger domain, and on a smaller one at most all of it.
    """
    rows, weights = regions()
    above = 4.0 ** -np.arange(max(0, bits + 1 - rows.shape[1]), 0, -1)
    rows = np.concatenate([rows[:, :1] * above, rows], axis=1)
    return np.minimum(rows[:, -bits - 1 :], 2.0 ** np.arange(bits + 1)), weights


def limits_of(bits: int) -> Floats:
    """Return standard errors that blocks may have, for a budget of 1, by digits that they share."""
    grid = Grid.regular((1 << bits // 2, 1 << bits - bits // 2))
    method = mechanism(PAPER)
    event = method.event(grid, Terms.of(epsilon=1).bound(1))
    variance = method.variances(grid, event)
    assert variance is not None
    size = bits - np.arange(bits + 1)
    factor = np.array([next(most for below, most in PLANNED if b < below) for b in size])
    return np.asarray(np.sqrt(variance) * factor, np.float64)


def plan_of(bits: int, pattern: str) -> Candidate:
    """Return levels and shares by closed form, within the bound on aligned blocks.

    Those of a pattern; on a few bits, where it does not fit, the best of many.
    """
    (squares, weights), most = regions_of(bits), limits_of(bits)
    every = [chain_of(bits, pattern)] if bits > FEW_BITS else [*chains(bits)]
    tried = [least_product(chain, squares, weights, most=most) for chain in every]
    found = min(tried, key=lambda shares: shares.value)
    least = min(LEAST, PARTS // (2 * len(found.parts)))
    return Candidate.of(found.steps, [max(part, least) for part in found.parts])


def measure(
    data: Path | None = None, trials: int = 6, epsilons: list[str] | None = None
) -> dict[str, Any]:
    """Measure every pattern on every map, choose, and make the table."""
    rows = []
    for name in TABLES:
        source = public.load(name, data)
        for epsilon in epsilons or ["0.1", "1"]:
            rows += _rows(name, source, epsilon, trials)
    for row in rows:
        row["by_others"] = best(rows, row["data"]) == row["pattern"]
    return {"trials": trials, "rows": rows, "chosen": best(rows)}


def _rows(name: str, source: geodp.CountTable, epsilon: str, trials: int) -> list[dict[str, Any]]:
    """Measure all patterns on one map; regions are drawn on it, as they are on people's maps."""
    grid = Grid.regular(source.grid.shape)
    own = geodp.CountTable.from_keys(grid, source.key, source.count)
    proxy = Proxy(own, name)
    families = draw_families(OBJECTIVES, grid, proxy)
    simulation, terms = Simulation(proxy, families), Terms.of(epsilon=epsilon).bound(1)

    def run(spec: str, often: int) -> Any:
        method = mechanism(spec)
        return simulation.run(method, method.event(grid, terms), range(FRESH, FRESH + often))

    theirs = run(PAPER, 4 * trials)
    squares = [group.count(grid) for group in families[-1].groups]
    signal = float(epsilon) * float(own.count.sum()) / grid.size
    found = []
    for pattern in ("R", *PATTERNS):
        spec = "pyramid:setting=R" if pattern == "R" else plan_of(grid.bits, pattern).spec
        ratios = Ratio.all_of(run(spec, trials), theirs)
        ends = [0, *accumulate(len(one.groups) for one in families)]
        mae = np.array([ratio.mae for ratio in ratios])
        logs = [np.log(mae[a:b]).mean() for a, b in pairwise(ends)]
        blocks = [ratio.largest for ratio in ratios[ends[-2] :]]
        told = [ratio if n >= ENOUGH else 0.0 for ratio, n in zip(blocks, squares, strict=True)]
        small, all_ = max(told[:13]), max(told)
        over = max(0.0, float(np.log(small / SMALL)), float(np.log(all_ / LARGE)))
        errors = {o.objective.name: float(np.exp(v)) for o, v in zip(families, logs, strict=True)}
        found.append(
            {
                "data": name,
                "bits": grid.bits,
                "epsilon": epsilon,
                "signal": signal,
                "pattern": pattern,
                "spec": spec,
                "families": errors,
                "largest": small,
                "largest_of_all": all_,
                "value": float(np.mean(logs)) + over,
            }
        )
    return found


def best(rows: list[dict[str, Any]], without: str = "") -> str:
    """Return the pattern with the least geometric mean over maps, but for those of one place."""
    some = [row for row in rows if not _same(row["data"], without)]
    values = {p: [row["value"] for row in some if row["pattern"] == p] for p in PATTERNS}
    return min(PATTERNS, key=lambda pattern: float(np.mean(values[pattern])))


def _same(one: str, other: str) -> bool:
    """Whether two maps are of one place: other years of it are left out with it."""
    return bool(other) and place_of(one) == place_of(other)


def place_of(name: str) -> str:
    """Return a map's name without its year."""
    return "".join(part for part in name.split("-") if part not in ("2010", "2011", "2018", "2020"))


def code(pattern: str) -> str:
    """Return the rows of the table in the code: a line for each number of bits."""
    lines = []
    for bits in range(1, MOST_BITS + 1):
        plan = plan_of(bits, pattern)
        steps, parts = ("-".join(map(str, part)) for part in (plan.steps, plan.parts))
        lines.append(f'    "{steps} {parts}",')
    return "\n".join(lines)


def show(result: dict[str, Any]) -> str:
    """Return the measured table, and the code's rows."""
    return f"{table(lines(result))}\n\n{result['chosen']}\n\n{code(result['chosen'])}"


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the measured table: of every map `R`, and what other maps choose."""
    found = []
    for row in result["rows"]:
        if row["pattern"] == "R" or row["by_others"]:
            found.append(
                {
                    "map": row["data"],
                    "epsilon": row["epsilon"],
                    "signal": f"{row['signal']:.3g}",
                    "plan": row["pattern"],
                    **{name: f"{ratio:.2f}" for name, ratio in row["families"].items()},
                    "largest": f"{row['largest']:.2f}",
                    "of all": f"{row['largest_of_all']:.2f}",
                }
            )
    return found


def fill_document() -> dict[str, Any]:
    """Write the document's table from the kept figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    fill(DOCUMENT, MARKS, markdown(lines(result)))
    return result
