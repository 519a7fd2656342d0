"""The query of ``geodp sql``, run by DuckDB, finds the cells that ``read_points`` does."""

import re

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest

from geodp.errors import InputError, UsageError
from geodp.grid.codes.sql import BLANKS, ENGINES, SqlQuery
from geodp.grid.grid import Grid
from geodp.grid.markers import NOBODY
from geodp.io.read.points import read_points
from geodp.options import shared
from tests.refusals import refuses

SYSTEMS = {
    "jis:quarter": (139, 35, 141, 36),
    "jis:2km": (139, 35 + 1 / 3, 140, 36),
    "jis:primary": None,
    "inspire:1km": (4_000_000, 3_000_000, 4_100_000, 3_050_000),
    "statpop:100m": None,
    "cbs:500m": None,
    "national:3067:250m": None,
    "quadkey:17": None,
    "geohash:6": None,
    "eea:10km": None,
    "ssb:250m": None,
    "dkn:100m": None,
    "ibge:200m": None,
    "british:1km": None,
    "korean:250m": None,
    "irish:100km": None,
}


def edges(grid, n, seed=0):
    """Points of the domain: inside of cells, on corners, and a few floats beside corners."""
    rng = np.random.default_rng(seed)
    place = grid.places[0]
    row, col = (rng.integers(0, end, n) for end in (place.rows, place.cols))
    west, south, east, north = place.edges_at(row, col)
    x, y = (low + (high - low) * rng.random(n) for low, high in ((west, east), (south, north)))
    for part, (given, edge) in enumerate(((x, west), (y, south))):
        for step in range(5):
            some = slice((1 + step + 5 * part) * n // 12, (2 + step + 5 * part) * n // 12)
            given[some] = edge[some]
            if step < 4:
                given[some] = np.round(edge[some], 8)
            for _ in range(step):
                given[some] = np.nextafter(given[some], (-1) ** step * np.inf)
    return x, y


def count(table, query):
    """Return codes and counts in the order of codes, by DuckDB."""
    link = duckdb.connect()
    link.register("records", table)
    found = link.execute(query).fetchall()
    return sorted(found)


def query_of(spec, bounds, **more):
    place = Grid.mesh(spec, bounds=bounds).places[0]
    extent = (place.row0, place.col0, place.rows, place.cols)
    return SqlQuery(system=place.system, extent=extent, table="records", x="x", y="y", **more)


def expected(table):
    place = table.grid.places[0]
    codes = place.format(*table.grid.decode(table.key))
    return sorted(zip(codes.tolist(), table.count.tolist(), strict=True))


@pytest.mark.parametrize("engine", ["duckdb", "snowflake"])  # whose words DuckDB understands
@pytest.mark.parametrize("spec", SYSTEMS)
def test_cells_are_those_of_read_points(spec, engine):
    bounds = SYSTEMS[spec]
    grid = Grid.mesh(spec, bounds=bounds)
    x, y = edges(grid, 12_000)
    rows = pa.table({"x": x, "y": y})
    wanted = read_points(rows, grid=grid, x="x", y="y", outside="crop")
    found = count(rows, query_of(spec, bounds).write(engine))
    assert found == expected(wanted)
    assert len(found) > 100 or spec in ("jis:primary", "irish:100km")


@pytest.mark.parametrize(("cells", "per_cell"), [(1, 1), (3, 2)])
def test_persons_are_bounded_by_their_first_cells(cells, per_cell):
    bounds = SYSTEMS["jis:2km"]
    grid = Grid.mesh("jis:2km", bounds=bounds)
    x, y = edges(grid, 6_000)
    x[3_000:], y[3_000:] = x[:3_000], y[:3_000]
    who = np.random.default_rng(2).integers(0, 700, x.size) % 400
    rows = pa.table({"x": x, "y": y, "id": who, "when": np.arange(x.size)})
    bound = {"person": "id", "cells": cells, "per_cell": per_cell}
    wanted = read_points(rows, grid=grid, x="x", y="y", outside="crop", **bound)
    found = count(rows, query_of("jis:2km", bounds, by="when", **bound).write("duckdb"))
    assert found == expected(wanted)
    sample = count(rows, query_of("jis:2km", bounds, **bound).write("duckdb"))
    if per_cell == 1:
        assert sum(n for _, n in sample) == sum(n for _, n in found)
    assert max(n for _, n in sample) <= 400 * per_cell


@pytest.mark.parametrize("engine", ["duckdb", "snowflake"])
@pytest.mark.parametrize("spec", ["jis:2km", "inspire:1km", "korean:250m", "geohash:6"])
def test_pairs_of_cells_are_counted(spec, engine):
    grid = Grid.mesh(spec, bounds=SYSTEMS[spec])
    place = grid.places[0]
    ends = [edges(grid, 3_000, seed) for seed in (3, 4)]
    cells = [place.system.locate(x, y) for x, y in ends]
    inside = np.ones(3_000, bool)
    for row, col in cells:
        inside &= (row >= place.row0) & (row < place.row0 + place.rows)
        inside &= (col >= place.col0) & (col < place.col0 + place.cols)
    codes = [
        place.format((row - place.row0)[inside], (col - place.col0)[inside]) for row, col in cells
    ]
    pairs, times = np.unique(np.array(codes).astype(str), axis=1, return_counts=True)
    wanted = [(*pair, n) for pair, n in zip(pairs.T.tolist(), times.tolist(), strict=True)]
    (x, y), (to_x, to_y) = ends
    rows = pa.table({"x": x, "y": y, "to x": to_x, "to y": to_y})
    query = query_of(spec, SYSTEMS[spec], to=("to x", "to y")).write(engine)
    assert count(rows, query) == sorted(wanted)


def test_a_person_has_no_more_pairs_than_are_kept():
    bounds = SYSTEMS["jis:2km"]
    grid = Grid.mesh("jis:2km", bounds=bounds)
    (x, y), (to_x, to_y) = (edges(grid, 2_000, seed) for seed in (3, 4))
    x, y, to_x, to_y = (np.tile(one, 2) for one in (x, y, to_x, to_y))
    who = np.tile(np.arange(2_000) % 50, 2)
    columns = {"x": x, "y": y, "a": to_x, "b": to_y, "id": who, "when": np.arange(4_000) % 2_000}
    rows = pa.table(columns)
    bound = {"to": ("a", "b"), "person": "id", "cells": 3, "per_cell": 2}
    for by in (None, "when"):
        found = count(rows, query_of("jis:2km", bounds, by=by, **bound).write("duckdb"))
        assert sum(n for *_, n in found) == 50 * 3 * 2
    first = query_of("jis:2km", bounds, by="when", **bound).write("duckdb")
    alone = rows.filter(pa.compute.less(rows["when"], 150))
    assert count(alone, first) == count(rows, first)


@pytest.mark.parametrize("by", [None, "when"])
def test_records_without_a_person_are_left_out_and_blanks_make_no_second_person(by):
    """As one person they would be many: one record more of theirs could move two counts."""
    bounds = SYSTEMS["jis:2km"]
    x, y = edges(Grid.mesh("jis:2km", bounds=bounds), 400)
    who = np.array([None, "", "  ", "a", " a ", "a  ", *map(str, range(394))], object)
    rows = pa.table({"x": x, "y": y, "id": pa.array(who), "when": np.arange(x.size)})
    query = query_of("jis:2km", bounds, person="id", by=by).write("duckdb")
    named = count(rows.slice(6), query)
    assert count(rows.slice(0, 3), query) == []
    assert sum(n for _, n in count(rows.slice(3, 3), query)) == 1
    assert sum(n for _, n in count(rows, query)) == sum(n for _, n in named) + 1


@pytest.mark.parametrize("wrong", [None, float("nan"), float("inf"), -float("inf"), 1e300])
@pytest.mark.parametrize("spec", ["jis:2km", "inspire:1km", "quadkey:17", "geohash:6"])
def test_records_whose_coordinates_are_no_finite_numbers_are_left_out(spec, wrong):
    bounds = SYSTEMS[spec]
    x, y = (one.tolist() for one in edges(Grid.mesh(spec, bounds=bounds), 90))
    whole = pa.table({"x": x, "y": y})
    part = pa.table({"x": [wrong] * 30 + x[30:], "y": y[:30] + [wrong] * 30 + y[60:]})
    query = query_of(spec, bounds).write("duckdb")
    found = count(part, query)
    assert found == count(whole.slice(60), query)
    assert found


UNICODE = [chr(one) for one in range(1 << 16) if not 0xD800 <= one < 0xE000]


def test_blanks_are_those_that_geodp_trims_of_persons():
    trimmed = pyarrow.compute.utf8_trim_whitespace(pa.array(UNICODE)).to_pylist()
    assert [ord(one) for one, left in zip(UNICODE, trimmed, strict=True) if not left] == [*BLANKS]


@pytest.mark.parametrize("unknown", [("",), ("", *NOBODY)])
def test_ids_that_geodp_takes_for_one_person_are_one_person(unknown):
    bounds = SYSTEMS["jis:2km"]
    blanks = [chr(one) for one in BLANKS]
    who = [one for blank in blanks for one in (f"a{blank}", f"{blank}{blank}a", blank)]
    x, y = edges(Grid.mesh("jis:2km", bounds=bounds), 500)
    lost = [one.upper() for one in unknown]
    rows = pa.table({"x": x[: len(who)], "y": y[: len(who)], "id": who})
    nobody = pa.table({"x": x[: len(lost)], "y": y[: len(lost)], "id": lost})
    query = query_of("jis:2km", bounds, person="id", unknown=unknown).write("duckdb")
    assert sum(n for _, n in count(rows, query)) == 1
    assert count(nobody, query) == []
    with refuses(InputError, "person-missing"):
        read_points(
            nobody, grid=Grid.mesh("jis:2km", bounds=bounds), x="x", y="y", person="id", cells=1
        )


def test_spark_trims_the_same_blanks():
    """Its words for them are not DuckDB's."""
    text = query_of("jis:2km", None, person="id").write("spark")
    (digits,) = re.findall("trim\\(BOTH decode\\(unhex\\('([0-9A-F]+)'\\), 'UTF-8'\\) FROM ", text)
    assert [ord(one) for one in bytes.fromhex(digits).decode()] == [*BLANKS]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_records_whose_person_is_no_number_are_left_out(kind):
    """To an engine they are one person."""
    bounds = SYSTEMS["jis:2km"]
    x, y = edges(Grid.mesh("jis:2km", bounds=bounds), 9)
    who = pa.array([1, 2, 3, *[float("nan")] * 6], kind)
    rows = pa.table({"x": x[:9], "y": y[:9], "id": who})
    query = query_of("jis:2km", bounds, person="id").write("duckdb")
    assert count(rows.slice(3), query) == []
    assert count(rows, query) == count(rows.slice(0, 3), query)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_its_own_words(engine):
    text = query_of("jis:half", None, person="the id", by="t").write(engine)
    at = ENGINES[engine]
    assert at.name("the id") in text
    assert at.divide("cell_row", 2) in text
    assert f"AS {at.double})" in text
    others = [one.ratio.format("cell_row", 2) for one in ENGINES.values() if one != at]
    assert not any(other in text for other in others)


def test_the_command_knows_all_engines():
    assert tuple(ENGINES) == shared.ENGINES


@pytest.mark.parametrize("name", ["", 'a"b', "a\nb", "a\\b"])
def test_names_that_cannot_be_quoted_are_refused(name):
    with refuses(UsageError, "sql-column-name"):
        query_of("jis:half", None, person=name).write("duckdb")


@pytest.mark.parametrize("bound", [{"cells": 0}, {"per_cell": 0}, {"by": "t"}])
def test_wrong_bounds_are_refused(bound):
    with pytest.raises(UsageError):
        query_of("jis:half", None, **bound)
