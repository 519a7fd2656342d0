"""A prior is used without noise: only a table that the operator says to be public may be one."""

from tests.contract.desk import contents, require
from tests.contract.kinds import CODES
from tests.contract.reading import rows_of, text_of

SOURCE = "Census 2015, table 3"
GIVEN = ("--prior", "prior.csv")
SOURCED = ("--prior-source", SOURCE)
VOUCHED = ("--prior-is-public",)


def read_with(reader, prior, *more):
    """Read the world beside a prior."""
    files = {**reader.kind.files, "prior.csv": prior}
    return reader.read(files, *GIVEN, *reader.kind.with_prior, *more)


def test_a_prior_is_used_where_the_operator_vouches_for_it(reader):
    kind = reader.kind
    assert kind.prior
    for more, option in (((), VOUCHED), (SOURCED, VOUCHED), (VOUCHED, SOURCED)):
        read = read_with(reader, kind.prior, *more)
        assert read.counted is None
        assert option[0] in read.said.partition("So far:")[0], (more, read.said)
    read = read_with(reader, kind.prior, *SOURCED, *VOUCHED)
    assert read.counted == reader.whole, read.said


def test_records_are_no_prior(reader):
    """A table with a column of persons is one of records."""
    assert reader.kind.prior
    header, *rows = rows_of(reader.kind.prior)
    records = text_of([["person_id", *header], *([f"p{n}", *row] for n, row in enumerate(rows))])
    read = read_with(reader, records, *SOURCED, *VOUCHED)
    assert read.counted is None
    assert "prior.csv" in read.said


def test_a_prior_of_another_grid_is_refused(reader):
    assert reader.kind.prior
    prior = reader.kind.prior
    for code in CODES:
        prior = prior.replace(code, f"{code}1")
    read = read_with(reader, prior, *SOURCED, *VOUCHED)
    assert read.counted is None
    assert "prior.csv" in read.said


def test_a_card_names_the_source_of_a_prior_and_nothing_of_its_content(desk):
    kind = desk.kind
    assert kind.prior
    (desk.folder / "prior.csv").write_text(kind.prior, encoding="utf-8")
    require(desk.publish(*GIVEN, *kind.with_prior, *SOURCED, *VOUCHED))
    cards = {
        name: data.decode("utf-8")
        for name, data in contents(desk.folder / "out" / "public").items()
        if name.endswith(".json")
    }
    assert any(SOURCE in card for card in cards.values())
    total = sum(int(row[-1]) for row in rows_of(kind.prior)[1:])
    for card in cards.values():
        assert "prior.csv" not in card
        assert "7919" not in card
        assert str(total) not in card
