"""Every bad point, raster and mask is refused, and every call that cannot be carried out."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.read.points import read_points
from geodp.io.read.public.mask import read_mask
from geodp.io.read.raster import read_raster
from geodp.io.read.rows.pixels import grid_like
from geodp.io.read.table import read_mesh
from tests.io.files import (
    GOOD,
    HEAD,
    METRES,
    SECRET,
    Case,
    mask,
    mesh,
    parquet,
    refuse,
    table,
    text,
    tiff,
    zipped,
)
from tests.refusals import refuses

RASTER = np.full((4, 4), 3, np.int32)
PLAIN = Grid.regular((4, 4), transform=(1, 0, 0, 0, 1, 0))
SPIKED = RASTER + np.diag([0, 0, int(SECRET), 0])


def read_own(path, **options):
    """Read a raster on the grid of its own cells."""
    return read_raster(path, grid=grid_like(path), **options)


def points(path):
    return read_points(path, grid="jis:half", x="x", y="y")


on_metres = partial(read_raster, grid=METRES)
NULL = {"x": [139.7, None], "y": [35.6, 35.6], "id": [int(SECRET)] * 2}
AWAY, TURNED = (1000, 0, 4002000, 0, -1000, 3.004e6), (1000, 1, 4e6, 1, -1000, 3.004e6)
HALF, LARGER = (1000, 0, 4000500, 0, -1000, 3.004e6), (2000, 0, 4e6, 0, -2000, 3.004e6)

CASES = [
    # Points.
    Case("no coordinate", text(f"x,y,id\n139.7,35.6,1\n139.7,,{SECRET}\n"), points, "missing", 3),
    Case("null coordinate", parquet(NULL), points, "coordinate is missing", 2),
    Case("infinite", parquet({"x": [139.7, np.inf], "y": [35.6, 35.6]}), points, "finite", 2),
    Case("point outside", text("x,y\n139.7,35.6\n35.6,139.7\n"), points, "latitude", 3),
    # Rasters.
    Case("text as raster", text(SECRET), read_own, "no raster"),
    Case("truncated raster", tiff(SPIKED, keep=420), read_own, "The TIFF ends before"),
    Case("negative in raster", tiff(-SPIKED), read_own, "negative", 1),
    Case("fraction in raster", tiff(SPIKED + 0.5 * (SPIKED > 3)), read_own, "whole", 3),
    Case("infinite in raster", tiff(np.where(SPIKED > 3, np.inf, 1.0)), read_own, "finite", 3),
    Case("wrong unit", tiff(SPIKED), partial(read_own, value_unit=2.5), "number of units", 1),
    Case("several bands", tiff([SPIKED, RASTER]), read_own, "2 bands"),
    Case("unknown band", tiff(SPIKED), partial(read_own, band=2), "bands 1 to 1"),
    Case("complex", tiff(SPIKED * 1j), read_own, "real numbers"),
    Case("raster of another CRS", tiff(SPIKED, crs="EPSG:3857"), on_metres, "EPSG:3035"),
    Case("raster without a CRS", tiff(SPIKED, crs=None), on_metres, "EPSG:3035"),
    Case("raster half a cell off", tiff(SPIKED, HALF), on_metres, "whole cells"),
    Case("raster of another cell size", tiff(SPIKED, LARGER), on_metres, "same size"),
    Case("rotated raster", tiff(SPIKED, TURNED), on_metres, "no rotation"),
    Case("people outside", tiff(SPIKED, AWAY), on_metres, "outside the public domain", 1),
    # Masks.
    Case("mask without codes", text("# none\n"), mask, "no codes"),
    Case("mask with a bad code", text(f"code\n5339\nx{SECRET}\n"), mask, "digits", 3),
    Case("mask of finer codes", text("5339\n53394611323\n"), mask, "finer than jis:half", 2),
    Case("mask in an archive", zipped({"a.txt": "5339"}), mask, "a text with codes"),
    Case("binary mask", text(b"\0\1\2"), mask, "binary"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refused(case: Case, tmp_path: Path) -> None:
    refuse(case, tmp_path)


@pytest.mark.parametrize(
    "call",
    [
        lambda path: read_mesh([], grid="jis:half"),
        lambda path: mesh(path, grid="inspire:1km"),
        lambda path: mesh(path, grid="jis:600m"),
        lambda path: mesh(path, grid=Grid.mesh("jis:half"), bounds=(139, 35, 140, 36)),
        lambda path: mesh(path, bounds=(139, 35, 140, 36), primary=[5339]),
        lambda path: mesh(path, primary=[]),
        lambda path: mesh(path, primary=["533946"]),
        lambda path: mesh(path, value=["a", "b"]),
        lambda path: mesh(path, outside="ignore"),
        lambda path: mesh(path, suppressed="guess"),
        lambda path: mesh(path, duplicates="first"),
        lambda path: mesh(path, value=["a"], grid=Grid.mesh("jis:half").with_attribute("s", "ab")),
        lambda path: table(path, anchor="middle"),
        lambda path: table(path, delimiter="::"),
        lambda path: table(path, delimiter='"'),
        lambda path: table(path, encoding="utf-16"),
        lambda path: table(path, encoding="klingon"),
        lambda path: table(path, columns={"row": "r"}),
        lambda path: table(path, columns={"sex": "s"}),
        lambda path: table(path, x="x"),
        lambda path: table(path, x="x", y="y", grid=Grid.regular((4, 4))),
        lambda path: table(path, x="x", y="y", code="code"),
        lambda path: read_points(path, grid=Grid.regular((4, 4)), x="x", y="y"),
        lambda path: read_points(path, grid="jis:half", x="x", y="y", crs="EPSG:999999"),
        lambda path: read_points(path, grid="jis:half", x="x", y="y", crs="EPSG:4301"),
        lambda path: read_points(path, grid=PLAIN, x="x", y="y", crs="EPSG:1"),
        lambda path: read_raster(path, value_unit=0, grid=METRES),
        lambda path: read_raster(tiff(RASTER)(path.parent), grid=Grid.regular((4, 4))),
        lambda path: read_raster(path, grid=Grid.mesh("jis:half").pairs()),
        lambda path: read_mask(path, Grid.mesh("jis:half").pairs(), source="x"),
    ],
)
def test_wrong_calls(call: Callable[[Path], Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        call(text(HEAD + GOOD)(tmp_path))


def test_grid_like_needs_a_straight_raster(tmp_path: Path) -> None:
    with refuses(UsageError, "transform-not-plain"):
        grid_like(tiff(RASTER, TURNED)(tmp_path))
