"""Rows inserted many at a time are those inserted one by one."""

import sqlite3
from contextlib import closing

import pytest

from geodp.io.write.geopackage import TOGETHER, insert

COLUMNS = "(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, shape BLOB, code TEXT, n REAL)"


@pytest.mark.parametrize("n", [0, 1, TOGETHER - 1, TOGETHER, 5 * TOGETHER + 3])
def test_a_table_has_every_row_and_the_bytes_of_one_by_one(tmp_path, n):
    columns = [range(1, n + 1), [b"x" * i for i in range(n)], [f"c{i}" for i in range(n)]]
    columns.append([i / 4 for i in range(n)])
    written = []
    for name in ("many", "one"):
        with closing(sqlite3.connect(tmp_path / name, isolation_level=None)) as base:
            base.execute("BEGIN")
            base.execute(f'CREATE TABLE "a ""table""" {COLUMNS}')
            if name == "many":
                insert(base, 'a "table"', columns)
            else:
                base.executemany(
                    'INSERT INTO "a ""table""" VALUES (?, ?, ?, ?)', zip(*columns, strict=True)
                )
            base.execute("COMMIT")
            found = base.execute('SELECT * FROM "a ""table""" ORDER BY id').fetchall()
        assert found == [*zip(*columns, strict=True)]
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]


def test_few_parameters_a_statement_are_enough(tmp_path):
    with closing(sqlite3.connect(":memory:")) as base:
        base.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 5)
        base.execute("CREATE TABLE t (a, b)")
        insert(base, "t", [[1, 2, 3], [4, 5, 6]])
        assert base.execute("SELECT * FROM t").fetchall() == [(1, 4), (2, 5), (3, 6)]
