"""People of a census by sex and age: errors of the map and of its parts, and biases of sums."""

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
from bench.tables import area, excerpt, fill, markdown, table
from geodp.grid.joint import split_grid
from geodp.mechanisms import mechanism
from geodp.privacy.loss import rational
from geodp.privacy.terms import Terms

TITLE = """\
Kanto, census 2020, sex x 8 ages, 512 x 512 cells of 500 m; means over releases.
  MAE                     mean absolute error of aligned blocks of so many cells: of all people,
                          and of each of the 16 parts
  error of a sum          largest mean error of the sum of a part over all cells, in people
  in its standard errors  the same in standard errors of that mean
  time / map              processor time of a release over that of the map alone, in alternating
                          rounds"""

SAVED = Path(__file__).parents[1] / "results" / "attributes.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "attributes.md"
MARKS = ("<!-- bench:attributes -->", "<!-- /bench:attributes -->")
SIZES = (1, 4, 16, 64, 256, 4096)
METHODS = ("parts", "parts:share=7/10", "parts:share=3/10,last=4", "pyramid")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="public statistics")
    parser.add_argument("--epsilons", type=budgets, default=budgets("1/10,1"), metavar="E,E")
    parser.add_argument("--trials", type=int, default=20, help="releases of each; default: 20")
    parser.add_argument(
        "--sums", type=int, default=100, help="releases for the sums of parts; default: 100"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds for the time; default: 5")


def budgets(text: str) -> list[Fraction]:
    """Parse budgets such as ``1/10,1``."""
    return [rational(part) for part in text.split(",")]


def measure(
    data: Path | None = None,
    epsilons: list[Fraction] | None = None,
    trials: int = 20,
    sums: int = 100,
    rounds: int = 5,
) -> dict[str, Any]:
    """Measure a row for each method and budget; the sums of the first row use more releases."""
    source, rows = public.load("kanto-parts", data), []
    for epsilon in epsilons or [Fraction(1, 10)]:
        for spec in METHODS:
            # Biases of sums need many releases; they are measured in the first row only.
            count = sums if not rows else trials
            rows.append({"epsilon": str(epsilon), **_row(source, spec, epsilon, count)})
    return {
        "people": int(source.count.sum()),
        "trials": trials,
        "rows": rows,
        "time / map": _ratio(source, rounds),
    }


def _row(source: geodp.CountTable, spec: str, epsilon: Fraction, trials: int) -> dict[str, Any]:
    """Measure the errors of a method over some releases."""
    joint = split_grid(source.grid)
    assert joint is not None
    truth = _dense(source, joint.parts)
    all_people, parts, sums = [], [], []
    for trial in range(trials):
        difference = _dense(_release(source, spec, epsilon, trial), joint.parts) - truth
        all_people.append([np.abs(_blocks(difference.sum(axis=1), n)).mean() for n in SIZES])
        parts.append([np.abs(_blocks(difference, n)).mean() for n in SIZES])
        sums.append(difference.sum(axis=0))
    # Sums of many releases show a bias that single cells hide in their noise.
    mean = np.mean(sums, axis=0)
    error = np.std(sums, axis=0, ddof=1) / np.sqrt(trials) if trials > 1 else np.inf
    return {
        "method": spec,
        "trials": trials,
        "all": [float(x) for x in np.mean(all_people, axis=0)],
        "each": [float(x) for x in np.mean(parts, axis=0)],
        "sum": float(np.abs(mean).max()),
        "standard errors": float(np.abs(mean / error).max()),
    }


def _release(
    source: geodp.CountTable, spec: str, epsilon: Fraction, trial: int
) -> geodp.ReleasedTable:
    method = mechanism(spec)
    event = method.event(source.grid, Terms.of(epsilon=epsilon, contribution=1), "fixed")
    return method.release(source, event, geodp.NoiseKey(trial.to_bytes(32, "little")))


def _dense(counts: Any, parts: int) -> NDArray[np.int64]:
    """Return counts of all cells in key order, by part."""
    return np.asarray(counts.to_vector(), np.int64).reshape(-1, parts)


def _blocks(cells: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Sum aligned blocks."""
    return np.asarray(cells.reshape(-1, size, *cells.shape[1:]).sum(axis=1), np.int64)


def _ratio(source: geodp.CountTable, rounds: int) -> float:
    """Compute the time of the map with its parts over that of the map alone: median of rounds."""
    joint = split_grid(source.grid)
    assert joint is not None
    cell, _ = joint.split(source.key)
    map_only = geodp.CountTable.from_keys(joint.map, cell, source.count)
    ratios = []
    for trial in range(rounds + 1):
        seconds = []
        for counts, spec, epsilon in (
            (map_only, "pyramid", Fraction(1, 20)),
            (source, "parts", Fraction(1, 10)),
        ):
            start = time.process_time()
            _release(counts, spec, epsilon, trial)
            seconds.append(time.process_time() - start)
        ratios.append(seconds[1] / seconds[0])
    # The first round compiles.
    return float(np.median(ratios[1:]))


def show(result: dict[str, Any]) -> str:
    """Format aligned tables."""
    ratio = f"time / map: {result['time / map']:.1f}"
    return "\n\n".join([table(_lines(result)), ratio])


def _lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build two lines a row: all people, and each part."""
    lines = []
    for row in result["rows"]:
        for kind in ("all", "each"):
            errors = {area(n): error for n, error in zip(SIZES, row[kind], strict=True)}
            sums = {"error of a sum": None, "in its standard errors": None}
            if kind == "each":
                sums = {
                    "error of a sum": row["sum"],
                    "in its standard errors": row["standard errors"],
                }
            names = {"epsilon": row["epsilon"], "method": row["method"], "releases": row["trials"]}
            subject = {"of": "all people" if kind == "all" else "each part"}
            lines.append({**names, **subject, **errors, **sums})
    return lines


def fill_document() -> None:
    """Fill the document's table with the saved figures."""
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    sentence = (
        f"A release of the 16 parts takes {saved['time / map']:.1f} times the processor time of "
        "the map alone."
    )
    methods = ["parts", "pyramid"]
    rows = excerpt(
        _lines(saved), {"method": methods}, ["releases", "MAE 4", "MAE 64", "error of a sum"]
    )
    fill(DOCUMENT, MARKS, f"{markdown(rows)}\n\n{sentence}")
