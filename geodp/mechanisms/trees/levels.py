"""Levels of a pyramid: custom chains, presets, and their notation.

On every level an isolated settlement's measurement competes with those of empty siblings. Of the
levels tried on synthetic maps (``python -m bench settlements``), the loss is smallest with narrow
lowest nodes, which a settlement fills, few levels above them, and most of the budget for nodes and
cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from geodp.errors import UsageError

NODE, STEP, TOP = 5, 12, 4
"""Bits of a lowest node; bits of every level above; fewest bits of the first level, if possible."""

ROOT_WEIGHT, UPPER_WEIGHT, NODE_WEIGHT, CELL_WEIGHT = 1, 12, 35, 52
"""Weights of the root, of every level above lowest nodes, of these and of the cells."""


def islands_levels_of(bits: int) -> tuple[list[int], list[Fraction]]:
    """Return the bits of each level, and weights, the root's first.

    Examples
    --------
    >>> islands_levels_of(26)[0], islands_levels_of(18)[0], islands_levels_of(12)[0]
    ([9, 12, 5], [4, 9, 5], [7, 5])
    >>> [int(weight) for weight in islands_levels_of(26)[1]]
    [1, 12, 35, 52]
    """
    lowest = min(NODE, bits)
    above = bits - lowest
    steps = [above % STEP] * bool(above % STEP) + [STEP] * (above // STEP)
    if len(steps) > 1 and steps[0] < TOP:
        steps[:2] = [TOP, steps[0] + STEP - TOP]
    steps += [lowest] * bool(lowest)
    upper = [ROOT_WEIGHT, *[UPPER_WEIGHT] * (len(steps) - 2)] if len(steps) > 1 else []
    weights = [*upper, NODE_WEIGHT, CELL_WEIGHT] if steps else [CELL_WEIGHT]
    return steps, [Fraction(weight) for weight in weights]


@dataclass(frozen=True)
class LevelScheme:
    """Levels from the root to the cells.

    Attributes
    ----------
    fanouts : tuple of int
        Children of a node of each level but the last.
    shares : tuple of Fraction
        Shares of the budget for every level from the root on; they add up to 1.
    """

    fanouts: tuple[int, ...]
    shares: tuple[Fraction, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        """Keys that a node of each level covers."""
        below = accumulate(reversed(self.fanouts), lambda a, b: a * b, initial=1)
        return tuple(below)[::-1]


def steps_of(chain: str, name: str = "pyramid") -> list[int]:
    """Parse the digits of every level of a custom chain; empty: there is none."""
    try:
        steps = [int(part) for part in chain.split("-")] if chain else []
    except ValueError:
        steps = [0]
    if any(step < 1 for step in steps):
        raise UsageError(
            f"{name}:chain must be digits per level with hyphens between, such as 2-4-4-4-4.",
            code="chain-form",
        )
    return steps


def weights_of(shares: str) -> list[Fraction]:
    """Parse the weights of the levels of a custom chain."""
    try:
        weights = [Fraction(part) for part in shares.split("-")] if shares else []
    except (ValueError, ZeroDivisionError):
        weights = [Fraction(0)]
    if any(weight <= 0 for weight in weights):
        raise UsageError(
            "pyramid:shares must be weights above 0 with hyphens between, such as 2-2-4-4-4-4.",
            code="pyramid-shares-form",
        )
    return weights


def preset(setting: str, radices: tuple[int, ...]) -> tuple[list[int], list[Fraction]]:
    """Return the digits of each level and weights, the root's first.

    An empty list of weights means 2 for the root, and otherwise the bits that a level splits.
    "islands" is :mod:`geodp.mechanisms.trees.levels`, for bits only. Digits that do not fit form a
    smaller level at the top. The others are in :mod:`geodp.mechanisms.trees.default`.
    """
    if setting == "islands":
        return islands_levels_of(len(radices))
    bottom, size = {"R": ([], 4), "fine": ([3, 3, 4], 2), "flat": ([], 2)}[setting]
    if any(radix != 2 for radix in radices):
        steps = _group(radices, 1 << size)
        bottom = steps[-3:] if setting == "fine" else []
        top = steps[: len(steps) - len(bottom)]
    else:
        while sum(bottom) > len(radices):
            bottom = bottom[1:]
        rest = len(radices) - sum(bottom)
        top = [rest % size] * bool(rest % size) + [size] * (rest // size)
    if setting == "R":
        return top, []
    if setting == "flat":
        return top, [Fraction(1)] * (len(top) + 1)
    # The root and the upper levels get 0.35 of the budget, as in the table for 2**18 cells.
    upper = [Fraction(2), *[Fraction(3)] * len(top)]
    lower = [Fraction(115), Fraction(110), Fraction(425)][3 - len(bottom) :]
    return top + bottom, [350 * w / sum(upper) for w in upper] + lower


def _group(radices: tuple[int, ...], max_fanout: int) -> list[int]:
    """Group digits into levels of at most ``max_fanout`` children, from the cells up.

    A digit is never divided: one with a larger radix is a level of its own.
    """
    steps: list[int] = []
    fanout = max_fanout + 1
    for radix in reversed(radices):
        if fanout * radix > max_fanout:
            steps, fanout = [0, *steps], 1
        steps[0] += 1
        fanout *= radix
    return steps
