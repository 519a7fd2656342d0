"""What a snapshot's neighbours in time tell about it, by nothing but what was measured anyway.

Every snapshot is made from its own noisy counts, and its children are predicted by the snapshots
around it as by an earlier census (:mod:`geodp.mechanisms.trees.informed`): how far they can be
trusted is learned from the noisy counts of all snapshots together, as residuals of one level add up
over time. So where a map changes from one snapshot to the next, what is measured is believed.

Forward, snapshot t is predicted by a prior that forgets: half of what it was, half of snapshot
t - 1. Backward the same from the end. At last every snapshot is predicted by both priors, in
neither of which its own noise is. Forward alone, it depends on no later one. Cycles add chains of
their own: of every 24th hour, every 168th.

All of it is post-processing: the measurements are those of the snapshots alone, under their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.accuracy.margins import UNKNOWN
from geodp.errors import UsageError
from geodp.kernels.learned import families
from geodp.mechanisms import Mechanism
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.learned.residuals import Residuals
from geodp.mechanisms.trees import informed, parallel
from geodp.mechanisms.trees.layer import Reliabilities
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.release.release import Release
from geodp.reprs import one_line
from geodp.table.counts import CountTable
from geodp.table.prior import Prior
from geodp.table.released import ReleasedTable

Mode = Literal["best", "both", "forward", "none"]

MODES = ("best", "both", "forward", "none")

WHOLE = 1 << 40
"""What the counts of a prior add up to, about: shares of it are whole numbers."""

SOURCE = "other snapshots of the series"

VERSION = 2
"""Of all this: higher whenever other numbers come out. The cards of the snapshots name it."""


@dataclass(frozen=True)
class Smoothing:
    """Which snapshots predict one.

    Attributes
    ----------
    mode : {"both", "forward", "none"}
    cycles : tuple of int
        Steps after which the like comes again, beside the step before.
    """

    __repr__ = one_line

    mode: Literal["both", "forward", "none"]
    cycles: tuple[int, ...] = ()

    @classmethod
    def of(cls, mode: Mode, cycles: Iterable[int], method: Mechanism, snapshots: int) -> Self:
        """Settle what is asked for; best is both where the method can.

        Raises UsageError for another mode, a method that cannot, or cycles that are none.
        """
        if mode not in MODES:
            raise UsageError(
                f"smooth is {', '.join(MODES[:-1])} or {MODES[-1]}.", code="smooth-unknown"
            )
        able = type(method) is Pyramid and method.passes == 2
        if mode in ("both", "forward") and not able:
            raise UsageError(
                f"{method.name} cannot be smoothed; leave it out, or use the pyramid.",
                code="method-not-smoothed",
            )
        steps = tuple(cycles)
        for step in steps:
            if isinstance(step, bool) or not isinstance(step, int) or not 1 < step < snapshots:
                raise UsageError(
                    "A cycle is a number of snapshots, above 1 and below their number: 24 of "
                    "hours.",
                    code="cycle-out-of-range",
                )
        if len({*steps}) < len(steps):
            raise UsageError("A cycle is there twice; give each once.", code="cycle-twice")
        settled = mode if mode != "best" else ("both" if able else "none")
        if settled == "none" and steps:
            raise UsageError("Cycles go with smoothing only.", code="cycles-need-smoothing")
        return cls(settled, steps)

    @property
    def words(self) -> tuple[str, ...]:
        """What a card says of it."""
        if self.mode == "none":
            return ()
        which = "before and after it" if self.mode == "both" else "before it"
        cycle = "".join(f", one in {step} of them for itself" for step in self.cycles)
        return (
            f"Smoothing over time, version {VERSION}: children are predicted by the snapshots "
            f"{which}{cycle}, and how far these are trusted is learned from the noisy counts. "
            "Changes that are small beside the noise come out smaller; closed forms of errors are "
            "those without smoothing.",
        )

    def say(self, nobody: Release) -> Release:
        """Return the release of nobody with that, and with margins that do not rely on it."""
        margins = UNKNOWN if self.words else nobody.margins
        return replace(nobody, postprocessing=self.words, margins=margins)


@dataclass(frozen=True, eq=False)
class CellShares:
    """Cells by key and their parts of a whole: uint64[n], int64[n] above 0."""

    key: NDArray[np.uint64]
    part: NDArray[np.int64]

    @classmethod
    def of(cls, key: NDArray[np.uint64], count: NDArray[np.int64]) -> Self:
        """Return counts as parts of about ``WHOLE``, exact to one of them."""
        return cls(key, count).mix(cls(key[:0], count[:0]))

    def mix(self, other: Self, weight: int = 1) -> Self:
        """Return the sum of both, as parts of about ``weight`` times ``WHOLE`` and of ``WHOLE``."""
        size = self.key.size + other.key.size
        key, part = np.empty(size, np.uint64), np.empty(size, np.int64)
        each = weight * WHOLE / max(int(self.part.sum()), 1), WHOLE / max(int(other.part.sum()), 1)
        n = families.merge_scaled((self.key, self.part), (other.key, other.part), each, key, part)
        return type(self)(key[:n].copy(), part[:n].copy())


@dataclass(frozen=True, eq=False)
class Smoother:
    """The snapshots, their keys, and what one spends.

    Attributes
    ----------
    tables : tuple of CountTable
    keys : tuple of NoiseKey
        Of each.
    method : Pyramid
    event : Measurement
        Of one.
    smoothing : Smoothing
    """

    tables: tuple[CountTable, ...]
    keys: tuple[NoiseKey, ...]
    method: Pyramid
    event: Measurement
    smoothing: Smoothing

    def run(self) -> list[ReleasedTable]:
        """Return the smoothed snapshots."""
        times = range(len(self.tables))
        drawn, before, seen = self.sweep(times)
        if self.smoothing.mode == "forward":
            return drawn
        _, after, again = self.sweep(times[::-1], self.learn(seen))
        known = self.learn(_pool(seen, again))

        def last(t: int) -> ReleasedTable:
            return self.draw(t, _join([before[t], after[t]]), known, gather=False)[0]

        # By the domain alone: how many cells are occupied is the mechanisms' to ask.
        steps = self.method.descent(self.tables[0].grid, self.event)
        return parallel.map_items(last, times, 0 if steps.is_short(steps.strides[0]) else 1)

    def sweep(
        self, times: Sequence[int], known: Reliabilities | None = None
    ) -> tuple[list[ReleasedTable], list[CellShares | None], tuple[Residuals, ...]]:
        """Go through the snapshots in one direction.

        Parameters
        ----------
        times : sequence of int
        known : tuple of (Reliability or None), optional
            How far predictions can be trusted. Default: it is learned on the way, anew whenever
            twice as many snapshots have been seen.

        Returns
        -------
        list of ReleasedTable, list of Shares, tuple of Residuals
            Both by snapshot: what it is, and what predicted it; the residuals of every level.
        """
        steps = (1, *self.smoothing.cycles)
        chains: dict[tuple[int, int], CellShares] = {}
        drawn: dict[int, ReleasedTable] = {}
        priors: dict[int, CellShares | None] = {}
        seen: tuple[Residuals, ...] = ()
        met = -1 if known else 0
        for t in times:
            places = [(step, t % step) for step in steps]
            priors[t] = _join([chains.get(place) for place in places])
            drawn[t], found = self.draw(t, priors[t], known)
            if found:
                seen = _pool(seen, found)
                if met >= 0:
                    met += 1
                    known = self.learn(seen) if met.bit_count() == 1 else known
            own = CellShares.of(drawn[t].key, cast(NDArray[np.int64], drawn[t].count))
            for place in places:
                chains[place] = _follow(chains.get(place), own)
        return [drawn[t] for t in sorted(drawn)], [priors[t] for t in sorted(priors)], seen

    def learn(self, seen: tuple[Residuals, ...]) -> Reliabilities | None:
        """Return how far predictions of every level can be trusted; None: nothing was seen."""
        steps = self.method.descent(self.tables[0].grid, self.event)
        found = tuple(informed.learn_level(steps, i, one) for i, one in enumerate(seen, 1))
        return found or None

    def draw(
        self, t: int, prior: CellShares | None, known: Reliabilities | None, gather: bool = True
    ) -> tuple[ReleasedTable, tuple[Residuals, ...]]:
        """Return a snapshot with a prior, and the residuals of its predictions, if asked for."""
        progress.begin(f"Releasing snapshot {t + 1}")
        table, key = self.tables[t], self.keys[t]
        if prior is None or not prior.key.size:
            return self.method.release(table, self.event, key), ()
        steps = self.method.descent(table.grid, self.event)
        weighed = Prior(table.grid, prior.key, prior.part, 1, SOURCE)
        found = informed.refine(table, steps, key, weighed, reliabilities=known, gather=gather)
        cells, counts, learned = found
        released = ReleasedTable(table.grid, cells, counts, self.event)
        return released, tuple(one.residuals for one in learned)


def _follow(prior: CellShares | None, own: CellShares) -> CellShares:
    """Return the prior of what comes next: half of the one before, half of the snapshot."""
    if prior is None or not prior.key.size:
        return own
    if not own.key.size:
        return prior
    return prior.mix(own)


def _join(priors: Iterable[CellShares | None]) -> CellShares | None:
    """Return the mean of those priors that there are."""
    found = [one for one in priors if one is not None and one.key.size]
    if not found:
        return None
    mean = found[0]
    for weight, one in enumerate(found[1:], 1):
        mean = mean.mix(one, weight)
    return mean


def _pool(one: tuple[Residuals, ...], other: tuple[Residuals, ...]) -> tuple[Residuals, ...]:
    """Return residuals of both, level by level."""
    if not one or not other:
        return one or other
    return tuple(a + b for a, b in zip(one, other, strict=True))
