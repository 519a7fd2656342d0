"""Oracles of local differential privacy: one published oracle, one file.

Every module of this package whose ``ORACLES`` lists classes adds them to :data:`ORACLES`, and so
every module of a third-party package that an entry point ``geodp.oracles`` names.
"""

from __future__ import annotations

import math
from inspect import isabstract
from typing import Any

from geodp.errors import UsageError, add_plugins
from geodp.local.oracles.base import Oracle, State
from geodp.privacy.event import Guarantee
from geodp.registry import list_offered

__all__ = ["ORACLES", "Oracle", "State", "choose_oracle"]


def _fits(candidate: object) -> bool:
    """Return whether an object is an oracle class with all attributes that round files quote."""
    return (
        isinstance(candidate, type)
        and issubclass(candidate, Oracle)
        and not isabstract(candidate)
        and all(
            isinstance(text, str)
            for text in (candidate.title, candidate.citation, candidate.scheme)
        )
        and isinstance(candidate.version, int)
        and isinstance(candidate.guarantee, Guarantee)
    )


ORACLES: dict[str, type[Oracle]] = add_plugins(
    {oracle.name: oracle for oracle in list_offered(__name__, "ORACLES")},
    "geodp.oracles",
    "ORACLES",
    _fits,
)
"""Every oracle by its name."""

BEST = 1.3
"""Largest ratio of variance to that of ``oue`` that is accepted for reports of one bit."""


def choose_oracle(cells: int, epsilon: Any, *, allow_weak: bool = False) -> Oracle:
    """Choose the oracle that suits a domain and an epsilon, as ``oracle="auto"`` does.

    Parameters
    ----------
    cells : int
    epsilon : str, int, float, Decimal or Fraction
    allow_weak : bool
        Accept an epsilon above 16.

    Raises
    ------
    UsageError
        A domain or an epsilon that no oracle supports.

    Examples
    --------
    >>> [choose_oracle(cells, 1).name for cells in (8, 1 << 18)]
    ['grr', 'hadamard']
    """
    settings = {"cells": cells, "epsilon": epsilon, "allow_weak": allow_weak}
    simple = ORACLES["grr"](**settings)
    e = math.exp(simple.epsilon)
    # Below this size randomised response has the smallest variance of all (Wang et al. 2017).
    if cells < 3 * e + 2:
        return simple
    one_bit = ORACLES["hadamard"](**settings)
    if one_bit.variance(1) <= BEST * 4 * e / (e - 1) ** 2:
        return one_bit
    try:
        return ORACLES["pgr"](**settings)
    # A domain may be too large for projective geometry; one bit always works.
    except UsageError:
        return one_bit
