"""Lines of text that fit."""

from geodp.io.write.drawing.fonts import measure, shorten, wrap

LONG = "Resident population by sex and age group on 1 January, all municipalities " * 3


def test_lines_are_broken_where_they_may_be():
    assert wrap("one two", 1000, 12) == ["one two"]
    assert wrap("", 100, 12) == [""]
    lines = wrap(LONG, 200, 12)
    assert " ".join(lines) == LONG.strip()
    assert max(measure(line, 12) for line in lines) <= 200
    assert "".join(wrap("W" * 50, 60, 12)) == "W" * 50
    assert wrap("W", 1, 12) == ["W"]


def test_what_is_too_long_ends_in_an_ellipsis():
    assert shorten("short", 100, 12) == "short"
    cut = shorten("W" * 50, 100, 12)
    assert cut.endswith("W…")
    assert measure(cut, 12) <= 100
