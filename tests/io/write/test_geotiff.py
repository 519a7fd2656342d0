import json
import shutil
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import rasterio
import rasterio.shutil
from rio_cogeo import cog_validate

import geodp
from geodp.errors import OutputError
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.io.write import geotiff, pixels, qgis_style, tables
from geodp.io.write.frame import Frame, cell_size
from geodp.release.release import Release
from geodp.table.counts import CountTable, ReleasedTable
from tests.io.write.test_writers import GRIDS, KANTO, LAEA, released
from tests.views import view_of


def north_up(release):
    dense = release.table.to_dense()
    return dense[::-1] if release.grid.places[0].northwards else dense


@pytest.mark.law
def test_large_rasters_keep_everybody(tmp_path):
    """More than one window, and overviews: averages over all of their cells."""
    grid = geodp.Grid.regular((1100, 700), crs="EPSG:3035", transform=LAEA)
    rng = np.random.default_rng(1)
    key = np.unique(grid.encode(rng.integers(0, 700, (2, 9000))))
    event = released(KANTO).event
    table = ReleasedTable(grid, key, rng.integers(1, 50, key.size), event)
    Release(table).write(tmp_path / "out")
    file = tmp_path / "out" / "public" / "population.tif"
    valid, errors, notes = cog_validate(file, strict=True)
    assert valid, (errors, notes)
    with rasterio.open(file) as raster:
        assert (raster.read(1) == table.to_dense()).all()
        assert raster.overviews(1) == [2, 4]
    with rasterio.open(file, overview_level=0) as smaller:
        assert smaller.read(1).sum(dtype=np.float64) * 4 == table.total


@pytest.fixture(scope="module")
def wide():
    """More than one window, of odd sides, cut by a mask; some windows have nobody."""
    inside = np.ones((1301, 777), bool)
    inside[:300, :500] = False
    plain = geodp.Grid.regular((1301, 777), crs="EPSG:3035", transform=LAEA)
    grid = plain.with_mask(mask_of_blocks(plain, blocks_of_array(inside), "a test"))
    key = grid.encode(np.stack([np.arange(600, 640), np.arange(40)]))
    event = released(KANTO).event
    return Release(ReleasedTable(grid, np.sort(key), np.arange(1, 41), event))


def test_a_raster_has_the_overviews_and_statistics_that_gdal_would_make(wide, shared, tmp_path):
    path, again = shared.write(wide) / "public" / "population.tif", tmp_path / "again.tif"
    made = {"OVERVIEWS": "IGNORE_EXISTING", "OVERVIEW_RESAMPLING": "AVERAGE"}
    shutil.copy(path, again)
    with rasterio.open(again, "r+", IGNORE_COG_LAYOUT_BREAK="YES") as raster:
        raster.clear_stats()
    rasterio.shutil.copy(again, tmp_path / "gdal.tif", **geotiff.COPY, **made, STATISTICS="YES")
    with rasterio.open(path) as ours, rasterio.open(tmp_path / "gdal.tif") as gdals:
        assert ours.overviews(1) == gdals.overviews(1) == [2, 4]
        for band in range(1, ours.count + 1):
            own, other = ours.tags(band), gdals.tags(band)
            assert len(own) == 5
            assert own.keys() == other.keys()
            assert all(float(own[k]) == pytest.approx(float(other[k]), 1e-6, 1e-6) for k in own)
    for level in range(2):
        with (
            rasterio.open(path, overview_level=level) as ours,
            rasterio.open(tmp_path / "gdal.tif", overview_level=level) as gdals,
        ):
            own, other = ours.read(), gdals.read()
            assert np.abs(np.subtract(own.shape, other.shape)).max() <= 1  # it rounds down
            total, expected = (np.nansum(one[0], dtype=float) for one in (own, other))
            assert total == pytest.approx(expected, rel=0.02)


def test_a_large_draft_is_compressed_and_gives_the_same_file(wide, shared, tmp_path, monkeypatch):
    small = shared.write(wide)
    monkeypatch.setattr(geotiff, "UNCOMPRESSED", 0)
    assert geotiff.profile("float32", 4, 100, 100)["compress"] == "DEFLATE"
    wide.write(tmp_path / "large")
    files = [one / "public" / "population.tif" for one in (small, tmp_path / "large")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_raster_that_gdal_wrote_wrongly_is_noticed(wide, tmp_path, monkeypatch):
    """GDAL tells of no write that fails when a file is closed."""
    pack = geotiff.pack

    def spoil(draft, path, **others):
        with rasterio.open(draft, "r+") as raster:
            raster.write(np.full((1, 1), 3, np.float32), 1, window=((700, 701), (3, 4)))
        pack(draft, path, **others)

    monkeypatch.setattr(geotiff, "pack", spoil)
    with pytest.raises(OutputError, match="could not write the raster"):
        wide.write(tmp_path / "out")


def test_intervals_of_a_window_are_asked_for_a_cell_of_each_block(wide, monkeypatch):
    """Empty cells of a block are alike, so that windows without anybody cost next to nothing."""
    intervals, asked = wide.errors().intervals, []
    place = wide.grid.places[0]

    class Counted:
        alike = intervals.alike

        def of(self, key):
            asked.append(key.size)
            return intervals.of(key)

    drawn, cells = pixels.Pixels(wide.table), 0
    for window in pixels.windows(place):
        counts = pixels.background(wide.grid, window)
        drawn.dense(window, 0, counts)
        pixels.ends_in(wide.grid, counts, window, 0, Counted())
        cells += np.count_nonzero(~np.isnan(counts))
    high, wide_ = pixels._block_shape(wide.grid, intervals.alike)
    blocks = (-(-place.rows // high) + 3) * -(-place.cols // wide_)
    assert intervals.alike > 1
    assert sum(asked) <= blocks + wide.table.key.size
    assert cells > 10 * sum(asked)


def test_counts_above_2_to_the_24_stay_exact(tmp_path):
    counts = np.zeros((24, 32), int)
    counts[3, 4] = 2**31 + 1
    release = geodp.publish(CountTable.from_dense(counts, KANTO), epsilon=1, contribution=1)
    release.write(tmp_path / "out")
    with rasterio.open(tmp_path / "out" / "public" / "population.tif") as raster:
        assert raster.dtypes[0] == "float64"
        assert (raster.read(1) == north_up(release)).all()


@pytest.mark.parametrize(
    ("grid", "count", "reason"),
    [
        (KANTO.with_attribute("hour", [str(hour) for hour in range(65)]), 1, "64 combinations"),
        (geodp.Grid.regular((1 << 16, 1 << 16)), 1, "at most"),
        (GRIDS["one"], 2**53 + 1, "too large"),
    ],
)
def test_rasters_that_would_be_wrong_or_huge_are_left_out(tmp_path, grid, count, reason):
    event = released(KANTO).event
    table = ReleasedTable(grid, np.zeros(1, np.uint64), np.array([count]), event)
    Release(table).write(tmp_path / "out")
    card = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    reasons = {one["name"]: one["why"] for one in card["left_out"]}
    assert reason in reasons["population.tif"]


@pytest.mark.parametrize("system", ["jis:primary", "inspire:100km"])
def test_density_divides_by_the_true_area(system):
    from pyproj import Geod

    grid = geodp.Grid.mesh(system)
    place = grid.places[0]
    areas = Frame.of(grid, 0).areas()
    assert areas.shape == (place.rows, place.cols)
    if system == "inspire:100km":
        assert (areas == 10_000).all()
        return
    x, y = place.edges()
    xs = np.linspace(x[0], x[1], 2001)  # a parallel is no geodesic: short steps
    lon = np.concatenate([xs, xs[::-1]])
    lat = np.concatenate([np.full(2001, y[4]), np.full(2001, y[5])])
    area, _ = Geod(ellps="GRS80").polygon_area_perimeter(lon, lat)
    assert areas[4, 0] == pytest.approx(area / 1e6, rel=1e-7)
    width, height = cell_size(place)
    assert areas[place.rows // 2].mean() == pytest.approx(float(width * height), rel=0.01)


def test_a_raster_is_written_without_a_copy_of_the_table(tmp_path, monkeypatch):
    """Each cell is decoded a few times, and only a window's are held."""
    monkeypatch.setattr(tables, "ROW_GROUP", 1 << 12)
    monkeypatch.setattr(pixels, "BLOCK", 128)
    monkeypatch.setattr(pixels, "WIDE", 256)
    grid = geodp.Grid.regular((512, 512), crs="EPSG:3035", transform=(1e3, 0, 0, 0, 1e3, 0))
    key = np.arange(0, 1 << 18, 2, dtype=np.uint64)
    event = geodp.publish(
        CountTable.from_dense(np.eye(512, dtype=int), grid), epsilon=1, contribution=1
    ).event
    table = ReleasedTable(grid, key, np.ones(key.size, np.int64), event)
    drawn = pixels.Pixels(table)
    whole = np.zeros((512, 512))
    for window in pixels.windows(grid.places[0]):
        part = np.zeros((128, 256))
        drawn.dense(window, 0, part)
        drawn.dense(window, 1, part)  # of no cell
        whole[window.toslices()] = part
        assert drawn.cells(window, 0)[0].size == key.size // 8
    assert np.array_equal(whole, table.to_dense()[::-1])
    assert drawn.decoded <= 2 * key.size


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("limit", [2, 10, 100, 10**6])
def test_styles_have_one_class_of_counts_below_an_offices_limit(whole, nonnegative, limit):
    table = released(KANTO).table
    view = view_of(table, "people", whole=whole, nonnegative=nonnegative, below=limit)
    document = ET.fromstring(qgis_style.raster_pipe(view))
    items = document.findall(".//item")
    labels = [item.get("label") for item in items]
    at = labels.index(f"<{limit:,}")
    assert labels[at - 1] == "0"
    assert items[at].get("color") == qgis_style.FEW
    assert float(items[at].get("value")) == limit - whole / 2
    ends = [float(item.get("value")) for item in items]
    assert ends == sorted(ends)
    begins = [float(label.split()[0].replace(",", "")) for label in labels[at + 1 :]]
    assert min(begins) >= limit
    assert labels[:at] == [*([] if nonnegative else ["below 0"]), "0"]

    document = ET.fromstring(qgis_style.vector_renderer(view))
    ranges = document.findall(".//range")
    (few,) = (one for one in ranges if one.get("label") == f"<{limit:,}")
    assert (float(few.get("lower")), float(few.get("upper"))) == (whole, limit - whole)
    symbols = {one.get("name"): one for one in document.findall(".//symbol")}
    assert len(symbols) == len(ranges)
    (colour,) = (
        p.get("v") for p in symbols[few.get("symbol")].iter("prop") if p.get("k") == "color"
    )
    assert "#{:02x}{:02x}{:02x}".format(*map(int, colour.split(",")[:3])) == qgis_style.FEW
    lower = [float(one.get("lower")) for one in ranges]
    assert lower == sorted(lower)
    assert min(each for each in lower if each > whole) >= limit
    assert [one.get("label") for one in ranges][:1] == (
        [f"<{limit:,}"] if nonnegative else ["below 0"]
    )
