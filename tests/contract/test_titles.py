"""What a title says of the numbers below it is asked about, and never ignored."""

from tests.contract.reading import with_name

MULTIPLES = (
    "人口（千人）",
    "income (1,000 yen)",
    "households in thousands",
    "n (millions)",
    "n in Tsd.",
)
PERCENT = ("n [%]", "％")
DENSITIES = ("population density", "n per km2", "人口密度", "share of women", "構成比")


def under(reader, column, title):
    """Read the world with another title of one column, named so in the command."""
    words = [title if word == column else word for word in reader.words()]
    return reader.read(with_name(reader.kind, column, title), words=words)


def unasked(reader, titles):
    """Return the titles that are not asked about, by column; the error names the title."""
    read = {(at, title): under(reader, at, title) for at in reader.kind.amounts for title in titles}
    return [at for at, one in read.items() if one.counted is not None or at[1] not in one.said]


def test_a_multiple_in_a_title_is_asked_about(reader):
    assert unasked(reader, MULTIPLES) == []


def test_a_percentage_in_a_title_is_asked_about(reader):
    assert unasked(reader, PERCENT) == []


def test_a_density_in_a_title_is_asked_about(reader):
    assert unasked(reader, DENSITIES) == []
