"""What a database counts by our query is what we count of the records."""

import duckdb
import pytest

from tests.contract.desk import Desk, require
from tests.contract.reading import Reader
from tests.contract.records import QUERIES

NAMES = ("it's", "select; drop table records --", "naïve ☃", "a.b", "<script>", "=1+1")
QUOTED = ('say "hi"', '"; drop table records; --')


@pytest.fixture
def asked(tmp_path, kind):
    """A reader of the records of a kind, and the query that counts them."""
    assert kind.name in QUERIES
    return Reader(Desk(tmp_path, QUERIES[kind.name].kind)), QUERIES[kind.name]


def count(desk, frame, sql):
    """Return what the engine gives for the query of a command: a frame."""
    printed = require(desk.run(*sql, "--table", "records")).stdout
    link = duckdb.connect()
    coordinates = [one for one in ("lon", "lat") if one in frame]
    link.register("records", frame.astype(dict.fromkeys(coordinates, float)))
    return link.sql(printed.rstrip().rstrip(";")).df()


def test_a_query_counts_what_the_reader_counts(asked, kind):
    """Cells that hold somebody, and persons, households, trips or records: the same numbers."""
    reader, query = asked
    frames = query.kind.frames()
    made = {
        name: count(reader.desk, frame, query.sql).to_csv(index=False)
        for name, frame in frames.items()
    }
    words = (*kind.command, *kind.inputs, *query.options, "--epsilon", "2", "--contribution", "1")
    counted, read = reader.read(made, words=(*words, *kind.dry, "--output", "read")), reader.read()
    assert counted.counted is not None, counted.said
    assert read.counted is not None, read.said
    assert counted.facts == read.facts


def test_a_query_quotes_every_name(asked):
    """Or a name is refused that no engine quotes alike."""
    reader, query = asked
    frame = next(iter(query.kind.frames().values()))
    (column,) = query.kind.persons
    plain = count(reader.desk, frame, query.sql)
    for name in NAMES:
        words = [name if word == column else word for word in query.sql]
        found = count(reader.desk, frame.rename(columns={column: name}), words)
        assert len(found) == len(plain) > 0, name
        assert found.iloc[:, -1].sum() == plain.iloc[:, -1].sum(), name
    for name in QUOTED:
        done = reader.desk.run(*(name if word == column else word for word in query.sql))
        assert done.returncode == 2, name
        assert done.stdout == ""
