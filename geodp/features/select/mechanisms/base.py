"""What every mechanism of selection offers: one of many candidates is drawn by its utility."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.privacy.budget import Budget, rational, read_exact
from geodp.privacy.event import Guarantee
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.decay import Decay
from geodp.privacy.noise.draws import Draw, Draws
from geodp.privacy.selected import rate_of

STREAMS = 4
"""Streams of noise that a draw takes."""

MOST_LISTED = 256
"""Most candidates whose probabilities are worked out."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """How far every candidate is from the best, in whole units; no repr shows it.

    Attributes
    ----------
    deficit : int64[n], or object[n] of whole numbers of any length
        Utility of the best candidate minus that of each listed one: 0 or more.
    rate : Fraction
        Above 0: a unit makes a candidate ``exp(rate)`` times less likely, as each mechanism has it.
    others : int
        Candidates that are not listed, which all have the deficit ``beyond``; at most ``2**62``.
    beyond : int
    unit : int
        Units of ``rate`` that make one of the utility, by which the law of the draw is declared.
    """

    deficit: NDArray[Any] = field(repr=False)
    rate: Fraction
    others: int = field(default=0, repr=False)
    beyond: int = field(default=0, repr=False)
    unit: int = field(default=1, repr=False)

    @classmethod
    def of(cls, utilities: Sequence[Fraction], rate: Fraction) -> Self:
        """Return the candidates of utilities, in units of their smallest common denominator."""
        unit = lcm(*(value.denominator for value in utilities))
        whole = [value.numerator * (unit // value.denominator) for value in utilities]
        best = max(whole)
        return cls(_array([best - value for value in whole]), rate / unit, unit=unit)

    @property
    def decay(self) -> Decay:
        """The chances of whole deficits."""
        return Decay(self.rate, self.unit)


class Selector(ABC):
    """A published mechanism of selection, without settings.

    Called, it draws one of a list of utilities. A subclass gives the class attributes,
    :meth:`draw`, :meth:`declare` and :meth:`weigh`.

    Attributes
    ----------
    name : str
        On the command line and in cards.
    version : int
        Higher whenever another candidate may be drawn under the same key.
    title, citation : str
    guarantee : Guarantee
    """

    name: ClassVar[str]
    version: ClassVar[int]
    title: ClassVar[str]
    citation: ClassVar[str]
    guarantee: ClassVar[Guarantee]

    @abstractmethod
    def draw(self, candidates: Candidates, key: NoiseKey, stream: int) -> int:
        """Return the position of the chosen candidate; from n on, one that is not listed.

        Parameters
        ----------
        candidates : Candidates
        key : NoiseKey
        stream : int
            The first of ``STREAMS`` that are for this draw.
        """

    @abstractmethod
    def declare(self, rate: Fraction, stream: int) -> tuple[Draw, ...]:
        """Return all that :meth:`draw` can draw.

        ``rate``: of a unit of utility; ``stream``: the first of the draw.
        """

    @abstractmethod
    def weigh(self, chance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of candidates with ``exp(-rate deficit)``: float64[n]."""

    def __call__(
        self,
        utilities: Sequence[Any],
        *,
        epsilon: Budget,
        sensitivity: Budget = 1,
        monotone: bool = False,
        key: NoiseKey | None = None,
    ) -> int:
        """Return the position of one utility, drawn with pure differential privacy.

        Parameters
        ----------
        utilities : sequence of int, Fraction, float or str
            One for each public candidate, read exactly: a float is the decimal that it prints as.
        epsilon : str, int, float, Decimal or Fraction
        sensitivity : as epsilon
            The most by which the utility of any candidate differs between neighbours.
        monotone : bool
            You vouch that neighbours differ in one direction only, as counts do where one person
            is added; not where one is replaced by another.
        key : NoiseKey, optional
            Default: fresh from the operating system and forgotten. A key always draws the same
            from it, so derive one for every draw (:meth:`geodp.NoiseKey.derive`).

        Raises
        ------
        UsageError
            No utility, or one that is no finite rational number; a budget or a sensitivity that is
            not above 0.
        """
        candidates = _candidates(utilities, epsilon, sensitivity, monotone)
        if not isinstance(key, NoiseKey | None):
            raise UsageError(
                "key must be a NoiseKey; NoiseKey(bytes) makes one for tests.", code="key-expected"
            )
        rate = candidates.rate * candidates.unit
        draws = Draws.of(self.declare(rate, Stream.SELECT))
        fresh = NoiseKey.generate() if key is None else key
        own = fresh.restrict(draws)
        try:
            return self.draw(candidates, own, Stream.SELECT)
        finally:
            own.forget()
            if key is None:
                fresh.forget()

    def probabilities(
        self,
        utilities: Sequence[Any],
        *,
        epsilon: Budget,
        sensitivity: Budget = 1,
        monotone: bool = False,
    ) -> tuple[float, ...]:
        """Return the law of a draw, to the precision of a float; no draw goes by it.

        Parameters are those of a call; UsageError also for more than 256 utilities.
        """
        if len(utilities) > MOST_LISTED:
            raise UsageError(
                f"Probabilities are worked out of at most {MOST_LISTED} utilities.",
                code="utilities-too-many",
            )
        candidates = _candidates(utilities, epsilon, sensitivity, monotone)
        far = [min(float(candidates.rate * int(d)), 1e3) for d in candidates.deficit]
        return tuple(self.weigh(np.exp(-np.array(far))).tolist())


def _candidates(
    utilities: Sequence[Any], epsilon: Budget, sensitivity: Budget, monotone: bool
) -> Candidates:
    """Return the candidates of a call, read exactly."""
    read = [read_exact(value, "A utility") for value in utilities]
    if not read:
        raise UsageError(
            "There is no candidate; give one utility for each.", code="candidates-missing"
        )
    if not isinstance(monotone, bool):
        raise UsageError("monotone is True or False.", code="monotone-not-bool")
    rate = rate_of(rational(epsilon), rational(sensitivity, "sensitivity"), monotone)
    return Candidates.of(read, rate)


def _array(deficits: list[int]) -> NDArray[Any]:
    """Return whole numbers as int64, or as they are where one is longer."""
    if max(deficits) < 1 << 62:
        return np.array(deficits, np.int64)
    found = np.empty(len(deficits), object)
    found[:] = deficits
    return found
