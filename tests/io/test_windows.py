"""What Windows does differently with names, paths and locks, as far as it shows elsewhere."""

import sqlite3
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
