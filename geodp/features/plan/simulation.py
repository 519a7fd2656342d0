"""Errors of families of regions from running a method on a public table, under public keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from geodp import progress
from geodp.features.plan.families import Family
from geodp.features.plan.regions import MapDifference, RegionGroup, Settlements, Sums
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable
from geodp.table.prior import Prior
from geodp.table.proxy import Proxy
from geodp.table.released import ReleasedTable
from geodp.typing import FloatArray

FRESH = 1000
"""Number of the first release whose errors are reported; a search uses lower numbers."""

MIN_ERROR = 1e-9
"""Lower bound of errors, as a perfect release has no logarithm."""

MIN_LOSS = 0.01
"""Fraction of settlements' people added to every loss: smaller losses are within chance."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """Errors of groups of regions over some releases.

    Attributes
    ----------
    names : tuple of str
        Names of the groups.
    absolute, square, relative : float64[releases, groups]
        Mean absolute, mean squared and mean relative error of a group's regions.
    gained : float64[releases, groups]
        Sum of their errors divided by that of their people; below 0: people were lost.
    """

    names: tuple[str, ...]
    absolute: FloatArray = field(repr=False)
    square: FloatArray = field(repr=False)
    relative: FloatArray = field(repr=False)
    gained: FloatArray = field(repr=False)

    @property
    def mae(self) -> FloatArray:
        """Mean absolute errors: float64[groups]."""
        return np.asarray(self.absolute.mean(axis=0), np.float64)

    @property
    def rmse(self) -> FloatArray:
        """Root-mean-square errors: float64[groups]."""
        return np.asarray(np.sqrt(self.square.mean(axis=0)), np.float64)

    def objective(self, families: Sequence[Family], *, relative: bool) -> float:
        """Return the weighted geometric mean of errors over the families.

        For families of settlements it is the mean of losses.
        """
        means = (self.relative if relative else self.absolute).mean(axis=0)
        isolated = [isinstance(group, Settlements) for one in families for group in one.groups]
        means = np.where(isolated, MIN_LOSS + np.abs(self.gained.mean(axis=0)), means)
        logs = np.log(np.maximum(means, MIN_ERROR))
        return float(np.exp(weights_of(families) @ logs))


def weights_of(families: Sequence[Family]) -> FloatArray:
    """Return the weights of all groups, each family's divided among its groups; of sum 1."""
    parts = [
        one.objective.weight / len(one.groups) for one in families for _ in range(len(one.groups))
    ]
    return np.array(parts) / sum(parts)


@dataclass(frozen=True, eq=False)
class PlanSimulation:
    """A public table and the regions whose errors are simulated.

    Attributes
    ----------
    proxy : Proxy
    families : tuple of Family
    prior : Prior, optional
        Used by every release, for methods that support one.
    """

    proxy: Proxy
    families: tuple[Family, ...]
    prior: Prior | None = None

    def run(self, method: Mechanism, event: Measurement, trials: Iterable[int]) -> Simulated:
        """Release the table under the public keys of the trials.

        A node's noise is the same in all plans that measure it with the same share, so that two
        plans differ by what they do and less by chance.
        """
        groups = [group for one in self.families for group in one.groups]
        counts = [group.count(self.proxy.table.grid) for group in groups]
        tables = {id(table): table for group in groups for table in self._tables_of(group)}
        rows = []
        for trial in trials:
            # Common random numbers: plans that share a level share its noise, so that their
            # difference has less variance.
            key = public_key(trial)
            with progress.silence():
                differences = {
                    at: MapDifference.of(table, self._release(method, table, event, key))
                    for at, table in tables.items()
                }
            sums = [self._sums(group, differences) for group in groups]
            rows.append([_figures(*both, n) for both, n in zip(sums, counts, strict=True)])
        names = tuple(group.name for group in groups)
        return Simulated(names, *np.moveaxis(np.array(rows), 2, 0))

    def _release(
        self, method: Mechanism, table: CountTable, event: Measurement, key: NoiseKey
    ) -> ReleasedTable:
        if self.prior is None:
            return method.release(table, event, key)
        return method.release_informed(table, event, key, self.prior)[0]

    def _tables_of(self, group: RegionGroup | Settlements) -> list[CountTable]:
        """Return the maps on which a group's regions lie."""
        if isinstance(group, Settlements):
            return [table for table, _ in group.parts]
        return [self.proxy.table]

    def _sums(
        self, group: RegionGroup | Settlements, differences: Mapping[int, MapDifference]
    ) -> Sums:
        if isinstance(group, Settlements):
            return group.sums(differences)
        return group.sums(differences[id(self.proxy.table)])


def public_key(trial: int) -> NoiseKey:
    """Return the key of a simulated release, a public constant."""
    return NoiseKey(hashlib.sha256(f"geodp plan, public, {trial}".encode()).digest())


def _figures(
    people: FloatArray, error: FloatArray, regions: int
) -> tuple[float, float, float, float]:
    """Return mean absolute, squared and relative error of regions, and their total gain.

    ``regions``: their number; regions that are not listed have neither people nor errors.
    """
    size = np.abs(error)
    # Relative errors of nearly empty regions would dominate the mean.
    bound = np.maximum(people, max(float(people.sum()) / regions, 1.0))
    figures = size.sum(), (size * size).sum(), (size / bound).sum()
    absolute, square, relative = (float(figure) / regions for figure in figures)
    return absolute, square, relative, float(error.sum()) / max(float(people.sum()), 1.0)


@dataclass(frozen=True)
class ErrorRatio:
    """The error of a group of regions divided by another method's.

    Attributes
    ----------
    name : str
        Name of the group.
    mae, rmse : float
        Ratios of mean absolute and root-mean-square errors.
    mae_error, rmse_error : float
        Their standard errors over the releases.
    """

    name: str
    mae: float
    mae_error: float
    rmse: float
    rmse_error: float

    @property
    def largest(self) -> float:
        """The larger of the two ratios."""
        return max(self.mae, self.rmse)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "regions": self.name,
            "mae": self.mae,
            "mae_standard_error": self.mae_error,
            "rmse": self.rmse,
            "rmse_standard_error": self.rmse_error,
        }

    @classmethod
    def all_of(cls, ours: Simulated, theirs: Simulated) -> tuple[Self, ...]:
        """Compare all groups of two simulations."""
        absolute, square = (
            _ratio(getattr(ours, name), getattr(theirs, name)) for name in ("absolute", "square")
        )
        rows = zip(ours.names, absolute.T.tolist(), square.T.tolist(), strict=True)
        return tuple(
            cls(name, mae, error, rmse**0.5, off / 2 / max(rmse**0.5, MIN_ERROR))
            for name, (mae, error), (rmse, off) in rows
        )


def _ratio(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """Return ratios of means and their standard errors: float64[2, groups]."""
    means = [np.maximum(one.mean(axis=0), MIN_ERROR) for one in (ours, theirs)]
    parts = [
        one.std(axis=0, ddof=1) / len(one) ** 0.5 / mean if len(one) > 1 else np.zeros(mean.size)
        for one, mean in zip((ours, theirs), means, strict=True)
    ]
    # First-order propagation of errors, as if both means were independent.
    ratio = means[0] / means[1]
    return np.array([ratio, ratio * np.hypot(*parts)])
