"""Names of columns that tell what a column holds, in many languages: words.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from geodp.io.read.rows.names import fold


def find_named(role: str, *names: Sequence[str]) -> list[int]:
    """Return which columns have names of a role; those of its first patterns come first.

    Parameters
    ----------
    role : str
        One of words.toml.
    *names : sequences of str
        Of all columns; further ones are their labels.

    Examples
    --------
    >>> find_named("code", ["n", "Mesh_Code"]), find_named("longitude", ["X", "経度（世界）"])
    ([1], [1])
    """
    columns = list(zip(*([_plain(one) for one in some] for some in names), strict=True))
    found = [
        at
        for pattern in _words()[role]
        for at, column in enumerate(columns)
        if any(fnmatchcase(name, pattern) for name in column)
    ]
    return list(dict.fromkeys(found))


def _plain(name: str) -> str:
    return fold(name).replace("-", "_").replace(".", "_")


@cache
def _words() -> dict[str, list[str]]:
    return tomllib.loads((files("geodp.io.read.layout") / "words.toml").read_text("utf-8"))
