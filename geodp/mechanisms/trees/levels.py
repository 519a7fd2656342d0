"""Levels of a pyramid: custom chains, presets, and their notation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from geodp.errors import UsageError
from geodp.mechanisms.trees.islands import islands_levels_of


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
    "islands" is :mod:`geodp.mechanisms.trees.islands`, for bits only. Digits that do not fit form a
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
