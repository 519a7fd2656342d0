"""Maps of means: a block has a colour of its own only where its mean is known."""

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.amounts import drawing as module
from geodp.kinds.amounts.drawing import MAX_HALF, Blocks, Coloured
from geodp.privacy.key import NoiseKey
from tests.kinds.amounts.made import EDGES, KEY, publish

SIDE = 24


def made(tilt=0.0, pairs=75_000, seed=3, key=KEY, **more):
    """Release pairs of a low and a high income, whose mean rises by ``tilt`` from west to east."""
    draw = np.random.default_rng(seed)
    grid = geodp.Grid.regular((SIDE, SIDE), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, 1000, 3e6))
    x, y = np.repeat(SIDE * draw.beta(1, 2, (2, pairs)), 2, axis=1)
    income = np.tile([150.0, 450.0], pairs) * (1 + tilt * (x / SIDE - 0.4))
    data = pa.table({"x": 4e6 + 1000 * x, "y": 3e6 + 1000 * y, "income": income})
    return publish(data, grid=grid, key=key, classes=EDGES, **more)


@pytest.fixture(scope="module")
def flat():
    """Blocks of a release whose true mean is the same everywhere."""
    return Blocks.of(made(), 600)


def test_a_constant_mean_gives_a_map_of_one_class(flat):
    coloured = Coloured.of(flat, "mean")
    classes = coloured.classes[coloured.classes >= 0]
    assert classes.size > SIDE * SIDE / 2
    # So many blocks would be of other classes if colours were those of noisy means.
    alone = np.searchsorted(coloured.edges, flat.levels["mean"][0].value, "right")
    assert np.unique(alone).size > 1
    most = np.bincount(classes).max()
    assert most >= 0.95 * classes.size


@pytest.mark.parametrize("epsilon", ["1/4", 1])
def test_few_blocks_are_of_another_class_in_another_draw(epsilon):
    release = made(pairs=30_000, seed=1, epsilon=epsilon, key=NoiseKey(bytes([1] * 32)))
    coloured = Coloured.of(Blocks.of(release, 600), "mean")
    classes = coloured.classes[coloured.classes >= 0]
    assert np.bincount(classes).max() >= 0.95 * classes.size


def test_a_slope_is_seen():
    coloured = Coloured.of(Blocks.of(made(tilt=1.5, epsilon=4), 600), "mean")
    west, east = coloured.value[:, :4], coloured.value[:, 10:14]
    assert np.nanmean(west) < np.nanmean(east) - 50
    assert np.unique(coloured.classes).size > 2


def test_what_is_coloured_is_known(flat):
    coloured = Coloured.of(flat, "mean")
    width = coloured.edges[1] - coloured.edges[0]
    for number, level in enumerate(flat.levels["mean"]):
        row, col = np.nonzero(coloured.level == number)
        at = row >> number, col >> number
        assert (level.half[at] <= MAX_HALF * width).all()
        np.testing.assert_array_equal(coloured.value[row, col], level.value[at])
        if number:
            finer = flat.levels["mean"][number - 1]
            assert (finer.half[row >> number - 1, col >> number - 1] > MAX_HALF * width).all()
    assert np.isnan(coloured.value[flat.records == 0]).all()
    assert (coloured.level > 0).any()
    assert (coloured.level == 0).any()


def test_blocks_are_those_of_estimate(flat):
    release = made()
    for number, level in enumerate(flat.levels["mean"]):
        side = 1000 * (1 << number)
        mean = release.estimate((4e6, 3e6, 4e6 + side, 3e6 + side)).mean
        assert level.value[0, 0] == pytest.approx(mean.value)
        half = max(mean.high - mean.value, mean.value - mean.low)
        assert level.half[0, 0] == pytest.approx(half)


def test_edges_keep_away_from_the_mean_of_the_map(flat):
    for name in ("mean", "median"):
        edges, middle = Coloured.of(flat, name).edges, flat.overall[name]
        width = edges[1] - edges[0]
        assert np.abs(edges - middle).min() >= (MAX_HALF - 1e-9) * width


def test_counts_that_are_not_shown_have_no_colour():
    data = pa.table({"x": [0.5] * 4 + [9.5] * 500, "y": [0.5] * 504, "income": [300] * 504})
    release = publish(data, epsilon=20, key=KEY, metadata={"display_below": 10})
    found = Blocks.of(release, 300)
    assert 0 < found.records[0, 0] < 10
    assert np.isnan(found.levels["mean"][0].value[0, 0])


def test_a_map_of_too_many_cells_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MAX_CELLS", 100)
    with pytest.raises(UsageError, match="--bounds"):
        Blocks.of(publish(), 300)
    part = Blocks.of(publish(), 300, (0, 0, 8, 8))
    assert part.records.shape == (8, 8)
