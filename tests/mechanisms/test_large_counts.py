"""Whole numbers until the noise is in: one person more must not show, however many there are.

float64 holds every whole number up to 2**53 only. Beyond, a count that becomes one before its
noise is added moves by 2, 128 or not at all where one person is added: claims are broken, and
from 2**56 on the releases of two neighbours have nothing in common. Tables hold up to 2**60.
"""

from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import geodp
from bench.measure.dense_pyramid import refine_dense
from geodp.kernels.pyramid import layout, rows
from geodp.kernels.pyramid.edges import NOWHERE, ROWS
from geodp.mechanisms import measure, mechanism
from geodp.mechanisms.central.laplace import Laplace
from geodp.mechanisms.central.pyramid import Pyramid, refine
from geodp.mechanisms.measure import add_fractional_noise, add_noise, release_vector
from geodp.mechanisms.trees import traversal
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from tests.kernels.pyramid.test_rows import in_rows
from tests.laws.audit import audited
from tests.mechanisms.test_conformance import variants

SPECS = [*variants(), "pyramid:passes=1", "pyramid:prune=1", "pyramid:setting=flat"]
ONE, FOUR = geodp.Grid.regular((1, 1)), geodp.Grid.regular((2, 2))
PAIRS = {
    "2**59": (ONE, [2**59 + 64], [2**59 + 65]),
    "2**54": (ONE, [2**54 + 2], [2**54 + 3]),
    "2**53": (ONE, [2**53], [2**53 + 1]),
    "above 2**53": (ONE, [2**53 + 1], [2**53 + 2]),
    "2**59 beside others": (FOUR, [2**59 + 64, 7, 2**53 + 1, 0], [2**59 + 65, 7, 2**53 + 1, 0]),
    "2**59 in all": (FOUR, [2**58, 2**58 + 60, 4, 0], [2**58, 2**58 + 60, 4, 1]),
    "one more beside 2**59": (FOUR, [2**59 + 64, 7, 2**53 + 1, 0], [2**59 + 64, 7, 2**53 + 2, 0]),
}
"""Around halves of float64's steps: to even, the one rounds down and the other up."""

EPSILON = Fraction(1)
KEYS = 48
LEAST_SHARED = 0.2
"""At epsilon 1 two neighbours' releases share at least 2 / (1 + e) = 0.54 of their probability."""

TRIALS = 150


def pair_of(name):
    grid, *counts = PAIRS[name]
    every = [np.array(count, np.int64).reshape(grid.shape) for count in counts]
    return [geodp.CountTable.from_dense(dense, grid) for dense in every]


def spent(row, grid, rho=None):
    given = {"rho": rho} if rho else {"epsilon": EPSILON}
    return row.event(grid, Terms.of(**given, contribution=1), "fixed")


def secret_of(number):
    return NoiseKey((number + 1).to_bytes(32, "little"))


def shared(release, event, pair):
    """How much the releases of two tables of one cell have in common, in 0 to 1."""
    seen = []
    for number, table in enumerate(pair):
        runs = [release(table, event, secret_of(2 * i + number)) for i in range(KEYS)]
        seen.append(Counter(run.count.tobytes() for run in runs))
    return sum((seen[0] & seen[1]).values()) / KEYS


def found_by_audit(release, row, pair):
    """The audit's bound, with releases less one of them: whole numbers stay exact."""
    origin = release(pair[0], spent(row, pair[0].grid), secret_of(1 << 40)).to_vector()

    def centred(table, event, key):
        values = release(table, event, key).to_vector() - origin
        return SimpleNamespace(key=np.arange(values.size, dtype=np.uint64), count=values)

    return audited(centred, row, pair, "add-remove-one", epsilon=EPSILON, trials=TRIALS)


@pytest.mark.parametrize("name", [name for name, (grid, *_) in PAIRS.items() if grid is ONE])
@pytest.mark.parametrize("spec", SPECS)
def test_neighbours_of_any_size_have_releases_in_common(spec, name):
    row = mechanism(spec)
    for rho in (None, Fraction(1, 2)) if row.gaussian else (None,):
        found = shared(row.release, spent(row, ONE, rho), pair_of(name))
        assert found > LEAST_SHARED, (rho, found)


@pytest.mark.parametrize("name", ["2**59", "2**59 in all", "2**59 beside others"])
@pytest.mark.parametrize("spec", SPECS)
def test_huge_counts_are_released_near_the_truth(spec, name):
    """No sum wraps around, and no solver gives up after the charge."""
    row, (table, _) = mechanism(spec), pair_of(name)
    total = row.release(table, spent(row, table.grid), secret_of(0)).total
    assert total == pytest.approx(int(table.count.sum()), rel=1e-9)


@pytest.mark.law
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    "spec", [spec for spec in SPECS if spec != "barak"]
)  # slow; nonnegative=no
def test_every_method_keeps_its_claim_at_any_size(spec, name):
    row, pair = mechanism(spec), pair_of(name)
    assert found_by_audit(row.release, row, pair) <= EPSILON


def floating_laplace(table, event, key):
    """Counts that are float64 when noise is added."""
    digits = Laplace().digits(event.scale)
    steps = measure.laplace_noise(key, 0, event.scale * (1 << digits), 1 << table.grid.bits)
    values = table.to_vector() + steps * 2.0**-digits
    return release_vector(values, table.grid, event)


def rounded_geometric(table, event, key):
    """Counts that were float64 once, and are whole again when noise is added."""
    counts = table.to_vector().astype(np.float64).astype(np.int64)
    return release_vector(add_noise(counts, key, 0, event.scale), table.grid, event)


def floating_pyramid(table, event, key):
    """Sums of counts that were float64 once, and are whole again when noise is added."""
    exact = traversal.prefix_sums

    def prefix_sums(table):
        return exact(table).astype(np.float64).astype(np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traversal, "prefix_sums", prefix_sums)
        return Pyramid(passes=1).release(table, event, key)


PLANTED = [(floating_laplace, "laplace"), (rounded_geometric, "geometric")]
PLANTED.append((floating_pyramid, "pyramid:passes=1"))
every_planted = pytest.mark.parametrize(
    ("broken", "spec"), PLANTED, ids=[function.__name__ for function, _ in PLANTED]
)


@every_planted
@pytest.mark.parametrize("name", ["2**59", "2**54"])
def test_counts_that_were_floats_before_noise_are_caught(broken, spec, name):
    assert shared(broken, spent(mechanism(spec), ONE), pair_of(name)) < LEAST_SHARED


@pytest.mark.law
@every_planted
@pytest.mark.parametrize("name", ["2**59", "2**54", "many cells"])
def test_an_audit_catches_them_too(broken, spec, name):
    if name == "many cells":  # the pyramid's total rules its cells
        name = "2**59 in all" if broken is floating_pyramid else "2**59 beside others"
    assert found_by_audit(broken, mechanism(spec), pair_of(name)) > EPSILON


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.uint64, np.int32, np.bool_])
def test_noise_is_added_to_whole_numbers_only(kind):
    counts = np.ones(3, kind)
    with pytest.raises(TypeError, match="int64"):
        add_noise(counts, secret_of(0), 0, Fraction(1))
    with pytest.raises(TypeError, match="int64"):
        add_fractional_noise(counts, secret_of(0), 0, Fraction(1), 8)


def test_noise_is_added_in_any_shape_and_the_counts_stay():
    counts = np.arange(2**59, 2**59 + 12).reshape(3, 4)
    kept = counts.copy()
    noise = measure.laplace_noise(secret_of(0), 2, Fraction(9), 12).reshape(3, 4)
    assert (add_noise(counts, secret_of(0), 2, Fraction(9)) - counts == noise).all()
    real = add_fractional_noise(counts, secret_of(0), 2, Fraction(9, 4), 2)
    assert real.shape == counts.shape
    assert (counts == kept).all()


@given(st.integers(0, 2**60 - 1), st.integers(-(2**50), 2**50), st.integers(0, 12))
@example(2**59 + 64, 300, 8)
@example(2**53 + 1, -1, 12)
@example(2**53, -1, 12)
@example(0, -3, 1)
def test_a_fractional_release_is_a_function_of_the_exact_noisy_value(count, steps, digits):
    """One person more and noise of one less is the same value, to the bit; it is near the exact."""

    def released(people, drawn):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(measure, "laplace_noise", lambda *_: np.array([drawn]))
            return add_fractional_noise(
                np.array([people]), secret_of(0), 0, Fraction(1), digits
            ).item()

    exact = count + Fraction(steps, 1 << digits)
    found = released(count, steps)
    assert found == released(count + 1, steps - (1 << digits))
    if abs(exact) < 2**53:
        assert found == float(exact)
    assert abs(Fraction(found) - exact) <= abs(exact) * Fraction(1, 2**52)


@given(st.lists(st.integers(0, 2**58), min_size=4, max_size=4), st.integers(0, 2**32))
@example([2**59 + 65, 2**58, 3, 2**53 + 1], 0)
def test_the_pyramid_of_huge_counts_is_its_dense_twin(counts, number):
    grid = geodp.Grid.regular((4,))
    table = geodp.CountTable.from_dense(np.array(counts), grid)
    row, key = Pyramid(chain="1-1", shares="1-1-1"), secret_of(number)
    cells, values, _ = refine(table, row, spent(row, grid), key)
    every = refine_dense(table, row, spent(row, grid), key)
    assert (np.flatnonzero(every) == cells.astype(np.int64)).all()
    assert (every[every > 0] == values).all()


def test_the_kernel_adds_counts_to_noise_exactly():
    key, counts = np.array([0, 1, 3], np.uint64), np.array([2**59 + 65, 1, 2**58 + 3])
    cumulative = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    nodes, scratch = np.zeros((5, 1), np.int64), np.zeros((3, 8), np.int64)
    nodes[layout.STOP] = 3
    noisy = in_rows(np.array([[-3, NOWHERE, 5, NOWHERE]], np.int32))
    far = in_rows(np.array([[0, 2**57 + 1, 0, -(2**57) - 1]]))
    assert rows.add_counts(nodes, (0, 1), (4, 1), key, cumulative, noisy, scratch) == counts.sum()
    rows.widen(4, 1, cumulative, noisy, scratch, far)
    assert far.reshape(ROWS, -1)[:4, 0].tolist() == [2**59 + 62, 2**57 + 2, 5, 2**58 - 2**57 + 2]
    assert scratch[layout.BEGIN, [0, 1, 3]].tolist() == [0, 1, 2]
    assert scratch[layout.END, :4].tolist() == [1, 2, 0, 3]
    assert scratch[layout.DATUM, 0] == 0
