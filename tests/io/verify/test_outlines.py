"""Outlines read back from a release's folder: all of it, a part, and a forged one."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

import geodp
from geodp.errors import VerificationError
from geodp.io.verify.verify import verify
from tests import tracts
from tests.refusals import refuses

FILE = "population.outlines.parquet"


@pytest.fixture
def public(tmp_path):
    return tracts.released(tmp_path) / "public"


def failures(public):
    return {check.name for check in verify(public) if not check.ok}


def test_a_release_is_verified_and_opened_without_the_file_that_it_was_made_with(public, tmp_path):
    for path in tmp_path.glob("tracts-*"):
        path.unlink()
    assert failures(public) == set()
    card = json.loads((public / "release.json").read_text())
    outlines = geodp.open(public).grid.outlines
    assert card["domain"]["outlines"]["sha256"] == outlines.sha256
    assert card["domain"]["outlines"]["crs"] == "EPSG:3035"


def test_outlines_of_others_are_refused(public):
    rows = pq.read_table(public / FILE)
    moved = rows.set_column(1, "geometry", rows["geometry"].take([*range(1, 12), 0]))
    pq.write_table(moved, public / FILE)
    assert "checksums" in failures(public)
    with refuses(VerificationError, "outlines-not-stated"):
        geodp.open(public)
    # A unit that is not listed lies nowhere, which the card does not say.
    pq.write_table(rows.slice(1), public / FILE)
    with refuses(VerificationError, "outlines-not-stated"):
        geodp.open(public)
    for other in (rows.take([1, 0, *range(2, 12)]), rows.take([*range(12), 11])):
        pq.write_table(other, public / FILE)
        with refuses(VerificationError, "outlines-of-other-units"):
            geodp.open(public)


def test_without_the_file_the_counts_are_read_all_the_same(public, tmp_path):
    rest = tmp_path / "rest"
    shutil.copytree(public, rest)
    (rest / FILE).unlink()
    opened = geodp.open(rest)
    assert opened.grid.outlines is None
    assert opened.table.total == geodp.open(public).table.total
