"""Descriptions of grids whose codes are composed of coordinates, as TOML files.

A description has a ``name``; ``codes``, one spelling or several, of which the first is written (see
:mod:`geodp.grid.codes.pattern`), or a table of them by size; ``crs``; ``sizes`` of cells by their
labels; and ``extent``: west, south, east and north. Optional are a ``title``; a ``source``, the
publisher's document; an ``origin``, x and y of a corner of cells; ``areas``, the labels of the
coarser cells that are published; ``letters``, tables of letters of squares by name, with the
``side`` of a square and ``rows`` of letters; ``columns``, prefixes of the names of columns with
such codes; ``examples``, codes with x and y of their lower left corners, which are checked; and
``notes``, messages for invalid codes, by patterns of their text. Numbers are integers, decimals, or
texts of fractions (``"1/120"``).
"""

from __future__ import annotations

import math
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from geodp.errors import InputError, UsageError, printable
from geodp.grid.codes.pattern import RESERVED, Part, Square, read_pattern
from geodp.grid.codes.system import Pair
from geodp.grid.crs import normalise_crs

KINDS: Mapping[str, tuple[type, ...]] = {
    "name": (str,),
    "title": (str,),
    "source": (str,),
    "crs": (str,),
    "origin": (list,),
    "sizes": (dict,),
    "extent": (list,),
    "areas": (list,),
    "codes": (str, list, dict),
    "letters": (dict,),
    "columns": (list,),
    "examples": (dict,),
    "notes": (dict,),
}
"""Keys of a description, and their types."""

WRITTEN: Mapping[type, str] = {str: "a text", list: "a list", dict: "a table"}

NEEDED = ("name", "crs", "sizes", "extent", "codes")

NAME = r"[a-z][a-z0-9-]{0,40}(:[a-z0-9-]{1,20})?"
LABEL = r"[A-Za-z0-9]{1,20}"
MAX_BYTES = 1 << 20
MAX_ENTRIES, MAX_TEXT, MAX_SPELLING = 64, 8192, 200
"""Maximal entries of a list or table, characters of a text and of a spelling: limits for
untrusted cards.
"""
CODE_FAMILIES = ("jis", "quadkey", "geohash", "file", "regular", "like", "units", "h3", "s2")
"""Prefixes of grids that have no description."""


@dataclass(frozen=True)
class GridDescription:
    """The description of a grid, as a TOML file contains it; equal if all fields are equal.

    Attributes
    ----------
    name : str
        Prefix of the grid's name, before the size: ``"inspire"``, ``"national:3067"``.
    crs : str
        Any text that pyproj accepts: ``"EPSG:3035"``, a PROJ string or WKT.
    sizes : tuple of (str, Fraction)
        Labels and sides of cells in units of the CRS, from the smallest.
    extent : tuple of Fraction
        West, south, east, north.
    codes : tuple of (str, tuple of str)
        Spellings by label of the size; the first is the one written.
    origin : tuple of Fraction
        (y, x) of a corner that cells of every size share.
    areas : tuple of str
        Labels of published cells.
    letters : tuple of (str, Square)
        Tables of letters by the names of their fields.
    """

    name: str
    crs: str
    sizes: tuple[tuple[str, Fraction], ...]
    extent: tuple[Fraction, Fraction, Fraction, Fraction]
    codes: tuple[tuple[str, tuple[str, ...]], ...]
    origin: Pair = (Fraction(0), Fraction(0))
    areas: tuple[str, ...] = ()
    letters: tuple[tuple[str, Square], ...] = ()
    title: str = ""
    source: str = ""
    columns: tuple[str, ...] = ()
    examples: tuple[tuple[str, Pair], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any], where: str) -> GridDescription:
        """Create a description from a TOML or JSON document, and validate it.

        Raises UsageError, which names `where` and the key.
        """
        _require_keys(document, where)
        # Names are parts of grids' names, which are split at the last colon.
        if not re.fullmatch(NAME, document["name"]):
            raise UsageError(
                f"{where}: name must consist of lowercase letters, digits and hyphens.",
                code="description-name",
            )
        sizes = _sizes(document["sizes"], where)
        west, south, east, north = _numbers(document["extent"], 4, "extent", where)
        if not (west < east and south < north):
            raise UsageError(
                f"{where}: extent must be west, south, east, north, in this order.",
                code="description-extent",
            )
        x, y = _numbers(document.get("origin", [0, 0]), 2, "origin", where)
        labels = [label for label, _ in sizes]
        areas = tuple(_texts(document.get("areas", []), "areas", where))
        if unknown := [area for area in areas if area not in labels]:
            raise UsageError(
                f"{where}: areas has {printable(unknown[0])}, which is not in sizes.",
                code="description-areas",
            )
        examples = tuple(
            (code, tuple(_numbers(corner, 2, "examples", where)))
            for code, corner in document.get("examples", {}).items()
        )
        notes = document.get("notes", {})
        _texts([*notes.values()], "notes", where)
        return cls(
            name=document["name"],
            crs=_crs(document["crs"], where),
            sizes=sizes,
            extent=(west, south, east, north),
            codes=_codes(document["codes"], labels, where),
            origin=(y, x),
            areas=areas,
            letters=_letters(document.get("letters", {}), where),
            title=document.get("title", ""),
            source=document.get("source", ""),
            columns=tuple(_texts(document.get("columns", []), "columns", where)),
            examples=tuple((code, (pair[1], pair[0])) for code, pair in examples),
            notes=tuple(notes.items()),
        )

    def describe(self) -> dict[str, Any]:
        """Return the description as plain values, numbers as exact texts, for `of` to read again.

        Fields that are not needed to read codes, such as names of columns and notes, are left out.
        """
        (y, x), sizes = self.origin, dict(self.sizes)
        letters = {
            name: {"side": str(one.side), "rows": list(one.rows)} for name, one in self.letters
        }
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "crs": self.crs,
            "origin": [str(x), str(y)],
            "sizes": {label: str(size) for label, size in sizes.items()},
            "extent": [str(number) for number in self.extent],
            "areas": list(self.areas),
            "codes": {label: list(spellings) for label, spellings in self.codes},
            **({"letters": letters} if letters else {}),
            "examples": {code: [str(x), str(y)] for code, (y, x) in self.examples},
        }

    def size(self, label: str) -> Fraction:
        """Return the side of the cells of a label, in units of the CRS."""
        return dict(self.sizes)[label]

    def spellings(self, label: str) -> tuple[tuple[Part, ...], ...]:
        """Return the parts of every spelling of a size's codes; UsageError for an invalid one."""
        fields = {"size": str(self.size(label)), "label": label}
        if match := re.fullmatch(r"EPSG:(\d+)", self.crs):
            fields["epsg"] = match[1]
        parts = []
        for pattern in dict(self.codes)[label]:
            try:
                parts.append(read_pattern(pattern, fields, dict(self.letters)))
            except UsageError as error:
                raise UsageError(
                    f"codes {printable(pattern)!r} {error}.", code=error.code
                ) from None
        return tuple(parts)

    def label_of(self, text: str) -> str | None:
        """Return the label of a size, given its label in any case or its number.

        None if unknown.
        """
        for label, size in self.sizes:
            if text.lower() == label.lower() or text == str(size):
                return label
        return None


def _texts(values: list[Any], key: str, where: str) -> list[str]:
    if not all(isinstance(value, str) for value in values):
        raise UsageError(
            f"{where}: every entry of {key} must be a text; quote it.",
            code="description-entry-not-text",
        )
    return values


def _numbers(values: Any, count: int, key: str, where: str) -> list[Fraction]:
    """Convert a list of a given length to exact numbers."""
    numbers = [_number(value) for value in values] if isinstance(values, list) else []
    if len(numbers) != count or None in numbers:
        raise UsageError(
            f'{where}: {key} must be {count} numbers, whole, decimal, or fractions as "1/120".',
            code="description-numbers",
        )
    return [number for number in numbers if number is not None]


def _number(value: Any) -> Fraction | None:
    """Convert a plain value to an exact number; None if it is not a number."""
    if isinstance(value, str) and not re.fullmatch(
        r"-?[0-9]{1,15}(/[0-9]{1,15}|\.[0-9]{1,15})?", value
    ):
        return None
    # Floats are refused: TOML decimals arrive as exact fractions, and JSON cards have texts.
    # Lengths are bounded, so that a card cannot make arithmetic on fractions slow.
    if isinstance(value, bool) or not isinstance(value, int | str | Fraction):
        return None
    try:
        number = Fraction(value)
    except (ValueError, ZeroDivisionError):
        return None
    return number if abs(number) < 10**15 else None


def _sizes(document: Mapping[str, Any], where: str) -> tuple[tuple[str, Fraction], ...]:
    numbers = {label: _number(size) for label, size in document.items()}
    sizes = {label: size for label, size in numbers.items() if size is not None and size > 0}
    if not sizes or sizes.keys() != numbers.keys():
        raise UsageError(
            f"{where}: sizes must name the sides of cells in units of the CRS, such as "
            '{ "1km" = 1000 }.',
            code="description-sizes",
        )
    labels = {label.lower() for label in sizes}
    if not all(re.fullmatch(LABEL, label) for label in sizes) or len(labels) < len(sizes):
        raise UsageError(
            f"{where}: labels of sizes must consist of letters and digits, and must differ.",
            code="description-size-labels",
        )
    return tuple(sorted(sizes.items(), key=lambda one: one[1]))


def _codes(document: Any, labels: list[str], where: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the spellings by size."""
    by_size = document if isinstance(document, dict) else dict.fromkeys(labels, document)
    if by_size.keys() != {*labels}:
        raise UsageError(
            f"{where}: codes needs an entry for each of sizes: {', '.join(labels)}.",
            code="description-codes-missing",
        )
    codes = []
    for label in labels:
        spellings = by_size[label]
        several = [spellings] if isinstance(spellings, str) else spellings
        if not isinstance(several, list) or not several or not all(several):
            raise UsageError(
                f'{where}: codes must be spellings, such as "{{east:7}}{{north:7}}".',
                code="description-codes-not-spellings",
            )
        texts = _texts(several, "codes", where)
        if len(texts) > MAX_ENTRIES or max(map(len, texts)) > MAX_SPELLING:
            raise UsageError(
                f"{where}: a spelling of codes has at most {MAX_SPELLING} characters.",
                code="description-spelling-too-long",
            )
        codes.append((label, tuple(texts)))
    return tuple(codes)


def _letters(document: Mapping[str, Any], where: str) -> tuple[tuple[str, Square], ...]:
    """Return the tables of letters."""
    tables = []
    for name, table in document.items():
        if not re.fullmatch("[a-z]{1,20}", name) or name in RESERVED:
            raise UsageError(
                f"{where}: names of letters must be lowercase, and not those of other fields.",
                code="description-letters-name",
            )
        entry = table if isinstance(table, dict) and {*table} == {"side", "rows"} else {}
        side, rows = _number(entry.get("side")), entry.get("rows", [])
        if side is None or side <= 0 or not _is_table(rows):
            raise UsageError(
                f"{where}: letters.{name} must have the side of a square, and rows of letters from "
                'the north, all different: { side = 100000, rows = ["AB", "CD"] }.',
                code="description-letters-square",
            )
        tables.append((name, Square(side, tuple(rows))))
    return tuple(tables)


def _is_table(rows: Any) -> bool:
    """Whether rows of letters have one length, and all their letters differ."""
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        return False
    letters = "".join(rows)
    return (
        letters.isalpha()
        and len({len(row) for row in rows}) == 1
        # A letter that occurs twice would stand for two squares.
        and 1 < len({*letters}) == len(letters) <= MAX_SPELLING
    )


def _require_keys(document: Mapping[str, Any], where: str) -> None:
    """Raise UsageError for a key that is unknown, of a wrong type, too long or missing."""
    for key, value in document.items():
        if key not in KINDS:
            raise UsageError(
                f"{where}: {printable(key)} is not a key; keys are {', '.join(KINDS)}.",
                code="description-key-unknown",
            )
        if not isinstance(value, KINDS[key]):
            allowed = " or ".join(WRITTEN[kind] for kind in KINDS[key])
            raise UsageError(f"{where}: {key} must be {allowed}.", code="description-value-wrong")
        # Cards may come from anybody: without these limits a crafted description could exhaust
        # memory.
        if len(document[key]) > (MAX_TEXT if isinstance(value, str) else MAX_ENTRIES):
            raise UsageError(
                f"{where}: {key} is too long; lists and tables have at most {MAX_ENTRIES} entries.",
                code="description-too-long",
            )
    if missing := [key for key in NEEDED if key not in document]:
        raise UsageError(
            f"{where}: {missing[0]} is missing; a grid needs {', '.join(NEEDED)}.",
            code="description-key-missing",
        )


def _crs(text: str, where: str, *, resolve: bool = False) -> str:
    """Return the text of a CRS; UsageError if PROJ does not know it.

    Names of files are never followed. EPSG codes are accepted unchecked unless `resolve` is set,
    as those of shipped descriptions are known and PROJ is slow to load.
    """
    if not resolve and re.fullmatch(r"EPSG:\d{4,6}", text):
        return text
    try:
        return str(normalise_crs(text))
    except UsageError as error:
        raise UsageError(f"{where}: crs: {error}", code="description-crs") from None


@cache
def described_names() -> tuple[str, ...]:
    """Return the sorted names of the shipped descriptions, without reading them."""
    # Names of files are names of grids, with _ for a colon: listing them parses nothing.
    entries = (files("geodp.grid.codes") / "systems").iterdir()
    return tuple(
        sorted(one.name[:-5].replace("_", ":") for one in entries if one.name.endswith(".toml"))
    )


@cache
def find_description(name: str) -> GridDescription | None:
    """Return the shipped description with a name; None if there is none."""
    if name not in described_names():
        return None
    path = files("geodp.grid.codes") / "systems" / f"{name.replace(':', '_')}.toml"
    return parse_description(path.read_text("utf-8"), name)


def read_description(path: Path) -> GridDescription:
    """Read a user's description from a TOML file.

    Raises InputError if it is not a file, and UsageError if it is not a description or
    its name is taken.
    """
    try:
        # A pipe or a device would block or never end, and a huge file fill the memory.
        if not stat.S_ISREG(path.stat().st_mode) or path.stat().st_size > MAX_BYTES:
            raise InputError(
                f"{path} is not a TOML file with a grid's description, of at most 1 MiB.",
                code="description-not-toml-file",
            )
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(
            f"{path} cannot be read as a TOML file (--grid file:NAME.toml).",
            code="description-unreadable",
        ) from None
    description = parse_description(text, str(path))
    _crs(description.crs, str(path), resolve=True)
    if description.name in (*described_names(), *CODE_FAMILIES):
        raise UsageError(
            f"{path}: name is {description.name}, which geodp uses itself; choose another name.",
            code="description-name-taken",
        )
    return description


def parse_description(text: str, where: str) -> GridDescription:
    """Parse the description in a TOML document; UsageError, which names it, if there is none."""
    try:
        document = tomllib.loads(text, parse_float=_exact)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{where} is not a TOML document ({error}).", code="description-not-toml"
        ) from None
    return GridDescription.of(document, where)


def _exact(text: str) -> Fraction:
    """Parse a decimal number exactly; ValueError for inf and nan."""
    if not math.isfinite(float(text)) or len(text) > 40:
        raise ValueError("a number must be finite and short")
    return Fraction(text.replace("_", ""))
