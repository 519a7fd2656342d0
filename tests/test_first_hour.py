"""What a person tries who knows pandas and meets geodp: it works, or a sentence says what does."""

import re

import geopandas
import matplotlib.axes
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
import shapely
import xarray

import geodp
from geodp.errors import GeodpError

FRAME = pandas.DataFrame({"mesh": ["53394611", "53394612"], "people": [812, 40]})
GRID = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 36))
BUDGET = {"epsilon": 1, "contribution": 1}
PLACES = geopandas.GeoDataFrame(
    FRAME[["people"]], geometry=geopandas.points_from_xy([139.768, 139.781], [35.679] * 2), crs=6668
)
TOWNS = geopandas.GeoDataFrame(
    {"town": ["a"]}, geometry=[shapely.box(139.7, 35.6, 139.8, 35.7)], crs=6668
)


@pytest.fixture(scope="module")
def release():
    key = geodp.NoiseKey(bytes(range(32)))
    return geodp.publish(FRAME, grid=GRID, epsilon=1000, contribution=1, key=key)


@pytest.fixture(scope="module")
def table():
    return geodp.read(FRAME, GRID)


def published(frame, **more):
    """Whether what was given is published on the grid, with one row for each cell of Tokyo."""
    found = geodp.publish(frame, **{"grid": GRID, **BUDGET, "epsilon": 10**6, **more})
    return found.table.total == 852


WORKS = {
    "pandas": lambda _: published(FRAME),
    "geopandas": lambda release: published(release.to_geopandas()[["population", "geometry"]]),
    "Polars": lambda _: published(polars.from_pandas(FRAME)),
    "Arrow": lambda _: published(pa.Table.from_pandas(FRAME)),
    "xarray": lambda release: published(release.to_xarray()),
    "epsilon as a text": lambda _: published(FRAME, epsilon="1000000"),
    "print": lambda release: "epsilon 1000" in str(release),
    "len": lambda release: len(release) == 2,
    "len of a table": lambda _: len(geodp.read(FRAME, GRID)) == 2,
    "if": lambda release: bool(release),
    "==": lambda release: release == release and release != 3,
    "to_pandas": lambda release: release.to_pandas().population.sum() == 852,
    "to_pandas with a name": lambda release: "people" in release.to_pandas("people"),
    "to_geopandas": lambda release: release.to_geopandas().crs == "EPSG:6668",
    "to_polars": lambda release: release.to_polars()["population"].sum() == 852,
    "to_arrow": lambda release: release.to_arrow().num_rows == 2,
    "to_xarray": lambda release: int(release.to_xarray().sum()) == 852,
    "plot": lambda release: isinstance(release.plot(), matplotlib.axes.Axes),
    "a notebook": lambda release: "<img" in release._repr_html_(),
    "an area by its code": lambda release: release.estimate("5339").count == 852,
    "a polygon": lambda release: release.estimate(TOWNS.geometry.iloc[0]).count >= 0,
    "a frame": lambda release: release.estimate(TOWNS)["count"].tolist() == [852],
    "a frame in another CRS": lambda release: len(release.estimate(TOWNS.to_crs(4326))) == 1,
}


@pytest.mark.parametrize("name", WORKS)
def test_what_people_try_works(name, release):
    assert WORKS[name](release)


def publish(frame=FRAME, *args, **more):
    return geodp.publish(frame, *args, **more)


ASKED = {
    "nothing but a frame": (lambda *_: publish(), "Give either epsilon or rho."),
    "no grid": (lambda *_: publish(**BUDGET), "on which public grid .* grid='jis:half'"),
    "no contribution": (lambda *_: publish(grid=GRID, epsilon=1), "so state it: .*contribution=N"),
    "a misspelt grid": (lambda *_: publish(grid="jis:bsic", **BUDGET), "no code system jis:bsic"),
    "another keyword": (lambda *_: publish(grid=GRID, eps=1), r"takes no eps=; give epsilon="),
    "a misspelt keyword": (lambda *_: publish(griid=GRID), r"takes no griid=; give grid="),
    "by place": (lambda *_: publish(FRAME, GRID, 1), "takes table by place, .* by name: grid=,"),
    "no such column": (
        lambda *_: publish(grid=GRID, value="inhabitants", **BUDGET),
        "^pandas.DataFrame: No column is named 'inhabitants'.* correct the requested name",
    ),
    "epsilon in words": (lambda *_: publish(grid=GRID, epsilon="little"), "a decimal such as 0.1"),
    "no epsilon": (lambda *_: publish(grid=GRID, epsilon=0), "must be above 0"),
    "points": (
        lambda *_: publish(PLACES[["geometry"]], grid=GRID, **BUDGET),
        r"state that every row is one person .* or name the counts \(value=\)",
    ),
    "a dictionary": (lambda *_: publish({"mesh": []}, grid=GRID, **BUDGET), "takes a table of"),
    "a Series": (
        lambda *_: publish(FRAME.set_index("mesh").people, grid=GRID, **BUDGET),
        r"series.reset_index\(name='n'\)",
    ),
    "an array": (lambda *_: publish(np.ones((2, 2)), grid=GRID, **BUDGET), "CountTable.from_dense"),
    "a lazy frame": (
        lambda *_: publish(polars.from_pandas(FRAME).lazy(), grid=GRID, **BUDGET),
        r"frame.collect\(\)",
    ),
    "a Dataset": (
        lambda *_: publish(xarray.Dataset({"n": ("x", [1])}), grid=GRID, **BUDGET),
        r"dataset\['population'\]",
    ),
    "twice": (
        lambda release, _: publish(release, **BUDGET),
        r"already: release.write\(folder\) writes",
    ),
    "no such file": (lambda *_: publish("no.csv", grid=GRID, **BUDGET), "There is no such file"),
    "read without a grid": (lambda *_: geodp.read(FRAME), "missing .* 'grid'"),
    "Grid": (lambda *_: geodp.Grid("jis:half"), r"with Grid.mesh\('jis:half'\)"),
    "bbox": (lambda *_: geodp.Grid.mesh("jis:half", bbox=(1, 2)), "no bbox=; give bounds="),
    "read_csv": (lambda *_: geodp.read_csv("a.csv"), r"geodp.read\(path_or_frame, grid\)"),
    "load": (lambda *_: geodp.load("folder"), r"geodp.open\(folder\) opens"),
    "open nothing": (lambda *_: geodp.open("nowhere"), "nowhere holds no release"),
    "save": (lambda release, _: release.save("x"), r"write\(folder\) writes all files"),
    "to_csv": (lambda release, _: release.to_csv("x.csv"), r"write\(folder\).* to_pandas\(\)"),
    "to_file": (lambda release, _: release.to_file("x.gpkg"), r"write\(folder\).* to_geopandas"),
    "to_numpy": (lambda release, _: release.to_numpy(), r"table.to_dense\(\), or to_xarray"),
    "head": (lambda release, _: release.head(), r"its rows are to_pandas\(\)"),
    "columns": (lambda release, _: release.columns, r"its rows are to_pandas\(\)"),
    "an item": (lambda release, _: release["mesh"], r"estimate\(code\), and its rows are to_pan"),
    "iteration": (lambda release, _: [*release], r"estimate\(code\), and its rows are to_pan"),
    "in": (lambda release, _: "53394611" in release, r"no items: the count .*estimate\(code\)"),
    "sum": (lambda release, _: release.total, "table.total is the sum"),
    "crs": (lambda release, _: release.crs, r"its cells are grid.places\[0\]"),
    "epsilon": (lambda release, _: release.epsilon, r"card\(\).guarantee states it"),
    "what has no like": (lambda release, _: release.colour, "A release has no 'colour'.$"),
    "a table's rows": (lambda _, table: table.to_pandas(), "it is confidential, and the release"),
    "a table's head": (lambda _, table: table.head(), "it is confidential; key and count"),
    "no CRS": (
        lambda release, _: release.estimate(TOWNS.set_crs(None, allow_override=True)),
        r"frame.set_crs\('EPSG:6668'\)",
    ),
    "a GeoSeries": (
        lambda release, _: release.estimate(TOWNS.geometry),
        r"estimate\(series.to_frame\('geometry'\)\)",
    ),
    "rows without places": (lambda release, _: release.estimate(FRAME), "A region is a polygon"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_people_try_in_vain_is_answered_by_a_sentence(name, release, table):
    call, said = ASKED[name]
    with pytest.raises((GeodpError, TypeError, AttributeError)) as error:
        call(release, table)
    text = str(error.value)
    assert re.search(said, text)
    assert "\n" not in text
    assert "812" not in text


def test_a_warning_is_of_the_line_that_publishes():
    with pytest.warns(UserWarning, match="lie at sea") as told:
        geodp.publish(FRAME, grid="jis:basic", **BUDGET)
    assert [one.filename for one in told] == [__file__]


def test_a_folder_of_a_release_is_not_replaced_unasked(release, tmp_path):
    release.write(tmp_path / "out")
    assert len(geodp.open(tmp_path / "out")) == len(release)
    with pytest.raises(geodp.UsageError, match=r"\(overwrite=True\) to replace it"):
        release.write(tmp_path / "out")
    release.write(tmp_path / "out", overwrite=True)
