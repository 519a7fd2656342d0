"""Changes of cells between two releases: their errors are those of both."""

import numpy as np
import pytest

from geodp import compare
from geodp.errors import UsageError
from tests.features.compare.releases import released
from tests.refusals import refuses


def test_the_error_of_a_change_is_that_of_both_releases():
    old, new = released("laplace", 1, 200), released("laplace", 2, 240, epsilon=2)
    found = compare.estimate_cell_changes(old, new)
    assert found.standard_error == pytest.approx(
        np.hypot(old.standard_error(1), new.standard_error(1))
    )
    back = compare.estimate_cell_changes(new, old)
    assert np.array_equal(back.difference, -found.difference)
    assert back.low == pytest.approx(-found.high)
    region = compare.compare_regions((new, found.key[:1]), (old, found.key[:1]))
    half = (found.high[0] - found.low[0]) / 2
    assert half == pytest.approx((region.high - region.low) / 2, rel=0.1)


def test_one_release_twice_is_refused():
    old = released("laplace", 1)
    with refuses(UsageError, "changed-release-twice"):
        compare.estimate_cell_changes(old, old)
