"""What a call is asked for where its columns do not say in which cell a row is counted."""

import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.read.rows.locators import require_axes
from tests.refusals import refuses

MAP = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 36))


class Located:
    """Says where rows lie along some axes."""

    def __init__(self, *axes):
        self.axes = axes


@pytest.mark.parametrize(
    ("grid", "axes", "asked"),
    [
        (MAP, (), "place-columns-missing: --code COLUMN.*--x COLUMN --y COLUMN"),
        (MAP.with_attribute("sex", ["f", "m"]), (0, 1), "axis-column-missing: --column sex=COLUMN"),
        (geodp.Grid.regular((2, 2, 2)), (0, 1), "axis-column-missing: --column axis2=COLUMN"),
        (MAP.pairs(), (0, 1), "axis-column-missing: --column destination=COLUMN"),
        (MAP, (0, 1, 1), "place-columns-several"),
    ],
)
def test_a_call_says_what_to_type(grid, axes, asked):
    with refuses(UsageError, asked):
        require_axes(grid, [Located(*axes)])


def test_every_axis_once_is_enough():
    require_axes(MAP, [Located(0), Located(1)])
    require_axes(MAP.with_attribute("sex", ["f", "m"]), [Located(0, 1)], 2)
