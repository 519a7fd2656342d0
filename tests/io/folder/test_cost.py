"""The work of writing is counted, never timed: rows, codes, intervals, passes, bytes of a cell.

All formats of a release show the same rows. They are made once, by whoever is written first, and
kept for the others; a writer that makes rows of its own, or walks the table once more, fails here.
"""

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import geodp
from geodp.accuracy.cell_interval import ClampedIntervals, PlainIntervals
from geodp.grid.grid import Grid
from geodp.io.folder.formats import choose_exports, find_formats, write_exports
from geodp.io.folder.kinds import CARD
from geodp.io.folder.manifest import SUMS
from geodp.io.write.tables import RowErrors
from geodp.release.estimates import PartRows

GRID = geodp.Grid.mesh("jis:half", bounds=(139, 35, 140.5, 36))
BY_SEX = GRID.with_attribute("sex", ["female", "male"])

ROWS, CODES, INTERVALS, KEYS = "rows made", "codes formatted", "intervals computed", "keys decoded"

PASSES = 6
"""Times that all keys are decoded: rows; outlines of Parquet and GeoPackage; raster, twice; map."""

BANDS = 1.25
"""Intervals of the raster for every listed cell: its own, and those of zeros, some cells alike."""

BYTES = {"csv": 36, "parquet": 31, "gpkg": 250, "tif": 19, "png": 8}
"""Most bytes of a listed cell, on a map of which a tenth is listed: some percent above today's."""

OTHERS = {"csvt": 100, "qml": 8_000, CARD: 20_000, SUMS: 1_000}
"""Most bytes of files that do not grow with the cells."""


def release_on(grid, method="pyramid"):
    """A release with the same noise every time; one cell in sixteen is occupied."""
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 300, grid.shape) * (rng.random(grid.shape) < 1 / 16)
    table = geodp.CountTable.from_dense(counts, grid)
    key = geodp.NoiseKey(bytes(32))
    return geodp.publish(table, method=method, epsilon=1, contribution=1, key=key)


def size_of(counted):
    """How many cells a call is about, by what is counted."""
    return {
        ROWS: lambda _, key, rows: key.size,
        CODES: lambda _, number, index: index.shape[1],
        INTERVALS: lambda _, key: key.size,
        KEYS: lambda _, key: key.size,
    }[counted]


class Work:
    """Cells of all calls inside the block, by what is counted and by the format that asked."""

    def __init__(self, grid):
        self.cells = {name: Counter() for name in (ROWS, CODES, INTERVALS, KEYS)}
        self._format = "none"
        self._patches = [
            self._counting(ROWS, RowErrors, "columns"),
            self._counting(ROWS, PartRows, "columns"),
            self._counting(CODES, type(grid.names), "format"),
            self._counting(INTERVALS, ClampedIntervals, "of"),
            self._counting(INTERVALS, PlainIntervals, "of"),
            self._counting(KEYS, Grid, "decode"),
            *(self._naming(one) for one in find_formats()),
        ]

    def __enter__(self):
        with ExitStack() as stack:
            for patch in self._patches:
                stack.enter_context(patch)
            self._patched = stack.pop_all()
        return self

    def __exit__(self, *why):
        self._patched.close()

    def _counting(self, name, noun, method):
        real, size, cells = getattr(noun, method), size_of(name), self.cells[name]

        def counting(one, *given):
            if size(one, *given) > 1:  # not those of a card: the middle of the map
                cells[self._format] += size(one, *given)
            return real(one, *given)

        return mock.patch.object(noun, method, counting)

    def _naming(self, one):
        real = one.write

        def naming(released, folder):
            self._format = one.name
            yield from real(released, folder)
            self._format = "none"

        return mock.patch.object(type(one), "write", lambda _, *given: naming(*given))


def written(release, path):
    with Work(release.grid) as work:
        release.write(path)
    return work.cells


def test_rows_codes_and_intervals_are_made_once_and_by_the_first_format(tmp_path):
    release = release_on(GRID)
    cells, listed = written(release, tmp_path / "out"), release.table.key.size
    assert listed > 2000
    assert cells[ROWS] == {"csv": listed}
    assert cells[CODES] == {"csv": listed}
    raster = cells[INTERVALS].pop("geotiff", 0)  # it walks windows of the map, where zeros are too
    assert cells[INTERVALS] == {"csv": listed}
    assert raster <= BANDS * listed


def test_exports_share_rows_that_are_made_once(tmp_path):
    release = release_on(GRID)
    chosen = choose_exports("parquet,csv:excel,gpkg,geojson")
    with Work(release.grid) as work:
        write_exports({"": [release.view()]}, chosen, tmp_path / "out")
    listed = release.table.key.size
    assert sum(work.cells[ROWS].values()) == listed
    assert sum(work.cells[CODES].values()) == listed


def test_the_table_is_walked_no_more_often_than_today(tmp_path):
    release = release_on(GRID)
    cells, listed = written(release, tmp_path / "out"), release.table.key.size
    assert sum(cells[KEYS].values()) <= PASSES * listed, cells[KEYS]


@pytest.mark.parametrize("method", ["parts", "laplace"])
def test_so_are_rows_of_parts_and_of_another_method(tmp_path, method):
    release = release_on(BY_SEX if method == "parts" else GRID, method)
    cells, listed = written(release, tmp_path / "out"), release.table.key.size
    assert sum(cells[ROWS].values()) == listed
    assert sum(cells[CODES].values()) == listed
    assert sum(cells[KEYS].values()) <= PASSES * listed, cells[KEYS]


def test_every_file_has_its_bytes_a_cell(tmp_path):
    release = release_on(GRID)
    paths = release.write(tmp_path / "out")["public"]
    listed = release.table.key.size
    bytes_of = {
        path.name if path.name in OTHERS else path.suffix[1:]: path.stat().st_size
        for path in map(Path, paths)
    }
    assert bytes_of.keys() == {*BYTES, *OTHERS}
    over = {
        end: size / listed
        for end, size in bytes_of.items()
        if size > (BYTES[end] * listed if end in BYTES else OTHERS[end])
    }
    assert over == {}
