"""Smoothing over time: snapshots predict their neighbours, by the existing measurements alone.

Every snapshot is made from its own noisy counts, and its children are predicted by the snapshots
around it as by an earlier census (:mod:`geodp.mechanisms.trees.informed`). The reliability of the
predictions is learned from the noisy counts of all snapshots together, as residuals of one level
add up over time. So where a map changes from one snapshot to the next, the measurements prevail.

Forward, snapshot t is predicted by a prior that forgets: half of the previous prior, half of
snapshot t - 1. Backward is the same from the end. Finally every snapshot is predicted by both
priors, neither of which contains its own noise. With forward alone, it depends on no later one.
Cycles add separate chains: of every 24th hour, every 168th.

All of it is post-processing: the measurements are those of the snapshots alone, under their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.errors import UsageError
from geodp.kernels.learned import families
from geodp.mechanisms import Mechanism
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.learned import Residuals
from geodp.mechanisms.trees import informed, parallel
from geodp.mechanisms.trees.layer import Reliabilities
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.release.release import SMOOTHED, Release
from geodp.reprs import one_line
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.prior import Prior

Mode = Literal["best", "both", "forward", "none"]

MODES = ("best", "both", "forward", "none")

TOTAL_PARTS = 1 << 40
"""Approximate total of a prior's counts, of which shares are integers."""

SOURCE = "other snapshots of the series"

VERSION = 2
"""Version of the algorithm, in the cards of snapshots: increases whenever results change."""


@dataclass(frozen=True)
class Smoothing:
    """Choice of the snapshots that predict another.

    Attributes
    ----------
    mode : {"both", "forward", "none"}
    cycles : tuple of int
        Numbers of steps after which patterns repeat.
    """

    __repr__ = one_line

    mode: Literal["both", "forward", "none"]
    cycles: tuple[int, ...] = ()

    @classmethod
    def of(cls, mode: Mode, cycles: Iterable[int], method: Mechanism, snapshots: int) -> Self:
        """Resolve the requested mode; best is both if the method supports it.

        Raises UsageError for an unknown mode, a method without smoothing, or invalid cycles.
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
                    "A cycle is a number of snapshots, above 1 and below their total: 24 for "
                    "hours.",
                    code="cycle-out-of-range",
                )
        if len({*steps}) < len(steps):
            raise UsageError("A cycle occurs twice; give each once.", code="cycle-twice")
        resolved = mode if mode != "best" else ("both" if able else "none")
        if resolved == "none" and steps:
            raise UsageError("Cycles require smoothing.", code="cycles-need-smoothing")
        return cls(resolved, steps)

    def count_seen(self, number: int, snapshots: int) -> int:
        """Count the snapshots whose noisy counts one depends on, which is the ``number``-th from 0.

        ``snapshots``: of the series.
        """
        return {"none": 1, "forward": number + 1, "both": snapshots}[self.mode]

    @property
    def description(self) -> tuple[str, ...]:
        """Sentences for the card."""
        if self.mode == "none":
            return ()
        which = "before and after it" if self.mode == "both" else "before it"
        cycle = "".join(f", one in {step} of them for itself" for step in self.cycles)
        return (
            f"{SMOOTHED}, version {VERSION}: children are predicted by the snapshots "
            f"{which}{cycle}, and how far these are trusted is learned from the noisy counts. "
            "Changes that are small compared with the noise come out smaller; closed forms of "
            "errors are those without smoothing.",
        )

    def annotate(self, preview: Release) -> Release:
        """Return the dry release with the description."""
        return replace(preview, postprocessing=self.description)


@dataclass(frozen=True, eq=False)
class CellShares:
    """Cells by key and their parts of a total: uint64[n], int64[n] above 0."""

    key: NDArray[np.uint64]
    part: NDArray[np.int64]

    @classmethod
    def of(cls, key: NDArray[np.uint64], count: NDArray[np.int64]) -> Self:
        """Convert counts to parts of about ``TOTAL_PARTS``, exact to one part."""
        return cls(key, count).mix(cls(key[:0], count[:0]))

    def mix(self, other: Self, weight: int = 1) -> Self:
        """Return the sum of both, weighted by ``weight`` and 1."""
        size = self.key.size + other.key.size
        key, part = np.empty(size, np.uint64), np.empty(size, np.int64)
        each = (
            weight * TOTAL_PARTS / max(int(self.part.sum()), 1),
            TOTAL_PARTS / max(int(other.part.sum()), 1),
        )
        n = families.merge_scaled((self.key, self.part), (other.key, other.part), each, key, part)
        return type(self)(key[:n].copy(), part[:n].copy())


@dataclass(frozen=True, eq=False)
class Smoother:
    """The snapshots, their keys, and the event of one.

    Attributes
    ----------
    tables : tuple of CountTable
    keys : tuple of NoiseKey
        Key of each snapshot.
    method : Pyramid
    event : Measurement
        Event of one snapshot.
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
        # A backward sweep would make snapshots depend on later ones.
        if self.smoothing.mode == "forward":
            return drawn
        # The backward sweep uses the reliability from all snapshots, and need not learn its own.
        _, after, again = self.sweep(times[::-1], self.learn(seen))
        reliability = self.learn(_pool(seen, again))

        def last(t: int) -> ReleasedTable:
            return self.draw(t, _join([before[t], after[t]]), reliability, gather=False)[0]

        # Decided by the public domain alone: the number of occupied cells is confidential.
        steps = self.method.descent(self.tables[0].grid, self.event)
        return parallel.map_items(last, times, 0 if steps.is_short(steps.strides[0]) else 1)

    def sweep(
        self, times: Sequence[int], reliability: Reliabilities | None = None
    ) -> tuple[list[ReleasedTable], list[CellShares | None], tuple[Residuals, ...]]:
        """Draw the snapshots one after another in one direction.

        Parameters
        ----------
        times : sequence of int
        reliability : tuple of (Reliability or None), optional
            Reliability of predictions. Default: it is learned on the way, and updated whenever the
            number of snapshots has doubled.

        Returns
        -------
        list of ReleasedTable, list of Shares, tuple of Residuals
            By snapshot, its release and the prior that predicted it; the residuals of every level.
        """
        steps = (1, *self.smoothing.cycles)
        chains: dict[tuple[int, int], CellShares] = {}
        drawn: dict[int, ReleasedTable] = {}
        priors: dict[int, CellShares | None] = {}
        seen: tuple[Residuals, ...] = ()
        # With a given reliability nothing is learned on the way.
        met = -1 if reliability else 0
        for t in times:
            places = [(step, t % step) for step in steps]
            priors[t] = _join([chains.get(place) for place in places])
            drawn[t], residuals = self.draw(t, priors[t], reliability)
            if residuals:
                seen = _pool(seen, residuals)
                if met >= 0:
                    met += 1
                    reliability = self.learn(seen) if met.bit_count() == 1 else reliability
            shares = CellShares.of(drawn[t].key, cast(NDArray[np.int64], drawn[t].count))
            for place in places:
                chains[place] = _follow(chains.get(place), shares)
        return [drawn[t] for t in sorted(drawn)], [priors[t] for t in sorted(priors)], seen

    def learn(self, seen: tuple[Residuals, ...]) -> Reliabilities | None:
        """Return the reliability of predictions on every level; None if there are no residuals."""
        steps = self.method.descent(self.tables[0].grid, self.event)
        reliability = tuple(informed.learn_level(steps, i, one) for i, one in enumerate(seen, 1))
        return reliability or None

    def draw(
        self,
        t: int,
        prior: CellShares | None,
        reliability: Reliabilities | None,
        gather: bool = True,
    ) -> tuple[ReleasedTable, tuple[Residuals, ...]]:
        """Return a snapshot with a prior, and the residuals of its predictions if requested."""
        progress.begin(f"Releasing snapshot {t + 1}")
        table, key = self.tables[t], self.keys[t]
        if prior is None or not prior.key.size:
            return self.method.release(table, self.event, key), ()
        steps = self.method.descent(table.grid, self.event)
        weighed = Prior(table.grid, prior.key, prior.part, 1, SOURCE)
        refined = informed.refine(
            table, steps, key, weighed, reliabilities=reliability, gather=gather
        )
        cells, counts, learned = refined
        released = ReleasedTable(table.grid, cells, counts, self.event)
        return released, tuple(one.residuals for one in learned)


def _follow(prior: CellShares | None, snapshot: CellShares) -> CellShares:
    """Return the next prior: half of the previous one, half of the snapshot."""
    if prior is None or not prior.key.size:
        return snapshot
    if not snapshot.key.size:
        return prior
    # Exponential forgetting: the weight of a snapshot halves with every later one.
    return prior.mix(snapshot)


def _join(priors: Iterable[CellShares | None]) -> CellShares | None:
    """Return the mean of the priors that exist."""
    existing = [one for one in priors if one is not None and one.key.size]
    if not existing:
        return None
    mean = existing[0]
    for weight, one in enumerate(existing[1:], 1):
        mean = mean.mix(one, weight)
    return mean


def _pool(one: tuple[Residuals, ...], other: tuple[Residuals, ...]) -> tuple[Residuals, ...]:
    """Return residuals of both, level by level."""
    if not one or not other:
        return one or other
    return tuple(a + b for a, b in zip(one, other, strict=True))
