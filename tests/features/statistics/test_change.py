"""What may have changed between two dates: cells of few people, and parts of other statistics."""

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.features.statistics.change import change_few, change_of, check_years
from geodp.features.statistics.figures import list_figures
from tests.refusals import refuses


def test_cells_with_the_fewest_people_vanish_and_empty_ones_get_one_person():
    count = np.repeat([0, 1, 5, 20, 300], [50, 10, 40, 25, 5])
    fewer, more = change_few(count, 7)  # 4 % a year of 50 cells with fewer than 20 people
    assert [(fewer == people).sum() for people in (0, 1, 5, 20, 300)] == [64, 0, 36, 25, 5]
    assert (more == 1).sum() == 24
    assert np.array_equal(more[count > 0], count[count > 0])


def test_no_more_cells_change_than_there_are():
    count = np.array([0, 3, 0, 50, 7, 2])
    fewer, more = change_few(count, 100)
    assert fewer.tolist() == [0, 0, 0, 50, 0, 0]
    assert more.tolist() == [1, 3, 1, 50, 7, 2]
    for one in change_few(count, 0):
        assert one.tolist() == count.tolist()


@pytest.mark.parametrize(
    ("name", "part"), [("cells:10-19", 0.2), ("cells:20-99", 0.1), ("top-100", 0.1)]
)
def test_small_classes_change_more_than_others(name, part):
    figures = list_figures(None, None, (1, 10, 20, 100))
    assert change_of(figures[name], 5) == pytest.approx(part)


def test_years_belong_to_a_prior_map():
    check_years(None, has_prior=False)
    check_years(0, has_prior=True)
    with refuses(UsageError, "years-without-prior"):
        check_years(0, has_prior=False)
    with refuses(UsageError, "years-negative"):
        check_years(float("inf"), has_prior=True)
