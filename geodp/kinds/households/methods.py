"""How the tables of persons are made, as their cards state it.

Households are a release of the pyramid, or the map of a release by size, and have its card.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from geodp.grid.grid import Grid
from geodp.mechanisms.base import Method
from geodp.mechanisms.central.pyramid import OfPyramid, Pyramid
from geodp.privacy.assumption import Assumption
from geodp.privacy.event import Guarantee, Measurement

CITATION = "geodp: its own method, defined and proved in docs/proofs/households.md."

STREAMS_PROOF = (
    "one person opens a household or joins one, and so changes either the households or the "
    "members beyond the first, on each level one count by 1; both streams have independent noise, "
    "each for the whole budget, and everything else is post-processing"
)
"""Why a release that protects persons holds what it promises."""

SIZES_PROOF = (
    "one household is of one size, and so changes one count of the households by size; persons and "
    "households are sums of these, which is post-processing"
)
"""Why a release that protects households holds what it promises."""

POSSIBLE = (
    "Possible: persons of every cell are at least its households and at most max_size for each, so "
    "that cells without households have no persons."
)

ERRORS = (
    "Errors: those of persons depend on the households, too, so that this table alone has none; "
    "the table of both counts (persons-and-households) has intervals of every cell, and geodp "
    "households estimate gives them of any region."
)


@dataclass(frozen=True)
class PersonsOfStreams(OfPyramid):
    """Persons as households and their further members, each measured with the whole budget.

    Attributes
    ----------
    max_size : int
        Most persons of a household.
    setting, chain, shares
        Those of the pyramid of both streams.
    """

    max_size: int = 7
    setting: str = "auto"
    chain: str = ""
    shares: str = ""

    name: ClassVar[str] = "persons-of-streams"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "households and their further members, fitted together"
    citation: ClassVar[str] = CITATION
    guarantee: ClassVar[Guarantee] = Guarantee(
        precondition="each person is in one household, households are counted where they live and "
        "only because of counted members, and the domain was chosen without looking at the data",
        source=STREAMS_PROOF,
    )
    nonnegative: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        POSSIBLE,
        "Members beyond the first are refined on the cells that have released households: those of "
        "a place whose households were released as 0 go to its neighbours.",
        ERRORS,
        "Additivity: every area's count is exactly the sum of its cells.",
        "Whole numbers: shares are rounded systematically with one random number of their node; "
        "unbiased.",
    )

    @classmethod
    def of(cls, pyramid: Pyramid, max_size: int) -> PersonsOfStreams:
        """Make the method of persons of two streams that a pyramid measures."""
        return cls(max_size, pyramid.setting, pyramid.chain, pyramid.shares)

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        listed = self.list_shares(grid, event)
        return (
            "a person counted once changes, on each level, one count by 1: of households, or of "
            "members beyond the first; the levels, from the total to the cells, have these shares "
            f"of the budget: {listed}"
        )


@dataclass(frozen=True)
class PersonsBySize(Method[Measurement]):
    """Persons as the sum of sizes times households of each size.

    Attributes
    ----------
    max_size : int
        The largest size, which stands for all larger ones, too.
    """

    max_size: int = 7

    name: ClassVar[str] = "persons-by-size"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "sizes times released households of each size"
    citation: ClassVar[str] = CITATION
    guarantee: ClassVar[Guarantee] = Guarantee(
        precondition="each household is counted once, in the place where it lives, and the domain "
        "was chosen without looking at the data",
        source=SIZES_PROOF,
    )
    noise: ClassVar[str] = OfPyramid.noise
    noise_format: ClassVar[str] = OfPyramid.noise_format
    whole: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        POSSIBLE,
        "Persons are sums over the released households by size, in which each household of the "
        "largest size or more counts as many persons as the largest size has.",
        ERRORS,
        "Additivity: every area's count is exactly the sum of its cells.",
    )

    def unsupported(self, grid: Grid) -> str | None:
        """Explain in one sentence why a grid cannot be taken; None: it can."""
        return None

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return (
            "a household counted once changes the households of one size by 1, and so persons by "
            f"at most {self.max_size}"
        )

    def assume(self, event: Measurement) -> Assumption:
        """Return the bound on the contribution, which is one of households by size."""
        return event.derived_assumption


PROTOCOLS = {one.name: one for one in (PersonsOfStreams(), PersonsBySize())}
"""Both methods by their names in cards, with default settings; the core finds them here."""
