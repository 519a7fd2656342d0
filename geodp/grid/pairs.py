"""The order of pairs of regions: origin and destination, level by level.

A key's digits are the origin's on the coarsest level, the destination's on the same level, then
both on the next one, so that all pairs of units of one level are nodes of one tree. Digits of
attributes come last.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from geodp.errors import Rule, UsageError
from geodp.grid.hierarchy import TableOrder
from geodp.grid.order import KEY_BITS

ENDS = ("origin", "destination")
"""Names of the two ends of a pair."""

MAX_PARTS = 2048
"""Maximal children of a node that is split by origin and destination at once."""


@dataclass(frozen=True)
class PairOrder(TableOrder):
    """Alternating digits of the origin's and the destination's numbers in one table of regions.

    The origin's digits are on axis 0, the destination's on axis 2, the rows of their places.
    """

    ends: ClassVar[int] = 2
    mismatch: ClassVar[Rule] = Rule(
        "order-not-of-pairs", "The digits of the order do not match pairs of its regions."
    )

    def __post_init__(self) -> None:
        # Checked here for a message about pairs; the base class would speak of a grid.
        if prod(self.radices) > 1 << KEY_BITS:
            raise UsageError(
                f"Pairs of these units need keys of more than {KEY_BITS} bits; give a table of a "
                "smaller area, or of coarser units, or fewer attributes.",
                code="pairs-need-long-keys",
            )
        super().__post_init__()

    @property
    def steps(self) -> tuple[tuple[str, int], ...]:
        """Levels of the tree and the number of digits of each.

        One named "" is not a level of pairs.

        Both digits of a level form one step, which leaves more of the budget to each level; if a
        node would have more than ``MAX_PARTS`` children, the origin's digit is a step before.
        """
        steps: list[tuple[str, int]] = []
        # Pairs of units end at the units: the last digits, which number cells within a unit, have
        # one value and no radix.
        for name, radices in zip(self.hierarchy.levels, self.hierarchy.digits, strict=False):
            if len(radices) == 1 and radices[0] ** 2 <= MAX_PARTS:
                steps.append((name, 2))
            else:
                steps += [("", 1)] * (2 * len(radices) - 1) + [(name, 1)] * bool(radices)
        return tuple(steps)
