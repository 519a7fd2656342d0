"""Releases of real and of negative numbers, with and without standard errors, in every file."""

import csv
import errno
import json
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import ClassVar

import numpy as np
import pyarrow.parquet
import pytest
import rasterio
import rasterio.shutil
from PIL import Image

import geodp
from geodp import mechanisms
from geodp.errors import UsageError, VerificationError
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.io.write import geotiff, picture, qgis_style
from geodp.io.write.drawing.sheet import CellRaster, TextLine
from geodp.io.write.map import look
from geodp.io.write.map.page import compose
from geodp.io.write.scale import DARK_IS_MANY
from geodp.io.write.tables import ERROR, UNCERTAINTY_COLUMNS
from geodp.io.write.view import View
from geodp.mechanisms import METHODS
from geodp.mechanisms.central.laplace import Geometric, Laplace, LaplaceNonnegative
from geodp.release.report.markdown import markdown
from geodp.release.report.registry import ReleaseMetadata, registry_record
from geodp.table.card import Card
from tests.io.verify.test_verify import (
    card_of,
    failures,
    other_files,
    rewrite,
    with_column,
    write_checksums,
)
from tests.io.write.test_writers import GRIDS, KANTO
from tests.refusals import refuses
from tests.release.report.test_markdown import ABOUT
from tests.views import view_of

KINDS = ["laplace", "geometric", "laplace-nonnegative"]


@dataclass(frozen=True)
class Thirds(Laplace):
    """Values that no short decimal and no float32 holds, and settings of every kind."""

    name: ClassVar[str] = "thirds"
    share: Fraction = Fraction(1, 3)
    parts: int = 3
    even: bool = False

    def release(self, table, event, key):
        given = super().release(table, event, key)
        return geodp.ReleasedTable(given.grid, given.key, given.count / self.parts, event)

    def variances(self, grid, event):
        return super().variances(grid, event) / self.parts**2


@pytest.fixture
def thirds(monkeypatch):
    monkeypatch.setitem(mechanisms._find_methods(), "thirds", Thirds())


@cache
def released(grid, method):
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 30, grid.shape) * rng.integers(0, 2, grid.shape)
    index = np.array(np.nonzero(counts))
    index = index[:, grid.contains(index)]
    table = geodp.CountTable.from_index(grid, index, counts[tuple(index)])
    terms = {"epsilon": "1/10", "contribution": 1, "key": geodp.NoiseKey(bytes(32))}
    return geodp.publish(table, method=method, **terms)


def made(path, method, grid=KANTO):
    release = released(grid, method)
    release.write(path)
    return release, path / "public"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Releases of one grid that no test changes: release and public folder by method."""
    folder = tmp_path_factory.mktemp("written")
    return {method: made(folder / method, method) for method in [*KINDS, "topdown"]}


@pytest.fixture(autouse=True)
def without_pictures(written, monkeypatch):
    """Pictures take longest to write; those of ``written`` have a test of their own."""
    monkeypatch.setattr(picture.Picture, "unsupported", lambda *_: "it is not tested here")


def record_of(card):
    """The registry's record, as if the noise had come from a key that nobody knows."""
    return registry_record(Card.from_json({**card, "private": True}), ReleaseMetadata.of(ABOUT))


def rows_of(folder):
    with (folder / "population.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("method", ["laplace", "laplace-nonnegative"])
def test_empty_releases_keep_their_type(tmp_path, method):
    release = released(GRIDS["one"], method)
    none = geodp.ReleasedTable(
        GRIDS["one"], release.table.key[:0], release.table.count[:0], release.event
    )
    geodp.Release(none).write(tmp_path / "out")
    assert failures(tmp_path / "out") == []
    assert read_release_table(tmp_path / "out")[0].count.dtype == none.count.dtype


@pytest.mark.parametrize("method", [*KINDS, "thirds:parts=7"])
def test_tables_hold_the_exact_values(tmp_path, method, thirds):
    release, folder = made(tmp_path / "out", method)
    whole = method == "geometric"
    kind = int if whole else float
    assert [kind(row["population"]) for row in rows_of(folder)] == release.table.count.tolist()
    schema = pyarrow.parquet.read_schema(folder / "population.parquet")
    assert str(schema.field("population").type) == ("int64" if whole else "double")
    types = (folder / "population.csvt").read_text().strip().split(",")
    error = [] if method == "laplace-nonnegative" else ['"real"'] * 3
    assert types == ['"string"', '"integer"' if whole else '"real"', *error]
    assert (set(UNCERTAINTY_COLUMNS) & set(schema.names)) == (
        set(UNCERTAINTY_COLUMNS) if error else set()
    )


def test_decimals_are_the_shortest(written):
    _, folder = written["laplace"]
    for row in rows_of(folder):
        assert float(row["population"]) * 256 % 1 == 0
        assert len(row["population"]) <= len(repr(float(row["population"])))


@pytest.mark.parametrize(
    ("count", "dtype"),
    [(-(2**24), "float32"), (-(2**24) - 1, "float64"), (0.1, "float64"), (1e300, "float64")],
)
def test_pixels_are_as_wide_as_the_values_need(count, dtype):
    event = released(KANTO, "laplace").event
    table = geodp.ReleasedTable(KANTO, np.zeros(1, np.uint64), np.array([count]), event)
    assert geotiff.why_no_raster(table) is None
    assert geotiff.dtype_of(table) == dtype


def test_a_raster_that_lost_digits_is_noticed(tmp_path, monkeypatch, thirds):
    monkeypatch.setattr(geotiff, "dtype_of", lambda table: "float32")
    release = released(KANTO, "thirds")
    with pytest.raises(OSError, match="could not write"):
        geotiff.write_cog(release.table, tmp_path / "a.tif", name="n", errors=None, tags={})


@pytest.mark.parametrize("values", [[1.0, 0.0], ["", -1]])
def test_errors_of_others_are_not_explained_as_those_of_gdal(values):
    with pytest.raises((ZeroDivisionError, TypeError)), geotiff.open_gdal():
        values[0] / values[1]


def test_errors_of_gdal_are_explained(tmp_path):
    """Both of rasterio's public ones, and of those that GDAL numbers."""
    absent = tmp_path / "absent.tif"
    for call in (
        lambda: rasterio.open(absent),
        lambda: rasterio.shutil.copy(absent, tmp_path / "copy.tif", driver="COG"),
    ):
        with pytest.raises(OSError, match="could not write") as caught, geotiff.open_gdal():
            call()
        assert caught.value.errno == errno.EIO


def test_without_a_closed_form_nothing_states_an_error(written):
    release, folder = written["laplace-nonnegative"]
    assert release.expected_error() == []
    with refuses(UsageError, "standard-error-unknown"):
        release.standard_error()
    error = card_of(folder)["expected_error"]
    assert (error["blocks"], error["holds"], error["isolated_cell"]) == (None, None, None)
    assert "depends on the data" in error["meaning"]
    found = {check.name: check.detail for check in verify(folder)}
    assert found["intervals"] == "none: the error depends on the data"


def test_where_a_standard_error_holds(written):
    for method, words in [
        ("topdown", "where nothing is clamped; isolated cells are lowered"),
        ("laplace", "wherever it lies"),
        ("geometric", "wherever it lies"),
    ]:
        card = card_of(written[method][1])
        assert card["expected_error"]["holds"] == words
        assert card["files"][0]["standard_error"] == f"of one cell {words}"
        assert ("clamp" in card["expected_error"]["meaning"]) == (method == "topdown")


@pytest.mark.parametrize(
    ("method", "value", "ok"),
    [
        ("laplace", -5.5, True),
        ("laplace", 0.0, False),
        ("laplace", np.nan, False),
        ("laplace", np.inf, False),
        ("laplace", None, False),
        ("geometric", -5, True),
        ("geometric", 0, False),
        ("geometric", 1.5, False),
        ("laplace-nonnegative", 5.5, True),
        ("laplace-nonnegative", -5.5, False),
    ],
)
def test_counts_that_the_method_cannot_release_are_found(tmp_path, method, value, ok):
    _, folder = made(tmp_path / "out", method)

    def change(rows):
        return with_column(rows, "population", [value, *rows["population"].to_pylist()[1:]])

    rewrite(folder, change)
    assert ("cells" in failures(folder)) == (not ok)
    if ok:
        assert {"population.csv", "population.tif"} <= other_files(folder)
    else:
        with refuses(
            VerificationError,
            "counts-missing|counts-not-finite|counts-not-positive|counts-type-differs|counts-zero",
        ):
            read_release_table(folder)


def test_whole_columns_of_a_real_release_are_found(tmp_path):
    _, folder = made(tmp_path / "out", "laplace")
    rewrite(folder, lambda t: with_column(t, "population", np.ones(t.num_rows, np.int64)))
    assert failures(folder) == ["cells"]


def test_standard_errors_that_the_card_does_not_have_are_found(tmp_path):
    _, folder = made(tmp_path / "out", "laplace-nonnegative")
    rewrite(folder, lambda t: t.append_column(ERROR, [[1.0] * t.num_rows]))
    assert other_files(folder) == {"population.parquet"}


@pytest.mark.parametrize(("method", "bands"), [("laplace", 1), ("laplace-nonnegative", 2)])
def test_a_raster_with_another_number_of_bands_is_found(tmp_path, method, bands):
    _, folder = made(tmp_path / "out", method)
    with rasterio.open(folder / "population.tif") as raster:
        profile, band = raster.profile, raster.read(1)
    with rasterio.open(folder / "population.tif", "w", **{**profile, "count": bands}) as raster:
        for number in range(bands):
            raster.write(band, number + 1)
    write_checksums(folder)
    assert other_files(folder) == {"population.tif"}


def test_settings_are_told_and_read_back(tmp_path, thirds):
    release, folder = made(tmp_path / "out", "thirds:parts=7,even=yes")
    card = card_of(folder)
    said = card["mechanism"]
    assert said["name"] == "thirds"
    assert said["spec"] == card["guarantee"]["mechanism"] == "thirds:parts=7,even=yes"
    assert said["settings"] == {"share": "1/3", "parts": 7, "even": True}
    assert read_release_table(folder)[0].event == release.event
    assert "- Settings: share = 1/3, parts = 7, even = yes." in markdown(Card.from_json(card))
    record = record_of(card)
    assert "parts = 7" in record["deployment"]["implementation"]["mechanisms"]
    assert failures(folder) == []
    said["spec"] = "thirds"
    write_checksums(folder, card)
    assert "cells" in failures(folder)


@pytest.mark.parametrize("method", [*KINDS, "topdown"])
def test_reports_say_what_the_values_are(written, method):
    release, folder = written[method]
    card, row = card_of(folder), METHODS[method]
    text = markdown(Card.from_json(card))
    record = json.dumps(record_of(card))
    kind = "whole numbers" if row.whole else "real numbers"
    sign = "none negative" if row.nonnegative else "negative ones among them"
    for document in (text, record):
        assert f"Released values: {kind}, {sign}." in document
        assert row.noise in document
        assert ("Counts, sums and noise are integers" in document) == row.whole
    assert ("Sum areas with them" in text) == (not row.nonnegative)
    assert ("| cells in the block |" in text) == bool(release.expected_error())
    assert ("One isolated populous cell" in text) == (method == "topdown")


def test_pictures_colour_negative_values_of_methods_that_have_them(written):
    below = np.array(look.LIGHT.below, np.uint8)
    for method in [*KINDS, "topdown"]:
        release, folder = written[method]
        assert failures(folder) == []
        signed = not METHODS[method].nonnegative
        card = card_of(folder)
        sheet = compose(View(release.table, Card.from_json(card)), look.Look())
        words = [item.text for item in sheet.items if isinstance(item, TextLine)]
        with Image.open(folder / "population.png") as image:
            drawn = (np.asarray(image.convert("RGB")) == below).all(axis=-1)
        assert drawn.any() == signed
        assert ("below 0" in words) == signed
        said = " ".join(words)
        assert ("Values below 0 are noise" in said) == signed
        assert ("no closed form" in said) == (method == "laplace-nonnegative")
        assert ("come out too low" in said) == (method == "topdown")


def test_pairs_are_drawn_with_negative_values():
    release = released(GRIDS["pairs"], "laplace")
    table = release.table
    below = geodp.ReleasedTable(table.grid, table.key, -abs(table.count), table.event)
    sheet = compose(View(below, release.view().card), look.Look())
    left, right = (item.number for item in sheet.items if isinstance(item, CellRaster))
    assert (left == look.NEGATIVE).any()
    assert (right == look.NEGATIVE).any()


@pytest.mark.parametrize(("whole", "nonnegative"), [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_style_classes_are_fixed(whole, nonnegative):
    table = released(geodp.Grid.regular((8, 8)), "laplace").table
    view = view_of(table, whole=bool(whole), nonnegative=bool(nonnegative))
    items = ET.fromstring(qgis_style.raster_pipe(view)).findall(".//item")
    ends = [float(item.get("value")) for item in items]
    assert ends == sorted(ends)
    labels = [item.get("label") for item in items]
    assert labels[0] == ("0" if nonnegative else "below 0")
    assert len(items) == len(DARK_IS_MANY) + (1 if nonnegative else 2)
    zero = items[labels.index("0")]
    assert (zero.get("value"), zero.get("alpha")) == ("0", "0")
    first = items[labels.index("0") + 1]
    assert first.get("value") == ("9.5" if whole else "10")


def test_the_styles_of_a_release_follow_its_method(written):
    for row in (Laplace(), LaplaceNonnegative(), Geometric()):
        release, folder = written[row.name]
        expected = qgis_style.qml(release.view())
        assert (folder / "population.qml").read_text(encoding="utf-8") == expected
