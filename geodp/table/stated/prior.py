"""What a release's card states of a prior, and how that is kept until it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.table.charged import Amount, Count
from geodp.table.plain import read_plain, write_plain
from geodp.table.stated.release import Size

KEPT = "prior"
"""Name of the array that keeps what was learned."""


@dataclass(frozen=True)
class StatedPriorLevel:
    """How far a prior was trusted on a level, as the noisy counts themselves told.

    Attributes
    ----------
    keys : int
        Of a node.
    nodes : int
        That were measured.
    in_use : float
        Part of them whose estimates the prior had a say in.
    reliability : float
        Part of an estimate's variance that the prior took away, on average: 0 to 1.
    """

    keys: Size
    nodes: Count
    in_use: Amount
    reliability: Amount


@dataclass(frozen=True)
class StatedSlope:
    """Which part of a change of so many counts against the prior a cell shows, on average."""

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
        Of what is made of a prior.
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


def pack_prior(prior: StatedPrior | None) -> dict[str, NDArray[Any]]:
    """Return what was learned of a prior as an array by name, to be kept until it is written."""
    if prior is None:
        return {}
    return {KEPT: np.frombuffer(json.dumps(write_plain(prior)).encode(), np.uint8)}


def unpack_prior(arrays: Mapping[str, NDArray[Any]]) -> StatedPrior | None:
    """Return what :func:`pack_prior` kept."""
    if KEPT not in arrays:
        return None
    return read_plain(StatedPrior, json.loads(arrays[KEPT].tobytes()), KEPT)
