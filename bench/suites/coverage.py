"""Coverage of the intervals of a release's files for single cells, by kind of cell."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs import public
from bench.suites.methods import names
from bench.tables import fill_saved, markdown, table
from geodp.accuracy.interval import Z
from geodp.privacy.loss import rational

TITLE = """\
Per cent of cells whose true count lies in the interval of the files (low to high), and, after the
stroke, within 1.96 standard errors of the released count.
  empty                   nobody lives there
  isolated                the only inhabited cell of 9 x 9 around it
  edge, dense edge        another one with an empty cell beside it, as at coasts and ends of towns:
                          below and from 1,000 people
  sparse, dense           the same where all eight neighbours are inhabited"""

KINDS = ("empty", "isolated", "edge", "dense edge", "sparse", "dense")
MAPS = [
    "kanto",
    "germany-1km",
    "europe-2018-7-5",
    "europe-2018-9-8",
    "hiroshima-2020",
]
METHODS = ["pyramid", "topdown", "pyramid:prune=7/2"]
MANY = 1_000
AROUND, EDGE = 4, 1
SAVED = Path(__file__).parents[1] / "results" / "coverage.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "uncertainty.md"
MARKS = ("<!-- bench:coverage -->", "<!-- /bench:coverage -->")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="public statistics")
    parser.add_argument("--maps", type=names, default=MAPS, metavar="A;B")
    parser.add_argument("--methods", type=names, default=METHODS, metavar="A;B")
    parser.add_argument("--epsilon", type=rational, nargs="+", default=[Fraction(1, 10), 1])
    parser.add_argument("--trials", type=int, default=10)


def measure(
    data: Path | None,
    maps: list[str],
    methods: list[str],
    epsilon: list[Fraction],
    trials: int,
) -> dict[str, Any]:
    """Measure the coverage of every kind of cell on every map."""
    rows = []
    for name in maps:
        source = public.load(name, data)
        for method in methods:
            for amount in epsilon:
                shares = covered(source, method, amount, trials)
                title = public.SOURCES[name].title
                rows.append({"map": title, "method": method, "epsilon": str(amount), **shares})
    return {"rows": rows, "settings": {"trials": trials}}


def kinds(people: NDArray[np.int64]) -> NDArray[np.int64]:
    """Classify every cell, as an index of ``KINDS``: int64[rows, cols], from its true counts.

    Nothing is known beyond the map, so for edges its margin counts as inhabited.
    """
    inhabited = people > 0
    near = np.lib.stride_tricks.sliding_window_view(
        np.pad(inhabited, EDGE, constant_values=True), (2 * EDGE + 1,) * 2
    ).all(axis=(2, 3))
    far = np.lib.stride_tricks.sliding_window_view(
        np.pad(inhabited, AROUND), (2 * AROUND + 1,) * 2
    ).sum(axis=(2, 3))
    return np.select(
        [~inhabited, inhabited & (far == 1), ~near & (people < MANY), ~near, people < MANY],
        range(len(KINDS) - 1),
        len(KINDS) - 1,
    )


def covered(
    source: geodp.CountTable, method: str, epsilon: Fraction, trials: int
) -> dict[str, dict[str, float]]:
    """Compute shares of cells of every kind whose true count is in both intervals, and counts."""
    grid, dense = source.grid, source.to_dense()
    kind = kinds(dense)
    key = grid.encode(np.indices(grid.shape).reshape(2, -1))
    held = np.zeros((2, len(KINDS)))
    for trial in range(trials):
        # Public keys: the figures can be reproduced, and the tables are public.
        noise = geodp.NoiseKey(trial.to_bytes(32, "little"))
        release = geodp.publish(source, method=method, epsilon=epsilon, contribution=1, key=noise)
        errors = release.errors()
        assert errors is not None
        assert errors.intervals is not None
        low, high = (end.reshape(grid.shape) for end in errors.intervals.of(key))
        released = release.table.to_dense()
        # The plain margin of error, as a reader would use it without the file's intervals.
        margin = Z * release.card().expected_error.blocks[0].largest
        inside = (low <= dense) & (dense <= high), np.abs(released - dense) <= margin
        held += [np.bincount(kind[each], minlength=len(KINDS)) for each in inside]
    cells = np.bincount(kind.reshape(-1), minlength=len(KINDS))
    return {
        name: {
            "cells": int(cells[i]),
            "interval": held[0, i] / max(cells[i] * trials, 1),
            "error": held[1, i] / max(cells[i] * trials, 1),
        }
        for i, name in enumerate(KINDS)
    }


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table."""
    rows = []
    for row in result["rows"]:
        line = {name: row[name] for name in ("map", "method", "epsilon")}
        for kind in KINDS:
            share = row[kind]
            text = f"{100 * share['interval']:.1f} / {100 * share['error']:.1f}"
            line[kind] = text if share["cells"] else "-"
        rows.append(line)
    return rows


def show(result: dict[str, Any]) -> str:
    """Format kinds of cells by maps, methods and budgets."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, lambda result: markdown(lines(result)))
