"""Files of the operator's folder: whatever changes there is seen, with what it can show."""

import json
import os
import shutil

import pytest

from geodp.errors import VerificationError
from geodp.io.folder.manifest import SUMS, sha256, sums_text
from geodp.io.verify import files
from geodp.io.verify.files import check_restricted
from geodp.privacy.key import has_owners
from tests.command import geodp
from tests.refusals import refuses

PLACE = ["--grid", "regular:8x8", "--x", "x", "--y", "y", "--anchor", "index", "--value", "n"]
TERMS = ["--epsilon", "1", "--contribution", "1"]


def flip(position):
    """Return a change of one bit of one byte."""

    def change(path):
        data = bytearray(path.read_bytes())
        data[position % len(data)] ^= 1
        path.write_bytes(data)

    return change


CHANGES = {
    "first byte": flip(0),
    "middle byte": lambda path: flip(path.stat().st_size // 2)(path),
    "last byte": flip(-1),
    "a line more": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "cut by one": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "emptied": lambda path: path.write_bytes(b""),
    "removed": lambda path: path.unlink(),
    "renamed": lambda path: path.rename(path.with_name("other")),
    "a copy beside": lambda path: shutil.copy(path, path.with_name(f"{path.name}.bak")),
    "a folder": lambda path: (path.unlink(), path.mkdir(mode=0o700)),
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Write a release of every kind that has a folder for the operator."""
    folder = tmp_path_factory.mktemp("releases")
    rows = "".join(f"{x},{y},{20 + x}\n" for x in range(8) for y in range(8))
    (folder / "in.csv").write_text(f"x,y,n\n{rows}")
    source, months = folder / "in.csv", (f"2024-0{n}={folder / 'in.csv'}" for n in (1, 2))
    calls = {
        "table": ("publish", source, *PLACE, *TERMS),
        "select": ("select", "top", source, *PLACE, *TERMS, "--k", 1),
        "series": ("publish-series", *months, *PLACE, *TERMS, "--person-in", "all"),
    }
    for name, call in calls.items():
        done = geodp(*call, "--output", folder / name)
        assert done.returncode == 0, done.stderr
    recipe = folder / "table" / "restricted"
    assert {path.name for path in recipe.iterdir()} == {"README.txt", "run.json", SUMS}
    return {name: folder / name for name in calls}


def restricted_check(release):
    """Return what ``geodp verify`` says of the operator's folder, and its exit code."""
    done = geodp("verify", release, "--json")
    checks = {one["check"]: one for one in json.loads(done.stdout)["checks"]}
    return checks["restricted"], done.returncode


@pytest.mark.parametrize("name", ["table", "select", "series"])
def test_every_change_of_a_restricted_file_is_seen(releases, tmp_path, name):
    found, code = restricted_check(releases[name])
    assert (found["ok"], code) == (True, 0)
    assert "as it was written" in found["detail"]
    seen, tried = 0, 0
    for path in sorted((releases[name] / "restricted").iterdir()):
        for change in CHANGES.values():
            copy = tmp_path / str(tried)
            shutil.copytree(releases[name] / "restricted", copy / "restricted")
            (copy / "public").mkdir()
            change(copy / "restricted" / path.name)
            tried += 1
            with refuses(
                VerificationError,
                ""
                "file-changed-since-written|file-unlisted-in-sums|listed-file-missing|sums-changed"
                "|sums-missing: restricted/",
            ):
                check_restricted(copy / "public", None)
            seen += 1
    assert (seen, tried) == (30, 30)


@pytest.mark.parametrize("name", ["table", "select", "series"])
def test_the_command_ends_with_3_after_a_change(releases, tmp_path, name):
    shutil.copytree(releases[name], tmp_path / "out")
    flip(5)(tmp_path / "out" / "restricted" / "run.json")
    found, code = restricted_check(tmp_path / "out")
    assert (found["ok"], code) == (False, 3)
    assert found["detail"] == "restricted/run.json was changed: its SHA-256 differs."


@pytest.mark.skipif(not has_owners(), reason="this system has no permission bits")
@pytest.mark.parametrize("bits", [0o040, 0o020, 0o010, 0o004, 0o002, 0o001])
@pytest.mark.parametrize("name", [".", "run.json", "README.txt", SUMS])
def test_a_restricted_folder_that_others_may_enter_is_seen(releases, tmp_path, name, bits):
    shutil.copytree(releases["table"], tmp_path / "out")
    path = tmp_path / "out" / "restricted" / name
    assert check_restricted(tmp_path / "out" / "public", None) == (
        "readable by its owner only, and as it was written"
    )
    path.chmod(path.stat().st_mode | bits)
    with refuses(VerificationError, "restricted-open-to-others"):
        check_restricted(tmp_path / "out" / "public", None)


def test_what_is_said_where_it_cannot_be_asked(releases, tmp_path, monkeypatch):
    shutil.copytree(releases["table"], tmp_path / "out")
    public, hidden = tmp_path / "out" / "public", tmp_path / "out" / "restricted"
    monkeypatch.setattr(files, "has_owners", lambda: False)
    assert check_restricted(public, None) == (
        "as it was written; who may read it is not checked, as this system has no permission bits"
    )
    monkeypatch.setattr(files, "has_owners", lambda: True)
    modes = []
    monkeypatch.setattr(files.os, "access", lambda _path, mode: modes.append(mode))
    for path in (hidden, *hidden.iterdir()):
        path.chmod(0o700)
    assert check_restricted(public, None) == (
        "readable by its owner only, who is somebody else: its files are not checked"
    )
    assert modes == [os.R_OK | os.X_OK]
    (hidden / "run.json").unlink()
    shutil.copytree(public, tmp_path / "out" / "copy")
    assert check_restricted(tmp_path / "out" / "copy", None) == "not here"
    shutil.rmtree(hidden)
    assert check_restricted(public, None) == "not here"


def test_no_digest_of_a_restricted_file_is_public(releases):
    for release in releases.values():
        digests = [sha256(path) for path in (release / "restricted").iterdir()]
        public = [path.read_bytes() for path in (release / "public").rglob("*") if path.is_file()]
        assert not [one for one in digests for data in public if one.encode() in data]


def test_who_rewrites_a_file_and_its_checksum_is_not_seen(releases, tmp_path):
    """The limit that docs/verify.md states."""
    shutil.copytree(releases["table"], tmp_path / "out")
    hidden = tmp_path / "out" / "restricted"
    (hidden / "run.json").write_bytes(b"{}")
    sums = {path.name: sha256(path) for path in hidden.iterdir() if path.name != SUMS}
    (hidden / SUMS).write_bytes(sums_text(sums).encode())
    assert restricted_check(tmp_path / "out")[0]["ok"]


def test_a_charged_table_that_was_left_is_no_change_and_goes_with_the_release(releases, tmp_path):
    shutil.copytree(releases["table"], tmp_path / "out")
    waits = tmp_path / "out" / "restricted" / "released.npz"
    waits.write_bytes(b"left by a run that was killed after its release was complete")
    waits.chmod(0o600)
    assert restricted_check(tmp_path / "out")[0]["ok"]
    source = releases["table"].parent / "in.csv"
    more = *PLACE, *TERMS, "--output", tmp_path / "out"
    assert geodp("publish", source, *more, "--overwrite").returncode == 0
    assert not waits.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
