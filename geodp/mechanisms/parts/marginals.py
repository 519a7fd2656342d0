"""Marginals of parts, such as one sex or one age: measured by themselves, and how parts go by it.

A marginal has a share of the budget of its own, and noisy counts at the areas where its labels have
a signal, which is further down than single parts have one. What is known of it is what was measured
and the sums of measured parts, each by the inverse of its variance. The parts that an area is to
have are then scaled in proportion until they add up to that.
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

MOST = 16
"""Marginals of a release."""

ROUNDS = 4
"""Of scaling to all marginals in turn."""

FIRST_STEP = 2
"""Number of the first one's step; those of the parts come before it."""

Number = TypeVar("Number", np.int64, np.float64)


def normalise(text: str) -> str:
    """Return marginals as ``sex+age+sex*age``, which settings hold; commas do for plus signs.

    Raises UsageError for one that is empty or there twice.
    """
    names = [[name.strip() for name in one.split("*")] for one in text.replace(",", "+").split("+")]
    if text and not all(all(one) for one in names):
        raise UsageError(
            "parts:marginals are attributes: sex,age or sex*age,nationality.", code="marginals-form"
        )
    sets = [frozenset(one) for one in names]
    if len(set(sets)) < len(sets) or any(len(set(one)) < len(one) for one in names):
        raise UsageError(
            "parts:marginals has every marginal once, and every attribute in it once.",
            code="marginals-repeated",
        )
    if len(names) > MOST:
        raise UsageError(f"parts:marginals are at most {MOST}.", code="marginals-too-many")
    return "+".join("*".join(one) for one in names)


@dataclass(frozen=True, eq=False)
class Marginal:
    """Sums of the parts that are shared out first.

    Attributes
    ----------
    name : str
        Its attributes in the order of the grid, such as ``sex*age``.
    number : int
        Among all.
    labels : int
    label : int64[parts]
        Of every part.
    """

    name: str
    number: int
    labels: int
    label: IntArray = field(repr=False)

    @property
    def each(self) -> int:
        """Parts that a label has."""
        return self.label.size // self.labels

    @property
    def step(self) -> Step:
        """Numbers its noise, and says how many labels there are."""
        return Step(FIRST_STEP + self.number, 1, self.labels, self.labels, 1)

    def add_up(self, table: NDArray[Number]) -> NDArray[Number]:
        """Return sums by label, of the table's type: [n, labels]; ``table``: [n, parts]."""
        sums = np.zeros((table.shape[0], self.labels), table.dtype)
        for part, label in enumerate(self.label):  # in order, so that processors agree
            sums[:, label] += table[:, part]
        return sums

    def improve(self, own: Sequence[Measured], parts: Sequence[Measured]) -> None:
        """Improve its estimates by sums of those of the parts, on levels that have both."""
        for mine, theirs in zip(own, parts, strict=False):
            spread = self.each * theirs.variance
            weight = spread / (spread + mine.variance)
            mine.z[:] = weight[:, None] * mine.z + (1 - weight)[:, None] * self.add_up(theirs.z)
            mine.variance[:] *= weight


def list_marginals(grid: Grid, joint: Joint, text: str) -> tuple[Marginal, ...]:
    """Return the marginals of a grid; without those whose labels are the parts' own or one.

    Raises UsageError for an attribute that is not there, and for a marginal that is no sum of what
    is shared out first.
    """
    names = [attribute.name for attribute in grid.attributes]
    found: list[Marginal] = []
    for words in text.split("+") if text else ():
        for name in words.split("*"):
            if name not in names:
                raise UsageError(
                    f"A marginal is over attributes of the grid ({', '.join(names) or 'none'}), "
                    f"and {name} is not one.",
                    code="marginal-attribute-unknown",
                )
        axes = sorted(names.index(name) for name in words.split("*"))
        sizes = [joint.labels[axis] for axis in axes]
        index = np.unravel_index(np.arange(joint.parts), joint.labels)
        label = np.ravel_multi_index([index[axis] for axis in axes], sizes)
        inside = steps_of(joint)[0].inside if joint.parts > 1 else 1
        first = np.asarray(label[::inside], np.int64)
        if (np.repeat(first, inside)[: label.size] != label).any():
            raise UsageError(
                f"More than 64 parts are shared out in two steps, and a marginal over {words} is "
                "no sum of the groups that come first: name its attributes before the others when "
                "the grid is made.",
                code="marginal-not-nested",
            )
        labels = int(np.prod(sizes))
        if 1 < labels < first.size:
            name = "*".join(names[axis] for axis in axes)
            found.append(Marginal(name, len(found), labels, first))
    return tuple(found)


Goals = list[tuple[Marginal, FloatArray]]
"""Marginals, and what nodes should have of their labels."""


def shift(z: FloatArray, total: float, goals: Goals) -> FloatArray:
    """Return estimates of parts, moved evenly so that they meet a total and its marginals.

    z: float64[parts]; goals: float64[1, labels] each.
    """
    for marginal, goal in goals * ROUNDS:
        held = marginal.add_up(z[None])[0]
        lacks = goal[0] + (total - np.cumsum(goal[0])[-1]) / marginal.labels - held
        z = z + (lacks / marginal.each)[marginal.label]
    return z


def fit_rows(wanted: FloatArray, people: IntArray) -> FloatArray:
    """Return a table whose rows add up to people; rows of nobody stay so: float64[n, parts]."""
    sums = np.cumsum(wanted, axis=1)[:, -1:]
    by = np.divide(people[:, None], sums, out=np.zeros_like(sums), where=sums > 0)
    return wanted * by


def scale(wanted: FloatArray, people: IntArray, goals: Goals) -> FloatArray:
    """Return what nodes should have of parts, in proportion to marginals: float64[n, parts].

    Parameters
    ----------
    wanted : float64[n, parts]
        Not negative; where a label has nobody, it stays so.
    people : int64[n]
        Of the nodes, above 0.
    goals : Goals
        float64[n, labels] each, not negative.
    """
    for marginal, goal in goals * ROUNDS:
        asked, held = fit_rows(goal, people), marginal.add_up(wanted)
        some = (held > 0) & (asked.sum(axis=1, keepdims=True) > 0)
        by = np.divide(asked, held, out=np.ones_like(goal), where=some)
        wanted = wanted * by[:, marginal.label]
    return wanted
