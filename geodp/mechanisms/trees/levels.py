"""Levels of a pyramid: chains, presets and how they are written."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from geodp.errors import UsageError
from geodp.mechanisms.trees.auto import plan_of, series_levels_of
from geodp.mechanisms.trees.islands import islands_levels_of


@dataclass(frozen=True)
class LevelScheme:
    """Levels from the root to the cells.

    Attributes
    ----------
    fanouts : tuple of int
        Children of a node of each level but the last.
    shares : tuple of Fraction
        Of the budget, for every level from the root on; they add up to 1.
    """

    fanouts: tuple[int, ...]
    shares: tuple[Fraction, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        """Keys that a node of each level covers."""
        below = accumulate(reversed(self.fanouts), lambda a, b: a * b, initial=1)
        return tuple(below)[::-1]


def steps_of(chain: str, name: str = "pyramid") -> list[int]:
    """Digits of every level of an own chain; empty: none is given."""
    try:
        steps = [int(part) for part in chain.split("-")] if chain else []
    except ValueError:
        steps = [0]
    if any(step < 1 for step in steps):
        raise UsageError(
            f"{name}:chain is written as digits per level, such as 2-4-4-4-4.", code="chain-form"
        )
    return steps


def weights_of(shares: str) -> list[Fraction]:
    """Weights of the levels of an own chain."""
    try:
        weights = [Fraction(part) for part in shares.split("-")] if shares else []
    except (ValueError, ZeroDivisionError):
        weights = [Fraction(0)]
    if any(weight <= 0 for weight in weights):
        raise UsageError(
            "pyramid:shares is written as weights above 0, such as 2-2-4-4-4-4.",
            code="pyramid-shares-form",
        )
    return weights


def preset(
    setting: str, radices: tuple[int, ...], *, line: bool = False
) -> tuple[list[int], list[Fraction]]:
    """Digits of each level and weights, the root's first; what does not fit comes at the top.

    An empty list of weights: 2 for the root, elsewhere the bits that a level splits. "auto" is
    the table of :mod:`geodp.mechanisms.trees.auto`, on digits that are no bits R; "series" what is
    made of that table, on others "flat"; "islands", on bits alone, that of
    :mod:`geodp.mechanisms.trees.islands`. ``line``: of a domain in one dimension.
    """
    if setting == "islands":
        return islands_levels_of(len(radices))
    if setting in ("auto", "series") and radices and all(radix == 2 for radix in radices):
        return (plan_of if setting == "auto" else series_levels_of)(len(radices), line=line)
    setting = {"auto": "R", "series": "flat"}.get(setting, setting)
    bottom, size = {"R": ([], 4), "informed": ([], 4), "fine": ([3, 3, 4], 2), "flat": ([], 2)}[
        setting
    ]
    if any(radix != 2 for radix in radices):
        steps = _group(radices, 1 << size)
        bottom = steps[-3:] if setting == "fine" else []
        top = steps[: len(steps) - len(bottom)]
    else:
        while sum(bottom) > len(radices):
            bottom = bottom[1:]
        rest = len(radices) - sum(bottom)
        top = [rest % size] * bool(rest % size) + [size] * (rest // size)
    if setting in ("R", "informed"):
        return top, []
    if setting == "flat":
        return top, [Fraction(1)] * (len(top) + 1)
    # 0.35 of the budget for the root and the upper levels, as in the table of 2**18 cells.
    upper = [Fraction(2), *[Fraction(3)] * len(top)]
    lower = [Fraction(115), Fraction(110), Fraction(425)][3 - len(bottom) :]
    return top + bottom, [350 * w / sum(upper) for w in upper] + lower


def trust_below(weights: list[Fraction]) -> list[Fraction]:
    """Return weights for who trusts a prior, which knows cells better than areas that have grown.

    The cells have half as much, and what lies above their parents a quarter more.

    Examples
    --------
    >>> [str(w) for w in trust_below([Fraction(w) for w in (2, 2, 4, 4, 4, 4)])]
    ['2', '5/2', '5', '5', '4', '2']
    """
    root, *upper = weights[:-2]
    return [root, *(w * Fraction(5, 4) for w in upper), weights[-2], weights[-1] / 2]


def _group(radices: tuple[int, ...], most: int) -> list[int]:
    """Digits of levels of at most so many children, filled from the cells up; a digit is whole."""
    steps: list[int] = []
    fanout = most + 1
    for radix in reversed(radices):
        if fanout * radix > most:
            steps, fanout = [0, *steps], 1
        steps[0] += 1
        fanout *= radix
    return steps
