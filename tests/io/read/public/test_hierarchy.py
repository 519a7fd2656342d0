"""Tables of regions: read, refused, written, and read back with a release."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import rasterio

import geodp
from geodp.cli.inputs import grid_of
from geodp.cli.readers import check_applicable
from geodp.errors import InputError, UsageError, VerificationError
from geodp.io.folder.manifest import release_id, sha256
from geodp.io.read.public.tables import read_hierarchy
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.io.write.public_tables import hierarchy_file
from tests.cli.test_options import context
from tests.io.files import gzipped, parquet, text
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 139.1, 35 + 1 / 3 + 0.05))
ROWS = [  # of 1 km, which are four cells each; the last lies outside
    ("53390000", "101", "13"),
    ("53390001", "101", "13"),
    ("53390010", "102", "13"),
    ("53390011", "101", "14"),
    ("53397799", "900", "99"),
]
HEAD = "mesh,city,prefecture\n"
TEXT = HEAD + "".join(",".join(row) + "\n" for row in ROWS)


def read(folder, content, **options):
    return read_hierarchy(
        text(content)(folder), options.pop("grid", GRID), source="a test", **options
    )


@pytest.mark.parametrize(
    "build",
    [
        text(TEXT),
        text(TEXT.replace(",", ";")),
        gzipped(TEXT),
        parquet(
            {
                "mesh": [int(row[0]) for row in ROWS],
                "city": [row[1] for row in ROWS],
                "prefecture": [int(row[2]) for row in ROWS],
            }
        ),
    ],
)
def test_codes_of_a_coarser_level_stand_for_their_cells(build, tmp_path: Path) -> None:
    found = read_hierarchy(build(tmp_path), GRID, source=" the office's list ")
    assert found.levels == ("prefecture", "city")
    assert found.codes == (("13", "14"), ("101", "102", "101"))
    assert found.cells == 16
    assert found.source == "the office's list"
    assert found.cells_in("14", "101").tolist() == [[2, 2, 3, 3], [2, 3, 2, 3]]


def test_codes_of_the_own_level_and_of_both(tmp_path: Path) -> None:
    mixed = HEAD + "533900001,a,x\n533900002,b,x\n53390001,b,y\n"
    found = read(tmp_path, mixed)
    assert found.cells == 6
    assert found.cells_in("x", "b").tolist() == [[0], [1]]


def test_cells_without_a_code_system_read_row_col(tmp_path: Path) -> None:
    grid = geodp.Grid.regular((4, 4))
    found = read(tmp_path, "cell,zone\n0_0,a\n3_3,b\n9_9,c\n", grid=grid)
    assert found.cells == 2
    with refuses(InputError, "row-col-code") as caught:
        read(tmp_path, "cell,zone\n0_0,a\n1-1,b\n", grid=grid)
    assert caught.value.row == 3


ONE, TWO = "53390000,1,2\n", "53390001,1,2\n"
CROSSED = "53390000,13,101\n53390001,13,102\n53390010,14,103\n"


@pytest.mark.parametrize(
    ("content", "row", "says"),
    [
        (f"{HEAD}{ONE}5339zz00,1,2\n", 3, "none of jis:half or of a coarser level"),
        (f"{HEAD}{ONE}53390000111,1,2\n", 3, "none of jis:half"),
        (f"{HEAD}{ONE},1,2\n", 3, "a code is missing"),
        (f"{HEAD}{ONE}53390001, ,2\n", 3, "Column city: the region is blank"),
        (f"{HEAD}{ONE}\n53390001,1,\n", 4, "Column prefecture: the region is blank"),
        (f"{HEAD}{ONE}{TWO}53390000,3,2\n", 4, "in the table already"),
        (f"{HEAD}533900001,1,2\n{ONE}", 3, "a coarser one"),
        (f"{HEAD}53390000,1\n", 2, "as many columns as the header"),
        (HEAD, None, "no rows"),
        ("mesh\n53390000\n", 1, "one or more columns of regions"),
        (f"mesh,city,city\n{ONE}", 1, "different names"),
        (f"mesh,city,\n{ONE}", 1, "none of them blank"),
        ("mesh,cell\n53390000,1\n", 1, "or 'cell'"),
        (
            f"mesh,prefecture,city\n{CROSSED}",
            1,
            "every region of the second holds one of the first",
        ),
    ],
)
def test_what_is_refused_with_file_and_row(content, row, says, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    assert says in str(caught.value)
    assert caught.value.file == str(tmp_path / "in.csv")
    assert caught.value.row == row


def test_calls_that_are_refused(tmp_path: Path) -> None:
    with refuses(UsageError, "regions-hold-no-cell-of-grid"):
        read(tmp_path, HEAD + "64414277,1,2\n")
    with refuses(UsageError, "regions-need-one-map"):
        read(tmp_path, TEXT, grid=GRID.pairs())
    with refuses(InputError, "column-unknown: 'ward'"):
        read(tmp_path, TEXT, columns=["mesh", "ward"])
    with refuses(UsageError, "regions-source-missing"):
        read_hierarchy(text(TEXT)(tmp_path), GRID, source="")


def released(folder, attributes="below"):
    grid = GRID.with_attribute("sex", ["f", "m"])
    grid = grid.with_hierarchy(
        read_hierarchy(text(TEXT)(folder), grid, source="a test"), attributes
    )
    index = np.argwhere(np.ones(grid.shape)).T
    index = index[:, grid.contains(index)]
    table = geodp.CountTable.from_index(grid, index, np.full(index.shape[1], 70))
    given = {"epsilon": 1, "key": geodp.NoiseKey(bytes(32)), "contribution": 1}
    release = geodp.publish(table, **{"contribution": 1, **given})
    release.write(folder / "out")
    return release, folder / "out" / "public"


def rewrite(public, change):
    """Change files of a release, of which one may go, and say so in its card and sums."""
    card = json.loads((public / "release.json").read_text(encoding="utf-8"))
    change(public / hierarchy_file("population"))
    card["files"] = [
        entry | {"sha256": sha256(public / entry["name"])}
        for entry in card["files"]
        if (public / entry["name"]).exists()
    ]
    card["release_id"] = release_id(public / "population.csv", card)
    (public / "release.json").write_text(json.dumps(card), encoding="utf-8")
    names = [entry["name"] for entry in card["files"]] + ["release.json"]
    (public / "SHA256SUMS").write_text(
        "".join(f"{sha256(public / name)}  {name}\n" for name in names)
    )


def failures(path):
    return [(check.name, check.detail) for check in verify(path) if not check.ok]


@pytest.mark.parametrize("attributes", ["below", "above", "prefecture"])
def test_a_release_on_regions_is_read_back(attributes, tmp_path: Path) -> None:
    release, public = released(tmp_path, attributes)
    assert failures(public) == []
    table, card = read_release_table(public)
    assert table.grid == release.grid
    assert table.grid.hierarchy == release.grid.hierarchy
    assert (table.key == release.table.key).all()
    assert (table.count == release.table.count).all()
    assert geodp.Release(table).card().expected_error == card.expected_error
    rewrite(public, Path.unlink)
    (cells,) = [check for check in verify(public) if check.name == "cells"]
    assert cells.ok
    assert "no table of the regions" in cells.detail
    alone, _ = read_release_table(public)
    assert alone.grid.hierarchy is None
    assert (alone.to_dense() == release.table.to_dense()).all()


def test_tables_of_regions_say_of_which_release_they_are_and_another_is_found(
    tmp_path: Path,
) -> None:
    _, public = released(tmp_path)
    card = json.loads((public / "release.json").read_text(encoding="utf-8"))
    levels = {path.stem.partition("-")[2] for path in public.glob("population-*.csv")}
    assert levels
    for level in levels:
        schema = pq.read_schema(public / f"population-{level}.parquet")
        about = json.loads(schema.metadata[b"geodp"])
        assert about["release_id"] == card["release_id"]
        assert about["level"].endswith(level)
    with rasterio.open(public / "population.tif") as raster:
        inside = ~np.isnan(raster.read(1))[::-1]
    assert inside.sum() == 16  # cells outside the regions are outside the map
    assert inside[:4, :4].all()
    rewrite(public, lambda path: path.write_text(path.read_text().replace(",102,", ",103,")))
    assert ("cells", f"{public} cannot be read back: The table of regions is not the card's.") in (
        failures(public)
    )
    with refuses(VerificationError, "regions-table-differs"):
        read_release_table(public)


MESH = ["a.txt", "--grid", "jis:half", "--bounds", "139", "35.3333333333", "139.1", "35.3833333333"]


def grid_on(*options):
    return grid_of(context(*MESH, *options).params)


def test_orders_on_the_command_line(tmp_path: Path) -> None:
    sex = ["--by", "sex", "--value", "a", "--value", "b"]
    pair = GRID.with_attribute("sex", ["a", "b"])
    path = str(text(TEXT)(tmp_path))
    own = ["--regions", path, "--regions-source", "a list"]
    found = read_hierarchy(path, GRID, source="a list")
    some = read_hierarchy(path, GRID, source="a list", columns=["mesh", "prefecture"])
    official = ["--labels", "sex=a,b", "--order", "official", "--attribute-order", "jis:basic"]
    for options, grid in (
        ([], GRID),
        (["--order", "official"], GRID.with_official_order()),
        (sex, pair),
        ([*sex, "--attribute-order", "below"], pair),
        ([*sex, "--attribute-order", "above"], pair.with_attribute_order("above")),
        ([*sex, "--attribute-order", "interleaved"], pair.with_attribute_order("interleaved")),
        (official, pair.with_official_order("jis:basic")),
        (own, GRID.with_hierarchy(found)),
        ([*own, *sex, "--attribute-order", "city"], pair.with_hierarchy(found, "city")),
        ([*own, "--regions-columns", "mesh, prefecture"], GRID.with_hierarchy(some)),
    ):
        assert grid_on(*options) == grid, options


LABELS = ("--labels", "sex=a,b")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--regions", "REGIONS"], "question-open: such.*--regions-source"),
        (["--attribute-order", "above"], "attribute-order-needs-attribute: --attribute-order"),
        ([*LABELS, "--attribute-order", "sideways"], "attribute-order-unknown: interleaved"),
        (
            [*LABELS, "--order", "official", "--attribute-order", "interleaved"],
            "attribute-order-unknown: jis:basic",
        ),
        (["--pairs", "--order", "official"], "official-areas-need-codes"),
    ],
)
def test_orders_that_are_refused(options, says, tmp_path: Path) -> None:
    path = str(text(TEXT)(tmp_path))
    with refuses(UsageError, says):
        grid_on(*(path if option == "REGIONS" else option for option in options))
    with refuses(UsageError, "public-file-is-input"):
        grid_of(context(path, *MESH[1:], "--regions", path, "--regions-source", "x").params)


def test_what_goes_with_regions_only() -> None:
    for option in ("--regions-source", "--regions-columns"):
        with refuses(UsageError, f"option-needs-option: {option} .*--regions"):
            check_applicable(context(*MESH, option, "x"))
    both = ("--regions", "x", "--regions-source", "x", "--order", "official")
    with refuses(UsageError, "option-excludes-option: --order or --regions"):
        check_applicable(context(*MESH, *both))
