"""Averages of devices' models: what they report, and how far the average is off for good."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.literature.averaged import average_models, report_model
from geodp.local.coins import FixedCoins
from tests.refusals import refuses

TRUE = np.array([-0.5, 1, -2])


def draw(rng, devices, records):
    """Features, uniform from -1 to 1 after a constant, and labels, for each device."""
    features = rng.uniform(-1, 1, (devices, records, 2))
    features = np.concatenate([np.ones((devices, records, 1)), features], axis=2)
    labels = rng.random((devices, records)) < 1 / (1 + np.exp(-(features @ TRUE)))
    return features, labels.astype(int)


@pytest.mark.parametrize(
    ("records", "bias", "sure"),
    [(1, (0.20, -0.84, 1.66), 10), (5, (-0.06, -0.21, 0.35), 3)],
)
def test_the_average_is_biased_where_one_model_of_all_records_is_not(records, bias, sure):
    features, labels = draw(np.random.default_rng(records), 3000, records)
    units = np.random.default_rng(9).integers(0, 1 << 32, (3000, 64), np.uint64).astype(np.uint32)
    reports = [
        report_model(*one, epsilon=12, coins=FixedCoins(bits))
        for *one, bits in zip(features, labels, units, strict=True)
    ]
    averaged = average_models(reports, epsilon=12)
    off = averaged.coefficients - TRUE
    assert np.abs(off - bias).max() < 5 * averaged.standard_errors.max()
    assert np.abs(off).max() > sure * averaged.standard_errors.max()
    one = geodp.compare.logit(features.reshape(-1, 3), labels.ravel(), epsilon=16, intercept=False)
    assert (np.abs(one.coefficients - TRUE) < 4 * one.standard_errors).all()


def test_a_device_with_many_records_has_the_model_of_largest_likelihood():
    """With 3 and 1 of 4 ones in two groups, coefficients are log odds but for the penalty."""
    features = np.repeat([[1, 0], [1, 1]], 4000, axis=0)
    labels = np.tile([1, 1, 1, 0], 1000).tolist() + np.tile([1, 0, 0, 0], 1000).tolist()
    bits = np.array([report_model(features, labels, epsilon=8) for _ in range(400)])
    found = average_models(bits, epsilon=8)
    off = found.coefficients - [np.log(3), -2 * np.log(3)]
    assert (np.abs(off) < 5 * found.standard_errors).all()


@pytest.mark.parametrize("label", [0, 1])
def test_features_that_tell_labels_apart_have_a_model(label):
    bits = [report_model([[1000.0]], [label], epsilon=4, bound=0.001) for _ in range(200)]
    found = average_models(bits, epsilon=4, bound=0.001)
    assert np.sign(found.coefficients) == [2 * label - 1]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: report_model([1, 2], [0, 1], 1), "features-form"),
        (lambda: report_model([[1.0]], [2], 1), "labels-not-binary"),
        (lambda: report_model([[np.nan]], [1], 1), "features-form"),
        (lambda: report_model([[1.0]], [1], 1, bound=0), "bound-not-positive"),
        (lambda: report_model([[1.0]], [1], 17), r"epsilon-weak: \b16\b"),
        (lambda: average_models([[1, 0]], 1), "model-reports-form"),
        (lambda: average_models([[1, 2], [0, 1]], 1), "model-reports-form"),
        (lambda: average_models([[1], [0]], 1, bound=np.inf), "bound-not-positive"),
    ],
)
def test_what_is_refused(call, said):
    with refuses(UsageError, said):
        call()
