"""What a document shows of a benchmark's kept figures."""


def shown(suite):
    """The table between a suite's marks."""
    text = suite.DOCUMENT.read_text(encoding="utf-8")
    return text.split(suite.MARKS[0])[1].split(suite.MARKS[1])[0].strip()
