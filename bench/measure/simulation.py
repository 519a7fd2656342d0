"""Errors of families of regions in releases of a public table under public keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from bench.inputs.families import Family
from bench.measure.regions import MapDifference
from geodp import progress
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.proxy import Proxy
from geodp.typing import FloatArray

FRESH = 1000
"""Number of the first release whose errors are reported; searches use lower numbers."""

MIN_ERROR = 1e-9
"""Lower bound of errors, as a perfect release has no logarithm."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """Errors of groups of regions over some releases.

    Attributes
    ----------
    names : tuple of str
        Names of the groups.
    absolute, square : float64[releases, groups]
        Mean absolute and mean squared error of a group's regions.
    """

    names: tuple[str, ...]
    absolute: FloatArray = field(repr=False)
    square: FloatArray = field(repr=False)

    @property
    def mae(self) -> FloatArray:
        """Mean absolute errors: float64[groups]."""
        return np.asarray(self.absolute.mean(axis=0), np.float64)

    @property
    def rmse(self) -> FloatArray:
        """Root-mean-square errors: float64[groups]."""
        return np.asarray(np.sqrt(self.square.mean(axis=0)), np.float64)


@dataclass(frozen=True, eq=False)
class PlanSimulation:
    """A public table and the regions whose errors are simulated.

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
        table = self.proxy.table
        groups = [group for one in self.families for group in one.groups]
        counts = [group.count(table.grid) for group in groups]
        rows = []
        for trial in trials:
            with progress.silence():
                released = method.release(table, event, public_key(trial))
            difference = MapDifference.of(table, released)
            errors = [group.sums(difference)[1] for group in groups]
            rows.append([_figures(*pair) for pair in zip(errors, counts, strict=True)])
        names = tuple(group.name for group in groups)
        return Simulated(names, *np.moveaxis(np.array(rows), 2, 0))


def public_key(trial: int) -> NoiseKey:
    """Return the key of a simulated release, a public constant."""
    return NoiseKey(hashlib.sha256(f"geodp plan, public, {trial}".encode()).digest())


def _figures(error: FloatArray, regions: int) -> tuple[float, float]:
    """Return mean absolute and squared error of regions; those that are not listed have none."""
    return float(np.abs(error).sum()) / regions, float((error * error).sum()) / regions


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
