"""The smallest loss of an isolated settlement by any post-processing of measurements.

Any method that shares a settlement's people over a map, none below 0, places on average no more of
them around its place than the chance of naming the place. That chance is largest with knowledge of
how many people and cells the settlement has and how they lie, that a square of two levels above the
cells is otherwise empty, and of all measurements of it: by Bayes' rule.
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
"""Settlements that are drawn of a size class."""

SEED = 20150901


def find_min_loss(
    grid: geodp.Grid, method: str, epsilon: Fraction, classes: tuple[int, ...], around: int
) -> dict[str, float]:
    """Compute the smallest loss around settlements, in per cent, by size class.

    Parameters
    ----------
    grid : Grid
        A grid whose lowest nodes, and the next ones above, are squares.
    method : str
        A method that measures counts of nodes with Laplace noise.
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
    node, square = isqrt(tree.fanouts[-1]), isqrt(tree.fanouts[-1] * tree.fanouts[-2])
    scales = [float(np.sqrt(variance / 2)) for variance in tree.variances[-1:-3:-1]]
    random, losses = np.random.default_rng(SEED), {}
    for low, high in pairwise(classes):
        placed = 0.0
        for _ in range(DRAWS):
            place, people = draw_settlement(low, high, random)
            placed += name_place(place, people, (node, square), scales, around, random) / DRAWS
        losses[f"{low:,}-{high:,}"] = 100 * (placed - 1)
    return losses


def draw_settlement(low: int, high: int, random: np.random.Generator) -> tuple[Counts, Counts]:
    """Draw rows and columns of a settlement's cells from 0 on, int64[2, n], and their people."""
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
    """Compute the chance to name a cell around a settlement from measurements of its square.

    Parameters
    ----------
    place, people : int64[2, n], int64[n]
        Cells of the settlement, and their people.
    sides : int, int
        Sides of a lowest node and of the considered square, in cells.
    scales : list of float
        Scales of the noise of cells and of lowest nodes.
    around : int
    random : Generator
        Source of the settlement's position, and of the noise.
    """
    node, square = sides
    positions = square - place.max(axis=1)
    # A settlement larger than the square is not considered: its place counts as known.
    if (positions < 1).any():
        return 1.0
    first = np.indices(tuple(positions)).reshape(2, -1)
    # Cells of all candidate positions: [2, candidates, n].
    cells = first[:, :, None] + place[:, None]
    number = cells[0] // node * (square // node) + cells[1] // node
    parts = np.zeros((first.shape[1], (square // node) ** 2))
    np.add.at(parts, (np.arange(first.shape[1])[:, None], number), people)
    truth = int(random.integers(first.shape[1]))
    seen = random.laplace(0, scales[0], (square, square))
    seen[tuple(cells[:, truth])] += people
    above = random.laplace(0, scales[1], parts.shape[1]) + parts[truth]
    here = seen[cells[0], cells[1]]
    # Log-likelihood ratios of Laplace noise: each candidate with and without the settlement.
    support = (np.abs(here) - np.abs(here - people)).sum(axis=1) / scales[0]
    support += (np.abs(above) - np.abs(above - parts)).sum(axis=1) / scales[1]
    # Subtracting the maximum keeps the exponentials from overflowing.
    chance = np.exp(support - support.max())
    chance = (chance / chance.sum()).reshape(positions)
    # A cell is around all candidates that begin within a box before it.
    reach = place.max(axis=1) + 2 * around
    for axis, length in enumerate(reach + 1):
        before = np.cumsum(np.pad(chance, [(length if i == axis else 0, 0) for i in (0, 1)]), axis)
        ends = np.arange(length, before.shape[axis])
        chance = np.take(before, ends, axis) - np.take(before, ends - length, axis)
    return float(chance.max())
