"""A layout answers for one table of its publisher, and for nothing else."""

import zipfile
from functools import partial

import pandas
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.codes import code_system
from geodp.grid.mask import grid_of_primaries
from geodp.io.read.layout.presets import find_preset, presets
from tests.command import geodp as run
from tests.io.read.official import forms
from tests.refusals import refuses

ONE = "estat (e-Stat, grid square statistics of the census of Japan, 2010 to 2020)"
HALF = grid_of_primaries(code_system("jis:half"), [5339, 5340])
TOTAL = "人口（総数）"


def sheet(folder, name, codes, table="T001141", part="男", counts=(4, 8)):
    """Write a sheet of e-Stat: codes, and two columns of counts under a table's id."""
    lines = [
        f"KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,{table}001,{table}002",
        f",,,,　{TOTAL},　{TOTAL}　{part}",
        *(f"{code},0,,,{n},{n // 2}" for code, n in zip(codes, counts, strict=True)),
    ]
    path = folder / f"{name}.txt"
    path.write_bytes("".join(f"{line}\r\n" for line in lines).encode("cp932"))
    return path


BUDGET = ("--epsilon", 1, "--output", "out")
WEST, EAST = ("533946113", "533946114"), ("534046113", "534046114")


def read(*paths, value=TOTAL, **options):
    return geodp.read_mesh([*paths], grid=HALF, value=value, **options)


def test_sheets_of_one_table_are_one_table(tmp_path):
    paths = sheet(tmp_path, "west", WEST), sheet(tmp_path, "east", EAST)
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        for path in paths:
            archive.write(path, path.name)
    assert read(tmp_path / "both.zip").bound.layout == ONE
    table = read(*paths)
    assert (table.bound.value, table.bound.stated_by, table.bound.layout) == (1, "layout", ONE)
    release = geodp.publish(table, epsilon=1)
    guarantee = release.card().guarantee
    assert not guarantee.enforced
    assert guarantee.contribution_bound == (
        f"stated by the layout {ONE}, for one table of its publisher"
    )
    first = guarantee.assumptions[0]
    assert (first.kind, first.stated_by, first.source) == ("contribution", "layout", ONE)


@pytest.mark.parametrize("other", [{"table": "T001142"}, {"part": "女"}])
def test_two_years_are_asked_for(tmp_path, other):
    west, east = sheet(tmp_path, "west", WEST), sheet(tmp_path, "east", EAST, **other)
    assert read(west).bound.layout == ONE
    assert read(west, east).bound is None
    with refuses(UsageError, "contribution-unstated: --contribution"):
        geodp.publish(read(west, east), epsilon=1)


@pytest.mark.parametrize(
    "options",
    [
        {"duplicates": "sum"},
        {"value": f"{TOTAL}　男"},
        {"value": [TOTAL, f"{TOTAL}　男"], "by": "sex"},
    ],
    ids=["sums", "another column", "attribute"],
)
def test_of_sums_attributes_and_other_columns_a_layout_says_nothing(tmp_path, options):
    table = read(sheet(tmp_path, "west", WEST), **options)
    assert table.bound is None
    with refuses(UsageError, "contribution-unstated: --contribution"):
        geodp.publish(table, epsilon=1)


def zensus(folder, name, east):
    rows = [f"CRS3035RES1000mN2689000E{east};{east + 500};2689500;4"]
    path = folder / f"{name}.csv"
    path.write_text("\n".join(["GITTER_ID_1km;x_mp_1km;y_mp_1km;Einwohner", *rows]) + "\n")
    return path


def test_tables_without_an_id_are_one_only_alone(tmp_path):
    """Nothing in two files of the Zensus says that they are parts of one."""
    grid = geodp.Grid.mesh("inspire:1km", bounds=(4_337_000, 2_689_000, 4_341_000, 2_693_000))
    one, other = zensus(tmp_path, "one", 4_337_000), zensus(tmp_path, "other", 4_338_000)
    asked = {"grid": grid, "code": "GITTER_ID_1km", "value": "Einwohner"}
    assert geodp.read_table(one, **asked).bound.layout.startswith("zensus2022 (")
    assert geodp.read_table([one, other], **asked).bound is None
    frame = pandas.read_csv(one, sep=";")
    assert geodp.read_table(frame, **asked).bound.stated_by == "layout"
    assert geodp.read_table(frame.rename(columns={"x_mp_1km": "x"}), **asked).bound is None


def test_a_column_without_a_name_is_no_id_of_a_table(tmp_path):
    grid = geodp.Grid.mesh("inspire:1km", bounds=(4_337_000, 2_689_000, 4_341_000, 2_693_000))
    for path in (one := zensus(tmp_path, "one", 4_337_000), zensus(tmp_path, "two", 4_338_000)):
        path.write_text("".join(f"{line};\n" for line in path.read_text().splitlines()))
    asked = {"grid": grid, "code": "GITTER_ID_1km", "value": "Einwohner"}
    assert geodp.read_table(one, **asked).bound is not None
    assert geodp.read_table([one, tmp_path / "two.csv"], **asked).bound is None


def test_every_door_asks_the_same_of_a_table_that_nobody_knows(tmp_path):
    frame = pandas.DataFrame({"mesh_code": ["53394611"], "total_population": [12]})
    grid = grid_of_primaries(code_system("jis:basic"), [5339])
    columns = {"code": "mesh_code", "value": "total_population"}
    doors = [
        geodp.read_table(frame, grid=grid, **columns),
        geodp.read(frame, grid, **columns),
        geodp.CountTable.from_keys(grid, [0], [12]),
        geodp.CountTable.from_dense([[12, 0], [0, 0]], geodp.Grid.regular((2, 2))),
    ]
    for table in doors:
        for call in (geodp.publish, geodp.evaluate, partial(geodp.select.top_cells, k=1)):
            with refuses(UsageError, "contribution-unstated: --contribution"):
                call(table, epsilon=1)
    assert geodp.publish(doors[0], epsilon=1, contribution=1).event.contribution == 1
    forms.census_csv(tmp_path)
    for more in ([], ["--check"]):
        done = run("publish", "ESTAT_Census_2021_V2.csv", "--bounds", "germany", *BUDGET, *more,
                   cwd=tmp_path)  # fmt: skip
        assert done.returncode == 2
        assert "--contribution" in done.stderr
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("form", [forms.worldpop, forms.ghsl])
def test_a_name_does_not_make_an_extent_public(tmp_path, form):
    form(tmp_path)
    (path,) = tmp_path.iterdir()
    call = ["--round", "nearest", "--contribution", 4, *BUDGET, "--check"]
    done = run("publish", path.name, *call, cwd=tmp_path)
    assert done.returncode == 2
    assert "--domain-is-public" in done.stderr
    assert run("publish", path.name, *call, "--domain-is-public", cwd=tmp_path).returncode == 0


def test_the_layouts_of_the_package_state_what_they_may():
    stating = {one.name for one in presets() if one.contribution is not None}
    assert stating == {"cbs", "estat", "statpop", "zensus2011", "zensus2022"}
    assert {one.name for one in presets() if one.sheets} == {"estat"}
    for one in presets():
        assert not {"contribution", "domain-is-public"} & {*one.options}
        if one.contribution is not None:
            assert one.contribution == 1
            assert "value" in one.options
            assert "duplicates" not in one.options


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("contribution = 1\n[options]\nvalue = 'N'", "preset-states-contribution"),
        ("[options]\nvalue = 'N'\ncontribution = 1", "preset-option-not-stated"),
        ("[options]\ndomain-is-public = true", "preset-option-not-stated"),
        ("[options]\nmask-source = 'Land office'", "preset-option-not-stated"),
        ("contribution = 0\n[options]\nvalue = 'N'", "preset-contribution"),
        ("contribution = true\n[options]\nvalue = 'N'", "preset-contribution"),
        ("contribution = 1", "preset-contribution"),
        ("contribution = 1\n[options]\nvalue = 'N'\nduplicates = 'sum'", "preset-contribution"),
        ("contribution = '1'", "preset-value-kind: whole number"),
    ],
)
def test_a_preset_of_ones_own_does_not_answer_for_its_operator(tmp_path, line, words):
    path = tmp_path / "own.toml"
    path.write_text(f'title = "Ours"\ncolumns = ["N"]\n{line}\n')
    with refuses(UsageError, words):
        find_preset(str(path))
