"""Parts of released counts: all sums agree, and all is measured as whole numbers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from geodp.grid.grid import Grid
from geodp.mechanisms.parts.chain import Group, PartsPass, project_rows
from geodp.mechanisms.parts.measuring import PartNodes, Schedule, Shared, Step, TrueParts
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.node import NodeNoise
from geodp.privacy.terms import Terms

GRID = Grid.regular((16, 16))
SCHEDULE = Schedule((16, 16), (256, 16, 1), Fraction(1, 2))
KEY = bytes(range(32))


def chain(epsilon="1/2", step=None, schedule=SCHEDULE, marginals=(), **noise):
    terms = Terms.of(**(noise or {"epsilon": epsilon}), contribution=1)
    event = Measurement.of("parts", terms, 1, "fixed")
    return PartsPass(GRID, schedule, event, NoiseKey(KEY), step or Step(0, 1, 6, 6, 1), marginals)


def people(rng, parts=6, most=400):
    table = rng.integers(0, most, (256, parts)) * (rng.random((256, 1)) < 0.4)
    cell, part = np.nonzero(table)
    return table, TrueParts(cell.astype(np.uint64), part, table[cell, part])


def released(table):
    count = table.sum(axis=1)
    cell = np.flatnonzero(count)
    return Shared(cell.astype(np.uint64), np.zeros(cell.size, np.int64), count[cell])


def dense(shared, parts=6):
    found = np.zeros((256, parts), np.int64)
    found[shared.cell.astype(np.int64), shared.part] = shared.count
    return found


@pytest.mark.parametrize("noise", [{"epsilon": "1/2"}, {"epsilon": "1/50"}, {"rho": "1/8"}])
def test_parts_add_up_to_the_released_counts_of_every_cell(noise):
    table, truth = people(np.random.default_rng(1))
    totals = released(table)
    found = chain(**noise).run(truth, totals)
    assert np.array_equal(dense(found).sum(axis=1), table.sum(axis=1))
    assert (found.count > 0).all()
    assert np.array_equal(dense(found).sum(), totals.count.sum())


def test_with_hardly_any_noise_parts_are_the_true_ones():
    table, truth = people(np.random.default_rng(2))
    found = dense(chain(epsilon=10**6).run(truth, released(table)))
    assert abs(found - table).max() <= 1


def test_what_is_shared_out_depends_on_the_true_counts_through_the_measurements_only():
    """Same noisy values, other people: the same parts. No value is looked at but with its noise."""
    table, truth = people(np.random.default_rng(3))
    own = Group(chain(), 0, truth)
    totals = released(table)
    levels = [PartNodes.of(totals.cell, totals.count, stride) for stride in SCHEDULE.strides]
    for some in (1, 2, 3):
        measured = own.measure(levels, some)
        for i, (level, law) in enumerate(
            zip(measured, SCHEDULE.laws(own.chain.event, some), strict=True)
        ):
            true = truth.tally(level.node, SCHEDULE.strides[i], 6)
            assert np.array_equal(level.z, true + own.draw(i, law, level.node))
            assert level.node.size == (1, 16, 16 * levels[1].prefix.size)[i]


def test_one_person_changes_one_entry_of_each_level():
    """By 1, and the shares of these levels are the schedule's: the sensitivity."""
    table, truth = people(np.random.default_rng(8))
    more = truth.count.copy()
    more[5] += 1
    other = TrueParts(truth.cell, truth.part, more)
    totals = released(table)
    levels = [PartNodes.of(totals.cell, totals.count, stride) for stride in SCHEDULE.strides]
    one, two = (Group(chain(), 0, own).measure(levels, 3) for own in (truth, other))
    for a, b in zip(one, two, strict=True):
        assert sorted(abs(a.z - b.z).reshape(-1))[-2:] == [0, 1]


def test_true_counts_of_2_to_the_59_get_their_noise_as_whole_numbers():
    """As float64 these two would be the same number, and 1 person would not show."""
    shown = {}
    for more in (0, 1):
        truth = TrueParts(np.zeros(1, np.uint64), np.zeros(1, np.int64), np.array([2**59 + more]))
        sums = truth.tally(np.zeros(1, np.uint64), 256, 2)
        assert sums.dtype == np.int64
        shown[more] = int(sums[0, 0])
    assert shown[1] - shown[0] == 1
    counts = np.array([2**59 + 1], np.int64)
    found = chain(step=Step(0, 1, 2, 2, 1)).run(
        TrueParts(np.zeros(1, np.uint64), np.zeros(1, np.int64), counts),
        Shared(np.zeros(1, np.uint64), np.zeros(1, np.int64), counts),
    )
    assert int(found.count.sum()) == 2**59 + 1


def test_groups_and_parts_inside_of_them_have_noise_of_their_own(monkeypatch):
    drawn = []
    families = NodeNoise.families

    def seen(noise, above, fanout):
        drawn.extend((noise.stream, int(vector), fanout) for vector in above)
        return families(noise, above, fanout)

    monkeypatch.setattr(NodeNoise, "families", seen)
    table, truth = people(np.random.default_rng(4), parts=7)
    first = chain(step=Step(0, 1, 3, 3, 3)).run(truth, released(table))
    second = chain(step=Step(1, 3, 3, 1, 1)).run(truth, first)
    assert len(drawn) == len(set(drawn))
    groups = dense(first, 3)
    parts = dense(second, 7)
    assert np.array_equal(parts[:, :3].sum(axis=1), groups[:, 0])
    assert np.array_equal(parts[:, 3:6].sum(axis=1), groups[:, 1])
    assert np.array_equal(parts[:, 6], groups[:, 2])
    key = second.cell.astype(np.int64) * 7 + second.part
    assert (np.diff(key) > 0).all()


def test_estimates_from_below_are_those_of_least_squares():
    table, truth = people(np.random.default_rng(5))
    totals = released(table)
    levels = [PartNodes.of(totals.cell, totals.count, stride) for stride in SCHEDULE.strides]
    own = Group(chain(), 0, truth)
    measured = own.measure(levels, 2)
    root, below = measured
    before, spread = root.z[0].copy(), below.variance.sum()
    weight = spread / (spread + root.variance[0])
    own.combine(levels, measured)
    assert np.allclose(root.z[0], weight * before + (1 - weight) * below.z.sum(axis=0))
    assert root.variance[0] < below.variance.sum()


def test_small_areas_that_differ_alike_are_not_taken_for_noise():
    """One part in ten in four towns, three in ten in their 252 villages: sums of villages hold."""
    count = np.where(np.arange(256) % 64, 40, 40_000)
    table = np.stack([count * 9 // 10, count // 10], axis=1)
    table[count == 40] = 28, 12
    cell, part = np.divmod(np.arange(512), 2)
    truth = TrueParts(cell.astype(np.uint64), part, table.reshape(-1))
    for seed in range(5):
        drawn = replace(chain("1/10", Step(0, 1, 2, 2, 1)), key=NoiseKey(bytes([seed] * 32)))
        found = dense(drawn.run(truth, released(table)), 2)
        assert abs(found[count == 40, 1].sum() / (252 * 12) - 1) < 1 / 4


def test_a_projection_is_the_nearest_point():
    rng = np.random.default_rng(6)
    for _ in range(50):
        z, total = rng.normal(0, 30, 7), int(rng.integers(1, 60))
        (x,) = project_rows(z[None], np.array([total]))
        assert abs(x.sum() - total) < 1e-9
        assert (x >= 0).all()
        others = rng.dirichlet(np.full(7, 0.5), 200) * total
        assert (((others - z) ** 2).sum(axis=1) >= ((x - z) ** 2).sum() - 1e-9).all()


def test_nobody_has_no_parts():
    nothing = np.empty(0, np.int64)
    none = Shared(nothing.astype(np.uint64), nothing, nothing)
    _, truth = people(np.random.default_rng(7))
    assert chain().run(truth, none).cell.size == 0
