"""Tables of units: read, refused, published by the code of a unit, and verified."""

import json
from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
import pandas
import pyarrow as pa
import pytest
import shapely
from click.testing import CliRunner

import geodp
from geodp.cli.commands.estimate import estimate
from geodp.cli.commands.publish import publish
from geodp.errors import CodeError, InputError, UsageError
from geodp.grid.grid import Grid
from geodp.grid.units import pairs_of_units
from geodp.io.read.public.tables import read_hierarchy, read_totals
from geodp.io.read.public.units import read_units
from geodp.io.verify.verify import verify
from tests.command import Runner
from tests.command import geodp as geodp_command
from tests.io.files import text
from tests.refusals import refuses

ROWS = [("0012", "001", "00"), ("0111", "011", "01"), ("0011", "001", "00"), ("0021", "002", "00")]
TEXT = "block,tract,county\n" + "".join(",".join(row) + "\n" for row in ROWS)
COUNTS = "geocode,n\n0011,400\n0111,90\n"


def test_columns_are_chosen(tmp_path: Path) -> None:
    grid = read_units(text(TEXT)(tmp_path), source="a test", columns=("block", "county"))
    assert grid.hierarchy is not None
    assert grid.hierarchy.levels == ("county", "block")
    with refuses(InputError, "units-levels-alike"):
        read_units(text(TEXT)(tmp_path), source="a test", columns=("block", "block"))


@pytest.mark.parametrize(
    ("content", "row", "rule"),
    [
        (TEXT + "0011,001,00\n", 6, "unit-repeated"),
        (TEXT + "0013,001,01\n", 6, "unit-of-two-parents"),
        (TEXT + "0013,,01\n", 6, "unit-code-blank"),
        ("block,tract\n", None, "units-without-rows"),
    ],
)
def test_a_table_that_is_no_tree_names_file_and_row(content, row, rule, tmp_path: Path) -> None:
    with refuses(InputError, rule) as refused:
        read_units(text(content)(tmp_path), source="a test")
    assert Path(str(refused.value.file)).name == "in.csv"
    assert refused.value.row == row


def call(folder: Path, *more: str):
    text(TEXT, "units.csv")(folder)
    text(COUNTS, "counts.csv")(folder)
    given = [str(folder / "counts.csv"), "--grid", f"units:{folder / 'units.csv'}"]
    given += ["--code", "geocode", "--value", "n", "--epsilon", "1", "--contribution", "1"]
    return CliRunner().invoke(publish, [*given, "--output", str(folder / "out"), *more])


def test_a_release_of_units_names_them_at_every_level_and_verifies(tmp_path: Path) -> None:
    done = call(tmp_path, "--units-source", "a test")
    assert done.exit_code == 0, done.output
    verify(tmp_path / "out")
    public = tmp_path / "out" / "public"
    assert "0011" in (public / "population.regions.csv").read_text()
    for level in ("tract", "county"):
        header, *rows = (public / f"population-{level}.csv").read_text().split()
        assert level in header
        assert rows
    release = geodp.open(tmp_path / "out")
    units = release.grid.hierarchy
    parts = [release.estimate(units.cells_in("00", tract)).count for tract in ("001", "002")]
    assert release.estimate(units.cells_in("00")).count == sum(parts)


def test_units_have_attributes_and_areas_that_are_asked_for_by_their_codes(tmp_path: Path) -> None:
    units = read_units(text(TEXT)(tmp_path), source="a test")
    rows = [(unit, sex, 30 + i) for i, (unit, *_) in enumerate(ROWS) for sex in "mf"]
    code, sex, n = zip(*rows, strict=True)
    table = geodp.read_table(
        pa.table({"geocode": code, "sex": sex, "n": n}),
        grid=units, code="geocode", value="n", by="sex", labels={"sex": ["m", "f"]},
    )  # fmt: skip
    assert table.grid == units.with_attribute("sex", ["m", "f"])
    out = tmp_path / "out"
    geodp.publish(table, epsilon=1, contribution=1).write(out)
    verify(out)
    header = (out / "public" / "population.csv").read_text().splitlines()[0]
    assert header.startswith("code,sex,population")
    release = geodp.open(out)
    assert release.card().mechanism.name == "parts"
    whole, *sexes = (release.estimate("001", some) for some in (None, {"sex": "m"}, {"sex": "f"}))
    assert whole.count == sum(one.count for one in sexes)
    (row,) = Runner(estimate).document_of(out, "--area", "00/001")["estimates"]
    assert row["value"] == whole.count


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--units-source", "a test", "--bounds", "0,0,1,1"),
        ("--units-source", "a test", "--mask", "land:world"),
        ("--units-source", "a test", "--pairs"),
        ("--units-source", "a test", "--pairs", "--labels", "sex=m,f"),
        ("--units-source", "a test", "--order", "official"),
        ("--units-source", "a test", "--attribute-order", "below"),
        ("--units-source", "a test", "--grid", "jis:half", "--other", "abroad"),
    ],
)
def test_what_makes_no_sense_with_units_is_refused_and_nothing_written(
    more, tmp_path: Path
) -> None:
    done = call(tmp_path, *more)
    assert isinstance(done.exception, UsageError | SystemExit)
    assert done.exit_code != 0
    assert not (tmp_path / "out").exists()


JOBS = "w_geocode,h_geocode,S000,createdate\n0011,0111,300,2023\n0021,0011,90,2023\n"


def publish_pairs(folder: Path, content: str = JOBS, *more: str):
    given = [str(text(content, "lodes.csv")(folder)), "--grid"]
    given += [f"units:{text(TEXT, 'units.csv')(folder)}", "--units-source", "a test"]
    return CliRunner().invoke(
        publish, [*given, "--epsilon", "1", "--output", str(folder / "out"), *more]
    )


def test_pairs_of_units_are_published_with_both_codes_at_every_level(tmp_path: Path) -> None:
    done = publish_pairs(tmp_path, JOBS, "--contribution", "1")
    assert done.exit_code == 0, done.output
    verify(tmp_path / "out")
    public = tmp_path / "out" / "public"
    for level, columns in (("tract", ["county", "tract"]), ("county", ["county"])):
        header = (public / f"population-{level}.csv").read_text().splitlines()[0].split(",")
        ends = [f"{end}_{name}" for end in ("origin", "destination") for name in columns]
        assert header[: len(ends)] == ends
    rows = (public / "population.csv").read_text().splitlines()
    assert rows[0].startswith("origin,destination,population")
    assert any(row.startswith("0111,0011,") for row in rows)  # home first, with leading zeros
    release = geodp.open(tmp_path / "out")
    assert release.grid == pairs_of_units(read_units(tmp_path / "units.csv", source="a test"))
    asked = ["--area", "01:00", "--area", "01:00/001", "--area", "01:002", "--area", ":"]
    rows = Runner(estimate).document_of(tmp_path / "out", *asked)["estimates"]
    whole, one, other, all_of_them = (row["value"] for row in rows)
    assert whole == one + other
    assert abs(whole - 300) < 60
    assert all_of_them == release.table.total


def test_how_many_jobs_a_person_has_is_asked_for(tmp_path: Path) -> None:
    done = publish_pairs(tmp_path)
    assert isinstance(done.exception, UsageError)
    assert "--contribution" in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_code_of_a_pair_that_is_no_unit_names_file_row_and_column(tmp_path: Path) -> None:
    for row, column in (("11,0111,1,2023", "w_geocode"), ("0011,98765,1,2023", "h_geocode")):
        done = publish_pairs(tmp_path, JOBS + row + "\n", "--contribution", "1")
        assert isinstance(done.exception, InputError)
        assert Path(str(done.exception.file)).name == "lodes.csv"
        assert done.exception.row == 4
        assert column in str(done.exception)
        assert "98765" not in str(done.exception)
        assert not (tmp_path / "out").exists()


TRIPS = "home,work,n\n0011,0111,30\n9999,0111,5\n0011,ZZ,7\n8888,9999,2\n"
ENDS = {"origin": "home", "destination": "work"}


def test_codes_that_the_table_does_not_have_are_counted_in_a_unit_of_their_own(tmp_path):
    grid = read_units(text(TEXT)(tmp_path), source="a test", other="abroad")
    assert grid.size == len(ROWS) + 1
    assert "codes that it does not list are counted as abroad" in grid.hierarchy.source
    (tmp_path / "trips.csv").write_text(TRIPS)
    given = {"columns": ENDS, "value": "n", "duplicates": "sum"}
    pairs = pairs_of_units(grid)
    table = geodp.read_table(tmp_path / "trips.csv", grid=pairs, other="abroad", **given)
    release = geodp.publish(table, epsilon=10**4, contribution=1, method="geometric")
    wanted = {"0011:0111": 30, "abroad:0111": 5, "0011:abroad": 7, "abroad:abroad": 2}
    wanted |= {"abroad:": 7, ":abroad": 9, ":0111": 35, "00:": 37}  # margins are right
    assert {code: release.estimate(code).count for code in wanted} == wanted
    (source,) = table.reading.sources
    assert (source.rows, source.inside, source.other) == (4, 4, 3)
    dropped = geodp.read_table(tmp_path / "trips.csv", grid=pairs, outside="drop", **given)
    assert int(dropped.count.sum()) == 30
    with refuses(InputError, "unit-unknown: --other"):
        geodp.read_table(tmp_path / "trips.csv", grid=pairs, **given)


def test_every_row_of_another_code_is_told_where_rows_are_grouped(tmp_path):
    grid = read_units(text(TEXT)(tmp_path), source="a test", other="abroad")
    (tmp_path / "counts.csv").write_text("geocode,n\n" + "0011,4\n9999,5\n" * 3)
    given = {"code": "geocode", "value": "n", "duplicates": "sum", "other": "abroad"}
    table = geodp.read_table(tmp_path / "counts.csv", grid=grid, **given)
    (source,) = table.reading.sources
    assert (source.inside, source.other, source.people) == (6, 3, 27)


@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_is_no_other_unit(tmp_path, blank):
    grid = read_units(text(TEXT)(tmp_path), source="a test", other="abroad")
    (tmp_path / "counts.csv").write_text(f"geocode,n\n0011,4\n{blank},5\n")
    with refuses(InputError, "code-missing: row 3"):
        geodp.read_table(
            tmp_path / "counts.csv", grid=grid, code="geocode", value="n", other="abroad"
        )


@pytest.mark.parametrize("name", ["0011", " "])
def test_the_other_unit_has_a_name_of_its_own(tmp_path, name):
    with refuses(UsageError, "other-unit-name"):
        read_units(text(TEXT)(tmp_path), source="a test", other=name)
    plain = read_units(text(TEXT)(tmp_path), source="a test")
    with refuses(UsageError, "other-no-unit"):
        geodp.read_table(text(COUNTS)(tmp_path), grid=plain, code="geocode", value="n", other="x")


@pytest.mark.parametrize("ending", ["gpkg", "geojson", "parquet", "shp", "fgb"])
def test_geometries_are_no_level_of_a_public_table(ending, tmp_path: Path) -> None:
    """Rows of areas with their geometries, as offices publish them."""

    def build(rows: dict[str, list[str]]) -> Path:
        boxes = [shapely.box(i, 0, i + 1, 1) for i in range(len(rows[next(iter(rows))]))]
        frame = geopandas.GeoDataFrame(rows, geometry=boxes, crs="EPSG:3035")
        path = tmp_path / f"areas.{ending}"
        frame.to_parquet(path) if ending == "parquet" else frame.to_file(path)
        return path

    rows = {name: [row[i] for row in ROWS] for i, name in enumerate(("block", "tract", "county"))}
    grid = read_units(build(rows), source="a test", columns=("block", "tract", "county"))
    assert grid == read_units(text(TEXT)(tmp_path), source="a test")
    cells = Grid.mesh("inspire:1km", bounds=(4321000, 3202000, 4323000, 3203000))
    codes = ["1kmN3202E4321", "1kmN3202E4322"]
    regions = build({"cell": codes, "town": ["a", "b"]})
    assert read_hierarchy(regions, cells, source="x").levels == ("town",)
    totals = build({"code": codes, "total": [1, 2]})
    assert sorted(read_totals(totals, cells, source="x").total) == [1, 2]


NAMED = "code,name\n01,Nord\n02,Ost\n03,Ost\n04,\n"


def test_names_beside_codes_are_published_and_name_areas(tmp_path: Path) -> None:
    grid = read_units(text(NAMED)(tmp_path), source="a test", name="name")
    assert grid.hierarchy.levels == ("code",)
    plain = grid.with_hierarchy(replace(grid.hierarchy, names=None))
    assert grid == plain
    for domain, ends in (
        (grid, ["name"]),
        (pairs_of_units(grid), ["origin_name", "destination_name"]),
    ):
        release = geodp.publish(
            geodp.CountTable.from_index(domain, np.ones((len(domain.shape), 1), int) * 0, [50]),
            epsilon=50,
            contribution=1,
        )
        folder = tmp_path / ends[0]
        release.write(folder)
        assert all(one.ok for one in verify(folder))
        again, rows = geodp.open(folder), pandas.read_csv(folder / "public" / "population.csv")
        assert again.grid.hierarchy.names == ("Nord", "Ost", "Ost", "")
        assert {*rows.loc[0, ends]} == {"Nord"}
        one = ":".join(["{}"] * len(ends))
        asked = [one.format(*[name] * len(ends)) for name in ("01", "nord", "Nord (01)")]
        assert len({again.estimate(area) for area in asked}) == 1
        with refuses(CodeError, "name-of-several-units: .* 02, 03"):
            again.estimate(one.format(*["Ost"] * len(ends)))


def test_a_name_that_a_spreadsheet_runs_is_refused(tmp_path: Path) -> None:
    with refuses(InputError, "name-is-formula: row 3"):
        read_units(text("code,name\n1,a\n2,=1+1\n")(tmp_path), source="a test", name="name")


def test_a_column_of_names_is_proposed(tmp_path: Path) -> None:
    units, counts = text(NAMED)(tmp_path), tmp_path / "counts.csv"
    counts.write_text("code,n\n01,5\n02,7\n", "utf-8")
    described = json.loads(geodp_command("inspect", units, "--json").stdout)
    assert described["units"].split()[2:6] == ["--units-columns", "code", "--units-name", "name"]
    asked = ("--grid", f"units:{units}", "--units-source", "an office", "--contribution", 1)
    recipe = tmp_path / "recipe.toml"
    geodp_command(
        "new", counts, *asked, "--epsilon", 1, "--recipe", recipe, "--output", tmp_path / "out"
    )
    assert 'units-name = "name"' in recipe.read_text("utf-8")
