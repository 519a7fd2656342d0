"""Presets: what is known of a publisher's files, as TOML, among them those of the package.

A preset has a ``title`` and a ``source``; ``columns``, patterns that a file's columns must all
meet, or ``files``, of which its name must meet one; ``[options]`` as on the command line, in which
``*`` stands for anything in names of columns and ``|`` for "or"; ``[grids]``, from patterns of the
column of codes, or from numbers of digits, to grids, where the codes do not tell; ``asks``, what
remains to be said; or ``refused``, why such files are not read and what to do.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from geodp.errors import UsageError

NAMES = {"title", "source", "columns", "files", "options", "grids", "asks", "refused"}
OF_COLUMNS = ("code", "x", "y", "value", "person")
"""Options that name columns, and may be patterns in a preset."""


@dataclass(frozen=True)
class Preset:
    """What is known of a publisher's files; the attributes are those of the TOML file."""

    name: str
    title: str = ""
    source: str = ""
    columns: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    grids: Mapping[str, str] = field(default_factory=dict)
    asks: tuple[str, ...] = ()
    refused: str = ""

    @classmethod
    def of(cls, name: str, text: str) -> Preset:
        """Read a TOML document; UsageError for one that is no preset."""
        said = read_toml(text, f"The preset {name}")
        shapes = {"options": dict, "grids": dict, "columns": list, "files": list, "asks": list}
        strange = {*said} - NAMES
        if strange or any(not isinstance(said[n], shapes.get(n, str)) for n in said):
            raise UsageError(f"The preset {name} has {', '.join(sorted(NAMES))}, and no more.")
        texts = {n: v for n, v in said.items() if isinstance(v, list)}
        texts["grids"] = [*said.get("grids", {}).values()]
        for which, found in texts.items():
            if not all(isinstance(one, str) for one in found):
                raise UsageError(
                    f"In the preset {name} every entry of {which} must be a text; quote it."
                )
        for option in OF_COLUMNS:
            if not isinstance(said.get("options", {}).get(option, ""), str):
                raise UsageError(
                    f"In the preset {name} the option {option} must be a text: patterns of names, "
                    'with "|" for "or".'
                )
        lists = {n: tuple(map(str, v)) for n, v in said.items() if isinstance(v, list)}
        return cls(name, **{**said, **lists})

    def fits(self, path: Path, columns: Sequence[str]) -> bool:
        """Whether a file of this name with these columns is one of the publisher's."""
        named = any(fnmatchcase(path.name, pattern) for pattern in self.files)
        return named if self.files else all(match(pattern, columns) for pattern in self.columns)


def match(pattern: str, names: Sequence[str]) -> list[str]:
    """Return the names that the first alternative of a pattern meets which any does."""
    for one in pattern.split("|"):
        if found := [name for name in names if fnmatchcase(name.strip(), one)]:
            return found
    return []


@cache
def presets() -> tuple[Preset, ...]:
    """Return those of the package, by name."""
    folder = files("geodp.io.read.layout") / "official"
    found = [one for one in folder.iterdir() if one.name.endswith(".toml")]
    return tuple(
        Preset.of(one.name.removesuffix(".toml"), one.read_text("utf-8"))
        for one in sorted(found, key=lambda one: one.name)
    )


def find_preset(name: str) -> Preset:
    """Return a preset by its name, or of a file that ends in .toml; UsageError for none."""
    if name.endswith(".toml"):
        return Preset.of(Path(name).stem, read_text(Path(name)))
    for one in presets():
        if one.name == name:
            return one
    names = ", ".join(one.name for one in presets())
    raise UsageError(f"There is no preset of this name; there are {names}, and files (.toml).")


def read_text(path: Path) -> str:
    """Return the text of a file; UsageError where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{path} cannot be read as a text in UTF-8.") from None


def read_toml(text: str, what: str) -> dict[str, Any]:
    """Return what a TOML document says; UsageError, which names it, where it is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{what} is no TOML document ({error}).") from None
