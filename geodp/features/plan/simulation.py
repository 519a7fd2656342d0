"""Errors of families of regions by running a method on a public table, under public keys."""

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
from geodp.table.proxy import Proxy
from geodp.typing import FloatArray

FRESH = 1000
"""Number of the first release whose errors are told: none of those that a search has seen."""

LEAST_ERROR = 1e-9
"""Errors of less count as so much: a perfect release has no logarithm."""

LEAST_LOSS = 0.01
"""Part of settlements' people that counts as lost anyway: less is not told from chance."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """Errors of groups of regions over some releases.

    Attributes
    ----------
    names : tuple of str
        Of the groups.
    absolute, square, relative : float64[releases, groups]
        Mean absolute, mean squared and mean relative error of a group's regions.
    gained : float64[releases, groups]
        Sum of their errors over that of their people; below 0: people were lost.
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
        """Return the weighted geometric mean over the families; of settlements, of their loss."""
        means = (self.relative if relative else self.absolute).mean(axis=0)
        lone = [isinstance(group, Settlements) for one in families for group in one.groups]
        means = np.where(lone, LEAST_LOSS + np.abs(self.gained.mean(axis=0)), means)
        logs = np.log(np.maximum(means, LEAST_ERROR))
        return float(np.exp(weights_of(families) @ logs))


def weights_of(families: Sequence[Family]) -> FloatArray:
    """Weights of all groups, one family's shared by its own; of sum 1."""
    parts = [
        one.objective.weight / len(one.groups) for one in families for _ in range(len(one.groups))
    ]
    return np.array(parts) / sum(parts)


@dataclass(frozen=True, eq=False)
class PlanSimulation:
    """A public table and the regions whose errors are asked for.

    Attributes
    ----------
    proxy : Proxy
    families : tuple of Family
    """

    proxy: Proxy
    families: tuple[Family, ...]

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
            key = public_key(trial)
            with progress.silence():
                found = {
                    at: MapDifference.of(table, method.release(table, event, key))
                    for at, table in tables.items()
                }
            sums = [self._sums(group, found) for group in groups]
            rows.append([_figures(*both, n) for both, n in zip(sums, counts, strict=True)])
        names = tuple(group.name for group in groups)
        return Simulated(names, *np.moveaxis(np.array(rows), 2, 0))

    def _tables_of(self, group: RegionGroup | Settlements) -> list[CountTable]:
        """Return the maps on which a group's regions lie."""
        if isinstance(group, Settlements):
            return [table for table, _ in group.parts]
        return [self.proxy.table]

    def _sums(self, group: RegionGroup | Settlements, found: Mapping[int, MapDifference]) -> Sums:
        if isinstance(group, Settlements):
            return group.sums(found)
        return group.sums(found[id(self.proxy.table)])


def public_key(trial: int) -> NoiseKey:
    """Return the key of a simulated release: a constant that everybody may know."""
    return NoiseKey(hashlib.sha256(f"geodp plan, public, {trial}".encode()).digest())


def _figures(
    people: FloatArray, error: FloatArray, regions: int
) -> tuple[float, float, float, float]:
    """Mean absolute, squared and relative error of so many regions, and what they gain together.

    Other regions have neither people nor errors.
    """
    size = np.abs(error)
    bound = np.maximum(people, max(float(people.sum()) / regions, 1.0))
    figures = size.sum(), (size * size).sum(), (size / bound).sum()
    absolute, square, relative = (float(figure) / regions for figure in figures)
    return absolute, square, relative, float(error.sum()) / max(float(people.sum()), 1.0)


@dataclass(frozen=True)
class ErrorRatio:
    """The error of a group of regions over another method's.

    Attributes
    ----------
    name : str
        Of the group.
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
        """The larger of the two."""
        return max(self.mae, self.rmse)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
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
        found = zip(ours.names, absolute.T.tolist(), square.T.tolist(), strict=True)
        return tuple(
            cls(name, mae, error, rmse**0.5, off / 2 / max(rmse**0.5, LEAST_ERROR))
            for name, (mae, error), (rmse, off) in found
        )


def _ratio(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """Ratios of means and their standard errors: float64[2, groups]."""
    means = [np.maximum(one.mean(axis=0), LEAST_ERROR) for one in (ours, theirs)]
    parts = [
        one.std(axis=0, ddof=1) / len(one) ** 0.5 / mean if len(one) > 1 else np.zeros(mean.size)
        for one, mean in zip((ours, theirs), means, strict=True)
    ]
    ratio = means[0] / means[1]
    return np.array([ratio, ratio * np.hypot(*parts)])
