"""``geodp sql`` prints a query and how its result is published."""

import pytest

from tests.command import geodp


def test_the_query_comes_with_the_command_that_publishes_it():
    done = geodp("sql", "--grid", "jis:half", "--engine", "duckdb", "--person", "id", "--cells", 2)
    first, second, *query = done.stdout.splitlines()
    assert done.returncode == 0
    assert "EPSG:6668" in first
    assert "records outside the domain or without a person are left out" in first
    assert "--grid jis:half --code code --value geodp_records --contribution 2 ..." in second
    assert query[0] == "WITH located AS ("
    unbounded = geodp("sql", "--grid", "inspire:1km", "--engine", "spark", "--points", "x", "y")
    assert "--contribution N" in unbounded.stdout.splitlines()[1]
    assert "`x`" in unbounded.stdout


def test_pairs_come_with_the_command_that_publishes_them():
    places = ("--points", "x", "y", "--points-to", "u", "v")
    done = geodp("sql", "--grid", "jis:basic", "--engine", "snowflake", *places)
    first, second, *_ = done.stdout.splitlines()
    assert first.startswith("-- x, y, u and v are coordinates in EPSG:6668")
    columns = "--pairs --column origin=origin --column destination=destination"
    assert f"{columns} --value geodp_records --contribution N" in second
    assert 'AS "destination"' in done.stdout


def test_the_domain_is_a_public_area_by_name():
    named = geodp("sql", "--grid", "inspire:1km", "--engine", "duckdb", "--bounds", " New\nZealand")
    assert "No part of" in named.stderr
    assert named.returncode == 2
    first = geodp("sql", "--grid", "inspire:1km", "--engine", "duckdb", "--bounds", "\nGermany ")
    assert first.returncode == 0
    command, *query = first.stdout.splitlines()[1:]
    assert "--grid inspire:1km --bounds Germany --code code" in command
    assert query[0] == "WITH located AS ("
    whole = geodp("sql", "--grid", "inspire:1km", "--engine", "duckdb").stdout.splitlines()
    assert query != whole[2:]


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("--grid", "jis:street"), "code systems are"),
        (("--grid", "jis:half", "--bounds", 1, 2, 3, 4), "bounds"),
        (("--grid", "jis:half", "--bounds", "nowhere"), "no public area of this name"),
        (("--grid", "jis:half", "--table", "a\nb"), "on one line"),
        (("--grid", "jis:half", "--person", 'a"b'), "must not contain quotes"),
        (("--grid", "jis:half", "--order-by", "t"), "column of persons"),
    ],
)
def test_what_makes_no_query_is_refused_in_a_sentence(options, rule):
    done = geodp("sql", "--engine", "duckdb", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert rule in done.stderr
    assert len(done.stderr.splitlines()) == 1
