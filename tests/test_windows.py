"""What Windows does differently with names, paths and locks, as far as it shows elsewhere."""

import errno
import json
import os
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from geodp.errors import OutputError, UsageError, VerificationError
from geodp.grid.grid import Grid
from geodp.io.folder.atomic import move, write_atomically
from geodp.io.folder.pending import DRAWN, PENDING, mark_charged
from geodp.io.folder.staged_release import (
    LONGEST_ENDING,
    check_publication,
    try_longest_name,
)
from geodp.io.folder.staging import _exchange
from geodp.io.opening import database_uri, strange_entry
from geodp.io.read.rows import input_files
from geodp.io.read.rows.forms import locations
from geodp.io.read.rows.forms.locations import _name_of, is_url
from geodp.io.verify.card import unpack_release
from geodp.io.verify.verify_release import plain_files
from geodp.io.write.drawing.fonts import _folders
from geodp.tools.evaluate.evaluate import count_processes
from tests.refusals import refuses


def test_a_database_on_a_network_drive_has_a_uri_without_a_host(tmp_path):
    network = database_uri(PureWindowsPath("//server/share/a.gpkg"))
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):  # no "invalid authority"
        sqlite3.connect(network, uri=True)
    path = tmp_path / "a #?%41.db"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE t (x)")
    with closing(sqlite3.connect(database_uri(path), uri=True)) as base:
        assert base.execute("SELECT name FROM sqlite_master").fetchall() == [("t",)]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            base.execute("CREATE TABLE u (x)")
    with pytest.raises(sqlite3.OperationalError, match="invalid uri authority"):
        sqlite3.connect(PureWindowsPath("//server/share/a.gpkg").as_uri(), uri=True)


def run_as_windows(code):
    """Run code in a process that has the signals of Windows, and its C library's end by one."""
    start = (
        "import os, signal, sys, threading, time\n"
        "signal.SIGBREAK = signal.SIGUSR1\n"
        "del signal.SIGHUP\n"
        "signal.raise_signal = lambda number: os._exit(3)\n"
        "from geodp import cli\n"
    )
    call = [sys.executable, "-c", start + code]
    return subprocess.run(call, capture_output=True, text=True, check=False, timeout=60)


def test_ctrl_c_ends_with_its_own_exit_code_while_threads_work():
    done = run_as_windows("threading.Thread(target=time.sleep, args=(50,)).start()\ncli._end(130)")
    assert (done.returncode, done.stderr) == (130, "")


def test_ctrl_break_ends_a_run_as_a_termination_does():
    done = run_as_windows(
        "def wait(**_):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGBREAK)\n"
        "        time.sleep(50)\n"
        "    finally:\n"
        "        print('temporary files are removed')\n"
        "cli.geodp.main = wait\n"
        "cli.main()\n"
    )
    assert (done.returncode, done.stdout) == (143, "temporary files are removed\n")


@pytest.mark.parametrize("name", ["nul", "CON", "Aux", "com1", "LPT9", "com²"])
def test_a_release_has_no_name_of_a_device(tmp_path, name):
    with refuses(UsageError, "release-name-of-device"):
        check_publication(Grid.regular((4, 4)), tmp_path / "out", name=name, overwrite=False)
    check_publication(Grid.regular((4, 4)), tmp_path / "out", name=f"{name}s", overwrite=False)


def test_files_of_urls_and_archives_get_other_names_than_devices():
    assert _name_of(urlsplit("https://host/nul.csv")) == "_nul.csv"
    members = [zipfile.ZipInfo(f"data/con.{ending}") for ending in ("tif", "tfw")]
    assert [input_files._name_of(one) for one in members] == ["_con.tif", "_con.tfw"]


def test_a_release_in_an_archive_opens_no_device(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("release.json", "SHA256SUMS", "con.csv"):
            archive.writestr(f"out/public/{name}", "{}")
    monkeypatch.setattr("geodp.io.verify.card.OPENS_FOLDERS", True)
    assert (unpack_release(tmp_path / "a.zip") / "public" / "con.csv").exists()
    (tmp_path / "a.zip").rename(tmp_path / "b.zip")
    monkeypatch.setattr("geodp.io.verify.card.OPENS_FOLDERS", False)
    with refuses(VerificationError, "archive-has-device-name"):
        unpack_release(tmp_path / "b.zip")


@pytest.fixture
def scanned(monkeypatch):
    """Let a virus scanner have what is renamed open for three looks, on a system like Windows."""
    looks, rename, replace = [], os.rename, os.replace

    def wait(step):
        def renamed(source, target):
            looks.append(Path(source).name)
            if len(looks) < 3:
                raise PermissionError(errno.EACCES, "Access is denied", str(source))
            step(source, target)

        return renamed

    monkeypatch.setattr(os, "rename", wait(rename))
    monkeypatch.setattr(os, "replace", wait(replace))
    for name in ("atomic", "staging"):
        monkeypatch.setattr(f"geodp.io.folder.{name}.OPENS_FOLDERS", False)
    return looks


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_is_renamed_once_a_scanner_lets_it_go(tmp_path, monkeypatch, scanned, overwrite):
    monkeypatch.setattr("geodp.io.folder.atomic._open_nameless", lambda *_: None)
    with write_atomically(tmp_path / "a.csv", "It exists.", overwrite=overwrite) as file:
        file.write(b"x")
    assert ((tmp_path / "a.csv").read_bytes(), len(scanned)) == (b"x", 3)


def test_a_release_gets_its_name_once_a_scanner_lets_it_go(tmp_path, scanned):
    (tmp_path / "partial").mkdir()
    with pytest.raises(PermissionError):
        move(tmp_path / "partial", tmp_path / "tried")
    _exchange(tmp_path / "partial", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert len(scanned) == 3


def test_a_path_that_is_too_long_for_windows_is_refused_before_the_charge(tmp_path, monkeypatch):
    touch = Path.touch

    def limited(path):
        if len(str(path)) >= 260:
            raise FileNotFoundError(errno.ENOENT, "The system cannot find the path specified")
        touch(path)

    monkeypatch.setattr(Path, "touch", limited)
    monkeypatch.setattr("geodp.io.folder.staged_release.OPENS_FOLDERS", False)
    room = 260 - len(str(tmp_path / "public" / f".{'x' * LONGEST_ENDING}"))
    try_longest_name(tmp_path, "n" * (room - 1))
    for name, inner in (("n" * room, ""), ("n" * (room - 3), "2024")):
        with refuses(OutputError, "output-path-too-long"):
            try_longest_name(tmp_path, name, inner)
    assert not [*tmp_path.iterdir()]


def test_a_junction_is_no_folder_of_a_release(tmp_path, monkeypatch):
    (tmp_path / "public" / "more").mkdir(parents=True)
    assert strange_entry(tmp_path) is None
    lstat = os.lstat

    def tagged(path):
        seen = lstat(path)
        tag = 0xA0000003 if str(path).endswith("more") else 0
        return SimpleNamespace(st_mode=seen.st_mode, st_reparse_tag=tag)

    monkeypatch.setattr("geodp.io.opening.os.lstat", tagged)
    assert strange_entry(tmp_path) == os.path.join("public", "more")


@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        (r"C:\data\*.csv", r"C:\data"),
        (r"\\server\share\data\?.csv", r"\\server\share\data"),
        (r"\\?\C:\data\[ab].csv", r"\\?\C:\data"),
        (r"data\**\a.csv", "data"),
    ],
)
def test_the_folder_of_a_pattern_is_found_on_drives_and_shares(monkeypatch, pattern, where):
    monkeypatch.setattr(locations, "Path", PureWindowsPath)
    assert locations._folder_of(pattern) == PureWindowsPath(where)


def test_a_long_path_is_no_pattern():
    assert locations.find_files(r"\\?\C:\data\a.csv") == [r"\\?\C:\data\a.csv"]


def test_a_url_is_told_from_a_drive_also_as_a_path():
    for address in ("https://host/a.csv", "s3://store/a"):
        assert is_url(address)
        assert is_url(str(PureWindowsPath(address)))
    for path in (r"C:\a.csv", "C:/a.csv", r"\\server\share\a.csv", r"\\?\C:\a.csv"):
        assert not is_url(path)


def test_the_script_that_verifies_follows_no_junction(tmp_path, monkeypatch):
    (tmp_path / "public").mkdir()
    seen = SimpleNamespace(st_mode=os.lstat(tmp_path / "public").st_mode, st_reparse_tag=0xA0000003)
    assert plain_files(str(tmp_path)) == []
    monkeypatch.setattr("geodp.io.verify.verify_release.os.lstat", lambda _: seen)
    with pytest.raises(ValueError, match="public is a link"):
        plain_files(str(tmp_path))


@pytest.mark.parametrize("encoding", ["cp932", "cp1252", "utf-8"])
def test_json_on_a_screen_of_another_encoding_is_json(encoding):
    code = (
        "import click, json\n"
        "from geodp import cli\n"
        "cli._open_streams()\n"
        "click.echo(json.dumps('é 人口 \\U0001f600 \\udc90', ensure_ascii=False))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert json.loads(done.stdout.decode(encoding)) == "é 人口 \U0001f600 \udc90"


def test_a_charged_draw_gets_its_name_once_a_scanner_lets_it_go(tmp_path, scanned):
    (tmp_path / DRAWN).parent.mkdir()
    (tmp_path / DRAWN).write_bytes(b"x")
    mark_charged(tmp_path)
    assert ((tmp_path / PENDING).read_bytes(), len(scanned)) == (b"x", 3)


def test_an_evaluation_starts_no_more_processes_than_windows_takes(monkeypatch):
    assert [count_processes(*both) for both in ((100, 500), (4, 2))] == [100, 2]
    monkeypatch.setattr("geodp.tools.evaluate.evaluate.sys.platform", "win32")
    assert [count_processes(*both) for both in ((100, 500), (100, 40), (4, 2))] == [61, 40, 2]


def test_a_service_without_a_home_has_fonts(monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.setenv("LOCALAPPDATA", "somewhere")
    assert [*_folders()]
