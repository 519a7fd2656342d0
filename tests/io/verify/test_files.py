"""Files of the operator's folder: whatever changes there is seen, with what it can show."""

import os
import shutil
from itertools import product

import pytest

from geodp.errors import VerificationError
from geodp.io.folder.manifest import SUMS, sha256, sums_text
from geodp.io.verify import files
from geodp.io.verify.files import check_restricted
from geodp.privacy.key import has_owners
from tests.command import geodp
from tests.refusals import refuses

WORDS = "--grid regular:8x8 --x x --y y --anchor index --value n --epsilon 1 --contribution 1"


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
def written(tmp_path_factory):
    """A release with a folder for the operator."""
    folder = tmp_path_factory.mktemp("releases")
    rows = "".join(f"{x},{y},{20 + x}\n" for x in range(8) for y in range(8))
    (folder / "in.csv").write_text(f"x,y,n\n{rows}")
    done = geodp("publish", folder / "in.csv", *WORDS.split(), "--output", folder / "out")
    assert done.returncode == 0, done.stderr
    assert {*os.listdir(folder / "out" / "restricted")} == {"README.txt", "run.json", SUMS}
    return folder / "out"


@pytest.fixture
def out(written, tmp_path):
    """A copy that may be changed."""
    return shutil.copytree(written, tmp_path / "out")


def test_every_change_of_a_restricted_file_is_seen(written, tmp_path):
    for name, how in product(sorted(os.listdir(written / "restricted")), CHANGES):
        copy = tmp_path / f"{name}, {how}"
        shutil.copytree(written / "restricted", copy / "restricted")
        (copy / "public").mkdir()
        CHANGES[how](copy / "restricted" / name)
        with refuses(
            VerificationError,
            "file-changed-since-written|file-unlisted-in-sums|listed-file-missing|sums-changed"
            "|sums-missing: restricted/",
        ):
            check_restricted(copy / "public", None)


@pytest.mark.skipif(not has_owners(), reason="this system has no permission bits")
@pytest.mark.parametrize("bits", [0o040, 0o020, 0o010, 0o004, 0o002, 0o001])
@pytest.mark.parametrize("name", [".", "run.json", "README.txt", SUMS])
def test_a_restricted_folder_that_others_may_enter_is_seen(out, name, bits):
    path = out / "restricted" / name
    assert check_restricted(out / "public", None) == (
        "readable by its owner only, and as it was written"
    )
    path.chmod(path.stat().st_mode | bits)
    with refuses(VerificationError, "restricted-open-to-others"):
        check_restricted(out / "public", None)


def test_what_is_said_where_it_cannot_be_asked(out, monkeypatch):
    public, hidden = out / "public", out / "restricted"
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
    shutil.copytree(public, out / "copy")
    assert check_restricted(out / "copy", None) == "not here"
    shutil.rmtree(hidden)
    assert check_restricted(public, None) == "not here"


def test_no_digest_of_a_restricted_file_is_public(written):
    digests = [sha256(path) for path in (written / "restricted").iterdir()]
    public = [path.read_bytes() for path in (written / "public").rglob("*") if path.is_file()]
    assert not [one for one in digests for data in public if one.encode() in data]


def test_who_rewrites_a_file_and_its_checksum_is_not_seen(out):
    """The limit that docs/verify.md states."""
    hidden = out / "restricted"
    (hidden / "run.json").write_bytes(b"{}")
    sums = {path.name: sha256(path) for path in hidden.iterdir() if path.name != SUMS}
    (hidden / SUMS).write_bytes(sums_text(sums).encode())
    assert "as it was written" in check_restricted(out / "public", None)


def test_a_charged_table_that_was_left_is_no_change_and_goes_with_the_release(written, out):
    waits = out / "restricted" / "released.npz"
    waits.write_bytes(b"left by a run that was killed after its release was complete")
    waits.chmod(0o600)
    assert "as it was written" in check_restricted(out / "public", None)
    more = *WORDS.split(), "--output", out, "--overwrite"
    assert geodp("publish", written.parent / "in.csv", *more).returncode == 0
    assert not waits.exists()
    assert os.listdir(out.parent) == ["out"]
