"""Every command on releases of areal units, and of pairs of them after the layout of LODES."""

import csv
import gzip
import json
from itertools import product

import numpy as np
import pytest

from tests.command import geodp as run

UNITS = "units.csv"
CODES = [f"06{c:03d}{t:06d}{b:04d}" for c in (1, 3) for t in range(3) for b in range(6)]
SAID = ("--units-source", "made up", "--contribution", "1", "--epsilon", "1")
PLAIN = ("counts.csv", "--code", "geocode", "--value", "population")
PAIRS = ("ca_od_main_JT01_2021.csv.gz",)
LODES = ("S000", "SA01", "SA02", "SA03", "SE01", "SE02", "SE03", "SI01", "SI02", "SI03")


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    """A folder with a table of units, counts of two years, their jobs, and releases of all."""
    folder = tmp_path_factory.mktemp("office")
    draw = np.random.default_rng(4)
    rows = (f"{code},{code[:11]},{code[:5]}\n" for code in CODES)
    (folder / UNITS).write_text("".join(["block,tract,county\n", *rows]))
    rows = (f"{code},{40 + n}\n" for n, code in enumerate(CODES))
    (folder / "counts.csv").write_text("".join(["geocode,population\n", *rows]))
    with gzip.open(folder / PAIRS[0], "wt") as file:
        file.write(f"w_geocode,h_geocode,{','.join(LODES)},createdate\n")
        for home in CODES:
            for work in draw.permutation(CODES)[:4]:
                jobs = draw.integers(1, 30)
                file.write(f"{work},{home},{jobs},{jobs}{',0' * 8},20230321\n")
    for name, given in (("plain", PLAIN), ("pairs", PAIRS)):
        for year in ("old", "new"):
            told = publish(folder, "publish", *given, "--output", folder / f"{name}-{year}")
            assert told.returncode == 0, told.stderr
    return folder


def publish(folder, command, file, *given):
    grid = ("--grid", f"units:{folder / UNITS}")
    return run(command, folder / file, *grid, *SAID, *given)


def codes_in(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        first, *rows = csv.reader(file)
    return first, [[text.strip('="') for text in row] for row in rows]


@pytest.mark.parametrize(("name", "ends"), [("plain", 1), ("pairs", 2)])
def test_files_for_spreadsheets_have_codes_as_text_and_say_what_they_are(office, name, ends):
    japanese = office / "office.toml"
    japanese.write_text('language = "ja"\n')
    for number, more in enumerate(((), ("--metadata", japanese))):
        out = office / f"{name}-out-{number}"
        done = run(
            "export", office / f"{name}-new", "--to", "csv:excel,parquet", "--output", out, *more
        )
        assert done.returncode == 0, done.stderr
        first, rows = codes_in(out / "population.excel.csv")
        assert {code for row in rows for code in row[:ends]} <= {*CODES}
        cells = sum(int(row[ends]) for row in rows)
        assert sorted(path.name for path in out.iterdir()) == [
            "population-county.excel.csv", "population-tract.excel.csv",
            "population.excel.csv", "population.parquet",
        ]  # fmt: skip
        for level, size in (("county", 5), ("tract", 11)):
            heads, rows = codes_in(out / f"population-{level}.excel.csv")
            where = [n for n, header in enumerate(heads) if header.endswith(level)]
            assert len(where) == ends
            assert {row[n] for row in rows for n in where} <= {code[:size] for code in CODES}
            count = heads.index("人口" if more else "population")
            assert sum(int(row[count]) for row in rows) == cells
        if more:
            assert all("地域コード" in header for header in first[:ends])
            assert not any("メッシュ" in header for header in first)


@pytest.mark.parametrize(
    ("name", "to"),
    [
        *product(["plain", "pairs"], ["gpkg", "csv:estat"]),
        ("plain", "stac"),
        ("plain", "netcdf"),  # that of pairs has their codes
    ],
)
def test_what_needs_a_map_is_refused_with_the_reason(office, name, to, tmp_path):
    done = run("export", office / f"{name}-new", "--to", to, "--output", tmp_path / "out")
    assert done.returncode == 2
    assert "map" in done.stderr or "units have no outlines" in done.stderr.replace("\n", " ")
    assert not (tmp_path / "out").exists()
    told = publish(office, "publish", *(PLAIN if name == "plain" else PAIRS), "--formats", to,
                   "--output", tmp_path / "out")  # fmt: skip
    assert told.returncode == 2
    assert not (tmp_path / "out").exists()


def test_a_series_of_units_has_no_map_over_time(office, tmp_path):
    years = [f"{year}={office / PLAIN[0]}" for year in (2020, 2021)]
    told = run("publish-series", *years, *PLAIN[1:], "--grid", f"units:{office / UNITS}", *SAID,
               "--person-in", "all", "--output", tmp_path / "out")  # fmt: skip
    assert told.returncode == 0, told.stderr
    index = json.loads((tmp_path / "out" / "public" / "series.json").read_text())
    assert "population.nc" in [one["name"] for one in index["left_out"]]
    assert run("verify", tmp_path / "out").returncode == 0


@pytest.mark.parametrize(("name", "ends"), [("plain", 1), ("pairs", 2)])
def test_changes_of_cells_are_named_by_codes(office, name, ends):
    asked = (office / f"{name}-old", office / f"{name}-new")
    rows = json.loads(run("diff", *asked, "--json").stdout)["differences"]
    named = [row["name"].split(":") for row in rows]
    assert named
    assert all(len(codes) == ends and {*codes} <= {*CODES} for codes in named)


@pytest.mark.parametrize(("name", "area"), [("plain", "06001"), ("pairs", "06001:06003")])
def test_areas_are_estimated_compared_and_told_apart(office, name, area):
    old, new = office / f"{name}-old", office / f"{name}-new"
    for command in (("estimate", new), ("diff", old, new), ("compare", old, new)):
        told = run(*command, "--area", area)
        assert told.returncode == 0, told.stderr
        assert told.stdout.splitlines()[1].startswith(area)
    wrong = run("estimate", new, "--area", area.replace("06001", "6001"))
    assert "of county, tract, block" in wrong.stderr


def test_units_have_no_neighbours_and_pairs_no_statistics(office):
    done = run("statistics", office / "plain-new", "--statistic", "urban-centres")
    assert "urban-centres is not a statistic of this map" in done.stderr
    assert "one map without attributes" in run("statistics", office / "pairs-new").stderr


def test_the_card_says_that_the_places_are_units(office):
    for name in ("plain", "pairs"):
        said = run("report", office / f"{name}-new").stdout
        assert "the finest units of a public table, by their codes there" in said
        assert "without published codes" not in said


@pytest.mark.parametrize("name", ["plain", "pairs"])
def test_methods_are_evaluated(office, name):
    given = PLAIN
    if name == "pairs":
        ends = ("--column", "origin=h_geocode", "--column", "destination=w_geocode")
        given = (*PAIRS, "--pairs", "--value", "S000", *ends)
    told = publish(office, "evaluate", *given, "--trials", "2", "--methods", "pyramid,laplace")
    assert told.returncode == 0, told.stderr
    assert "Mean absolute error" in told.stdout


def test_measured_units_are_named_by_the_codes_above_them(office, tmp_path):
    import pyarrow.parquet as pq

    told = publish(office, "publish", *PLAIN, "--measurements", "--output", tmp_path / "out")
    assert told.returncode == 0, told.stderr
    (path,) = (tmp_path / "out" / "public").glob("*measurements.parquet")
    codes = pq.read_table(path).column("code").to_pylist()
    assert {"/".join((code[:5], code[:11], code)) for code in CODES} <= {*codes}
    assert run("verify", tmp_path / "out").returncode == 0
