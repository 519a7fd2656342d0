"""Blocks of families: rows do what one family after the other would."""

from fractions import Fraction
from functools import cache

import numba
import numpy as np
import pytest

from geodp.kernels.pyramid import edges, families, layout, passes, rows, shares
from geodp.kernels.pyramid.edges import NOWHERE, ROWS, STEP
from geodp.kernels.pyramid.reweighting import reweight_all
from geodp.mechanisms.trees import descent
from geodp.privacy.key import NoiseKey, expose
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise
from tests.privacy.noise.laws import law_of


def in_rows(values, fill=0):
    """The children of families, one a line, as a block has them."""
    size, fanout = values.shape
    every = np.full((size, -(-fanout // ROWS) * ROWS), fill, values.dtype)
    every[:, :fanout] = values
    rows = every.reshape(size, -1, ROWS).transpose(2, 1, 0).reshape(ROWS, -1)
    beyond = np.full((ROWS, -rows.shape[1] % STEP), fill, values.dtype)
    return np.ascontiguousarray(np.hstack([rows, beyond])).reshape(-1)


@cache
def door(merged):
    """What is merged into kernels, to be called from here."""
    return numba.njit(lambda *given: merged(*given))


def chain_of(fanout, law=None):
    """Levels of a tree of one family of each root, the children's with some law."""
    laws = law_of("laplace", Fraction(1)), law or law_of("laplace", Fraction(3))
    return descent.Descent((fanout,), (fanout, 1), laws, (0.0, 0.0), 2)


def test_a_child_stands_where_it_is_said():
    for fanout, size in ((2, 5), (16, 3), (17, 4), (100, 2)):
        block = in_rows(np.arange(fanout * size).reshape(size, fanout), -1)
        shape = size, block.size // ROWS
        for f in range(size):
            places = [int(door(rows.place_of)(np.uint64(j), f, shape)) for j in range(fanout)]
            assert block[places].tolist() == list(range(f * fanout, (f + 1) * fanout))


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(3), Fraction(40), Fraction(5000)])
@pytest.mark.parametrize(("fanout", "size"), [(2, 128), (8, 100), (16, 3), (20, 64), (300, 8)])
def test_draws_are_those_of_the_nodes_noise(scale, fanout, size):
    law, key = law_of("laplace", scale), NoiseKey(bytes(range(32)))
    levels = chain_of(fanout, law).levels([0, 9])
    workspace, above = descent.make_workspace(levels), np.arange(3 * 2**40, 3 * 2**40 + size)
    with expose(key) as words:
        left = rows.draw(words, levels, 1, above, workspace)
    noise, number = NodeNoise(key, 9, law).families(above.astype(np.uint64), fanout)
    assert left == 0
    expected = in_rows(noise.reshape(size, fanout), NOWHERE)
    inside = expected != NOWHERE
    assert (workspace.noisy[: expected.size][inside] == expected[inside]).all()
    for f in range(size):
        assert door(rows.uniform_of)(workspace.digits, np.uint64(f)) == number[f]


class Tied(Law):
    """Another law's first threshold alone: what is below it is left for the exact way."""

    def __new__(cls, law):
        found = object.__new__(type(law))
        for name in ("scale", "sigma2"):
            if hasattr(law, name):
                object.__setattr__(found, name, getattr(law, name))
        object.__setattr__(found, "_digits", lambda: tuple(p[:1] for p in law._digits()))
        found.__post_init__()
        return found


def test_draws_that_no_table_decides_are_nowhere_and_counted():
    law, key = Tied(law_of("laplace", Fraction(5))), NoiseKey(bytes(32))
    levels = chain_of(20, law).levels([0, 9])
    workspace, above = descent.make_workspace(levels), np.arange(60)
    workspace.noisy[:] = 1
    with expose(key) as words:
        left = rows.draw(words, levels, 1, above, workspace)
    noise = in_rows(NodeNoise(key, 9, law).families(above.astype("u8"), 20)[0].reshape(60, 20))
    drawn = workspace.noisy[: noise.size]
    drawn[in_rows(np.ones((60, 20), bool)) == 0] = 1  # nobody's places
    assert left == (drawn == NOWHERE).sum() > 100
    assert ((noise == 0) == (drawn == 0))[drawn != 1].all()


@pytest.mark.parametrize(("fanout", "size"), [(2, 128), (16, 120), (17, 60), (100, 16)])
@pytest.mark.parametrize("lost", [0.0, 0.4])
def test_candidates_are_those_of_a_share_above_the_mean_excess(fanout, size, lost):
    draw = np.random.default_rng(fanout)
    z = np.rint(draw.laplace(0, 30, (size, fanout))).astype(np.int32)
    out = draw.random(z.shape) < lost
    out[:, 0] = False  # a family has a child that can be
    total = draw.integers(1, 200, size)
    total[0] = 2**62
    noisy = in_rows(np.where(out, NOWHERE, z).astype(np.int32))
    row, mask = np.empty((6, noisy.size), np.int32), np.empty(noisy.size, np.uint32)
    row[layout.LOST, :size] = out.sum(axis=1)
    mean = (np.where(out, 0, z).sum(axis=1) - total) / (~out).sum(axis=1)
    spread = 1e12 * np.arange(fanout + 1)  # beside which totals are small: nothing is raised
    rows.find_candidates(total, fanout, noisy, spread, row, mask)
    child, at = np.empty((2, fanout), np.uint64)
    place = np.empty(fanout, np.int32)
    variance = np.where(out, 0.0, 9.0)
    for f in range(size):
        lane = f, size, noisy.size // ROWS
        found = door(edges.list_children)(mask, noisy, fanout, lane, (child, place))
        ends, goal, found = (np.uint64(0), np.uint64(fanout)), float(total[f]), int(found)
        some, _, _ = door(shares.could_be_above_zero)(
            z[f].astype(float), variance[f], ends, goal, at
        )
        some = [int(j) for j in at[: int(some)] if z[f, int(j)] > np.floor(mean[f])]
        assert child[:found].tolist() == some
        assert place[:found].tolist() == z[f, some].tolist()
        one = layout.SEVERAL // 2
        assert (row[layout.CANDIDATES, f] < 2 * one) == (found == 1)
        assert found > 1 or row[layout.CANDIDATES, f] == one + child[0]
        sums = int(row[layout.SUMS, f]) + (int(out[f].sum()) << 31)
        assert (sums - z[f][~out[f]].sum()) % 2**32 == 0


@pytest.mark.parametrize("beyond", [0, 2**35, 2**59])
@pytest.mark.parametrize(("stride", "filled"), [(1, 1), (3, 0.2), (4, 0.2), (3, 1), (4, 1)])
def test_counts_with_noise_are_exact_in_64_bits(beyond, stride, filled):
    """True counts up to 2**59 and noise that 32 bits do not hold; few data of a node and many."""
    draw = np.random.default_rng(7)
    fanout, size = 20, 9
    cells = draw.integers(0, 50, (size, fanout, stride))
    cells[..., 0] += beyond * (draw.random((size, fanout)) < 0.1)
    cells *= draw.random(cells.shape) < filled
    cells[3] = 0
    key, count = np.flatnonzero(cells).astype(np.uint64), cells.sum(axis=2)
    cumulative = np.concatenate([[0], np.cumsum(cells[cells > 0])])
    noise = draw.integers(-(2**29), 2**29, count.shape)
    far = draw.random(count.shape) < 0.1
    noise[far] *= 2**20
    noisy = in_rows(np.where(far, NOWHERE, noise).astype(np.int32))
    rest, scratch = in_rows(np.where(far, noise, 77)), np.empty((3, 1000), np.int64)
    nodes = np.zeros((5, size), np.int64)
    nodes[layout.PREFIX] = np.arange(size)
    edges = np.searchsorted(key, np.arange(size + 1) * fanout * stride)
    nodes[layout.FIRST], nodes[layout.STOP] = edges[:-1], edges[1:]
    block, shape = (0, size), (fanout, stride)
    largest = rows.add_counts(nodes, block, shape, key, cumulative, noisy, scratch)
    assert largest == count.sum(axis=1).max()
    ends = np.searchsorted(key, np.arange(size * fanout + 1) * stride)
    begin, end = (scratch[row, : 8 * fanout] for row in (layout.BEGIN, layout.END))
    first, last = (np.delete(one.reshape(size, -1), 3, 0).ravel() for one in (ends[:-1], ends[1:]))
    assert ((end > 0) == (last > first)).all()
    assert (begin[end > 0] == first[end > 0]).all()
    assert (end[end > 0] == last[end > 0]).all()
    rows.widen(fanout, size, cumulative, noisy, scratch, rest)
    inside = in_rows(np.ones(count.shape, np.int8)) == 1
    assert (rest[inside] == in_rows(count + noise)[inside]).all()
    if not beyond:
        near = inside & ~in_rows(far)
        assert (noisy[near] == in_rows(count + noise)[near]).all()


@pytest.mark.parametrize("fanout", [4, 25])
@pytest.mark.parametrize("counted", [False, True])
def test_estimates_from_below_are_those_of_one_family_after_the_other(fanout, counted):
    """The sum of the shut children first, then the open ones in order."""
    draw = np.random.default_rng(fanout)
    size = 30
    workspace = descent.make_workspace(chain_of(fanout).levels([0, 1]))
    some = draw.integers(1, fanout + 1, size)
    ends = np.cumsum(some)
    workspace.estimates[:, : ends[-1]] = draw.random((2, ends[-1]))
    workspace.child[: ends[-1]] = 1
    workspace.child[ends - 1] |= layout.LAST_CHILD
    lane = draw.random((3, 128))
    above = np.rint(draw.laplace(0, 50, (2, size + 3)))
    expected = above.copy()
    for f, (stop, many) in enumerate(zip(ends, some, strict=True)):
        below, spread = lane[layout.CLOSED, f], lane[layout.SPREAD, f]
        for e in range(stop - many, stop if not counted else stop - many):
            below, spread = below + workspace.estimates[0, e], spread + workspace.estimates[1, e]
        weight = spread / (spread + 4.0)
        expected[0, f + 3] = weight * expected[0, f + 3] + (1 - weight) * below
        expected[1, f + 3] = weight * 4.0
    families.combine_families(workspace, 0, lane, 4.0, (3, size), counted, above)
    assert np.array_equal(above, expected)


def test_a_mask_names_its_children_in_order():
    draw = np.random.default_rng(3)
    for fanout in (1, 2, 16, 17, 64, 70, 130):
        some = draw.random(fanout) < 0.5
        words = -(-fanout // ROWS)
        bits = np.append(some, np.zeros(words * ROWS - fanout, bool)).reshape(words, -1)
        mask = np.zeros(3 * words, np.uint32)
        mask[1::3] = bits @ (1 << np.arange(ROWS))
        noisy = in_rows(np.arange(3 * fanout, dtype=np.int32).reshape(3, fanout))
        to = np.empty(fanout, np.uint64), np.empty(fanout, np.int32)
        lane = 1, 3, noisy.size // ROWS
        found = door(edges.list_children)(mask, noisy, fanout, lane, to)
        children = np.flatnonzero(some)
        assert to[0][: int(found)].tolist() == children.tolist()
        assert to[1][: int(found)].tolist() == (children + fanout).tolist()


def test_blocks_of_a_level_are_even_and_none_is_left_out():
    table = np.zeros((9, 3), np.int64)
    table[layout.WIDTH] = 7
    for some in (1, 7, 8, 50):
        fill, ends = np.zeros((2, 5), np.int64), [0]
        for turn in range(-(-some // 7)):
            passes.begin(table, fill, 1, some, turn)
            assert fill[1, layout.FROM] == ends[-1]
            ends.append(int(fill[1, layout.UPTO]))
        assert ends[-1] == some
        assert np.ptp(np.diff(ends)) <= 1


@pytest.mark.parametrize("kind", [passes.UNEVEN, passes.EVEN, passes.MEASURED])
def test_records_are_read_as_they_were_written(kind):
    """Families of one and of several open children; none is longer than the room asked for."""
    draw = np.random.default_rng(kind)
    fanout, size = 60, 32
    levels = chain_of(fanout).levels([0, 1])
    workspace, below = descent.make_workspace(levels), descent.make_sharing_workspace(levels)
    open_ = [np.sort(draw.choice(fanout, draw.choice([1, 1, 5, 60]), False)) for _ in range(size)]
    child = np.concatenate(open_)
    ends, start = np.cumsum([len(one) for one in open_]), int(levels.table[layout.START, 1])
    here = slice(start, start + child.size)
    workspace.child[here] = child
    workspace.child[start + ends - 1] |= layout.LAST_CHILD
    z, variance = draw.integers(-9, 90, child.size).astype(float), np.full(child.size, 7.0)
    if kind == passes.MEASURED:
        variance[:] = levels.real[layout.NOISE_VARIANCE, 1]
    if kind == passes.UNEVEN:
        variance += draw.random(child.size)
    workspace.estimates[0][here], workspace.estimates[1][here] = z, variance
    number = draw.random(size)
    workspace.lane[1, layout.NUMBER, :size] = number
    record = np.zeros(5 + passes.max_words(size, child.size), np.uint64)
    block = child.size, kind == passes.MEASURED
    end = passes.write_record(workspace, start, workspace.lane[1], block, record, 5)
    assert end <= record.size
    nodes = np.zeros((5, size + 2), np.int64)
    nodes[layout.PREFIX, 2:], nodes[layout.COUNT, 2:] = np.arange(size) + 9, 40
    opened, begin = passes.apportion_record(levels, 1, nodes, (2, size), below, record, end)
    assert (opened, begin) == (child.size, 5)
    prefix, held = below.nodes[:, here]
    assert (
        prefix == np.repeat(np.arange(size) + 9, np.diff(ends, prepend=0)) * fanout + child
    ).all()
    out, members = np.empty(child.size, np.int64), np.diff(ends, prepend=0)
    total = np.full(size, 40)
    reweight_all(z, variance, members, total, (fanout, False))
    shares.share(z, variance, members, total, number, 0.0, out)
    single = np.repeat(members == 1, members)
    assert (held[single] == 40).all()
    assert (held[~single] == out[~single]).all()
