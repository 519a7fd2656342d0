"""Oracles of local differential privacy: one published oracle, one file.

Every module of this package whose ``ORACLES`` lists classes adds them to :data:`ORACLES`, and so
does every module of somebody else's package that an entry point ``geodp.oracles`` names.
"""

from __future__ import annotations

import math
import pkgutil
from importlib import import_module
from inspect import isabstract
from typing import Any

from geodp.errors import UsageError, add_plugins
from geodp.features.local.oracles.base import Oracle
from geodp.features.local.oracles.state import State
from geodp.privacy.event import Guarantee

__all__ = ["ORACLES", "Oracle", "State", "choose_oracle"]


def _find() -> list[type[Oracle]]:
    modules = [import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return [oracle for module in modules for oracle in getattr(module, "ORACLES", ())]


def _fits(one: object) -> bool:
    """Whether something is an oracle with what its class must say, which round files quote."""
    return (
        isinstance(one, type)
        and issubclass(one, Oracle)
        and not isabstract(one)
        and all(isinstance(text, str) for text in (one.title, one.citation, one.scheme))
        and isinstance(one.version, int)
        and isinstance(one.guarantee, Guarantee)
    )


ORACLES: dict[str, type[Oracle]] = add_plugins(
    {oracle.name: oracle for oracle in _find()},
    "geodp.oracles",
    "ORACLES",
    _fits,
)
"""Every oracle by its name."""

BEST = 1.3
"""How much more variance than that of ``oue`` is taken for reports of one bit."""


def choose_oracle(cells: int, epsilon: Any, *, allow_weak: bool = False) -> Oracle:
    """Return the oracle that suits a domain and an epsilon: what ``oracle="auto"`` stands for.

    Parameters
    ----------
    cells : int
    epsilon : str, int, float, Decimal or Fraction
    allow_weak : bool
        Take an epsilon above 16.

    Raises
    ------
    UsageError
        A domain or an epsilon that no oracle takes.

    Examples
    --------
    >>> [choose_oracle(cells, 1).name for cells in (8, 1 << 18)]
    ['grr', 'hadamard']
    """
    own = {"cells": cells, "epsilon": epsilon, "allow_weak": allow_weak}
    simple = ORACLES["grr"](**own)
    e = math.exp(simple.epsilon)
    if cells < 3 * e + 2:
        return simple
    one_bit = ORACLES["hadamard"](**own)
    if one_bit.variance(1) <= BEST * 4 * e / (e - 1) ** 2:
        return one_bit
    try:
        return ORACLES["pgr"](**own)
    except UsageError:  # a domain that is too large for it
        return one_bit
