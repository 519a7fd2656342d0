"""``geodp export``: a folder of files, or a sentence and nothing at all."""

import json

import pytest

from tests.command import geodp as command
from tests.release.test_frames import METRES, release


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "release"
    release(METRES).write(folder, name="residents")
    return folder


def test_it_writes_and_says_who_opens_what(written, tmp_path):
    office = tmp_path / "office.toml"
    office.write_text('reference_date = 2020-10-01\nlanguage = "ja"\n')
    to = ("--to", "gpkg,stac", "--output", tmp_path / "to", "--metadata", office)
    done = command("export", written, *to, "--json")
    assert done.returncode == 0, done.stderr
    files = json.loads(done.stdout)["files"]
    assert [*files] == ["residents.gpkg", "residents.stac.json"]
    assert {path.name for path in (tmp_path / "to").iterdir()} == {*files}
    again = command("export", written, *to)
    assert again.returncode == 2
    assert "is there already" in again.stderr or "exist" in again.stderr


@pytest.mark.parametrize("within", ["", "public/more", "restricted/more", "more/and/more"])
@pytest.mark.parametrize("named", ["", "public"])
def test_a_release_takes_no_other_files(written, within, named):
    before = sorted(written.rglob("*"))
    done = command("export", written / named, "--to", "gpkg", "--output", written / within)
    assert (done.returncode, done.stdout) == (2, "")
    assert "own folder" in done.stderr
    assert sorted(written.rglob("*")) == before


def test_what_is_no_release_is_refused(tmp_path):
    done = command("export", tmp_path, "--to", "gpkg", "--output", tmp_path / "to")
    assert done.returncode == 3
    assert [*tmp_path.iterdir()] == []
