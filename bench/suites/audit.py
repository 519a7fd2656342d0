"""The cost of audits of conventional tables, compared with plain fractions and with pandas."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from bench.tables import fill_saved, markdown, table
from geodp.literature.api import Taxonomy, generalize
from geodp.tools.audit.api import k_anonymity, smallest_k

TITLE = "CPU milliseconds of audits; the least of some runs."

PAIRS = (("0.632120558828", "1", "1e-4"), ("0.632120558828", "1", "1e-6"))
PAIRS += (("0.776869839851", "1.5", "1e-6"),)
"""Rates 1 - exp(-epsilon), rounded down; epsilons and deltas."""

SAVED = Path(__file__).parents[1] / "results" / "audit.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "audit.md"
MARKS = ("<!-- bench:audit -->", "<!-- /bench:audit -->")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--rows", type=int, default=45_222, help="of the made-up census extract")
    parser.add_argument("--runs", type=int, default=9)


def measure(rows: int = 45_222, runs: int = 9) -> dict[str, Any]:
    """Measure a row for each question, with the times of geodp and of the other."""
    results = [
        _row(
            f"smallest k, epsilon {epsilon}, delta {delta}",
            lambda rate=rate, epsilon=epsilon, delta=delta: smallest_k(rate, epsilon, delta),
            "a plain loop of fractions, told the answer",
            lambda rate=rate, epsilon=epsilon, delta=delta: plain(rate, epsilon, delta),
            runs,
        )
        for rate, epsilon, delta in PAIRS
    ]
    import pandas as pd

    # The same frame for geodp and for pandas.
    frame = pd.DataFrame(people(rows))
    trees = hierarchies()

    def group() -> int:
        return int(frame.groupby([*frame]).size().min())

    results.append(_row("k-anonymity", lambda: k_anonymity(frame), "pandas group-by", group, runs))
    for k in (10, 100):
        question = f"generalisation to k = {k}"
        results.append(
            _row(question, lambda k=k: generalize(frame, trees, k), "pandas group-by", group, runs)
        )
    return {"settings": {"rows": rows, "columns": len(frame.columns)}, "rows": results}


def _row(
    question: str, ours: Callable[[], Any], other: str, theirs: Callable[[], Any], runs: int
) -> dict[str, Any]:
    """Measure CPU times in alternating runs."""
    times = [(cost_of(ours), cost_of(theirs)) for _ in range(runs)]
    fastest = [1000 * min(column) for column in zip(*times, strict=True)]
    return {"what": question, "geodp": fastest[0], "other": other, "its": fastest[1]}


def cost_of(call: Callable[[], Any]) -> float:
    """Measure the CPU seconds of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def plain(rate: str, epsilon: str, delta: str) -> bool:
    """Check that the smallest k is right: all sums of fractions, for it and the one before."""
    b, limit = Fraction(rate), Fraction(delta)
    # A rounded exponential suffices here: thresholds differ by far more.
    growth = Fraction(Decimal(epsilon).exp())
    g = float(1 - (1 - b) / growth)
    decline = g * math.log(g / b) - float(epsilon) * (1 - g)
    # Beyond this size of cell Chernoff's bound is below the delta.
    last = math.ceil(-math.log(limit) / decline) + 1
    k = smallest_k(rate, epsilon, delta)
    return [_delta(k - less, b, growth, g, last) <= limit for less in (0, 1)] == [True, False]


def _delta(k: int, rate: Fraction, growth: Fraction, g: float, last: int) -> Fraction:
    largest = Fraction(0)
    for n in range(k, last + 1):
        chance = Fraction(0)
        for s in range(max(k, math.floor(g * n) + 1), n + 1):
            chance += math.comb(n, s) * rate**s * (1 - rate) ** (n - s)
            if s < n:
                fewer = math.comb(n - 1, s) * rate**s * (1 - rate) ** (n - 1 - s)
                chance -= growth * fewer
        largest = max(largest, chance)
    return largest


def people(rows: int, seed: int = 7) -> dict[str, Any]:
    """Generate records with the columns of the Adult census extract: age, sex, race, status."""
    draw = np.random.default_rng(seed)
    race = np.array(["White", "Black", "Asian", "Native", "Other"])
    status = np.array(["Married", "Single", "Divorced", "Separated", "Widowed", "Apart", "Forces"])
    return {
        "age": np.clip(draw.gamma(8, 5, rows), 17, 90).astype(np.int64),
        "sex": np.array(["Female", "Male"])[(draw.random(rows) < 0.67).astype(int)],
        "race": race[draw.choice(5, rows, p=[0.86, 0.093, 0.029, 0.01, 0.008])],
        "status": status[draw.choice(7, rows, p=[0.466, 0.323, 0.14, 0.031, 0.028, 0.011, 0.001])],
    }


def hierarchies() -> dict[str, Taxonomy]:
    """Build trees of the columns' values."""
    ages = ((age, f"{age // 10}0s", "young" if age < 40 else "old") for age in range(17, 91))
    races = ("White", "Black", "Asian", "Native", "Other")
    wed = [(name, "wed") for name in ("Married", "Apart", "Forces")]
    alone = [(name, "alone") for name in ("Single", "Divorced", "Separated", "Widowed")]
    return {
        "age": Taxonomy.of_rows(ages),
        "sex": Taxonomy.of(dict.fromkeys(("Female", "Male"), "*")),
        "race": Taxonomy.of(dict.fromkeys(races, "*")),
        "status": Taxonomy.of_rows([*wed, *alone]),
    }


def show(result: dict[str, Any]) -> str:
    """Format the rows as a table."""
    return table(_lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


def section(result: dict[str, Any]) -> str:
    """Format the document's table."""
    settings = result["settings"]
    caption = (
        f"CPU milliseconds (`python -m bench audit`); {settings['rows']:,} made-up records of "
        f"{settings['columns']} columns."
    )
    return f"{caption}\n\n{markdown(_lines(result))}"


def _lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "question": row["what"],
            "geodp, ms": row["geodp"],
            "beside": row["other"],
            "its ms": row["its"],
            "ratio": row["its"] / row["geodp"],
        }
        for row in result["rows"]
    ]
