"""What any post-processing must lose of a lone settlement: how well measurements tell where it is.

Whoever shares a settlement's people out over a map, none below 0, keeps around its place on average
no more of them than the chance that they name the place. That is the largest for who knows how many
people and cells the settlement has and how they lie, that nobody else lives in a square of two
levels above the cells, and all measurements of it: by Bayes' rule.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import isqrt

import numpy as np
from numpy.typing import NDArray

import geodp
from geodp.mechanisms import Mechanism, mechanism
from geodp.privacy.terms import Terms

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

DRAWS = 400
"""Settlements of a size class."""

SEED = 20150901


def find_least_lost(
    grid: geodp.Grid, method: str, epsilon: Fraction, classes: tuple[int, ...], around: int
) -> dict[str, float]:
    """Per cent that is lost at least around settlements, by size class.

    Parameters
    ----------
    grid : Grid
        Whose lowest nodes, and the next ones above, are squares.
    method : str
        That measures counts of nodes with Laplace noise.
    epsilon : Fraction
    classes : tuple of int
        Ends of size classes.
    around : int
        Cells each way around a settlement whose people count.
    """
    chosen = mechanism(method)
    assert isinstance(chosen, Mechanism)
    event = chosen.event(grid, Terms.of(epsilon=epsilon, contribution=1), "entropy")
    tree = chosen.tree_variance(grid, event)
    assert tree is not None
    node, whole = isqrt(tree.fanouts[-1]), isqrt(tree.fanouts[-1] * tree.fanouts[-2])
    scales = [float(np.sqrt(variance / 2)) for variance in tree.variances[-1:-3:-1]]
    random, found = np.random.default_rng(SEED), {}
    for low, high in pairwise(classes):
        kept = 0.0
        for _ in range(DRAWS):
            place, people = draw_settlement(low, high, random)
            kept += name_place(place, people, (node, whole), scales, around, random) / DRAWS
        found[f"{low:,}-{high:,}"] = 100 * (kept - 1)
    return found


def draw_settlement(low: int, high: int, random: np.random.Generator) -> tuple[Counts, Counts]:
    """Return rows and columns of a settlement's cells from 0 on, int64[2, n], and their people."""
    total = np.exp(random.uniform(np.log(low), np.log(high)))
    place = np.indices((19, 19)).reshape(2, -1) - 9
    away = (place**2).sum(axis=0) + 2 * random.random(place.shape[1])
    place = place[:, np.argsort(away)[: max(1, round((total / 30) ** 0.8))]]
    weight = np.sort(random.lognormal(0, 1, place.shape[1]))[::-1]
    people = np.maximum(np.rint(total * weight / weight.sum()), 1).astype(np.int64)
    return place - place.min(axis=1, keepdims=True), people


def name_place(
    place: Counts,
    people: Counts,
    sides: tuple[int, int],
    scales: list[float],
    around: int,
    random: np.random.Generator,
) -> float:
    """Return the chance to name a cell around a settlement from measurements of cells and nodes.

    Parameters
    ----------
    place, people : int64[2, n], int64[n]
        Of the settlement's cells.
    sides : int, int
        Of a lowest node and of the square that is looked at, in cells.
    scales : list of float
        Of the noise of cells and of lowest nodes.
    around : int
    random : Generator
        Where the settlement lies, and of the noise.
    """
    node, whole = sides
    room = whole - place.max(axis=1)
    if (room < 1).any():
        return 1.0  # larger than the square: not looked at
    first = np.indices(tuple(room)).reshape(2, -1)
    cells = first[:, :, None] + place[:, None]  # of all candidates: [2, candidates, n]
    number = cells[0] // node * (whole // node) + cells[1] // node
    parts = np.zeros((first.shape[1], (whole // node) ** 2))
    np.add.at(parts, (np.arange(first.shape[1])[:, None], number), people)
    truth = int(random.integers(first.shape[1]))
    seen = random.laplace(0, scales[0], (whole, whole))
    seen[tuple(cells[:, truth])] += people
    above = random.laplace(0, scales[1], parts.shape[1]) + parts[truth]
    here = seen[cells[0], cells[1]]
    support = (np.abs(here) - np.abs(here - people)).sum(axis=1) / scales[0]
    support += (np.abs(above) - np.abs(above - parts)).sum(axis=1) / scales[1]
    chance = np.exp(support - support.max())
    chance = (chance / chance.sum()).reshape(room)
    # A cell is around all candidates that begin within a box before it.
    reach = place.max(axis=1) + 2 * around
    for axis, length in enumerate(reach + 1):
        before = np.cumsum(np.pad(chance, [(length if i == axis else 0, 0) for i in (0, 1)]), axis)
        ends = np.arange(length, before.shape[axis])
        chance = np.take(before, ends, axis) - np.take(before, ends - length, axis)
    return float(chance.max())
