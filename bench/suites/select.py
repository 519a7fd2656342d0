"""Hot spots by geodp and by OpenDP, and the growth of their cost with the domain."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.baselines import libraries
from bench.inputs import public
from bench.measure import cost
from bench.tables import table
from geodp import select
from geodp.errors import UsageError
from geodp.privacy.loss import rational

TITLE = """\
The k cells with the most people, in alternating rounds of one run.
  best, median            milliseconds an answer, from the input in the peer's own form
  ratio                   median / that of geodp on the map itself
  true                    named cells that are among the true k, of the last answer"""

MAX_DENSE = 1 << 20
"""Largest number of cells of a list that OpenDP is given."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--epsilon", type=rational, default=Fraction(1))
    parser.add_argument("--rounds", type=int, default=5, help="rounds for the time")
    parser.add_argument("--patience", type=float, default=60, help="seconds for all rounds of one")


def measure(
    data: Path | None = None,
    k: int = 10,
    epsilon: Fraction = Fraction(1),
    rounds: int = 5,
    patience: float = 60,
) -> dict[str, Any]:
    """Measure a row for each peer and domain."""
    tables = {"map": load(data)}
    tables |= {
        f"2^{2 * side.bit_length() - 2}": embed(tables["map"], side) for side in (1 << 15, 1 << 20)
    }
    answers: dict[str, list[int]] = {}
    runs = {}
    for domain, counts_table in tables.items():
        runs[f"geodp, {domain}"] = _geodp(counts_table, k, epsilon, answers, f"geodp, {domain}")
    if libraries.version("opendp") is not None and tables["map"].grid.size <= MAX_DENSE:
        runs["OpenDP make_noisy_top_k, map"] = _opendp(tables["map"], k, epsilon, answers)
    seconds = cost.alternate(runs, rounds, patience)
    reference = seconds["geodp, map"]["median"]
    # Ties with the k-th cell count as right answers.
    best = np.sort(tables["map"].count)[-k]
    return {
        "settings": {
            "cells": tables["map"].grid.size,
            "occupied": int(tables["map"].key.size),
            "k": k,
            "epsilon": str(epsilon),
        },
        "versions": {"opendp": libraries.version("opendp")},
        "rows": [
            {
                "peer": name,
                "best_ms": times["best"] * 1e3,
                "median_ms": times["median"] * 1e3,
                "rounds": times["rounds"],
                "ratio": times["median"] / reference,
                "true": sum(count >= best for count in answers[name]),
            }
            for name, times in seconds.items()
        ],
    }


def load(folder: Path | None) -> geodp.CountTable:
    """Load the census of the Kanto window, or without a directory make a map of its size."""
    if folder is not None:
        return public.load("kanto", folder)
    draw = np.random.default_rng(15)
    counts = np.zeros(1 << 18, np.int64)
    counts[draw.permutation(counts.size)[:95_976]] = draw.pareto(1.1, 95_976) * 20 + 1
    return geodp.CountTable.from_dense(counts.reshape(512, 512), geodp.Grid.regular((512, 512)))


def embed(source: geodp.CountTable, side: int) -> geodp.CountTable:
    """Place the counts in the corner of a larger map."""
    grid = geodp.Grid.regular((side, side))
    return geodp.CountTable.from_index(grid, source.grid.decode(source.key), source.count)


def _geodp(
    source: geodp.CountTable, k: int, epsilon: Fraction, answers: dict[str, list[int]], name: str
) -> Any:
    counts = {}
    for key, count in zip(source.key.tolist(), source.count.tolist(), strict=True):
        counts[key] = count

    def run(trial: int) -> None:
        chosen = select.top_cells(source, k, epsilon=epsilon, contribution=1).chosen
        place = source.grid.places[0]
        for code in (answer["code"] for answer in chosen):
            if place.system is None:
                row, col = map(int, str(code).split("_"))
                index = [[row], [col]]
            else:
                index = [at.tolist() for at in place.parse([code])]
            answers.setdefault(name, []).append(counts.get(int(source.grid.encode(index)[0]), 0))
        # Only the last answer is compared; earlier rounds are for time.
        answers[name] = answers[name][-k:]

    return run


def _opendp(
    source: geodp.CountTable, k: int, epsilon: Fraction, answers: dict[str, list[int]]
) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    scale = float(k / epsilon)
    draw = dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=k, scale=scale)
    # The guarantee is checked, so that equal budgets are compared.
    if not draw.map(1) <= float(epsilon) * (1 + 1e-9):
        raise UsageError("OpenDP's scale does not keep epsilon.")
    counts = source.to_vector().tolist()

    def run(trial: int) -> None:
        answers["OpenDP make_noisy_top_k, map"] = [counts[at] for at in draw(counts)]

    return run


def show(result: dict[str, Any]) -> str:
    """Format one row a peer."""
    rows = [
        {
            "peer": row["peer"],
            "best": row["best_ms"],
            "median": row["median_ms"],
            "ratio": row["ratio"],
            "true": row["true"],
        }
        for row in result["rows"]
    ]
    settings = result["settings"]
    caption = (
        f"{settings['occupied']:,} occupied cells of {settings['cells']:,}, k = {settings['k']}, "
        f"epsilon = {settings['epsilon']}"
    )
    return f"{caption}\n\n{table(rows)}"
