"""Neighbouring relations, and the unit by which neighbours differ.

Tables that differ by one person more or less, or by one replaced; the unit says who the one is.
"""

import unicodedata

from geodp.errors import UsageError

ADD_REMOVE = "add-remove-one"
REPLACE = "replace-one"
NEIGHBOURS = (ADD_REMOVE, REPLACE)


def canonical_unit(text: str) -> str:
    """Return the one form of a unit of privacy: a noun, without the number.

    Composed characters (NFC), single blanks, no "one" before it. UsageError for what is no short
    line of printable characters.

    Examples
    --------
    >>> canonical_unit("one person"), canonical_unit(" person  day")
    ('person', 'person day')
    """
    if isinstance(text, str) and text.isprintable() and len(text) <= 200:
        words = unicodedata.normalize("NFC", text).split()
        while words and words[0].casefold() == "one":
            words = words[1:]
        if words:
            return " ".join(words)
    raise UsageError(
        "unit must say whom the guarantee protects: person, household, trip ...",
        code="unit-missing",
    )
