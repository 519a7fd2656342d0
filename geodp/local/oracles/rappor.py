"""RAPPOR: bits that are flipped once permanently, and again for every report."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import UsageError
from geodp.local.coins import Chance, Coins
from geodp.local.kernels import hashing
from geodp.local.oracles.base import (
    SMALL_DOMAIN,
    Oracle,
    State,
    indicator_variance,
    require_integer,
    unbias,
)
from geodp.local.oracles.olh import Olh
from geodp.local.oracles.sketch import MAX_ROWS, MAX_SUMS, SEEDS, part_from_others
from geodp.local.oracles.unary import bits_type, count_bits, draw_bits
from geodp.privacy.event import Guarantee
from geodp.privacy.loss import rational
from geodp.privacy.noise.law import exp_interval
from geodp.privacy.reports import LOCAL_PRIVACY

STEP_BITS = 40
"""Chances derived from an epsilon are multiples of ``2**-40``, rounded to the safe side."""


@dataclass(frozen=True, kw_only=True)
class Rappor(Oracle):
    """A report has a bit for each cell, or for each bit of a Bloom filter.

    Permanent stage, once for a device and a value, which the device stores: a bit becomes 1 with
    chance f/2, 0 with f/2, and otherwise stays. Each report then has a 1 with chance q where the
    permanent bit is 1, and with p where it is 0. Give either f, p and q, or epsilon: then f, p and
    q = 1 - p are chosen so that one report has epsilon, and any number of reports of one value
    have twice that.

    Attributes
    ----------
    f, p, q : Fraction, optional
        ``0 <= f < 1`` and ``0 < p < q < 1``. With f = 0 nothing bounds what many reports reveal, so
        that it needs ``one_time``.
    hashes : int
        Number of bits of a value, 1 to 8. They are different ones of a Bloom filter.
    bits : int, optional
        Size of the Bloom filter; by default each cell has a bit of its own.
    cohorts : int
        Number of groups with different hash functions, one of which is drawn for each permanent
        stage.
    seed : int
        Seed of the public hash functions, below ``2**31``.
    one_time : bool
        A device reports once.
    """

    name: ClassVar[str] = "rappor"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "permanent and instantaneous bits (Erlingsson et al. 2014)"
    citation: ClassVar[str] = (
        "Erlingsson, Pihur, Korolova: RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal "
        "Response. CCS 2014."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        variant=LOCAL_PRIVACY,
        precondition="a device makes the permanent bits of a value once and keeps them; its first "
        "report has epsilon, and all reports of that value together have lasting_epsilon",
        source="Erlingsson, Pihur, Korolova (2014), theorems 1 and 2: two values differ in 2 h "
        "bits at most",
    )
    scheme: ClassVar[str] = Olh.scheme
    max_listed: ClassVar[int] = SMALL_DOMAIN

    epsilon: Fraction = Fraction(0)
    f: Fraction | None = None
    p: Fraction | None = None
    q: Fraction | None = None
    hashes: int = 1
    bits: int | None = None
    cohorts: int = 1
    seed: int = 0
    one_time: bool = False

    def __post_init__(self) -> None:
        self._check_filter()
        # Either the chances follow from epsilon or epsilon from the chances: both could contradict.
        if [one is None for one in (self.f, self.p, self.q)] != [bool(self.epsilon)] * 3:
            raise UsageError(
                "Give rappor either epsilon, or f, p and q.", code="rappor-epsilon-or-bits"
            )
        if self.epsilon:
            super().__post_init__()
            chosen = _choose_chances(self.epsilon, self.hashes, self.one_time)
        else:
            chosen = _check_chances(self.f, self.p, self.q)
        for name, value in zip("fpq", chosen, strict=True):
            object.__setattr__(self, name, value)
        # The base class requires an epsilon, which here follows from the chances.
        if not self.epsilon:
            object.__setattr__(self, "epsilon", self._epsilon())
            super().__post_init__()
        if not self.f and not self.one_time:
            raise UsageError(
                "With f = 0 many reports of a device reveal its value; choose an f above 0, or "
                "declare that a device reports once (one_time).",
                code="rappor-f-zero",
            )

    def _check_filter(self) -> None:
        self._read_integers(hashes=(1, hashing.MAX_HASHES), cohorts=(1, MAX_ROWS), seed=SEEDS)
        if self.bits is None:
            require_integer(self.cells, "cells", 2, SMALL_DOMAIN, "rappor without a Bloom filter")
            if (self.hashes, self.cohorts) != (1, 1):
                raise UsageError(
                    "Several hashes or cohorts of rappor need the bits of a Bloom filter.",
                    code="rappor-needs-bloom",
                )
        elif (
            require_integer(self.bits, "bits", self.hashes + 1, SMALL_DOMAIN, self.name)
            * self.cohorts
            > MAX_SUMS
        ):
            raise UsageError(
                f"rappor has at most {MAX_SUMS:,} bits in all cohorts together.",
                code="rappor-bits-too-many",
            )

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The chances q* and p* that a report has a 1 where the value has one, and where not."""
        f, p, q = self._fpq
        return f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p

    @property
    def lasting_epsilon(self) -> Fraction | None:
        """The epsilon of any number of reports of one value, rounded up.

        It is ``2 h ln((1 - f/2) / (f/2))``.
        None where f is 0: nothing bounds it.
        """
        f = self._fpq[0]
        return _round_up(2 * self.hashes, (2 - f) / f) if f else None

    def _epsilon(self) -> Fraction:
        one, zero = self.chances
        return _round_up(self.hashes, one * (1 - zero) / (zero * (1 - one)))

    @property
    def _fpq(self) -> tuple[Fraction, Fraction, Fraction]:
        assert self.f is not None
        assert self.p is not None
        assert self.q is not None
        return self.f, self.p, self.q

    @property
    def width(self) -> int:
        """The number of bits of a report."""
        return self.cells if self.bits is None else self.bits

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The first seed, cohorts, hash functions, and bits."""
        return self.seed << 32, self.cohorts, self.hashes if self.bits else 0, self.width

    @property
    def report_type(self) -> np.dtype[Any]:
        """The cohort, where there are several, and the bits."""
        return bits_type(self.width, self.cohorts)

    @property
    def reach(self) -> int:
        """The largest total that one report adds to the sums: 1 for each of its ones."""
        return self.width

    @property
    def sums(self) -> int:
        """The number of sums: one for each bit of each cohort."""
        return self.width * self.cohorts

    def remember(self, values: ArrayLike, coins: Coins | None = None) -> NDArray[Any]:
        """Draw permanent bits, which a device stores for its value and keeps secret.

        They are drawn once for a device and value: drawing again reveals as much again.

        Parameters
        ----------
        values : int array, [n]
            0 to cells - 1.
        coins : Coins, optional
            By default the operating system's entropy.

        Returns
        -------
        structured array [n] of ``report_type``

        Raises
        ------
        UsageError
            A value outside the domain, or an oracle without a permanent stage.

        Examples
        --------
        >>> oracle = Rappor(cells=4, f="1/2", p="1/2", q="3/4")
        >>> permanent = oracle.remember([2])
        >>> oracle.aggregate(np.concatenate([oracle.report(permanent) for _ in range(3)])).reports
        3
        """
        f = self._fpq[0]
        if not f:
            raise UsageError(
                "With f = 0 there are no permanent bits: a device reports once.",
                code="rappor-nothing-kept",
            )
        source = Coins() if coins is None else coins
        chance = self.list_flip_chances()[-1]
        return draw_bits(self, self.check_values(values), self.shape, (chance, chance), source)

    def report(self, permanent: NDArray[Any], coins: Coins | None = None) -> NDArray[Any]:
        """Report each of the permanent bits that :meth:`remember` drew."""
        source = Coins() if coins is None else coins
        # The cohort is part of the permanent stage, and stays the same in every report.
        reports, bits = permanent.copy(), np.empty_like(permanent["bits"])
        true = np.ascontiguousarray(permanent["bits"])
        arguments = self.width, true, bits
        source.fill(hashing.flip_bits, arguments, permanent.size, self.width, self.flip_chances)
        reports["bits"] = bits
        return reports

    @property
    def flip_chances(self) -> tuple[Chance, Chance]:
        """The chances that a permanent 0, and that a permanent 1, is flipped."""
        _, p, q = self._fpq
        return Chance.of(p), Chance.of(1 - q)

    def list_flip_chances(self) -> tuple[Chance, ...]:
        """List the chances of both stages, that of the permanent bits last."""
        return (*self.flip_chances, Chance.of(self.f / 2)) if self.f else self.flip_chances

    def draw(self, value: NDArray[np.uint64], coins: Coins) -> NDArray[Any]:
        """Draw both stages; the permanent bits are discarded, so a device does this only once."""
        if self.f:
            return self.report(self.remember(value, coins), coins)
        return draw_bits(self, value, self.shape, self.flip_chances, coins)

    def collect(self, reports: NDArray[Any]) -> State:
        """Count the ones of each bit of each cohort."""
        return count_bits(self, reports, self.width, self.cohorts)

    def count(self, state: State, value: NDArray[np.uint64] | None) -> NDArray[np.float64]:
        """Correct the ones of each value's bits for the coins, and for other values' bits."""
        p, q = map(float, self.chances)
        if self.bits is None:
            support = state.dense() if value is None else state.at(value)
            return unbias(support, state.reports, p, q)
        wanted = np.arange(self.cells, dtype=np.uint64) if value is None else value
        support = np.empty(wanted.size, np.int64)
        hashing.sum_columns(wanted, np.array(self.shape, np.uint64), state.dense(), support)
        # All bits of a value are summed, so they count as that many reports each.
        held = unbias(support, self.hashes * state.reports, p, q) / self.hashes
        return part_from_others(held, state.reports, self.hashes / self.bits)

    def variance(self, n: float, count: float = 0) -> float:
        """Compute ``n p* (1 - p*) / (q* - p*)**2``; devices with the value have q* for p*.

        With a Bloom filter of m bits, ``r = h / m``: a device with another value gives
        ``((1 - r) p* (1 - p*) + r q* (1 - q*)) / (q* - p*)**2 + r (1 - r) (m - h) / (m - 1)``, one
        with this value ``q* (1 - q*) / (q* - p*)**2``, all divided by ``h (1 - r)**2``. What is
        left out is due to values that several devices have in one cohort, see
        :class:`geodp.local.oracles.sketch.Sketch`.
        """
        p, q = map(float, self.chances)
        if self.bits is None:
            return indicator_variance(p, q, n, count)
        h, m = self.hashes, self.bits
        r = h / m
        others = indicator_variance(p, q, n - count, r * (n - count))
        others += (n - count) * r * (1 - r) * (m - h) / (m - 1)
        return (others + indicator_variance(p, q, count, count)) / (h * (1 - r) ** 2)


def _check_chances(*chances: Any) -> tuple[Fraction, Fraction, Fraction]:
    """Read f, p and q exactly; UsageError where they are not chances in order."""
    f, p, q = (
        Fraction(0) if value in (0, "0") else rational(value, name)
        for name, value in zip("fpq", chances, strict=True)
    )
    if not (0 <= f < 1 and 0 < p < q < 1):
        raise UsageError(
            "f, p and q of rappor must have 0 <= f < 1 and 0 < p < q < 1.", code="rappor-bits-range"
        )
    return f, p, q


def _choose_chances(
    epsilon: Fraction, hashes: int, one_time: bool
) -> tuple[Fraction, Fraction, Fraction]:
    """Choose f, p and q = 1 - p so that a report has at most epsilon, and all of a value 2 epsilon.

    ``q* = 1 / (1 + exp(-epsilon / 2h))`` and ``f = 2 / (1 + exp(epsilon / h))``.
    """
    # Far more digits than a step has, so that bounds of exp hardly ever move a step.
    bits = 4 * STEP_BITS + 256
    one, step = 1 << bits, 1 << STEP_BITS
    lasting = exp_interval(epsilon / hashes, bits)[1]
    # f is rounded up and q down: both only add noise.
    f = Fraction(0) if one_time else Fraction(-(-2 * lasting * step // (one + lasting)), step)
    target = Fraction(one, one + exp_interval(epsilon / (2 * hashes), bits)[1])
    q = Fraction((target - f / 2) / (1 - f) * step // 1, step)
    return f, 1 - q, q


def _round_up(times: int, ratio: Fraction) -> Fraction:
    """Compute a multiple of the logarithm of a number above 1, rounded up to 15 digits."""
    with localcontext(Context(prec=60)):
        bound = times * (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        return Fraction(Context(prec=15, rounding=ROUND_CEILING).plus(bound + Decimal("1e-50")))


ORACLES = (Rappor,)
