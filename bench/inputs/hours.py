"""Hours of public taxi trips, which were published without any: made up, by place and direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

import geodp
from geodp.table.counts import CountTable

HOURS = 24

Reals = NDArray[np.float64]


def add_hours(trips: CountTable, seed: int = 11) -> CountTable:
    """Give every trip an hour, made up: by its direction and by both of its zones.

    Trips towards the centre are more frequent in the morning, away from it in the evening. Night
    trips follow a smooth surface of origins and destinations, and peaks of single zones differ.
    """
    draw, index, count = np.random.default_rng(seed), trips.grid.decode(trips.key), trips.count
    shape = trips.grid.shape[:2]
    weight = np.zeros(shape)
    np.add.at(weight, tuple(index[:2]), count)
    centre = [
        np.average(np.arange(size), weights=weight.sum(axis=1 - axis))
        for axis, size in enumerate(shape)
    ]
    away = [np.hypot(*(index[at : at + 2].T - centre).T) for at in (0, 2)]
    inward = np.tanh((away[0] - away[1]) / 4)
    base = 0.15 + peak(8, 2) + 0.7 * peak(13, 3) + 1.2 * peak(18.5, 2.5) + 0.5 * peak(22, 2)
    smooth = gaussian_filter(draw.standard_normal(shape), 3)
    smooth /= smooth.std()
    rough = draw.standard_normal(shape)
    start, end = tuple(index[:2]), tuple(index[2:])
    chance = np.log(base) + 0.8 * np.outer(inward, peak(8, 2) - peak(18, 2.5))
    chance += 0.5 * np.outer(smooth[start] + 0.5 * smooth[end], peak(23, 3))
    chance += 0.4 * np.outer(rough[start], peak(8, 2)) + 0.4 * np.outer(rough[end], peak(18, 2.5))
    part = np.exp(chance)
    drawn = draw.multinomial(count, part / part.sum(axis=1, keepdims=True))
    row, hour = np.nonzero(drawn)
    grid = trips.grid.with_attribute("hour", [*map(str, range(HOURS))])
    return geodp.CountTable.from_index(
        grid, np.concatenate([index[:, row], hour[None]]), drawn[row, hour]
    )


def peak(centre: float, width: float) -> Reals:
    """Compute a peak around an hour of the day: float64[24], at most 1."""
    apart = np.abs(np.arange(HOURS) - centre)
    return np.asarray(np.exp(-0.5 * (np.minimum(apart, HOURS - apart) / width) ** 2))
