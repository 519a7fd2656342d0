"""What one sampled table happens to tell: a number for the office's own eyes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, Rule, UsageError
from geodp.features.audit.classes import require_k
from geodp.features.audit.threshold import require_rate
from geodp.privacy.budget import Budget
from geodp.table.counts import as_counts

MARK = "CONFIDENTIAL"


@dataclass(frozen=True, eq=False, repr=False)
class Diagnostic:
    """A number of one outcome, computed from confidential counts; **it is no epsilon**.

    It depends on who happened to be drawn, looks at one direction only, and is infinite wherever
    everybody was. It is neither copied into files nor turned into text: no part of a release takes
    it, and it is not pickled.

    Attributes
    ----------
    value : float
        The largest over all published classes; infinite where one is.
    where : int
        Position of the first class that has it.
    infinite : int
        Classes of which everybody was drawn.
    """

    value: float = field()
    where: int
    infinite: int

    def __repr__(self) -> str:
        return f"Diagnostic({MARK})"

    def __format__(self, _how: str) -> str:
        return repr(self)

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        raise TypeError("A diagnostic of confidential counts is neither pickled nor copied.")


def realized(people: ArrayLike, sampled: ArrayLike, rate: Budget, k: int = 1) -> Diagnostic:
    """Work out the realised loss of a sampled table, as the literature calls it.

    Of a class of n people of whom s were drawn, it is ``ln(1 - rate) - ln(1 - s / n)``: by how
    much the count s is likelier with one person more (Horigome 2016, who takes it for an epsilon).
    Its table 1 cannot be reproduced: the losses there would need sampled shares of .578 to .907 in
    classes of 10 to 17 people, of which each has a probability below 1e-6.

    Parameters
    ----------
    people : int[n]
        Of every class, before sampling; at least 1.
    sampled : int[n]
        Of these, drawn.
    rate : str, int, float, Decimal or Fraction
        In (0, 1).
    k : int
        The smallest count that is published; other classes are left out.

    Returns
    -------
    Diagnostic
        Confidential.

    Raises
    ------
    CodeError
        Counts that are not whole or negative, or more drawn than there are; ``position`` says
        which.
    UsageError
        Lists of different lengths, or no class with a count of k.

    Examples
    --------
    >>> found = realized([50, 20], [12, 3], 0.2, k=10)
    >>> found, round(found.value, 4)
    (Diagnostic(CONFIDENTIAL), 0.0513)
    """
    share = require_rate(rate)
    n, s = as_counts(people), as_counts(sampled)
    if n.ndim != 1 or n.shape != s.shape:
        raise UsageError(
            "People and sampled are two lists of one length.", code="lists-differ-in-length"
        )
    _require(n > 0, Rule("class-without-people", "A class has one person or more."))
    _require(s <= n, Rule("more-drawn-than-there", "More were drawn than there are."))
    shown = np.flatnonzero(s >= require_k(k))
    if not shown.size:
        raise UsageError("No class has a count that is published.", code="no-count-published")
    n, s = n[shown], s[shown]
    with np.errstate(divide="ignore"):
        loss = math.log1p(-float(share)) - np.log((n - s) / n)
    most = int(loss.argmax())
    return Diagnostic(float(loss[most]), int(shown[most]), int((s == n).sum()))


def _require(good: NDArray[np.bool_], rule: str) -> None:
    if not good.all():
        raise CodeError(int(good.argmin()), rule)
