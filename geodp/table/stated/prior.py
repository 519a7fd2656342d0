"""The prior of a release, as its card states it, and its storage until it is written."""

from __future__ import annotations

from dataclasses import dataclass

from geodp.table.charged import Amount, Count
from geodp.table.stated.release import Size


@dataclass(frozen=True)
class StatedPriorLevel:
    """Trust in a prior on a level, as estimated from the noisy counts.

    Attributes
    ----------
    keys : int
        Number of keys of a node.
    nodes : int
        Number of nodes that were measured.
    in_use : float
        Fraction of them whose estimates the prior influenced.
    reliability : float
        Fraction by which the prior reduced an estimate's variance, on average: 0 to 1.
    """

    keys: Size
    nodes: Count
    in_use: Amount
    reliability: Amount


@dataclass(frozen=True)
class StatedSlope:
    """The mean fraction of a change against the prior, of so many counts, that a cell shows."""

    change: Amount
    slope: float


@dataclass(frozen=True)
class StatedPrior:
    """A prior that a release was made with.

    Attributes
    ----------
    source : str
        Where it was published, in the words of the operator, who vouches that it is public; or
        which charged release it is.
    version : int
        Version of what is computed from a prior.
    finest : int
        Keys that one of its cells covers.
    meaning : str
    levels : tuple of StatedPriorLevel
        Below the root; empty before anything is drawn.
    attenuation : tuple of StatedSlope
    """

    source: str
    version: Size
    finest: Size
    meaning: str
    levels: tuple[StatedPriorLevel, ...] = ()
    attenuation: tuple[StatedSlope, ...] = ()
