"""Names of columns that identify their roles, in many languages: words.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase, translate
from functools import cache
from importlib.resources import files

from geodp.io.read.rows.names import fold

Names = Sequence[tuple[str, ...]]
"""Folded name of every column, and its label."""


def fold_columns(*names: Sequence[str]) -> list[tuple[str, ...]]:
    """Fold the names of all columns, and their labels if there are any, for :func:`find_named`."""
    return list(zip(*([_plain(one) for one in some] for some in names), strict=True))


def find_named(role: str, columns: Names) -> list[int]:
    """Return the columns whose names match a role; those of its first patterns come first.

    Parameters
    ----------
    role : str
        One of the roles in words.toml.
    columns : sequence of tuple of str
        Result of :func:`fold_columns`.

    Examples
    --------
    >>> find_named("code", fold_columns(["n", "Mesh_Code"]))
    [1]
    >>> find_named("longitude", fold_columns(["X", "経度（世界）"]))
    [1]
    """
    # The joint pattern rules out most columns at once; single patterns only give the order.
    every = _joint_pattern(role)
    some = [at for at, names in enumerate(columns) if any(map(every.match, names))]
    matches = [
        at
        for pattern in (_patterns_by_role()[role] if some else ())
        for at in some
        if any(_matches(name, pattern) for name in columns[at])
    ]
    return list(dict.fromkeys(matches))


def _plain(name: str) -> str:
    return fold(name).replace("-", "_").replace(".", "_")


def _matches(name: str, pattern: str) -> bool:
    # Most patterns are plain words, and compiling one takes longer than all comparisons.
    return fnmatchcase(name, pattern) if any(sign in pattern for sign in "*?[") else name == pattern


@cache
def _joint_pattern(role: str) -> re.Pattern[str]:
    """Return the pattern that any name of a role matches."""
    return re.compile("|".join(map(translate, _patterns_by_role()[role])))


@cache
def _patterns_by_role() -> dict[str, list[str]]:
    return tomllib.loads((files("geodp.io.read.layout") / "words.toml").read_text("utf-8"))
