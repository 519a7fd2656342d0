"""How methods measure: whole numbers, and the noise that is added to them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from geodp.grid.grid import Grid
from geodp.mechanisms.base import Plain, Query
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.laplace import LAPLACE, DiscreteLaplace
from geodp.privacy.noise.node import NodeNoise
from geodp.table.released import ReleasedTable
from geodp.typing import CountArray, FloatArray, IntArray


def laplace_noise(key: NoiseKey, stage: int, scale: Fraction, n: int) -> IntArray:
    """Exact discrete Laplace noise of the n measurements of a stage: int64[n].

    Methods call :func:`add_noise` instead: it is where noise and counts meet.
    """
    return NodeNoise(key, Stream.STAGE + stage, DiscreteLaplace.of_scale(scale)).sequence(n)


def stage_query(stage: int, scale: Fraction, *what: Plain) -> Query:
    """Return the query of a stage whose integers get :func:`add_noise`."""
    return Query(Stream.STAGE + stage, (LAPLACE, scale), what)


def add_noise(counts: IntArray, key: NoiseKey, stage: int, scale: Fraction) -> IntArray:
    """Return the measurements of a stage with exact discrete Laplace noise.

    Before the noise is in there are whole numbers only. As float64, two tables of more than
    2**53 people that differ by one person may differ by many, or in nothing; what becomes of the
    result is post-processing, floating point included.

    Parameters
    ----------
    counts : int64[...]
        What is measured: whole numbers that one person changes as the method's sensitivity
        tells. Not changed.
    key : NoiseKey
    stage : int
        From 0; each has noise of its own. Measurement i has the same noise whatever else is
        drawn.
    scale : Fraction

    Returns
    -------
    int64, of the same shape

    Raises
    ------
    TypeError
        Counts of another type: a fault of the method.
    """
    _require_whole(counts)
    noisy = laplace_noise(key, stage, scale, counts.size).reshape(counts.shape)
    noisy += counts
    return noisy


def add_fractional_noise(
    counts: IntArray, key: NoiseKey, stage: int, scale: Fraction, digits: int
) -> FloatArray:
    """Return the same with noise in steps of ``2**-digits``, as real numbers.

    The whole part of the noise is added as an integer. That sum and the fraction that is left
    are the digits of the exact noisy value, before and after its point, so the rounding to
    float64 depends on nothing else.

    Parameters
    ----------
    counts, key, stage, scale
        As of :func:`add_noise`; the scale is in counts.
    digits : int
        Not negative.

    Returns
    -------
    float64, of the same shape
        Exact where 53 bits hold the value.
    """
    _require_whole(counts)
    steps = laplace_noise(key, stage, scale * (1 << digits), counts.size).reshape(counts.shape)
    whole = counts + (steps >> digits)
    steps &= (1 << digits) - 1
    return np.asarray(whole + steps * 2.0**-digits, np.float64)


def measure_deviations(
    parts: IntArray, total: IntArray, noise: tuple[NoiseKey, int, Fraction]
) -> FloatArray:
    """Return by how much parts differ from their mean, with exact discrete Laplace noise.

    Measured is the whole number ``f * part - total``, and f divides it afterwards. It may have
    more than 63 bits, so quotients and remainders by f are added instead, all whole: the rounding
    to float64 depends on nothing but the exact noisy value.

    Parameters
    ----------
    parts : int64[n, f]
    total : int64[n]
        Of the parts.
    noise : (NoiseKey, int, Fraction)
        Key and stage, as of :func:`add_noise`, and the scale of the noise of the whole number.

    Returns
    -------
    float64[n, f]

    Raises
    ------
    TypeError
        Counts of another type: a fault of the method.
    """
    _require_whole(parts)
    _require_whole(total)
    count = parts.shape[1]
    mean, rest = np.divmod(total[:, None], count)
    noisy = laplace_noise(*noise, parts.size).reshape(parts.shape)
    more, fraction = np.divmod(noisy - rest, count)
    return np.asarray(parts - mean + more + fraction / count, np.float64)


def _require_whole(counts: IntArray) -> None:
    if counts.dtype != np.int64:
        raise TypeError(f"Noise is added to int64 counts; these are {counts.dtype}.")


def release_vector(values: CountArray, grid: Grid, event: Measurement) -> ReleasedTable:
    """Return a release of values of all ``2**bits`` keys; those outside the domain are dropped."""
    key = np.flatnonzero(values).astype(np.uint64)
    if grid.size < values.size:
        key = key[grid.domain.contains_keys(key)]
    return ReleasedTable(grid, key, values[key], event)


def release_dense(values: CountArray, grid: Grid, event: Measurement) -> ReleasedTable:
    """Return a release of an array of the grid's box; cells outside the domain are dropped."""
    return release_vector(grid.domain.to_vector(values), grid, event)
