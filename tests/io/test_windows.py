"""What Windows does differently with names, paths and locks, as far as it shows elsewhere."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import PureWindowsPath

import pytest

from geodp.io.opening import database_uri


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
