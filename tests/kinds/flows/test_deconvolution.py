"""What noisy flows say of true ones: means that are kept, and flows nearer to the truth."""

import numpy as np
import pytest

from geodp.kinds.flows.deconvolution import (
    BINS,
    LEAST,
    MOST,
    choose_support,
    join_classes,
    learn_class,
    learn_flows,
)
from geodp.kinds.flows.kernels import balancing, deconvolution


def add_noise(true, deviation, normal=False, seed=1):
    draw = np.random.default_rng(seed)
    if normal:
        return true + np.rint(draw.normal(0, deviation, true.shape))
    return true + np.rint(draw.laplace(0, deviation / np.sqrt(2), true.shape))


def learn(expected, noisy, deviation, normal=False):
    """Learn of half of the rows at a time."""

    def slabs():
        middle = len(expected) // 2
        for rows in (slice(0, middle), slice(middle, len(expected))):
            yield rows, expected[rows], noisy[rows]

    return learn_flows(slabs, expected.shape, deviation**2, normal=normal)


def look_up(learned, noisy, table):
    out = np.empty(noisy.shape)
    deconvolution.look_up(noisy, learned.entry, table, out)
    return out


def thick_pairs(share=0.02, trips=100, shape=(60, 100)):
    """Flows of which few are thick and most 0, and the same expectation of all."""
    true = trips * (np.random.default_rng(2).random(shape) < share).astype(float)
    return true, np.full(shape, true.mean())


def error(true, found):
    return np.abs(true - found).sum() / true.sum()


@pytest.mark.parametrize("normal", [True, False])
def test_the_prior_of_a_class_has_the_mean_that_is_expected(normal):
    true, expected = thick_pairs()
    noisy, means = add_noise(true, 30, normal), []
    counts = np.zeros((balancing.CLASSES, BINS), np.int64)
    deconvolution.sum_bins(expected, noisy, 5.0, counts, np.zeros((balancing.CLASSES, 2)))
    for off in (0.7, 1.0, 1.3):
        sums = np.array([expected.sum() * off, 0.0])
        one = learn_class(counts.sum(axis=0), sums, 5.0, 900.0, normal)
        weight = np.diff(one.cumulated, axis=1, prepend=0)
        assert weight.min() >= -1e-12
        assert one.cumulated[:, -1] == pytest.approx(1)
        means.append(one.count @ weight @ one.support / one.count.sum())
        if off == 1:
            assert one.apart == pytest.approx(true.var(), rel=0.5)
    assert means[1] == pytest.approx(expected.mean(), rel=0.25)
    assert means[0] < 0.95 * means[1] < 0.9 * means[2]


def test_flows_that_are_known_leave_less_for_the_others():
    """Beyond the last bin the noisy flow is taken, and is no longer expected of the others."""
    expected, noisy = np.full((40, 50), 2.0), add_noise(np.zeros((40, 50)), 30)
    noisy[0, :3] = 1_300.0, 1_290.0, 1_210.0
    learned = learn(expected, noisy, 30.0)
    found = look_up(learned, noisy, learned.mean)
    assert found[0, :3].tolist() == noisy[0, :3].tolist()
    assert learned.variance[learned.entry[0, 0]] == 900
    # All of 4,000 expected trips but those that are known.
    assert found.sum() == pytest.approx(4_000, rel=0.1)
    # Where more is known than was expected, a tenth is left.
    noisy[0, :4] = 1_300.0
    learned = learn(expected, noisy, 30.0)
    assert look_up(learned, noisy, learned.mean)[1:].mean() == pytest.approx(0.2, rel=0.2)


@pytest.mark.parametrize("deviation", [1e-6, 0.1])
def test_flows_that_were_measured_exactly_are_these(deviation):
    draw = np.random.default_rng(3)
    expected = draw.choice([0.01, 2.0, 50.0, 2_000.0], (80, 90))
    true = draw.poisson(expected).astype(float)
    learned = learn(expected, true, deviation)
    for table in (learned.mean, learned.concentrate()):
        assert look_up(learned, true, table) == pytest.approx(true, abs=0.01)
    assert learned.variance[learned.entry].max() < 0.05


@pytest.mark.parametrize("normal", [True, False])
def test_thick_pairs_are_recovered_better_than_by_linear_shrinkage(normal):
    """And nearly as well as by who knows which flows there are."""
    true, expected = thick_pairs()
    noisy = add_noise(true, 25, normal)
    learned = learn(expected, noisy, 25, normal)
    mean, whole = (look_up(learned, noisy, one) for one in (learned.mean, learned.concentrate()))
    apart = true.var()
    linear = expected + apart / (apart + 625) * (noisy - expected)
    assert error(true, whole) < 0.6 * error(true, np.maximum(linear, 0))
    apart = np.abs(noisy[..., None] - [0, 100])
    likely = np.exp(-(apart**2) / 1250) if normal else np.exp(-apart / np.sqrt(312.5))
    share = (true > 0).mean()
    oracle = 100 * likely[..., 1] * share / (likely @ [1 - share, share])
    assert ((mean - true) ** 2).mean() < 1.15 * ((oracle - true) ** 2).mean()
    assert ((mean - true) ** 2).mean() == pytest.approx(
        learned.variance[learned.entry].mean(), rel=0.25
    )


def test_noise_that_hides_everything_leaves_what_is_expected():
    draw = np.random.default_rng(4)
    expected = np.full((60, 100), 3.0)
    noisy = add_noise(draw.poisson(expected), 1e4)
    learned = learn(expected, noisy, 1e4)
    assert np.median(look_up(learned, noisy, learned.mean)) == pytest.approx(3, rel=0.5)


def test_concentrated_flows_keep_the_total_of_the_means():
    draw = np.random.default_rng(5)
    expected = draw.gamma(0.3, 10, (90, 80))
    expected[:, 70:] = 0
    true = draw.poisson(expected) * draw.integers(0, 2, expected.shape)
    noisy = add_noise(true, 6)
    learned = learn(expected, noisy, 6)
    mean, whole = (look_up(learned, noisy, one) for one in (learned.mean, learned.concentrate()))
    assert whole.sum() == pytest.approx(mean.sum(), rel=1e-3)
    # Fewer pairs have them.
    assert (whole > 0.5).sum() < (mean > 0.5).sum()
    assert not whole[:, 70:].any()


def test_the_law_of_the_noise_matters():
    """Under the law that the noise has, the true flows are nearer."""
    for normal in (True, False):
        true, expected = thick_pairs(share=0.05)
        noisy = add_noise(true, 30, normal)
        right, wrong = (
            look_up(one, noisy, one.mean)
            for one in (learn(expected, noisy, 30, law) for law in (normal, not normal))
        )
        assert ((right - true) ** 2).sum() < ((wrong - true) ** 2).sum()


def test_classes_of_few_pairs_are_joined_downwards():
    number = np.zeros(10, np.int64)
    number[[1, 4, 5, 7, 8]] = LEAST, LEAST - 1, LEAST, LEAST // 2, LEAST // 2 - 1
    merged = join_classes(number)
    # Of 8 and 7 together still too few; 4 is joined with 1, and 5 has enough with both.
    assert merged[[1, 4, 5, 7, 8]].tolist() == [1, 1, 5, 5, 5]
    number[8] += 1
    assert join_classes(number)[[1, 4, 5, 7, 8]].tolist() == [1, 1, 5, 7, 7]
    # The smallest has none below it.
    assert join_classes(0 * number).tolist() == [*range(10)]
    number[1] = 1
    assert join_classes(number)[[1, 4]].tolist() == [1, 1]


def test_joined_classes_have_one_table():
    expected = np.where(np.arange(5_000) < LEAST - 1, 8.0, 1.0).reshape(50, 100)
    learned = learn(expected, np.zeros(expected.shape), 10.0)
    assert [*learned.classes] == [balancing.class_of.py_func(1.0)]
    assert len(np.unique(learned.entry)) == 1


@pytest.mark.parametrize("deviation", [1e-6, 1.0, 10.0, 1e4])
@pytest.mark.parametrize("mean", [1e-3, 5.0, 500.0])
def test_supports_are_dense_where_noise_can_tell_flows_apart(deviation, mean):
    step = max(deviation / 6, 1)
    value = step * np.array([-3.0, 0.0, 1.0, 9.0, MOST])
    support = choose_support(value, mean, deviation)
    assert support[0] == 0
    assert np.diff(support).min() > 0
    if deviation < 1:
        assert (support % 1 == 0).all()
    assert support.size < 250
    assert support[-1] > max(value[-1], mean)
    if deviation >= 1:
        for one in value[value >= 0]:
            assert np.abs(support - one).min() <= max(deviation, 1) / 2
    # Where nothing was measured, and nothing is expected, there is none.
    between = (support > 9 * step + deviation) & (support < (MOST - 1) * step - deviation)
    assert not (between & (support > 4 * deviation) & (np.abs(support - mean) > deviation))[
        :-1
    ].any()
