"""A small map for somebody else's page: its size, its words, and what it shows without a script."""

import base64
import hashlib
import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import geodp
from geodp.cli import geodp as command_line
from geodp.errors import UsageError
from geodp.io.read.public.areas import find_bounds
from geodp.io.write.map.look import LIGHT
from geodp.io.write.scale import classify
from geodp.release.report.html import embedded, english, places
from geodp.release.report.translation import LANGUAGES
from tests.refusals import refuses
from tests.release.report.html.pages import PLACE, publish, towns
from tests.release.report.html.structure import Elements, find_faults

REAL = Path(__file__).resolve().parents[5] / "shared" / "data"


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    grid = geodp.Grid.mesh("inspire:1km", bounds=(4300000, 3275000, 4330000, 3296000))
    return publish(tmp_path_factory.mktemp("embed") / "release", grid, towns(21, 30))[0]


def pixels_of(text):
    """The picture in a file: colours by row from the north."""
    (data,) = re.findall(r"data:image/png;base64,([^\"]+)", text)
    return np.asarray(Image.open(BytesIO(base64.b64decode(data))).convert("RGB"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_well_formed_and_lists_ten_places_for_screen_readers(release, language):
    text = embedded.write_embed(release.view(), "person", language)
    document = Elements(text)
    assert find_faults(text) == []
    assert "script" not in {tag for tag, _ in document.elements}
    heard = text.split('<ul class="unseen">')[1].split("</ul>")[0]
    assert heard.count("<li>") == min(10, len(places.list_places(release.view())) - 1)
    (alt,) = [a["aria-label"] for tag, a in document.elements if tag == "svg" and "role" in a]
    assert "21 × 30" in alt
    assert release.card().release_id in text


def test_it_loads_nothing(release):
    text = embedded.write_embed(release.view(), "person")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.replace("&#x27;", "'") == (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'"
    )
    assert not re.search(r"(?:src|href)=.?(?:https?:|//)", text)


def test_its_squares_have_the_colours_of_their_counts(release):
    """But for those that cannot be told from none, which all have one."""
    seen = pixels_of(embedded.write_embed(release.view(), "person"))
    counts = np.zeros((21, 30))
    row, col = release.grid.decode(release.table.key)
    counts[row, col] = release.table.count
    strong = counts >= 1.96 * release.block_errors[-1].standard_error
    assert strong.any()
    number = classify(counts)
    for at in np.argwhere(strong).tolist():
        assert tuple(seen[::-1][tuple(at)]) == LIGHT.classes[number[tuple(at)]]
    assert (seen[::-1][counts == 0] == LIGHT.untold).all()


def test_more_cells_than_fit_are_summed():
    counts = np.random.default_rng(1).integers(0, 5000, (512, 512))
    table = geodp.CountTable.from_dense(counts, geodp.Grid.regular((512, 512), **PLACE))
    release = geodp.publish(table, epsilon=10, contribution=1)
    text = embedded.write_embed(release.view(), "person")
    assert len(text.encode()) <= embedded.MAX_BYTES
    assert pixels_of(text).shape[0] < 512


def test_pairs_have_two_maps_and_others_are_refused(tmp_path):
    grid = geodp.Grid.regular((4, 5), **PLACE).pairs()
    counts = np.arange(400).reshape(grid.shape)
    release, _ = publish(tmp_path / "pairs", grid, counts, unit="trip")
    text = embedded.write_embed(release.view(), "trip")
    assert text.count("data:image/png") == 2
    assert "Trips between 4 × 5 squares of about 1 km" in text
    plain, _ = publish(tmp_path / "plain", geodp.Grid.regular((40,)), np.arange(40) * 9)
    with refuses(UsageError, "embed-needs-map"):
        embedded.write_embed(plain.view(), "person")


def test_the_margin_of_error_has_a_sentence(release, tmp_path):
    margin = 1.96 * release.block_errors[-1].standard_error
    sentence = english.PAGE["embed_believe"].format(margin=f"±{margin:,.3g}", unit="person")
    assert sentence in embedded.write_embed(release.view(), "person")
    other, _ = publish(tmp_path / "release", method="agrid", epsilon=1)
    assert english.PAGE["embed_unknown"].split(".")[0] in embedded.write_embed(
        other.view(), "person"
    )


def test_small_counts_that_are_not_shown_are_not_shown_here(tmp_path):
    release, _ = publish(tmp_path / "release", metadata={"display_below": 60})
    text = embedded.write_embed(release.view(), "person")
    assert "&lt;60" in text
    assert (pixels_of(text) == LIGHT.few).all(axis=2).any()


def test_the_command_writes_it(tmp_path):
    publish(tmp_path / "release")
    page = tmp_path / "map.html"
    called = ["report", str(tmp_path / "release"), "--embed", "--output", str(page)]
    assert CliRunner().invoke(command_line, called).exit_code == 0
    release = geodp.open(tmp_path / "release")
    assert page.read_text(encoding="utf-8") == embedded.write_embed(release.view(), "person")


GERMANY = REAL / "zensus-2011-1km" / "einwohner_1km.parquet"
TILE = REAL / "geostat-1km" / "2018" / "7" / "5.parquet"
TRIPS = REAL / "od-taxi-500m" / "taxi_od_grid.csv.gz"
ENDS = {
    "origin_row": "SLATCOL",
    "origin_col": "SLONCOL",
    "destination_row": "ELATCOL",
    "destination_col": "ELONCOL",
}


def read_germany():
    grid = geodp.Grid.mesh("inspire:1km", bounds=find_bounds("germany", "inspire:1km"))
    options = {"value": "Einwohner", "x": "x", "y": "y", "missing": ["-1"]}
    return geodp.read_table(GERMANY, grid=grid, **options)


def read_tile():
    grid = geodp.Grid.regular(
        (512, 512), crs="EPSG:3035", transform=(1000, 0, 3584000, 0, 1000, 2560000)
    )
    return geodp.read_table(TILE, grid=grid, value="T", x="x", y="y", anchor="index")


def read_trips():
    transform = (0.004883, 0, 113.75194, 0, 0.004496, 22.447837)
    grid = geodp.Grid.regular((94, 168), crs="EPSG:4326", transform=transform).pairs()
    return geodp.read_table(TRIPS, grid=grid, value="VehicleNum", columns=ENDS)


@pytest.mark.real
@pytest.mark.skipif(not REAL.is_dir(), reason="the real data sets are not beside the project")
@pytest.mark.parametrize("read", [read_germany, read_tile, read_trips])
def test_maps_of_real_countries_and_trips_fit(read):
    release = geodp.publish(read(), epsilon="1/10", contribution=1)
    text = embedded.write_embed(release.view(), "person")
    assert len(text.encode()) <= embedded.MAX_BYTES
    assert find_faults(text) == []
