"""How far the defaults are from the best noise that a linear method can have for common queries."""

from __future__ import annotations

import argparse
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.inputs.regions import SEED, draw_areas
from bench.suites.shares import DOCUMENT
from bench.tables import fill_saved, markdown, table
from geodp.grid.grid import Grid
from geodp.mechanisms import mechanism
from geodp.privacy.terms import Terms
from geodp.table.proxy import Proxy

TITLE = """\
Root-mean-square errors of noise without a clamp, over the standard deviation of noise that has the
whole budget for the cells alone. The bound: the best Gaussian noise for all families at once, in
geometric mean; regions are averaged over all translations of the map, so that the best strategy
follows from a Fourier transform of their mean Gram matrix."""

SIDE = 512
FAMILIES = ("municipalities", "rectangles")
ROUNDS = 100
"""Rounds in which the families' weights follow their errors."""

METHODS = {
    "the default, Gaussian noise": ("pyramid", {"rho": "1/2"}),
    "flat, Gaussian noise": ("pyramid:setting=flat", {"rho": "1/2"}),
    "the default, Laplace noise": ("pyramid", {"epsilon": "1"}),
    "R, Laplace noise": ("pyramid:setting=R", {"epsilon": "1"}),
}
UNITS = {"rho": 1.0, "epsilon": sqrt(2)}
"""Standard deviation of noise with the whole budget: of 1/2 in rho, or 1 in epsilon."""

SAVED = Path(__file__).parents[1] / "results" / "bound.json"
MARKS = ("<!-- bench:bound -->", "<!-- /bench:bound -->")

Floats = NDArray[np.float64]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--regions", type=int, default=60, help="of each family, for the methods")


def measure(regions: int) -> dict[str, Any]:
    """Compute the bound, and the errors of methods by their closed forms."""
    grid = Grid.regular((SIDE, SIDE))
    drawn = list_regions(grid)
    powers = {name: power_of(grid, keys) for name, keys in drawn.items()}
    rows = [{"": "bound, all families at once", **best_at_once(powers)}]
    rows.append({"": "bound, each family alone", **{n: best_alone(g) for n, g in powers.items()}})
    for label, (spec, loss) in METHODS.items():
        method = mechanism(spec)
        tree = method.tree_variance(grid, method.event(grid, Terms.of(**loss, contribution=1)))
        assert tree is not None
        (unit,) = (UNITS[name] for name in loss)
        row: dict[str, Any] = {"": label}
        for name, keys in drawn.items():
            row[name] = sqrt(np.mean([tree.region(key) for key in keys[:regions]])) / unit
        rows.append(row)
    return {"rows": rows, "settings": {"side": SIDE, "regions": regions}}


def list_regions(grid: Grid) -> dict[str, list[NDArray[np.uint64]]]:
    """List the keys of the regions of each family on a public synthetic map."""
    # Single cells are all alike, and a few stand for their places in the tree.
    cells = np.arange(0, grid.size, grid.size // 64 + 1, dtype=np.uint64)
    places, random = Proxy.make_up(grid, None).table, np.random.default_rng(SEED)
    drawn = draw_areas(places, FAMILIES, grid.size, random)
    areas = {name: [region.key for region in group] for name, group in drawn.items()}
    return {"cells": [*cells[:, None]], **areas}


def power_of(grid: Grid, keys: list[NDArray[np.uint64]]) -> Floats:
    """Compute the mean power spectrum of regions: float64[side, side]."""
    power = np.zeros(grid.shape)
    for key in keys:
        region = np.zeros(grid.shape)
        region[tuple(grid.decode(key))] = 1
        power += np.abs(np.fft.fft2(region)) ** 2
    return power / len(keys)


def best_alone(power: Floats) -> float:
    """Compute the smallest possible error of a family, with a strategy for it alone."""
    # With the eigenvalues a of a strategy's Gram matrix the variance of a query is the mean of
    # power / a, and a person's change has the squared length mean(a): the best a is sqrt(power).
    return float(np.sqrt(power).mean())


def best_at_once(powers: dict[str, Floats]) -> dict[str, float]:
    """Compute the errors of the strategy whose geometric mean over the families is smallest."""
    weights = dict.fromkeys(powers, 1.0)
    errors: dict[str, float] = {}
    for _ in range(ROUNDS):
        gram = np.sqrt(sum(weights[name] * power for name, power in powers.items()))
        errors = {n: sqrt((power / gram).mean() * gram.mean()) for n, power in powers.items()}
        # Where the sum of logarithms is least, each family weighs as the inverse of its variance.
        weights = {name: error**-2 for name, error in errors.items()}
    return errors


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table."""
    return [
        {key: f"{value:.3g}" if isinstance(value, float) else value for key, value in row.items()}
        for row in result["rows"]
    ]


def show(result: dict[str, Any]) -> str:
    """Format all rows."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, lambda result: markdown(lines(result)))
