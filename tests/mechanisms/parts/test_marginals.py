"""Marginals of parts: which there are, what one person changes, and how parts go by them."""

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.joint import split_grid
from geodp.mechanisms.parts.chain import Group
from geodp.mechanisms.parts.measuring import (
    Marginal,
    PartNodes,
    TrueParts,
    fit_rows,
    list_marginals,
    normalise,
    scale,
    shift,
)
from tests.mechanisms.parts.test_chain import SCHEDULE, chain, dense, people, released
from tests.refusals import refuses

GRID = Grid.regular((4, 4)).with_attribute("sex", ["f", "m"]).with_attribute("age", list("abc"))
SEX = Marginal("sex", 0, 2, np.repeat([0, 1], 3))
AGE = Marginal("age", 1, 3, np.tile([0, 1, 2], 2))


def found(text, grid=GRID):
    return list_marginals(grid, split_grid(grid), text)


def test_labels_of_parts_are_those_of_the_grid():
    sex, age = found("sex+age")
    assert sex.label.tolist() == SEX.label.tolist()
    assert age.label.tolist() == AGE.label.tolist()
    assert (age.labels, age.each, age.step.number) == (3, 2, 3)
    wide = GRID.with_attribute("of", list("wxyz"))
    (both,) = found("of*sex", wide)
    assert both.name == "sex*of"
    index = np.indices((2, 3, 4)).reshape(3, -1)
    assert both.label.tolist() == (4 * index[0] + index[2]).tolist()


def test_what_is_measured_anyway_is_not_measured_twice():
    assert [one.name for one in found("age+sex*age")] == ["age"]
    one = GRID.with_attribute("unit", ["all"])
    assert found("unit+sex*age", one) == ()


def test_texts_are_written_in_one_way():
    assert normalise("sex, age,sex * age") == "sex+age+sex*age"
    assert normalise("") == ""
    many = ",".join(map(str, range(17)))
    for wrong, words in (
        ("sex,", "marginals-form"),
        ("sex,sex", "marginals-repeated"),
        ("sex*age,age*sex", "marginals-repeated"),
        ("sex*sex", "marginals-repeated"),
        (many, r"marginals-too-many: \b16\b"),
    ):
        with refuses(UsageError, words):
            normalise(wrong)


def test_other_attributes_and_sums_of_later_steps_are_refused():
    with refuses(UsageError, r"marginal-attribute-unknown: \(sex, age\).*\bincome\b"):
        found("income")
    with refuses(UsageError, r"marginal-attribute-unknown: \(none\)"):
        found("sex", Grid.regular((4, 4)))
    large = GRID.with_attribute("nation", list(map(str, range(40))))
    (sex,) = found("sex", large)
    assert sex.label.tolist() == SEX.label.tolist()
    with refuses(UsageError, "marginal-not-nested"):
        found("nation", large)


def test_one_person_changes_one_label_of_each_level_and_marginal():
    """By 1; and every marginal has noise of its own."""
    table, truth = people(np.random.default_rng(8))
    more = truth.count.copy()
    more[5] += 1
    totals = released(table)
    levels = [PartNodes.of(totals.cell, totals.count, stride) for stride in SCHEDULE.strides]
    asked = chain(marginals=(SEX, AGE))
    seen = []
    for counts in (truth.count, more):
        group = Group(asked, 0, TrueParts(truth.cell, truth.part, counts))
        measured = group.measure(levels, 1)
        seen.append(group.measure_marginals(levels, measured))
    for one, two in zip(*seen, strict=True):
        assert len(one.measured) == len(two.measured) > 1
        raw = [each.group.measure(levels, len(one.measured)) for each in (one, two)]
        for a, b in zip(*raw, strict=True):
            assert sorted(abs(a.z - b.z).reshape(-1))[-2:] == [0, 1]
    (sex, age) = seen[0]
    noise = [
        one.group.measure(levels, 1)[0].z[0] - one.marginal.add_up(table.sum(axis=0)[None])
        for one in seen[0]
    ]
    assert not np.array_equal(noise[0][0], noise[1][0, :2])
    assert sex.group.chain.step.stream != age.group.chain.step.stream


def test_true_counts_of_2_to_the_59_are_added_up_as_whole_numbers():
    sums = SEX.add_up(np.array([[2**59, 1, 0, 2**59, 0, 0]]))
    assert sums.dtype == np.int64
    assert sums.tolist() == [[2**59 + 1, 2**59]]


def test_estimates_are_improved_by_sums_by_the_inverse_of_variances():
    table, truth = people(np.random.default_rng(9))
    totals = released(table)
    levels = [PartNodes.of(totals.cell, totals.count, stride) for stride in SCHEDULE.strides]
    group = Group(chain(marginals=(SEX,)), 0, truth)
    measured = group.measure(levels, 1)
    (beside,) = group.measure_marginals(levels, measured)
    alone = beside.group.measure(levels, len(beside.measured))
    beside.group.combine(levels, alone)
    weights = 1 / alone[0].variance[0], 1 / (3 * measured[0].variance[0])
    sums = alone[0].z[0], measured[0].z[0].reshape(2, 3).sum(axis=1)
    assert np.allclose(beside.measured[0].z[0], np.average(sums, axis=0, weights=weights))
    assert np.allclose(beside.measured[0].variance, 1 / sum(weights))


def test_the_root_is_moved_evenly_to_its_total_and_marginals():
    rng = np.random.default_rng(1)
    z, sex, age = rng.normal(20, 5, 6), np.array([[70.0, 50.0]]), np.array([[30.0, 40.0, 53.0]])
    moved = shift(z, 120.0, [(SEX, sex), (AGE, age)]).reshape(2, 3)
    assert np.allclose(moved.sum(axis=1), [70, 50])
    assert np.allclose(moved.sum(axis=0), [29, 39, 52])
    apart = z.reshape(2, 3)[0] - z.reshape(2, 3)[1]
    assert np.allclose(np.diff(moved[0] - moved[1]), np.diff(apart)), "as much as was measured"
    assert np.array_equal(shift(z, 120.0, []), z)


def test_nodes_are_scaled_to_their_marginals_and_nobody_stays_nobody():
    wanted = np.array([[10.0, 20, 30, 40, 50, 0], [0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1]])
    goal = np.array([[90.0, 30], [30, 30], [0, 0]])
    fitted = scale(wanted, np.array([240, 60, 9]), [(SEX, goal)])
    assert np.allclose(fitted[0], [30, 60, 90, 40 * 60 / 90, 50 * 60 / 90, 0])
    assert np.allclose(fitted[1], [0, 0, 0, 10, 10, 10])
    assert np.array_equal(fitted[2], wanted[2])
    assert np.allclose(fit_rows(goal, np.array([240, 60, 9])), [[180, 60], [30, 30], [0, 0]])


@pytest.mark.parametrize("noise", [{"epsilon": "1/2"}, {"epsilon": "1/50"}, {"rho": "1/8"}])
def test_parts_with_marginals_add_up_to_every_cell(noise):
    table, truth = people(np.random.default_rng(1))
    shared = chain(marginals=(SEX, AGE), **noise).run(truth, released(table))
    assert np.array_equal(dense(shared).sum(axis=1), table.sum(axis=1))
    plain = chain(**noise).run(truth, released(table))
    assert not np.array_equal(dense(shared), dense(plain))
