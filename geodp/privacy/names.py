"""Names of data sets and samples, and which of them could be taken for each other."""

from __future__ import annotations

import re
import unicodedata

from geodp.errors import UsageError

_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Python calls printable and nobody sees."""


def require_words(text: str, what: str) -> None:
    """Refuse what is no short line of printable characters."""
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > 200:
        raise UsageError(f"{what} must be 1 to 200 printable characters.")


def canonical_name(name: str, whose: str = "data set") -> str:
    """Return the one form of a name: composed (NFC), blanks single and inside only.

    Examples
    --------
    >>> canonical_name(" census  2020 ")
    'census 2020'
    """
    require_words(name, f"The name of a {whose}")
    if _INVISIBLE.search(name):
        raise UsageError(f"The name of a {whose} may hold no characters that are not seen.")
    return unicodedata.normalize("NFC", " ".join(name.split()))


def skeleton(name: str) -> str:
    """Return what two names have in common that differ in case, width, blanks or dashes alone.

    Examples
    --------
    >>> skeleton("Ｃｅｎｓｕｓ") == skeleton("census")
    True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    dashed = ("-" if unicodedata.category(letter) == "Pd" else letter for letter in folded)
    return "".join("".join(dashed).split())
