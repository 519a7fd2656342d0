"""The bins of residuals: those of their definition."""

import math

import numpy as np

from geodp.kernels.learned import residuals as kernels
from geodp.mechanisms import learned
from geodp.mechanisms.learned import Residuals
from tests.mechanisms.learned.test_residuals import some_children


def naive_bins(measured, predicted, sd):
    """The definition: logarithms, and a search among the ends of the bins."""
    bins = np.zeros((kernels.CLASSES, 2 * kernels.SIDE), np.int64)
    for y, mu in zip(measured, predicted, strict=True):
        size = 0
        if mu > 0:
            size = 1 + min(max(math.floor(2 * math.log2(mu / sd)) + 14, 0), 40)
        residual = (y - mu) / sd
        place = int(np.searchsorted(learned.knots(), abs(residual), "right")) - 1
        place = min(place, 2 * kernels.SIDE - 1)
        bins[size, place if residual >= 0 else 2 * kernels.SIDE - 1 - place] += 1
    return bins


def test_bins_are_those_of_the_definition():
    measured, predicted, even = some_children()
    found = Residuals.of(measured, predicted, even, 4.25)
    assert (found.bins == naive_bins(measured, predicted, 4.25)).all()
    assert found.members == measured.size
    sizes = [int(np.floor(np.abs(measured - one) / 4.25 * 256).sum()) for one in (predicted, even)]
    assert np.abs(np.subtract(found.sizes, sizes)).max() <= measured.size


def test_exact_powers_are_in_the_class_that_they_begin():
    sd = 8.0
    predicted = sd * 2.0 ** np.arange(-6, 12)
    found = Residuals.of(predicted, predicted, predicted, sd)
    assert np.flatnonzero(found.bins.sum(axis=1)).tolist() == list(range(3, 39, 2))
