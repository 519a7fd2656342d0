"""One-line reprs of geodp's classes, for notebooks, debuggers and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

LONGEST = 120
"""Characters of a line."""

SHORT = 48
"""Characters of one value; a longer one is shown by its kind and size."""


def one_line(self: Any) -> str:
    """Format a dataclass on one line; long fields are shown by their kind and size.

    A field that is not to be shown, because it is confidential or says nothing, is
    ``field(repr=False)``; one that is None or empty is left out. What does not fit is ``...``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Route:
    ...     name: str
    ...     stops: tuple[int, ...]
    ...     ferry: str | None = None
    ...     __repr__ = one_line
    >>> Route("coast", tuple(range(900)))
    Route(name='coast', stops=<900 items>)
    """
    start, parts = f"{type(self).__name__}(", list[str]()
    for one in fields(self):
        value = getattr(self, one.name, None)
        if one.repr and value is not None and not _is_empty(value):
            parts.append(f"{one.name}={_shown(value)}")
    while len(start) + len(", ".join(parts)) + 1 > LONGEST:
        parts = [*parts[: -2 if parts[-1] == "..." else -1], "..."]
    return f"{start}{', '.join(parts)})"


def few(values: Sequence[object], limit: int = 3) -> str:
    """Format the first of some names.

    >>> few(["a", "b"]), few("abcde")
    ("['a', 'b']", "['a', 'b', 'c', ...]")
    """
    first = values[:limit]
    text = ", ".join(map(repr, first))
    return f"[{text}{', ...' if len(values) > limit else ''}]"


def _is_empty(value: Any) -> bool:
    return isinstance(value, tuple | list | dict | str) and not value


def _shown(value: Any) -> str:
    """Format a value, or its kind and size if it is long."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"<{value.dtype} {list(value.shape)}>"
    text = str(value) if type(value).__name__ == "Fraction" else repr(value)
    if len(text) <= SHORT and "\n" not in text:
        return text
    if isinstance(value, str):
        return repr(f"{value[: SHORT - 5]}...")
    if isinstance(value, Mapping | tuple | list):
        return f"<{len(value):,} items>"
    return f"<{type(value).__name__}>"
