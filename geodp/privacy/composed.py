"""Composition of several events about the same people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from geodp.errors import UsageError
from geodp.privacy.event import Event
from geodp.privacy.loss import Loss, compose
from geodp.reprs import one_line


@dataclass(frozen=True, slots=True)
class Composed(Event):
    """Several events about the same people, each possibly chosen after seeing the others.

    Attributes
    ----------
    events : tuple of Event
        At least one, all of one unit and one neighbouring relation: other losses do not add up.
    neighbours, unit : str
        Theirs.

    Raises
    ------
    UsageError
        No event, or events whose losses do not add up.

    Examples
    --------
    >>> from geodp.privacy.event import Measurement
    >>> from geodp.privacy.terms import Terms
    >>> tables = [
    ...     Measurement.of("pyramid", Terms.of(epsilon=epsilon, contribution=1), 1)
    ...     for epsilon in ("1/2", "1/3")
    ... ]
    >>> Composed(tables).loss
    PureDP(epsilon=Fraction(5, 6))
    """

    __repr__ = one_line

    events: Sequence[Event]
    neighbours: str = field(init=False)
    unit: str = field(init=False)

    def __post_init__(self) -> None:
        events = tuple(self.events)
        if len({(one.neighbours, one.unit) for one in events}) != 1:
            raise UsageError(
                "Losses add up for events of one unit and one neighbouring relation; give at "
                "least one.",
                code="losses-of-other-units",
            )
        object.__setattr__(self, "events", events)
        object.__setattr__(self, "neighbours", events[0].neighbours)
        object.__setattr__(self, "unit", events[0].unit)

    @property
    def loss(self) -> Loss:
        """The exact sum, by :func:`geodp.privacy.loss.compose`, as a ledger adds up charges."""
        # Not a tighter bound of the composition: it must equal what a ledger charges for the same
        # events.
        return compose(one.loss for one in self.events)

    def describe(self) -> dict[str, Any]:
        """Return the total loss and the description of each event as plain values."""
        return {
            "loss": self.loss.describe(),
            "neighbours": self.neighbours,
            "unit": self.unit,
            "events": [one.describe() for one in self.events],
        }
