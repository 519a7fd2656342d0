"""Maps to try methods on, and their errors over many releases."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bench.measure import errors as accuracy
from geodp.io.read.table import read_mesh

CENSUS = Path(__file__).resolve().parents[3] / "shared" / "data" / "estat-2020-500m"


@cache
def census():
    """The public census of 2020 around Tokyo: 512 x 512 cells; skips where it is not there."""
    if not CENSUS.is_dir():
        pytest.skip("the real data sets are not beside the project")
    window = (138.0, 35.0, 141.2, 37.1333333333)
    files = sorted(CENSUS.glob("*.zip"))
    return read_mesh(files, grid="jis:half", value="人口（総数）", bounds=window).to_dense()


def towns(side, seed=5):
    """A map with crowds of all sizes on land where few live."""
    draw = np.random.default_rng(seed)
    density = np.full((side, side), 0.02)
    row, col = np.indices((side, side))
    for y, x in draw.integers(0, side, (25, 2)):
        far = ((row - y) ** 2 + (col - x) ** 2) / (2 * draw.uniform(1, side / 20) ** 2)
        density += draw.pareto(1.2) * np.exp(-far)
    return draw.poisson(density * 60_000 / density.sum())


def errors(release, people, trials):
    """Mean absolute errors of cells and of random rectangles, and those of the totals."""
    queries = accuracy.rectangles(people.shape, 500, 1)
    found = []
    for trial in range(trials):
        error = release(trial) - people
        found.append(
            (np.abs(error).mean(), np.abs(accuracy.sums(error, queries)).mean(), error.sum())
        )
    cells, rectangles, totals = np.array(found).T
    return cells.mean(), rectangles.mean(), totals


def standard_errors(totals):
    """How many of its standard errors a mean is off zero."""
    return totals.mean() / (totals.std(ddof=1) / np.sqrt(totals.size))
