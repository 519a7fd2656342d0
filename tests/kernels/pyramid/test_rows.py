"""Blocks of families: rows do what one family after the other would."""

from fractions import Fraction

import numpy as np
import pytest

from geodp.kernels.pyramid import families, layout, masks, passes, rows, shares
from geodp.mechanisms.trees import descent
from tests.privacy.noise.laws import law_of

LAW = law_of("laplace", Fraction(3))


def block(draw, families, fanout, width, closed=0.0):
    """Estimates of a block's children in rows, and the same family by family."""
    z = np.rint(draw.laplace(0, 30, (families, fanout)))
    variance = np.where(draw.random((families, fanout)) < closed, 0.0, 9.0)
    variance[:, 0] = 9.0  # a family has a child that can be
    estimates = np.full((2, fanout * width), np.nan)
    for row, values in zip(estimates, (z, variance), strict=True):
        row.reshape(fanout, width)[:, :families] = values.T
    return estimates, z, variance


@pytest.mark.parametrize(("fanout", "width"), [(2, 128), (16, 128), (17, 120), (100, 24)])
@pytest.mark.parametrize("closed", [0.0, 0.4])
def test_candidates_are_those_of_a_share(fanout, width, closed):
    draw = np.random.default_rng(fanout)
    size = width - 5
    estimates, z, variance = block(draw, size, fanout, width, closed)
    total = draw.integers(1, 200, size)
    words = -(-fanout // layout.WORD)
    mask = np.zeros(words * width, np.uint64)
    even = 0.0 if closed else 9.0
    rows.find_candidates(total, (fanout, width), estimates, even, np.empty((2, 128)), mask)
    child, own, at = np.empty(fanout, np.int64), np.empty(fanout), np.empty(fanout, np.uint64)
    for f in range(size):
        found = masks.list_children(mask, fanout, f, width, child)
        ends = np.uint64(0), np.uint64(fanout)
        some = shares.could_be_above_zero(z[f], variance[f], ends, float(total[f]), own, at)
        assert child[:found].tolist() == at[: int(some)].tolist()


@pytest.mark.parametrize(("fanout", "width"), [(4, 128), (25, 80)])
@pytest.mark.parametrize("some", [0.0, 0.3, 1.0])
def test_estimates_from_below_are_those_of_one_family_after_the_other(fanout, width, some):
    """The sum of the shut children first, then the open ones in order."""
    draw = np.random.default_rng(fanout)
    size = width - 3
    estimates, z, variance = block(draw, size, fanout, width, 0.3)
    opened = (draw.random(z.shape) < some) & (variance > 0)
    z[opened] += draw.random(z.shape)[opened]
    estimates[0].reshape(fanout, width)[:, :size] = z.T
    words = -(-fanout // layout.WORD)
    mask, place = np.zeros((words, width), np.uint64), draw.permutation(size)
    for f, j in np.argwhere(opened):
        mask[j // layout.WORD, f] |= np.uint64(1 << j % layout.WORD)
    above = np.rint(draw.laplace(0, 50, (2, size)))
    expected = above.copy()
    for f in range(size):
        order = [*np.flatnonzero(~opened[f] & (variance[f] > 0)), *np.flatnonzero(opened[f])]
        below, spread = 0.0, 0.0
        for j in order:
            below, spread = below + z[f, j], spread + variance[f, j]
        weight = spread / (spread + 4.0)
        expected[0, place[f]] = weight * expected[0, place[f]] + (1 - weight) * below
        expected[1, place[f]] = weight * 4.0
    chain = descent.Descent((fanout,), (fanout, 1), (LAW, LAW), (0.0, 0.0), 2)
    desk = descent.desk_of(chain.levels([0, 1]))
    shape = fanout, width
    rows.combine_rows(estimates, shape, mask.reshape(-1), 4.0, desk, place, (above[0], above[1]))
    assert np.array_equal(above, expected)


def test_a_mask_names_its_children_in_order():
    draw = np.random.default_rng(3)
    for fanout in (1, 2, 16, 17, 70):
        some = draw.random(fanout) < 0.5
        words = -(-fanout // layout.WORD)
        bits = np.append(some, np.zeros(words * layout.WORD - fanout, bool)).reshape(words, -1)
        mask = np.zeros(3 * words, np.uint64)
        mask[1::3] = bits @ (1 << np.arange(layout.WORD))
        child = np.empty(fanout, np.int64)
        found = masks.list_children(mask, fanout, 1, 3, child)
        assert child[:found].tolist() == np.flatnonzero(some).tolist()


def test_blocks_of_a_level_are_even_and_none_is_left_out():
    table = np.zeros((8, 3), np.int64)
    table[layout.WIDTH] = 7
    for some in (1, 7, 8, 50):
        fill, ends = np.zeros((2, 4), np.int64), [0]
        for turn in range(-(-some // 7)):
            passes.begin(table, fill, 1, some, turn)
            assert fill[1, layout.FROM] == ends[-1]
            ends.append(int(fill[1, layout.UPTO]))
        assert ends[-1] == some
        assert np.ptp(np.diff(ends)) <= 1


def test_no_record_is_longer_than_the_room_that_is_asked_for():
    for fanout, some in ((16, 1), (16, 128), (17, 60), (4096, 8)):
        masks_of_all = -(-some * -(-fanout // layout.WORD) * 16 // 64)
        longest = 2 * some * fanout + some * fanout // 4 + some + masks_of_all + 1
        assert families.most_words(some, some * fanout, fanout) == longest
