"""Measurements: the functions that add noise to integer counts, and build releases from arrays.

True counts meet noise here, or in kernels that compute with integers, and nowhere else: see
docs/decisions/0002 and tests/house/test_whole_numbers.py.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from geodp.grid.grid import Grid
from geodp.mechanisms.base import Plain, Query
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.law import LAPLACE, DiscreteLaplace
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import ReleasedTable
from geodp.typing import CountArray, FloatArray, IntArray


def laplace_noise(key: NoiseKey, stage: int, scale: Fraction, n: int) -> IntArray:
    """Draw exact discrete Laplace noise for the n measurements of a stage: int64[n].

    Methods call :func:`add_noise` instead.
    """
    return NodeNoise(key, Stream.STAGE + stage, DiscreteLaplace.of_scale(scale)).sequence(n)


def stage_query(stage: int, scale: Fraction, *what: Plain) -> Query:
    """Describe the query of a stage that :func:`add_noise` measures."""
    return Query(Stream.STAGE + stage, (LAPLACE, scale), what)


def add_noise(counts: IntArray, key: NoiseKey, stage: int, scale: Fraction) -> IntArray:
    """Add exact discrete Laplace noise to the measurements of a stage.

    Parameters
    ----------
    counts : int64[...]
        The measurements: integers that one person changes by the method's sensitivity. Not
        changed.
    key : NoiseKey
    stage : int
        From 0; each stage has independent noise. Measurement i has the same noise whatever else
        is drawn.
    scale : Fraction

    Returns
    -------
    int64, of the same shape

    Raises
    ------
    TypeError
        Counts of another type, which is a bug in the method.
    """
    # Integers only until the noise is in: as float64, two tables of more than 2**53 people that
    # differ by one person may differ by many counts, or in none. What follows is post-processing.
    _require_integers(counts)
    noisy = laplace_noise(key, stage, scale, counts.size).reshape(counts.shape)
    noisy += counts
    return noisy


def add_fractional_noise(
    counts: IntArray, key: NoiseKey, stage: int, scale: Fraction, digits: int
) -> FloatArray:
    """Add noise in steps of ``2**-digits`` to the measurements of a stage, as real numbers.

    Parameters
    ----------
    counts, key, stage, scale
        As for :func:`add_noise`; the scale is in counts.
    digits : int
        Not negative.

    Returns
    -------
    float64, of the same shape
        Exact where 53 bits hold the value.
    """
    _require_integers(counts)
    # The integer part of the noise is added as an integer. That sum and the remaining fraction are
    # the digits of the exact noisy value, so the rounding to float64 depends on nothing else.
    steps = laplace_noise(key, stage, scale * (1 << digits), counts.size).reshape(counts.shape)
    integer_part = counts + (steps >> digits)
    steps &= (1 << digits) - 1
    return np.asarray(integer_part + steps * 2.0**-digits, np.float64)


def measure_deviations(
    parts: IntArray, total: IntArray, noise: tuple[NoiseKey, int, Fraction]
) -> FloatArray:
    """Measure by how much parts differ from their mean, with exact discrete Laplace noise.

    The measurement is the integer ``f * part - total``, which is divided by f afterwards.

    Parameters
    ----------
    parts : int64[n, f]
    total : int64[n]
        Sums of the parts.
    noise : (NoiseKey, int, Fraction)
        Key and stage, as for :func:`add_noise`, and the scale of the integer's noise.

    Returns
    -------
    float64[n, f]

    Raises
    ------
    TypeError
        Counts of another type, which is a bug in the method.
    """
    # The integer may have more than 63 bits, so integer quotients and remainders by f are added
    # instead: the rounding to float64 depends on nothing but the exact noisy value.
    _require_integers(parts)
    _require_integers(total)
    count = parts.shape[1]
    mean, rest = np.divmod(total[:, None], count)
    noisy = laplace_noise(*noise, parts.size).reshape(parts.shape)
    more, fraction = np.divmod(noisy - rest, count)
    return np.asarray(parts - mean + more + fraction / count, np.float64)


def _require_integers(counts: IntArray) -> None:
    if counts.dtype != np.int64:
        raise TypeError(f"Noise is added to int64 counts; these are {counts.dtype}.")


def release_vector(values: CountArray, grid: Grid, event: Measurement) -> ReleasedTable:
    """Make a release from values of all ``2**bits`` keys; those outside the domain are dropped."""
    key = np.flatnonzero(values).astype(np.uint64)
    if grid.size < values.size:
        key = key[grid.domain.contains_keys(key)]
    return ReleasedTable(grid, key, values[key], event)


def release_dense(values: CountArray, grid: Grid, event: Measurement) -> ReleasedTable:
    """Make a release from an array of the grid's box; cells outside the domain are dropped."""
    return release_vector(grid.domain.to_vector(values), grid, event)
