"""The pyramid with a prior: its definition, its promises, and that it is post-processing."""

from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.mechanisms import mechanism
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.central.pyramid import refine as refine_plain
from geodp.mechanisms.learned import Residuals
from geodp.mechanisms.trees import informed, layer
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.node import NodeNoise
from geodp.privacy.terms import Terms
from geodp.table.prior import Prior
from tests.grids import FORMS, cells_of
from tests.mechanisms.trees import naive_informed as reference

KEY, GRID = NoiseKey(bytes(range(32))), geodp.Grid.regular((32, 32))
SETTINGS = [
    "pyramid:setting=R",
    "pyramid:setting=R,passes=1",
    "pyramid:setting=flat,prune=1/2",
]


def spend(method, grid, epsilon="1/2", rho=None):
    given = None if rho else Fraction(epsilon)
    terms = Terms.of(epsilon=given, rho=rho, contribution=1)
    return Measurement.of(method.spec, terms, method.sensitivity(grid), "fixed")


def people_on(grid, seed=1, mean=40):
    """Towns and empty land on any grid."""
    draw = np.random.default_rng(seed)
    key = np.array(sorted(cells_of(grid)), np.uint64)
    town = np.exp(draw.normal(0, 1.5, key.size)) * (draw.random(key.size) < 0.6)
    return geodp.CountTable.from_keys(grid, key, draw.poisson(mean * town))


def later(table, seed=2):
    """The same people some years later."""
    draw = np.random.default_rng(seed)
    count = draw.binomial(table.count, 0.9) + draw.poisson(0.1 * table.count)
    return geodp.CountTable.from_keys(table.grid, table.key, count)


def release(table, prior, method, use, **how):
    found = informed.refine(table, method.descent(table.grid, use), KEY, prior, **how)
    return geodp.ReleasedTable(table.grid, found[0], found[1], use), found[2]


def equals_its_definition(method, grid, rho=None, finest=1):
    before = people_on(grid)
    table, use = later(before), spend(method, grid, rho=rho)
    prior = Prior.of(grid, before, "made up")
    if finest > 1:
        key, held = np.unique(before.key // np.uint64(finest), return_inverse=True)
        count = np.bincount(held, before.count).astype(np.int64)
        prior = Prior(grid, key * np.uint64(finest), count, finest, "made up")
    keys = int(np.prod(grid.order.radices))
    every = grid.contains_keys(np.arange(keys, dtype=np.uint64))
    counts = np.zeros(keys, np.int64)
    counts[table.key.astype(np.int64)] = table.count
    descent = method.descent(grid, use)
    expected = reference.refine(
        counts.tolist(), prior, descent, KEY, lambda a, b: bool(every[a:b].any())
    )
    found, learned = release(table, prior, method, use, threads=1)
    own = np.zeros(keys, np.int64)
    own[found.key.astype(np.int64)] = found.count
    assert own.tolist() == expected
    return learned


@pytest.mark.parametrize("method", SETTINGS)
def test_equals_its_definition(method):
    learned = equals_its_definition(mechanism(method), geodp.Grid.regular((32, 32)))
    assert learned[-1].reliability is not None


def test_equals_its_definition_with_gaussian_noise():
    learned = equals_its_definition(Pyramid(setting="R"), geodp.Grid.regular((32, 32)), rho="1/9")
    assert learned[-1].reliability is not None


@pytest.mark.parametrize("form", ["padded", "mask", "regions, attributes below", "official"])
def test_equals_its_definition_on_domains_with_edges(form):
    equals_its_definition(Pyramid(), FORMS[form])


@pytest.mark.parametrize("finest", [4, 16, 64])
def test_equals_its_definition_with_a_coarser_prior(finest):
    method = Pyramid(setting="R")
    learned = equals_its_definition(method, geodp.Grid.regular((32, 32)), finest=finest)
    assert [one.reliability is None for one in learned if one.stride * 16 <= finest] == [True] * (
        finest >= 16
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ["pyramid", "pyramid:setting=flat,passes=1"])
def test_a_prior_that_says_nothing_changes_nothing(form, method):
    grid, method = FORMS[form], mechanism(method)
    if method.unsupported(grid):
        pytest.skip("no such levels")
    table, use = people_on(grid), spend(method, grid)
    one = np.ones(1, np.int64)
    prior = Prior(grid, np.zeros(1, np.uint64), one, 1 << 62, "everywhere alike")
    found, learned = release(table, prior, method, use)
    plain = refine_plain(table, method, use, KEY)
    assert (found.key == plain[0]).all()
    assert (found.count == plain[1]).all()
    assert sum(one.nodes for one in learned) == plain[2] - 1
    assert all(one.reliability is None for one in learned)


def test_a_wrong_prior_changes_nothing():
    """A mirrored census, and one with all places shuffled."""
    grid = geodp.Grid.regular((64, 64))
    before = people_on(grid, mean=200)
    table, method = later(before), Pyramid(setting="R")
    use = spend(method, grid, "1/10")
    plain = refine_plain(table, method, use, KEY)
    shuffled = np.random.default_rng(3).permutation(before.to_vector())
    for wrong in (before.to_vector()[::-1], shuffled):
        key = np.flatnonzero(wrong)
        prior = Prior.of(
            grid, geodp.CountTable.from_keys(grid, key.astype(np.uint64), wrong[key]), "wrong"
        )
        found, _ = release(table, prior, method, use)
        assert found.count.tobytes() == plain[1].tobytes()
        assert found.key.tobytes() == plain[0].tobytes()


def test_predictions_that_are_off_by_far_more_than_the_noise_are_left_alone():
    """They are nearer than even ones, but there is little that noise leaves to be gained."""
    draw = np.random.default_rng(3)
    predicted = draw.pareto(1.1, 3000) * 1e6
    even = np.full(predicted.size, predicted.mean())
    descent = Pyramid(setting="R").descent(GRID, spend(Pyramid(setting="R"), GRID))
    sd = descent.variances[-1] ** 0.5
    for off, trusted in ((0.1 * sd, True), (1e3 * sd, False)):
        true = np.maximum(predicted + draw.normal(0, off, predicted.size), 0)
        seen = Residuals.of(true + draw.laplace(0, sd / 2**0.5, true.size), predicted, even, sd)
        assert seen.explain((1, 2))
        found = informed.learn_level(descent, len(descent.fanouts), seen)
        assert (found is not None) == trusted


def test_what_is_measured_is_kept_until_it_is_opened(monkeypatch):
    """Unless a level has many nodes, of which all are measured again, with the same noise."""
    before = people_on(GRID)
    table, method, drawn = later(before), Pyramid(setting="R"), []
    families = NodeNoise.families

    def count(self, above, fanout):
        drawn.append(above.size * fanout)
        return families(self, above, fanout)

    monkeypatch.setattr(NodeNoise, "families", count)
    found = {}
    for few in (1 << 27, 0):
        drawn.clear()
        monkeypatch.setattr(layer, "FEW", few)
        use = spend(method, GRID)
        found[few], learned = release(table, Prior.of(GRID, before, "made up"), method, use)
        nodes = sum(one.nodes for one in learned)
        assert sum(drawn) - 1 == (nodes if few else 2 * nodes)
    assert found[0].count.tobytes() == found[1 << 27].count.tobytes()


def test_neither_blocks_nor_threads_show(monkeypatch):
    grid = geodp.Grid.regular((28, 32))
    before = people_on(grid)
    table, method = later(before), Pyramid(setting="R")
    prior, use = Prior.of(grid, before, "made up"), spend(method, grid, "1/5")
    whole, learned = release(table, prior, method, use, threads=1)
    assert learned[-1].reliability is not None
    for children, threads in ((64, 1), (1 << 8, 3), (1, 2)):
        monkeypatch.setattr(layer, "CHILDREN", children)
        monkeypatch.setattr(layer, "MAX_NODES", 8 * children)
        monkeypatch.setattr(layer, "FEW", 512 if threads > 1 else 1 << 21)  # measured twice
        monkeypatch.setattr(layer, "FEWER", 256 if threads > 1 else 1 << 21)
        found, again = release(table, prior, method, use, threads=threads)
        assert found.key.tobytes() == whole.key.tobytes()
        assert found.count.tobytes() == whole.count.tobytes()
        for one, other in zip(learned, again, strict=True):
            assert one.residuals.bins.tobytes() == other.residuals.bins.tobytes()
            assert one.residuals.sizes == other.residuals.sizes


def test_a_good_prior_halves_the_error_of_cells():
    grid = geodp.Grid.regular((64, 64))
    before = people_on(grid, mean=200)
    table, method = later(before), Pyramid(setting="R")
    use = spend(method, grid, "1/10")
    key, count, _ = refine_plain(table, method, use, KEY)
    plain = geodp.ReleasedTable(grid, key, count, use).to_vector()
    with_prior = release(table, Prior.of(grid, before, "made up"), method, use)[0].to_vector()
    truth = table.to_vector()
    assert np.abs(with_prior - truth).mean() < 0.5 * np.abs(plain - truth).mean()


def test_where_nobody_is_released_nothing_is_learned():
    """The noisy total of an empty table is 0 or below for half of all keys."""
    grid, method = geodp.Grid.regular((32, 32)), Pyramid(setting="R")
    table, use = geodp.CountTable.from_keys(grid, [], []), spend(method, grid, "1/5")
    prior, measured = Prior.of(grid, people_on(grid), "made up"), []
    for secret in range(6):
        key = NoiseKey(bytes([secret] * 32))
        found = informed.refine(table, method.descent(grid, use), key, prior)
        measured.append(found[2][0].nodes)
        assert bool(found[0].size) <= bool(measured[-1])
        assert sum(one.residuals.members for one in found[2]) == sum(n.nodes for n in found[2])
    assert 0 in measured
    assert max(measured) > 0


class Answers:
    """Noise that makes all noisy counts those of a list, whatever the true ones are."""

    def __init__(self, counts, noisy, uniform):
        self.counts, self.noisy, self.uniform = counts, noisy, uniform

    def families(self, above, fanout):
        child = (above[:, None].astype(np.int64) * fanout + np.arange(fanout)).reshape(-1)
        noise = [self.noisy[c] - self.counts[c] for c in child]
        return np.array(noise, np.int64), self.uniform[above.astype(np.int64)]


def test_all_goes_by_the_noisy_counts_alone():
    """Two tables that differ by one person at 2**59, and noise that makes up for it."""
    grid, method = geodp.Grid.regular((16, 16)), Pyramid(setting="R")
    use = spend(method, grid)
    descent = method.descent(grid, use)
    before = people_on(grid)
    base = before.to_vector().astype(np.int64)
    draw = np.random.default_rng(8)
    base[37] = 1 << 59
    other = base.copy()
    other[37] += 1
    sums = [
        [one.reshape(-1, stride).sum(axis=1).tolist() for stride in descent.strides]
        for one in (base, other)
    ]
    noisy = [[n + int(draw.integers(-9, 10)) for n in level] for level in sums[0]]
    uniform = [
        draw.random(max(len(level) // f, 1))
        for level, f in zip(noisy, (1, *descent.fanouts), strict=True)
    ]
    found = []
    for counts, own in zip((base, other), sums, strict=True):
        table = geodp.CountTable.from_keys(grid, np.flatnonzero(counts), counts[counts > 0])
        noise = tuple(map(Answers, own, noisy, uniform))
        prior = Prior.of(grid, before, "made up")
        found.append(informed.Informed(table, prior, descent, noise, 1).run())
    assert found[0][0].tobytes() == found[1][0].tobytes()
    assert found[0][1].tobytes() == found[1][1].tobytes()
    for one, two in zip(found[0][2], found[1][2], strict=True):
        assert one.residuals.bins.tobytes() == two.residuals.bins.tobytes()


def test_a_card_states_what_was_learned():
    grid = geodp.Grid.regular((64, 64))
    before = people_on(grid, mean=200)
    table, method = later(before), Pyramid(setting="R")
    prior = Prior.of(grid, before, "made up")
    _, learned = release(table, prior, method, spend(method, grid, "1/10"))
    stated = informed.state(prior, learned)
    assert [one.keys for one in stated.levels] == [256, 16, 1]
    assert all(0 <= one.reliability <= 1 and one.in_use in (0.0, 1.0) for one in stated.levels)
    assert stated.levels[-1].reliability > 0.5
    slopes = [one.slope for one in stated.attenuation]
    assert slopes == sorted(slopes)
    assert 0 <= slopes[0] < 0.8
    assert slopes[-1] > 0.9


def test_residuals_that_nobody_asks_for_change_nothing():
    grid = geodp.Grid.regular((64, 64))
    before = people_on(grid, mean=200)
    table, method = later(before), Pyramid(setting="R")
    prior, use = Prior.of(grid, before, "made up"), spend(method, grid, "1/10")
    _, learned = release(table, prior, method, use)
    trusted = tuple(one.reliability for one in learned)
    assert trusted[0] is None
    assert trusted[-1] is not None
    for known in (trusted, (None,) * len(trusted)):
        usual, seen = release(table, prior, method, use, reliabilities=known)
        found, none = release(table, prior, method, use, reliabilities=known, gather=False)
        assert found.key.tobytes() == usual.key.tobytes()
        assert found.count.tobytes() == usual.count.tobytes()
        assert [one.reliability for one in none] == list(known)
        assert all(one.residuals.members for one in seen)
        assert not any(one.residuals.members for one in none)
    _, again = release(table, prior, method, use, gather=False)
    assert [one.residuals.members for one in again] == [one.residuals.members for one in learned]
