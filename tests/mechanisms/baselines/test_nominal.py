"""The nominal wavelet against its definition on nested lists, and its closed form by simulation."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest

import geodp
from geodp.grid.grid import Grid
from geodp.mechanisms import measure
from geodp.mechanisms.baselines import nominal
from geodp.mechanisms.baselines.nominal import PriveletNominal
from geodp.mechanisms.measure import laplace_noise, measure_deviations
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.privacy.terms import NEIGHBOURS, Terms
from geodp.table.counts import CountTable
from tests.grids import FORMS
from tests.reference import nominal as reference

KEY = NoiseKey(bytes(range(32)))
METHOD = PriveletNominal()
every_form = pytest.mark.parametrize("grid", FORMS.values(), ids=list(FORMS))


def spent(grid, epsilon="1/2", neighbours=NEIGHBOURS[0]):
    terms = Terms.of(epsilon=epsilon, neighbours=neighbours, contribution=1)
    return METHOD.event(grid, terms, "fixed")


def levels_of(grid):
    """Numbers of parts on each level: of areas and attributes, else of every digit."""
    radices, steps = grid.order.radices, grid.areas.steps or [("", 1)] * len(grid.order.axes)
    if not grid.areas.nested:
        return list(radices)
    found, at, width = [], 0, 1
    for name, digits in steps:
        width *= prod(radices[at : at + digits])
        at += digits
        if name:
            found.append(width)
            width = 1
    return found


def nested(values, fanouts):
    """A flat list as lists in lists."""
    for fanout in reversed(fanouts):
        values = [values[i : i + fanout] for i in range(0, len(values), fanout)]
    return values[0]


def tree_of(grid, vector):
    """Counts of a grid's domain by areas; elsewhere nothing."""
    keys = np.arange(prod(grid.order.radices), dtype=np.uint64)
    held = grid.contains_keys(keys)
    return reference.prune(
        nested([int(vector[k]) if held[k] else None for k in range(keys.size)], levels_of(grid))
    )


def people(grid, seed=1):
    index = np.indices(grid.shape).reshape(len(grid.shape), -1)
    index = index[:, grid.contains(index)]
    count = np.random.default_rng(seed).integers(0, 40, index.shape[1])
    return CountTable.from_index(grid, index, count)


class Spy:
    """The whole numbers that a release measures, with the scale of their noise."""

    def __init__(self, patch):
        self.measured = []
        add, deviations = nominal.add_noise, nominal.measure_deviations

        def total(counts, key, stage, scale):
            self.measured.append(([int(n) for n in counts], scale))
            return add(counts, key, stage, scale)

        def parts(counts, whole, noise):
            f = counts.shape[1]
            exact = [f * int(n) - int(t) for row, t in zip(counts, whole, strict=True) for n in row]
            self.measured.append((exact, noise[2]))
            return deviations(counts, whole, noise)

        patch.setattr(nominal, "add_noise", total)
        patch.setattr(nominal, "measure_deviations", parts)


def measured(table, event, monkeypatch):
    with monkeypatch.context() as patch:
        spy = Spy(patch)
        METHOD.release(table, event, KEY)
    return spy.measured


@every_form
def test_cells_are_rebuilt_from_noisy_coefficients(grid):
    table, event = people(grid), spent(grid)
    tree = tree_of(grid, table.to_vector())
    exact = reference.coefficients(tree)
    # The noise of every list of siblings, from the stage of their number on their level.
    drawn, noisy, level_of = {}, [], levels_in_order(tree)
    groups = sorted(
        {(level, len(c)) for (c, _), level in zip(exact, level_of, strict=True)} - {(-1, 1)}
    )
    for (own, weight), level in zip(exact, level_of, strict=True):
        f = len(own)
        stage = 0 if level < 0 else 1 + groups.index((level, f))
        scale = event.scale if level < 0 else event.scale * (2 * f - 2)
        assert float(scale / f if f > 1 else scale) == pytest.approx(float(event.scale) / weight)
        at = drawn.setdefault(stage, 0)
        noise = laplace_noise(KEY, stage, scale, at + f)[at:]
        drawn[stage] += f
        noisy.append([c + int(z) / f for c, z in zip(own, noise, strict=True)])
    expected = reference.rebuild(tree, noisy)
    released = METHOD.release(table, event, KEY).to_vector()
    keys = np.arange(prod(grid.order.radices), dtype=np.uint64)
    held = grid.contains_keys(keys)
    assert released[: keys.size][held] == pytest.approx(expected, abs=1e-7)
    assert not released[: keys.size][~held].any()


def levels_in_order(tree):
    """Levels of the lists of siblings, as the reference lists them; -1 is the total's."""
    found, level, depth = [-1], [tree], 0
    while any(isinstance(one, list) for one in level):
        found += [depth for one in level if isinstance(one, list) and len(one) > 1]
        level = [child for one in level if isinstance(one, list) for child in one]
        depth += 1
    return found


def losses_of(grid, event, monkeypatch):
    """Sums over all measurements of what one person changes by the scale of the noise."""
    table = people(grid)
    before, index = measured(table, event, monkeypatch), grid.decode(table.key)
    for at in range(0, table.key.size, 1 + table.key.size // 40):
        count = table.count.copy()
        count[at] += 1
        if event.neighbours == NEIGHBOURS[1]:
            count[-1] -= 1
        after = measured(CountTable.from_index(grid, index, count), event, monkeypatch)
        yield sum(
            abs(a - b) / Fraction(scale)
            for (old, scale), (new, _) in zip(before, after, strict=True)
            for a, b in zip(old, new, strict=True)
        )


@pytest.mark.law
@every_form
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_the_losses_of_all_measurements_add_up_to_epsilon(grid, neighbours, monkeypatch):
    """Enumerated over cells: exactly epsilon for some, above it for none."""
    losses = [*losses_of(grid, spent(grid, "1/2", neighbours), monkeypatch)]
    assert max(losses) <= Fraction(1, 2)
    if neighbours == NEIGHBOURS[0]:
        assert max(losses) == Fraction(1, 2)


def test_a_weight_that_is_forgotten_is_caught(monkeypatch):
    """With the total's scale for every deviation, a person changes more than epsilon allows."""
    grid = FORMS["official"]
    monkeypatch.setattr(nominal._Group, "scale", lambda group, event: group.parts * event.scale)
    assert max(losses_of(grid, spent(grid), monkeypatch)) > Fraction(1, 2)


@pytest.mark.law
@every_form
def test_variances_by_propagating_unit_noise(grid):
    event, n = spent(grid), prod(grid.order.radices)
    tree = tree_of(grid, np.zeros(1 << grid.bits, np.int64))
    shapes = [len(own) for own, _ in reference.coefficients(tree)]
    columns, variance = [], []
    for at, f in enumerate(shapes):
        for i in range(f):
            unit = [[float(a == at and b == i) for b in range(g)] for a, g in enumerate(shapes)]
            columns.append(reference.rebuild(tree, unit))
            scale = event.scale * (2 * f - 2) if at else event.scale
            variance.append(DiscreteLaplace.of_scale(scale).variance / f**2)
    inverse, variance = np.array(columns).T, np.array(variance)
    keys = np.flatnonzero(grid.contains_keys(np.arange(n, dtype=np.uint64)))
    for digits in range(len(grid.order.radices) + 1):
        stride = prod(grid.order.radices[digits:])
        blocks = np.unique(keys // stride)
        expected = [((keys // stride == b) @ inverse) ** 2 @ variance for b in blocks]
        found = METHOD.variances_of(grid, event, stride, blocks.astype(np.uint64))
        assert found == pytest.approx(expected, rel=1e-9)
    every = METHOD.variances(grid, event)
    for level in range(grid.bits + 1):
        blocks = keys >> (grid.bits - level)
        sums = [((blocks == b) @ inverse) ** 2 @ variance for b in np.unique(blocks)]
        assert every[level] == pytest.approx(max(sums), rel=1e-9)


OFFICIAL = Grid.mesh(
    "inspire:10km", bounds=(4000000, 3000000, 4300000, 3200000)
).with_official_order()


@pytest.mark.parametrize(
    "level", [pytest.param(n, marks=[pytest.mark.law] * (n < 2)) for n in (0, 1, 2)]
)
def test_measured_errors_are_the_closed_form_within_2_percent(level):
    """Whole, 100 km squares, cells of 10 km; their errors over many keys."""
    grid, event = OFFICIAL, spent(OFFICIAL, 1)
    table = people(grid)
    truth = table.to_vector()[: prod(grid.order.radices)]
    stride = [prod(grid.order.radices), 100, 1][level]
    trials = [8000, 4000, 400][level]
    blocks = np.arange(truth.size // stride, dtype=np.uint64)
    stated = METHOD.variances_of(grid, event, stride, blocks)
    squares = np.zeros(blocks.size)
    for trial in range(trials):
        key = NoiseKey(trial.to_bytes(32, "big"))
        error = METHOD.release(table, event, key).to_vector()[: truth.size] - truth
        squares += error.reshape(-1, stride).sum(axis=1) ** 2
    ratio = (squares / trials / stated).mean()
    # The kurtosis of the total's noise is 6: its relative variance has the error sqrt(5 / 8000).
    assert ratio == pytest.approx(1, abs=0.02 if level else 3 * np.sqrt(5 / trials))


def test_where_digits_are_bits_the_haar_wavelet_has_half_of_the_variance():
    grid = Grid.regular((16,))
    terms = Terms.of(epsilon="1/100", contribution=1)
    haar = geodp.METHODS["privelet"]
    ours = METHOD.variances(grid, METHOD.event(grid, terms, "fixed"))
    theirs = haar.variances(grid, haar.event(grid, terms, "fixed"))
    root = theirs[0] / 4.0 ** np.arange(5)  # what the total's own noise adds
    assert ours - root == pytest.approx(2 * (theirs - root), rel=1e-4)


@pytest.mark.parametrize("f", [2, 3, 7, 1000])
def test_a_person_among_very_many_is_seen_exactly(f):
    """Sums beyond 2**63 are not formed, and the float is that of the exact noisy value."""
    rng = np.random.default_rng(f)
    parts = rng.integers(0, 2**59 // f, (5, f))
    parts[:, 0] += 2**59
    for more in (0, 1):
        parts[0, 1] += more
        noise = laplace_noise(KEY, 4, Fraction(2 * f), parts.size).reshape(parts.shape)
        found = measure_deviations(parts, parts.sum(axis=1), (KEY, 4, Fraction(2 * f)))
        for row in range(5):
            total = sum(map(int, parts[row]))
            for i in (0, 1, f - 1):
                whole, rest = divmod(f * int(parts[row, i]) - total + int(noise[row, i]), f)
                assert found[row, i] == float(whole) + rest / f


def test_floats_are_refused():
    with pytest.raises(TypeError):
        measure_deviations(np.ones((1, 2)), np.ones(1, np.int64), (KEY, 1, Fraction(1)))
    with pytest.raises(TypeError):
        measure_deviations(np.ones((1, 2), np.int64), np.ones(1), (KEY, 1, Fraction(1)))
    assert measure.measure_deviations is measure_deviations


def test_levels_where_areas_have_one_part_cost_nothing():
    alone = Grid.mesh("inspire:10km", bounds=(4000000, 3000000, 4050000, 3050000))
    assert METHOD.sensitivity(alone.with_official_order()) == 2
    assert METHOD.sensitivity(OFFICIAL) == 3
    assert METHOD.sensitivity(Grid.regular((1, 1))) == 1
    assert "on each of 2 levels" in METHOD.describe_sensitivity(OFFICIAL)
