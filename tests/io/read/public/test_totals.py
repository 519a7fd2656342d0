"""Tables of public totals: areas by code, or regions by the codes of their levels."""

import pytest

import geodp
from geodp.errors import InputError
from geodp.grid.hierarchy import Hierarchy
from geodp.io.read.public.tables import read_totals
from tests.refusals import refuses

MESH = geodp.Grid.mesh("jis:half", bounds=(139, 35, 139.2, 35.1))
REGIONS = geodp.Grid.regular((2, 2)).with_hierarchy(
    Hierarchy.of_cells(
        [[0, 0, 1, 1], [0, 1, 0, 1]],
        {"prefecture": ["13", "13", "14", "14"], "city": ["101", "102", "101", "101"]},
        "made up",
    )
)


def read(tmp_path, text, grid):
    path = tmp_path / "totals.csv"
    path.write_text(text)
    return read_totals(path, grid, source="a book")


def test_areas_by_code_and_regions_by_levels(tmp_path):
    found = read(tmp_path, "code,total\n52395000,5\n52395001,7\n", MESH)
    assert found.names == (("52395000",), ("52395001",))
    assert found.total.tolist() == [5, 7]
    assert found.place.size == 8
    found = read(tmp_path, "prefecture,city,total\n13,101,5\n14,101,7\n", REGIONS)
    assert found.area.tolist() == [0, 1, 1]
    assert read(tmp_path, "prefecture,total\n13,5\n", REGIONS).area.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("text", "grid", "said"),
    [
        ("code,people\n52395000,5\n", MESH, "totals-columns: code"),
        ("city,total\n101,5\n", REGIONS, "totals-columns: prefecture, city"),
        (
            "code,total\n52395000,5\n523950,5\n",
            MESH,
            "total-cell-repeated: another has too.*|row 3",
        ),
        ("code,total\n52395000,5.5\n", MESH, "count-fraction: total"),
        ("code,total\n,5\n", MESH, "code-missing"),
        ("code,total\n99999999,5\n", MESH, "total-area-unknown"),
    ],
)
def test_what_is_none_is_refused_by_its_row(tmp_path, text, grid, said):
    with refuses(InputError, said):
        read(tmp_path, text, grid)
