"""Tables of regions: read, refused, written, and read back with a release."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import geodp
from geodp.cli.commands.publish import publish
from geodp.cli.inputs import grid_of
from geodp.cli.readers import check_applicable
from geodp.errors import InputError, UsageError, VerificationError
from geodp.io.folder.manifest import release_id, sha256
from geodp.io.read.public.tables import read_hierarchy
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.io.write.public_tables import hierarchy_file, write_hierarchy
from geodp.tools.evaluate.commands.evaluate import evaluate
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


def test_columns_are_named_where_they_stand_otherwise(tmp_path: Path) -> None:
    shuffled = "pref,name,code,city\n" + "".join(f"{c},x,{a},{b}\n" for a, b, c in ROWS)
    found = read(tmp_path, shuffled, columns=["code", "City", "pref"])
    assert found.levels == ("pref", "City")
    assert found.codes == (("13", "14"), ("101", "102", "101"))


def test_cells_without_a_code_system_read_row_col(tmp_path: Path) -> None:
    grid = geodp.Grid.regular((4, 4))
    found = read(tmp_path, "cell,zone\n0_0,a\n3_3,b\n9_9,c\n", grid=grid)
    assert found.cells == 2
    with refuses(InputError, "row-col-code") as caught:
        read(tmp_path, "cell,zone\n0_0,a\n1-1,b\n", grid=grid)
    assert caught.value.row == 3


@pytest.mark.parametrize(
    ("content", "row", "says"),
    [
        (HEAD + "53390000,1,2\n5339zz00,1,2\n", 3, "none of jis:half or of a coarser level"),
        (HEAD + "53390000,1,2\n53390000111,1,2\n", 3, "none of jis:half"),
        (HEAD + "53390000,1,2\n,1,2\n", 3, "a code is missing"),
        (HEAD + "53390000,1,2\n53390001, ,2\n", 3, "Column city: the region is blank"),
        (HEAD + "53390000,1,2\n\n53390001,1,\n", 4, "Column prefecture: the region is blank"),
        (HEAD + "53390000,1,2\n53390001,1,2\n53390000,3,2\n", 4, "in the table already"),
        (HEAD + "533900001,1,2\n53390000,1,2\n", 3, "a coarser one"),
        (HEAD + "53390000,1\n", 2, "as many columns as the header"),
        (HEAD, None, "no rows"),
        ("mesh\n53390000\n", 1, "one or more columns of regions"),
        ("mesh,city,city\n53390000,1,2\n", 1, "different names"),
        ("mesh,city,\n53390000,1,2\n", 1, "none of them blank"),
        ("mesh,cell\n53390000,1\n", 1, "or 'cell'"),
        (
            "mesh,prefecture,city\n53390000,13,101\n53390001,13,102\n53390010,14,103\n",
            1,
            "Columns prefecture and city: every region of the second holds one of the first only",
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


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    names = HEAD + '53390000,"a, ""b""",13\n53390001,ö 区,13\n'
    path = tmp_path / "in.csv"
    path.write_text(names, encoding="utf-8")
    for grid, found in (
        (GRID, read_hierarchy(path, GRID, source="a test")),
        (
            geodp.Grid.regular((4, 4)),
            read(tmp_path, "c,z\n1_2,01\n0_3,1\n", grid=geodp.Grid.regular((4, 4))),
        ),
    ):
        write_hierarchy(found, grid, tmp_path / "out.csv")
        assert read_hierarchy(tmp_path / "out.csv", grid, source="a test") == found


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


def listed(public, grid, present=True):
    """With or without the table of regions among the release's files."""
    name = hierarchy_file("population")
    card = json.loads((public / "release.json").read_text(encoding="utf-8"))
    card["files"] = [entry for entry in card["files"] if entry["name"] != name]
    (public / name).unlink(missing_ok=True)
    if present:
        write_hierarchy(grid.hierarchy, grid, public / name)
        card["files"].append({"name": name, "what": "a table", "sha256": sha256(public / name)})
    write_checksums(public, card)


def write_checksums(public, card):
    card["release_id"] = release_id(public / "population.csv", card)
    (public / "release.json").write_text(json.dumps(card), encoding="utf-8")
    names = [entry["name"] for entry in card["files"]] + ["release.json"]
    lines = [f"{sha256(public / name)}  {name}\n" for name in names]
    (public / "SHA256SUMS").write_text("".join(lines))


def failures(path):
    return [(check.name, check.detail) for check in verify(path) if not check.ok]


@pytest.mark.parametrize("attributes", ["below", "above", "prefecture"])
def test_a_release_on_regions_is_read_back(attributes, tmp_path: Path) -> None:
    release, public = released(tmp_path, attributes)
    listed(public, release.grid)
    assert failures(public) == []
    table, card = read_release_table(public)
    assert table.grid == release.grid
    assert table.grid.hierarchy == release.grid.hierarchy
    assert (table.key == release.table.key).all()
    assert (table.count == release.table.count).all()
    assert geodp.Release(table).card().expected_error == card.expected_error
    listed(public, release.grid, present=False)
    assert failures(public) == []
    (cells,) = [check for check in verify(public) if check.name == "cells"]
    assert "no table of the regions" in cells.detail
    alone, _ = read_release_table(public)
    assert alone.grid.hierarchy is None
    assert (alone.to_dense() == release.table.to_dense()).all()


def test_tables_of_regions_say_of_which_release_they_are(tmp_path: Path) -> None:
    _, public = released(tmp_path)
    card = json.loads((public / "release.json").read_text(encoding="utf-8"))
    levels = {path.stem.partition("-")[2] for path in public.glob("population-*.csv")}
    for level in levels:
        schema = pq.read_schema(public / f"population-{level}.parquet")
        about = json.loads(schema.metadata[b"geodp"])
        assert about["release_id"] == card["release_id"]
        assert about["level"].endswith(level)
    assert levels


def test_another_table_of_regions_is_found(tmp_path: Path) -> None:
    release, public = released(tmp_path)
    listed(public, release.grid)
    path = public / hierarchy_file("population")
    path.write_text(path.read_text().replace(",102,", ",103,"))
    card = json.loads((public / "release.json").read_text(encoding="utf-8"))
    card["files"][-1]["sha256"] = sha256(path)
    write_checksums(public, card)
    assert ("cells", f"{public} cannot be read back: The table of regions is not the card's.") in (
        failures(public)
    )
    with refuses(VerificationError, "regions-table-differs"):
        read_release_table(public)


@pytest.mark.parametrize("attributes", ["below", "above", "jis:basic"])
def test_a_release_on_official_areas_is_read_back(attributes, tmp_path: Path) -> None:
    grid = GRID.with_attribute("sex", ["f", "m"]).with_official_order(attributes)
    table = geodp.CountTable.from_dense(np.full(grid.shape, 70), grid)
    given = {"epsilon": 1, "key": geodp.NoiseKey(bytes(32)), "contribution": 1}
    release = geodp.publish(table, method="pyramid", **{"contribution": 1, **given})
    release.write(tmp_path / "out")
    assert failures(tmp_path / "out") == []
    table, _ = read_release_table(tmp_path / "out")
    assert table.grid == grid
    assert (table.key == release.table.key).all()
    assert table.grid.areas.steps == grid.areas.steps


def test_cells_outside_the_regions_are_outside_the_map(tmp_path: Path) -> None:
    import rasterio

    _, public = released(tmp_path)
    with rasterio.open(public / "population.tif") as raster:
        inside = ~np.isnan(raster.read(1))[::-1]
    assert inside.sum() == 16
    assert inside[:4, :4].all()


MESH = ["a.txt", "--grid", "jis:half", "--bounds", "139", "35.3333333333", "139.1", "35.3833333333"]


def test_orders_on_the_command_line(tmp_path: Path) -> None:
    def grid(*options):
        return grid_of(context(*MESH, *options).params)

    sex = ["--by", "sex", "--value", "a", "--value", "b"]
    assert grid() == GRID
    assert grid("--order", "official") == GRID.with_official_order()
    pair = GRID.with_attribute("sex", ["a", "b"])
    assert grid(*sex) == grid(*sex, "--attribute-order", "below") == pair
    for place in ("above", "interleaved"):
        assert grid(*sex, "--attribute-order", place) == pair.with_attribute_order(place)
    official = grid("--labels", "sex=a,b", "--order", "official", "--attribute-order", "jis:basic")
    assert official == pair.with_official_order("jis:basic")
    path = str(text(TEXT)(tmp_path))
    found = read_hierarchy(path, GRID, source="a list")
    own = ["--regions", path, "--regions-source", "a list"]
    assert grid(*own) == GRID.with_hierarchy(found)
    assert grid(*own, *sex, "--attribute-order", "city") == pair.with_hierarchy(found, "city")
    some = read_hierarchy(path, GRID, source="a list", columns=["mesh", "prefecture"])
    assert grid(*own, "--regions-columns", "mesh, prefecture") == GRID.with_hierarchy(some)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--regions", "REGIONS"], "question-open: such.*--regions-source"),
        (["--attribute-order", "above"], "attribute-order-needs-attribute: --attribute-order"),
        (
            ["--labels", "sex=a,b", "--attribute-order", "sideways"],
            "attribute-order-unknown: interleaved",
        ),
        (
            ["--labels", "sex=a,b", "--order", "official", "--attribute-order", "interleaved"],
            "attribute-order-unknown: jis:basic",
        ),
        (["--pairs", "--order", "official"], "official-areas-need-codes"),
        (["--regions", "INPUT", "--regions-source", "x"], "public-file-is-input"),
    ],
)
def test_orders_that_are_refused(options, says, tmp_path: Path) -> None:
    path = str(text(TEXT)(tmp_path))
    given = [path if option in ("REGIONS", "INPUT") else option for option in options]
    call = [path if "INPUT" in options else "a.txt", *MESH[1:]]
    with refuses(UsageError, says):
        grid_of(context(*call, *given).params)


def test_what_goes_with_regions_only() -> None:
    for option in ("--regions-source", "--regions-columns"):
        with refuses(UsageError, f"option-needs-option: {option} .*--regions"):
            check_applicable(context(*MESH, option, "x"))
    both = ("--regions", "x", "--regions-source", "x", "--order", "official")
    with refuses(UsageError, "option-excludes-option: --order or --regions"):
        check_applicable(context(*MESH, *both))


def test_regions_from_the_command_line_to_a_verified_release(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    cells = [
        f"5339{a}{b}{q}" for a, b in (("00", "00"), ("00", "01"), ("00", "11")) for q in "1234"
    ]
    people.write_text("code,sex,n\n" + "".join(f"{c},{s},40\n" for c in cells for s in "fm"))
    path = str(text(TEXT)(tmp_path))
    call = [str(people), *MESH[1:], "--labels", "sex=f,m", "--column", "sex=sex", "--code", "code"]
    call += ["--value", "n", "--epsilon", "1", "--regions", path, "--regions-source", "a list"]
    call += ["--contribution", "1"]
    more = [
        "--attribute-order",
        "prefecture",
        "--method",
        "pyramid",
        "--output",
        str(tmp_path / "out"),
    ]
    done = CliRunner().invoke(publish, [*call, *more], catch_exceptions=False)
    assert done.exit_code == 0
    assert failures(tmp_path / "out") == []
    card = json.loads((tmp_path / "out/public/release.json").read_text(encoding="utf-8"))
    assert card["domain"]["cells"] == 32
    assert card["domain"]["order"]["regions"]["levels"] == {"prefecture": 2, "city": 3}
    more = ["--methods", "pyramid,laplace", "--trials", "2"]
    done = CliRunner().invoke(evaluate, [*call, *more], catch_exceptions=False)
    assert done.exit_code == 0
