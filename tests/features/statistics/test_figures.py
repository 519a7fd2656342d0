"""Statistics of maps that can be counted by hand, and against slow definitions."""

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.features.statistics.figures import CLASSES, list_figures
from tests.refusals import refuses

TOWN = np.zeros((12, 12))
TOWN[2:6, 2:6] = 5000  # 80,000 people on 16 cells of 1 km2
TOWN[6, 6] = 400  # at its corner: of the cluster, not of the centre
TOWN[9, 9] = 6000  # a lone cell: a cluster, no centre


def figures(people, km2=1.0, classes=CLASSES):
    return {name: one.of(people) for name, one in list_figures(km2, classes).items()}


def test_every_statistic_of_a_town():
    assert figures(TOWN) == {
        **{"cells:500-1999": 0, "cells:2000+": 17, "top-100": 86_400},
        **{"urban-centres": 1, "people-in-urban-centres": 80_000},
        **{"urban-clusters": 2, "people-in-urban-clusters": 86_400},
    }


def test_size_classes_share_out_the_inhabited_cells():
    people = np.random.default_rng(1).pareto(0.5, (30, 30)).round()
    found = figures(people, classes=(1, 3, 10, 11))
    classes = [value for name, value in found.items() if name.startswith("cells:")]
    assert len(classes) == 4
    assert sum(classes) == (people > 0).sum()


def test_the_density_of_towns_goes_by_the_area_of_a_cell():
    assert figures(TOWN, km2=4.0)["urban-centres"] == 0  # 5,000 people on 4 km2 are 1,250 a km2
    assert "urban-centres" not in figures(TOWN, km2=None)


def test_nobody_has_no_statistics_but_zeros():
    assert set(figures(np.zeros((4, 4))).values()) == {0.0}


@pytest.mark.parametrize("classes", [(), (0, 5), (5, 5), (20, 1)])
def test_size_classes_that_are_none_are_refused(classes):
    with refuses(UsageError, "classes-not-increasing"):
        figures(TOWN, classes=classes)
