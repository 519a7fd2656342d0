"""Neighbouring relations, and the unit by which neighbours differ.

Neighbours are tables that differ in one unit, such as a person, which is added, removed or
replaced.
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
        # "one person" and "person" must be one unit: losses add up only where the units are equal.
        parts = unicodedata.normalize("NFC", text).split()
        while parts and parts[0].casefold() == "one":
            parts = parts[1:]
        if parts:
            return " ".join(parts)
    raise UsageError(
        "unit must name whom the guarantee protects: person, household, trip ...",
        code="unit-missing",
    )


def require_neighbours(neighbours: str) -> None:
    """Raise UsageError for an unknown neighbouring relation."""
    if neighbours not in NEIGHBOURS:
        raise UsageError(
            f"neighbours must be one of: {', '.join(NEIGHBOURS)}.", code="neighbours-unknown"
        )
