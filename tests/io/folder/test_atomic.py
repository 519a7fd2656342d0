"""A new file appears whole or not at all."""

import errno
import os
import stat
import subprocess
import sys

import pytest

from geodp.errors import OutputError, UsageError
from geodp.io.folder import atomic
from geodp.io.folder.atomic import hide, remove_drafts, write_atomically
from geodp.io.folder.manifest import foreign, remove_release, sha256, sums_text
from tests.refusals import refuses

POSIX = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="permissions of POSIX")


@pytest.fixture(params=["nameless", "no links to it", "hidden", "no links"])
def system(request, monkeypatch):
    """Systems and file systems with and without nameless files and second names."""
    real = os.link

    def refuse(source, place, **options):
        if request.param == "no links" or options:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        real(source, place)

    if request.param != "nameless":
        monkeypatch.setattr(atomic.os, "link", refuse)
    if request.param in ("hidden", "no links"):
        monkeypatch.setattr(atomic, "_open_nameless", lambda *_: None)


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("public", [True, False])
def test_every_system_writes_the_same_file(tmp_path, public):
    path, old = tmp_path / "a", os.umask(0o022)
    try:
        for number, overwrite in enumerate((False, True)):
            with write_atomically(path, "there", overwrite=overwrite, public=public) as file:
                file.write(f"whole {number}".encode())
                assert path.exists() == overwrite
                if not public and hasattr(os, "fchmod"):
                    assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
            assert path.read_text() == f"whole {number}"
            assert os.listdir(tmp_path) == ["a"]
            if hasattr(os, "fchmod"):
                assert stat.S_IMODE(path.stat().st_mode) == (0o644 if public else 0o600)
    finally:
        os.umask(old)
    with pytest.raises(UsageError, match="there"), write_atomically(path, "there") as file:
        pass
    other = tmp_path / "b"
    with pytest.raises(UsageError, match="there"), write_atomically(other, "there"):
        other.write_text("of another run")
    assert (path.read_text(), other.read_text()) == ("whole 1", "of another run")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_names_of_any_length_that_the_system_takes_are_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_open_nameless", lambda *_: None)
    path = tmp_path / ("\u3042" * 85)
    with write_atomically(path, "") as file:
        file.write(b"whole")
    assert os.listdir(tmp_path) == [path.name]


@POSIX
def test_drafts_of_dead_runs_are_removed_and_those_of_living_ones_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_open_nameless", lambda *_: None)
    path = tmp_path / "a"
    for name in (".a.draft-0123abcd", ".b.draft-0123abcd", ".a.draft-other"):
        (tmp_path / name).touch()
    (tmp_path / ".a.draft-89abcdef").symlink_to(tmp_path / ".b.draft-0123abcd")
    with write_atomically(path, "") as file:
        (living,) = {*os.listdir(tmp_path)} - {
            *(".b.draft-0123abcd", ".a.draft-other", ".a.draft-89abcdef")
        }
        call = "from geodp.io.folder.atomic import remove_drafts; from pathlib import Path; "
        call += "import sys; remove_drafts(Path(sys.argv[1]))"
        subprocess.run([sys.executable, "-c", call, path], check=True)
        assert (tmp_path / living).exists()
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    kept = [".a.draft-89abcdef", ".a.draft-other", ".b.draft-0123abcd", "a"]
    assert sorted(os.listdir(tmp_path)) == kept


@POSIX
def test_devices_and_pipes_are_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with refuses(UsageError, "output-not-regular"):
        write_atomically(path, "", overwrite=True).__enter__()
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_draft_that_cannot_be_removed_is_named(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(atomic, "_open_nameless", lambda *_: None)
    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "fsync", refuse)
        patch.setattr(atomic.Path, "unlink", refuse)
        told = refuses(OutputError, "file-unwritten: Its draft .* could not be removed")
        with told, write_atomically(tmp_path / "a", ""):
            pass
    assert len(os.listdir(tmp_path)) == 1
    remove_drafts(tmp_path / "a")
    assert os.listdir(tmp_path) == []


def test_a_release_with_a_draft_of_its_notice_is_geodps_and_goes(tmp_path):
    public = tmp_path / "out" / "public"
    public.mkdir(parents=True)
    (public / "a").touch()
    (public / "SHA256SUMS").write_text(sums_text({"a": sha256(public / "a")}))
    draft = hide(tmp_path / "out" / "WITHDRAWN.json", "draft-0123abcd")
    draft.touch()
    assert foreign(tmp_path / "out") is None
    (tmp_path / "out" / ".mine").touch()
    assert ".mine" in foreign(tmp_path / "out")
    (tmp_path / "out" / ".mine").unlink()
    remove_release(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_left_of_a_file_that_fails(tmp_path):
    with refuses(OutputError, "file-unwritten: No space"), write_atomically(tmp_path / "a", ""):
        raise OSError(28, "No space left on device")
    with pytest.raises(KeyError), write_atomically(tmp_path / "a", ""):
        raise KeyError
    assert not os.listdir(tmp_path)
