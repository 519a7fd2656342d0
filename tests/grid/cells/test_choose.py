"""Names of grids of cells, and tables of units that are such cells."""

import pytest

from geodp.errors import UsageError
from geodp.grid.cells import SYSTEMS, cells_of, find_cells, is_cells
from geodp.grid.units import grid_of_units
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        *(
            (f"h3{rest}", "cell-level-unknown: h3:RESOLUTION.*h3:0.*h3:15")
            for rest in ("", ":", ":16", ":-1")
        ),
        *(
            (f"h3{rest}", "cell-level-unknown: h3:RESOLUTION")
            for rest in (":07", ":7:8", ":x", ":7.0", ":\u0667")
        ),
        *(
            (f"s2{rest}", "cell-level-unknown: s2:LEVEL.*s2:0.*s2:30")
            for rest in ("", ":31", ":010", ":a")
        ),
        ("h4:1", "cell-system-unknown: h3, s2"),
    ],
)
def test_a_grid_of_no_level_is_refused(spec, words):
    with refuses(UsageError, words):
        find_cells(spec)


def test_grids_of_cells_are_told_by_their_names():
    assert [find_cells(spec)[1] for spec in ("h3:0", "h3:15", "s2:0", "s2:30")] == [0, 15, 0, 30]
    assert [is_cells(spec) for spec in ("h3", "h3:x", "s2:1", "h31:1", "jis:half", None)] == [
        *([True] * 3),
        *([False] * 3),
    ]


def units(level, codes):
    return grid_of_units({level: codes}, "an example").hierarchy


@pytest.mark.parametrize(
    ("level", "codes", "name"),
    [
        ("h3_7", ["872f5aadeffffff", "872f5aac4ffffff"], "h3"),
        ("h3_7", ["872f5aadeffffff", "872f5aac4ffffff", "elsewhere"], "h3"),
        ("s2_10", ["60188b", "60188d"], "s2"),
        ("h3_7", ["872f5aadeffffff", "elsewhere", "nowhere"], None),
        ("h3_8", ["872f5aadeffffff", "872f5aac4ffffff"], None),  # another resolution
        ("h3_7", ["872F5AADEFFFFFF", "872f5aac4ffffff", "x"], None),
        ("h3_7", ["elsewhere"], None),
        ("zone", ["872f5aadeffffff", "872f5aac4ffffff"], None),
        ("s2_99", ["60188b", "60188d"], None),
        ("q4_10", ["60188b", "60188d"], None),
    ],
)
def test_a_table_of_units_is_of_cells_by_its_level_and_codes(level, codes, name):
    found = cells_of(units(level, codes))
    assert (found[0] if found else None) is (SYSTEMS[name] if name else None)
