"""The lines of Python that ``geodp.inspect`` writes run, with capitals filled in."""

import geopandas
import numpy as np
import pandas
import pytest
import shapely

import geodp

DRAWS = np.random.default_rng(70)
N = 600
LON, LAT = DRAWS.uniform(139.3, 139.7, N).round(6), DRAWS.uniform(35.3, 35.7, N).round(6)
TOWNS = [f"T{one}" for one in DRAWS.integers(0, 4, N)]
MESH = DRAWS.choice(["53394611", "53394612", "53394613"], N)
BOX = (139.0, 35.0, 140.0, 36.0)

FRAMES = {
    "persons": {"person_id": range(N), "longitude": LON, "latitude": LAT},
    "persons-of-cells": {"person_id": range(N), "mesh": MESH},
    "rows-of-cells": {"mesh": MESH, "remark": ["x"] * N},
    "members": {
        "household_id": np.arange(N) // 2,
        "longitude": np.repeat(LON[: N // 2], 2),
        "latitude": np.repeat(LAT[: N // 2], 2),
    },
    "households": {
        "household_id": range(N),
        "household_size": DRAWS.integers(1, 6, N),
        "longitude": LON,
        "latitude": LAT,
    },
    "incomes": {
        "district": TOWNS,
        "income": DRAWS.integers(10, 90, N) * 1000,
    },
    "trips": {
        "vehicle_id": np.arange(N) // 3,
        "pickup_longitude": LON,
        "pickup_latitude": LAT,
        "dropoff_longitude": LON[::-1],
        "dropoff_latitude": LAT[::-1],
    },
    "pings": {
        "device_id": np.arange(N) // 20,
        "timestamp": pandas.Timestamp("2024-03-01")
        + pandas.to_timedelta(np.arange(N) % 20 * 1800, unit="s"),
        "lat": LAT,
        "lon": LON,
    },
    "months": {
        "mesh": ["53394611", "53394612"] * 2,
        "month": ["2023-01", "2023-01", "2023-02", "2023-02"],
        "population": [812, 40, 800, 52],
    },
    "columns": {
        "mesh": ["53394611", "53394612"],
        "pop_202301": [812, 40],
        "pop_202302": [800, 52],
        "pop_202303": [790, 55],
    },
}

FILLED = {
    "GRID  #": f"geodp.Grid.mesh('jis:5km', bounds={BOX})  #",
    "read_units(TABLE": "read_units(towns",
    "WORDS": "'made up'",
    "NUMBER": "1",
    "LOWER, UPPER": "0, 100000",
    "UNIT": "'EUR'",
    "PERIODS  #": "times  #",
    "estimate(AREA)": "estimate(area)",
    "estimate(FROM, TO)": "estimate(area, area)",
    "'out'": "out",
}
"""What an operator types in place of capitals."""


@pytest.fixture(scope="module")
def towns(tmp_path_factory):
    """Outlines of the districts, as a file."""
    path = tmp_path_factory.mktemp("towns") / "towns.gpkg"
    boxes = [shapely.box(139 + 0.2 * n, 35, 139.2 + 0.2 * n, 36) for n in range(4)]
    names = {"district": [f"T{n}" for n in range(4)], "name": [f"Town {n}" for n in range(4)]}
    geopandas.GeoDataFrame(names, geometry=boxes, crs=4326).to_file(path)
    return path


def run(call, towns, out):
    """Run the lines of a call, filled in; return the estimate of the last line."""
    code = call.code
    for blank, text in FILLED.items():
        code = code.replace(blank, text)
    lines = code.split("\n")
    area = "T1" if "read_units(towns" in code else BOX
    times = ["2023-01", "2023-02"]
    names = {"towns": str(towns), "out": str(out), "area": area, "times": times}
    exec("\n".join(lines[:-1]), names)
    return eval(lines[-1], names)


@pytest.mark.parametrize("name", FRAMES)
def test_every_file_leads_to_an_estimate(name, towns, tmp_path):
    file = tmp_path / f"{name}.csv"
    pandas.DataFrame(FRAMES[name]).to_csv(file, index=False)
    found = run(geodp.inspect(file).calls[0], towns, tmp_path / "out")
    assert found is not None


def test_files_of_periods_are_a_series(tmp_path):
    folder = tmp_path / "months"
    folder.mkdir()
    for month in ("2024-01", "2024-02"):
        rows = {"mesh": ["53394611", "53394612"], "population": [812, 40]}
        pandas.DataFrame(rows).to_csv(folder / f"{month}.csv", index=False)
    found = run(geodp.inspect(folder).calls[0], None, tmp_path / "out")
    assert [*found] == ["2024-01", "2024-02"]


def test_the_report_has_roles_and_questions_and_no_value(tmp_path):
    file = tmp_path / "incomes.csv"
    pandas.DataFrame(FRAMES["incomes"]).to_csv(file, index=False)
    found = geodp.inspect(file)
    assert found.columns == {"district": "code", "income": "amount"}
    report = str(found)
    assert "clip=(LOWER, UPPER)" in report
    assert "--" not in report
    assert not any(word in report for word in ("000", "T1"))
    assert found._repr_html_().startswith("<pre>")


def test_a_file_that_is_no_table_is_described_all_the_same(tmp_path):
    file = tmp_path / "numbers.csv"
    file.write_text("1,2\n3,4\n")
    (call,) = geodp.inspect(file).calls
    assert not call.code
    assert "header" in " ".join(call.asks)
