"""Events of selection: a few of many public candidates are released, without their counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from geodp.errors import UsageError
from geodp.privacy.assumption import Assumption, ContributionBound, describe_bound
from geodp.privacy.event import (
    NOISE_KEYS,
    NOT_PRIVATE,
    PURE,
    Event,
    describe_change,
    describe_factor,
)
from geodp.privacy.loss import Loss, PureDP
from geodp.privacy.terms import REPLACE, Terms
from geodp.reprs import one_line


def rate_of(epsilon: Fraction, sensitivity: Fraction, monotone: bool) -> Fraction:
    """Compute how fast probabilities fall with the utility: epsilon / sensitivity, or half of it.

    A utility is monotone where a neighbour changes those of all candidates in one direction. Then
    the best utility and that of a candidate move together, so their difference changes by the
    sensitivity at most, and not by twice as much (McKenna and Sheldon 2020, section 2).
    """
    return epsilon / sensitivity / (1 if monotone else 2)


@dataclass(frozen=True, slots=True)
class Change:
    """Largest change of a utility by one person who is counted once.

    Attributes
    ----------
    added : Fraction
        Where that person is added or removed.
    moved : Fraction
        Where that person is replaced by another.
    monotone : bool
        Whether a person more lowers no utility; one who is replaced may lower one and raise another
        in any case.
    """

    added: Fraction
    moved: Fraction
    monotone: bool


@dataclass(frozen=True, slots=True)
class Selection(Event):
    """Candidates drawn by their utilities, one round after the other.

    Attributes
    ----------
    mechanism : str
        What was asked and by which mechanism: ``select-top:permute-and-flip``.
    epsilon : Fraction
        Epsilon of all rounds together, each of which gets an equal share.
    neighbours : str
        One of ``NEIGHBOURS``.
    contribution : int
        The most that one person adds to the sum of all counts.
    enforced : bool
        Whether geodp bounded the contribution itself.
    unit : str
        Whom the guarantee protects, as a noun.
    key_origin : str
        ``"entropy"``, ``"file"`` or ``"fixed"``, as of a :class:`geodp.Measurement`.
    sensitivity : Fraction
        The most that the utility of any candidate differs between neighbours.
    monotone : bool
        Whether neighbours change all utilities in one direction.
    rounds : int
        How many draws the budget is shared among.
    layout : str
        As of a :class:`geodp.Measurement`.
    """

    __repr__ = one_line

    mechanism: str
    epsilon: Fraction
    neighbours: str
    contribution: int
    enforced: bool
    unit: str
    key_origin: str
    sensitivity: Fraction
    monotone: bool
    rounds: int
    layout: str = ""

    rho: ClassVar[None] = None
    variant: ClassVar[str] = PURE

    @classmethod
    def of(cls, mechanism: str, terms: Terms, change: Change, rounds: int, key_origin: str) -> Self:
        """Make the event of a selection under terms with a known contribution.

        Raises UsageError for Gaussian noise, or terms that leave the contribution to a table.

        Examples
        --------
        >>> once = Change(Fraction(1), Fraction(1), True)
        >>> terms = Terms.of(epsilon=1, contribution=2)
        >>> Selection.of("select-top", terms, once, 10, "file").rate
        Fraction(1, 20)
        """
        contribution = terms.require_bounded()
        if not isinstance(terms.loss, PureDP):
            raise UsageError(
                "A selection is made under epsilon alone: give no rho and no delta.",
                code="selection-under-epsilon",
            )
        moves = terms.neighbours == REPLACE
        return cls(
            mechanism,
            terms.loss.epsilon,
            terms.neighbours,
            contribution,
            terms.enforced,
            terms.unit,
            key_origin,
            contribution * (change.moved if moves else change.added),
            # A replacement can lower one candidate's utility and raise another's, so nothing is
            # monotone then.
            change.monotone and not moves,
            rounds,
            terms.layout,
        )

    @property
    def loss(self) -> Loss:
        """Privacy loss, as a ledger charges it."""
        return PureDP(self.epsilon)

    @property
    def assumption(self) -> Assumption:
        """The contribution, and who answers for it, as a card lists it."""
        bound = ContributionBound.of(self.contribution, self.enforced, self.layout)
        return bound.assume(self.unit)

    @property
    def rate(self) -> Fraction:
        """Factor of the utility in the exponent of one round: see :func:`rate_of`."""
        return rate_of(self.epsilon / self.rounds, self.sensitivity, self.monotone)

    @property
    def is_private(self) -> bool:
        """Whether the noise comes from a key that nobody could know beforehand."""
        return self.key_origin in ("entropy", "file")

    @property
    def statement(self) -> str:
        """The guarantee as one sentence."""
        if not self.is_private:
            return NOT_PRIVATE
        change, counted = describe_change(self.neighbours, self.contribution, self.unit)
        return (
            f"{change} changes the probability of any choice by a factor of at most "
            f"{describe_factor(self.epsilon)}, {counted}"
        )

    def describe(self) -> dict[str, Any]:
        """Plain values for a card."""
        return {
            "mechanism": self.mechanism,
            "epsilon": str(self.epsilon),
            "epsilon_decimal": float(self.epsilon),
            "neighbours": self.neighbours,
            "contribution": self.contribution,
            "contribution_bound": describe_bound(self.enforced, self.layout),
            "enforced": self.enforced,
            "unit": self.unit,
            "sensitivity": str(self.sensitivity),
            "monotone": self.monotone,
            "rounds": self.rounds,
            "rate": str(self.rate),
            "key_origin": self.key_origin,
            "noise_key": NOISE_KEYS[self.key_origin],
        }
