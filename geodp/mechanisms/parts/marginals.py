"""Marginals of parts, such as one sex or one age, which are measured separately.

A marginal has its own share of the budget, and noisy counts at the areas where its labels have a
signal, which are smaller than those where single parts have one. Its estimates combine its
measurements with the sums of measured parts, weighted by inverse variances. The estimated parts of
an area are then scaled until they add up to the marginal's estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.joint import Joint
from geodp.mechanisms.parts.counts import Measured
from geodp.mechanisms.parts.levels import Step, steps_of
from geodp.typing import FloatArray, IntArray

MAX_MARGINALS = 16
"""Most marginals of a release."""

ROUNDS = 4
"""Rounds of scaling to all marginals in turn: a fixed number, so that all machines agree."""

FIRST_STEP = 2
"""Number of the first marginal's step; the steps of the parts have the numbers before it."""

Number = TypeVar("Number", np.int64, np.float64)


def normalise(text: str) -> str:
    """Write marginals as ``sex+age+sex*age``, the form of settings; commas may stand for plus
    signs.

    Raises UsageError for one that is empty or repeated.
    """
    names = [[name.strip() for name in one.split("*")] for one in text.replace(",", "+").split("+")]
    if text and not all(all(one) for one in names):
        raise UsageError(
            "parts:marginals lists attributes, such as sex,age or sex*age,nationality.",
            code="marginals-form",
        )
    sets = [frozenset(one) for one in names]
    if len(set(sets)) < len(sets) or any(len(set(one)) < len(one) for one in names):
        raise UsageError(
            "parts:marginals must name each marginal once, and each attribute once in a marginal.",
            code="marginals-repeated",
        )
    if len(names) > MAX_MARGINALS:
        raise UsageError(
            f"parts:marginals may list at most {MAX_MARGINALS} marginals.",
            code="marginals-too-many",
        )
    return "+".join("*".join(one) for one in names)


@dataclass(frozen=True, eq=False)
class Marginal:
    """Sums of the parts of the first step.

    Attributes
    ----------
    name : str
        Its attributes in the order of the grid, such as ``sex*age``.
    number : int
        Its number among all marginals.
    labels : int
    label : int64[parts]
        Label of every part.
    """

    name: str
    number: int
    labels: int
    label: IntArray = field(repr=False)

    @property
    def each(self) -> int:
        """Number of parts of a label."""
        return self.label.size // self.labels

    @property
    def step(self) -> Step:
        """The marginal as a step, which determines its streams of noise."""
        return Step(FIRST_STEP + self.number, 1, self.labels, self.labels, 1)

    def add_up(self, table: NDArray[Number]) -> NDArray[Number]:
        """Sum a table [n, parts] by label, in the table's type: [n, labels]."""
        sums = np.zeros((table.shape[0], self.labels), table.dtype)
        # One after the other: the order of a floating-point sum must not depend on the processor.
        for part, label in enumerate(self.label):
            sums[:, label] += table[:, part]
        return sums

    def improve(self, measured: Sequence[Measured], parts: Sequence[Measured]) -> None:
        """Improve its estimates by sums of the parts' estimates, on levels that have both."""
        # A marginal's label sums `each` parts, so the variance of that sum is `each` times a
        # part's.
        for mine, theirs in zip(measured, parts, strict=False):
            spread = self.each * theirs.variance
            weight = spread / (spread + mine.variance)
            mine.z[:] = weight[:, None] * mine.z + (1 - weight)[:, None] * self.add_up(theirs.z)
            mine.variance[:] *= weight


def list_marginals(grid: Grid, joint: Joint, text: str) -> tuple[Marginal, ...]:
    """List the marginals of a grid, without trivial ones: of a single label, or equal to the parts.

    Raises UsageError for an unknown attribute, and for a marginal that is not a sum of the parts of
    the first step.
    """
    names = [attribute.name for attribute in grid.attributes]
    marginals: list[Marginal] = []
    for names_text in text.split("+") if text else ():
        for name in names_text.split("*"):
            if name not in names:
                raise UsageError(
                    f"A marginal is over attributes of the grid ({', '.join(names) or 'none'}), "
                    f"and {name} is not one.",
                    code="marginal-attribute-unknown",
                )
        axes = sorted(names.index(name) for name in names_text.split("*"))
        sizes = [joint.labels[axis] for axis in axes]
        index = np.unravel_index(np.arange(joint.parts), joint.labels)
        label = np.ravel_multi_index([index[axis] for axis in axes], sizes)
        inside = steps_of(joint)[0].inside if joint.parts > 1 else 1
        first = np.asarray(label[::inside], np.int64)
        if (np.repeat(first, inside)[: label.size] != label).any():
            raise UsageError(
                f"More than 64 parts are apportioned in two steps, and a marginal over "
                f"{names_text} is not a sum of the groups of the first step: list its attributes "
                "before the others when you make the grid.",
                code="marginal-not-nested",
            )
        labels = int(np.prod(sizes))
        # A marginal with a single label is the total, and one with all labels is the parts: both
        # are measured anyway.
        if 1 < labels < first.size:
            name = "*".join(names[axis] for axis in axes)
            marginals.append(Marginal(name, len(marginals), labels, first))
    return tuple(marginals)


Goals = list[tuple[Marginal, FloatArray]]
"""Marginals, and target counts of their labels."""


def shift(z: FloatArray, total: float, goals: Goals) -> FloatArray:
    """Shift estimates of parts evenly, so that they add up to a total and to its marginals.

    ``z``: float64[parts]; ``goals``: float64[1, labels] each.
    """
    for marginal, goal in goals * ROUNDS:
        held = marginal.add_up(z[None])[0]
        lacks = goal[0] + (total - np.cumsum(goal[0])[-1]) / marginal.labels - held
        z = z + (lacks / marginal.each)[marginal.label]
    return z


def fit_rows(wanted: FloatArray, people: IntArray) -> FloatArray:
    """Scale the rows of a table to given sums; rows of zeros stay zero: float64[n, parts]."""
    sums = np.cumsum(wanted, axis=1)[:, -1:]
    by = np.divide(people[:, None], sums, out=np.zeros_like(sums), where=sums > 0)
    return wanted * by


def scale(wanted: FloatArray, people: IntArray, goals: Goals) -> FloatArray:
    """Scale the estimated parts of nodes to marginals: float64[n, parts].

    Parameters
    ----------
    wanted : float64[n, parts]
        Not negative; empty labels stay empty.
    people : int64[n]
        Counts of the nodes, above 0.
    goals : Goals
        float64[n, labels] each, not negative.
    """
    for marginal, goal in goals * ROUNDS:
        targets, held = fit_rows(goal, people), marginal.add_up(wanted)
        # Where a label's parts are all 0 there is nothing to scale; the row's total corrects it.
        some = (held > 0) & (targets.sum(axis=1, keepdims=True) > 0)
        by = np.divide(targets, held, out=np.ones_like(goal), where=some)
        wanted = wanted * by[:, marginal.label]
    return wanted
