"""Descriptions of grids whose codes are made of coordinates: TOML files, geodp's own and others.

A description has a ``name``; ``codes``, one spelling or several, of which the first is written (see
:mod:`geodp.grid.codes.pattern`), or a table of them by size; ``crs``; ``sizes`` of cells by their
labels; and ``extent``, west, south, east and north. It may have a ``title``; a ``source``, where
the publisher says so; an ``origin``, x and y of a corner of cells; ``areas``, the labels of the
coarser cells that are published; ``letters``, tables of letters of squares by names, with the
``side`` of a square and ``rows`` of letters; ``columns``, beginnings of the names of columns of
such codes; ``examples``, codes with x and y of their lower left corners, which are checked; and
``notes``, sentences for codes that are none, by patterns of their text. Numbers are whole, decimal,
or texts of fractions (``"1/120"``).
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
from geodp.grid.codes.arrays import Pair
from geodp.grid.codes.pattern import RESERVED, Part, Square, read_pattern
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
MOST_BYTES = 1 << 20
MOST_ENTRIES, MOST_TEXT, MOST_SPELLING = 64, 8192, 200
"""Entries of a list or table, characters of a text and of a spelling: cards are strangers'."""
CODE_FAMILIES = ("jis", "quadkey", "geohash", "file", "regular", "like", "units", "h3", "s2")
"""Names of grids that are no description."""


@dataclass(frozen=True)
class GridDescription:
    """The description of a grid that a TOML file gives; equal where all of it is.

    Attributes
    ----------
    name : str
        What stands before the size in the grid's name: ``"inspire"``, ``"national:3067"``.
    crs : str
        As pyproj takes it: ``"EPSG:3035"``, or PROJ's or WKT's text.
    sizes : tuple of (str, Fraction)
        Labels and sides of cells in units of the CRS, from the smallest.
    extent : tuple of Fraction
        West, south, east, north.
    codes : tuple of (str, tuple of str)
        Spellings by label of the size, the first of them written.
    origin : tuple of Fraction
        (y, x) of a corner of cells of every size.
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
    def of(cls, said: Mapping[str, Any], where: str) -> GridDescription:
        """Check what a TOML or JSON document says; UsageError, which names `where` and the key."""
        _require_keys(said, where)
        if not re.fullmatch(NAME, said["name"]):
            raise UsageError(
                f"{where}: name must be of small letters, digits and hyphens.",
                code="description-name",
            )
        sizes = _sizes(said["sizes"], where)
        west, south, east, north = _numbers(said["extent"], 4, "extent", where)
        if not (west < east and south < north):
            raise UsageError(
                f"{where}: extent must be west, south, east, north, in this order.",
                code="description-extent",
            )
        x, y = _numbers(said.get("origin", [0, 0]), 2, "origin", where)
        labels = [label for label, _ in sizes]
        areas = tuple(_texts(said.get("areas", []), "areas", where))
        if unknown := [area for area in areas if area not in labels]:
            raise UsageError(
                f"{where}: areas has {printable(unknown[0])}, which is none of sizes.",
                code="description-areas",
            )
        examples = tuple(
            (code, tuple(_numbers(corner, 2, "examples", where)))
            for code, corner in said.get("examples", {}).items()
        )
        notes = said.get("notes", {})
        _texts([*notes.values()], "notes", where)
        return cls(
            name=said["name"],
            crs=_crs(said["crs"], where),
            sizes=sizes,
            extent=(west, south, east, north),
            codes=_codes(said["codes"], labels, where),
            origin=(y, x),
            areas=areas,
            letters=_letters(said.get("letters", {}), where),
            title=said.get("title", ""),
            source=said.get("source", ""),
            columns=tuple(_texts(said.get("columns", []), "columns", where)),
            examples=tuple((code, (pair[1], pair[0])) for code, pair in examples),
            notes=tuple(notes.items()),
        )

    def describe(self) -> dict[str, Any]:
        """Return the description as plain values, numbers as exact texts: `of` reads it again.

        What reads no code, as columns' names and notes, is left out.
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
        """Return the parts of every spelling of the codes of a size; UsageError for a wrong one."""
        words = {"size": str(self.size(label)), "label": label}
        if found := re.fullmatch(r"EPSG:(\d+)", self.crs):
            words["epsg"] = found[1]
        parts = []
        for pattern in dict(self.codes)[label]:
            try:
                parts.append(read_pattern(pattern, words, dict(self.letters)))
            except UsageError as error:
                raise UsageError(
                    f"codes {printable(pattern)!r} {error}.", code=error.code
                ) from None
        return tuple(parts)

    def label_of(self, text: str) -> str | None:
        """Return the label of a size by its label, in any case, or by its number; None for none."""
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
    """Return exact numbers of a list of so many."""
    found = [_number(value) for value in values] if isinstance(values, list) else []
    if len(found) != count or None in found:
        raise UsageError(
            f'{where}: {key} must be {count} numbers, whole, decimal, or fractions as "1/120".',
            code="description-numbers",
        )
    return [number for number in found if number is not None]


def _number(value: Any) -> Fraction | None:
    """Return an exact number of a plain value; None for another."""
    if isinstance(value, str) and not re.fullmatch(
        r"-?[0-9]{1,15}(/[0-9]{1,15}|\.[0-9]{1,15})?", value
    ):
        return None
    if isinstance(value, bool) or not isinstance(value, int | str | Fraction):
        return None
    try:
        found = Fraction(value)
    except (ValueError, ZeroDivisionError):
        return None
    return found if abs(found) < 10**15 else None


def _sizes(said: Mapping[str, Any], where: str) -> tuple[tuple[str, Fraction], ...]:
    found = {label: _number(size) for label, size in said.items()}
    sizes = {label: size for label, size in found.items() if size is not None and size > 0}
    if not sizes or sizes.keys() != found.keys():
        raise UsageError(
            f"{where}: sizes must name the sides of cells in units of the CRS, such as "
            '{ "1km" = 1000 }.',
            code="description-sizes",
        )
    labels = {label.lower() for label in sizes}
    if not all(re.fullmatch(LABEL, label) for label in sizes) or len(labels) < len(sizes):
        raise UsageError(
            f"{where}: labels of sizes have letters and digits, and are all different.",
            code="description-size-labels",
        )
    return tuple(sorted(sizes.items(), key=lambda one: one[1]))


def _codes(said: Any, labels: list[str], where: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return spellings by size."""
    by_size = said if isinstance(said, dict) else dict.fromkeys(labels, said)
    if by_size.keys() != {*labels}:
        raise UsageError(
            f"{where}: codes has an entry for each of sizes: {', '.join(labels)}.",
            code="description-codes-missing",
        )
    found = []
    for label in labels:
        spellings = by_size[label]
        several = [spellings] if isinstance(spellings, str) else spellings
        if not isinstance(several, list) or not several or not all(several):
            raise UsageError(
                f'{where}: codes must be spellings, such as "{{east:7}}{{north:7}}".',
                code="description-codes-not-spellings",
            )
        texts = _texts(several, "codes", where)
        if len(texts) > MOST_ENTRIES or max(map(len, texts)) > MOST_SPELLING:
            raise UsageError(
                f"{where}: a spelling of codes has at most {MOST_SPELLING} characters.",
                code="description-spelling-too-long",
            )
        found.append((label, tuple(texts)))
    return tuple(found)


def _letters(said: Mapping[str, Any], where: str) -> tuple[tuple[str, Square], ...]:
    """Return tables of letters."""
    found = []
    for name, table in said.items():
        if not re.fullmatch("[a-z]{1,20}", name) or name in RESERVED:
            raise UsageError(
                f"{where}: letters are named by small letters, and not as another field is.",
                code="description-letters-name",
            )
        known = table if isinstance(table, dict) and {*table} == {"side", "rows"} else {}
        side, rows = _number(known.get("side")), known.get("rows", [])
        if side is None or side <= 0 or not _is_table(rows):
            raise UsageError(
                f"{where}: letters.{name} must have the side of a square, and rows of letters from "
                'the north, all different: { side = 100000, rows = ["AB", "CD"] }.',
                code="description-letters-square",
            )
        found.append((name, Square(side, tuple(rows))))
    return tuple(found)


def _is_table(rows: Any) -> bool:
    """Whether these are rows of the same number of letters, all different, and more than one."""
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        return False
    letters = "".join(rows)
    return (
        letters.isalpha()
        and len({len(row) for row in rows}) == 1
        and 1 < len({*letters}) == len(letters) <= MOST_SPELLING
    )


def _require_keys(said: Mapping[str, Any], where: str) -> None:
    """Raise UsageError for a key that is unknown, of a wrong kind, too long or missing."""
    for key, value in said.items():
        if key not in KINDS:
            raise UsageError(
                f"{where}: {printable(key)} is no key; keys are {', '.join(KINDS)}.",
                code="description-key-unknown",
            )
        if not isinstance(value, KINDS[key]):
            allowed = " or ".join(WRITTEN[kind] for kind in KINDS[key])
            raise UsageError(f"{where}: {key} must be {allowed}.", code="description-value-wrong")
        if len(said[key]) > (MOST_TEXT if isinstance(value, str) else MOST_ENTRIES):
            raise UsageError(
                f"{where}: {key} is too long; lists and tables have at most {MOST_ENTRIES} "
                "entries.",
                code="description-too-long",
            )
    if missing := [key for key in NEEDED if key not in said]:
        raise UsageError(
            f"{where}: {missing[0]} is missing; a grid needs {', '.join(NEEDED)}.",
            code="description-key-missing",
        )


def _crs(text: str, where: str, *, known: bool = False) -> str:
    """Return the text of a CRS; UsageError for one that PROJ does not know.

    What names a file is never followed. Numbers of EPSG are taken as they are unless they must be
    `known`, as geodp's own are, and PROJ is slow to begin with.
    """
    if not known and re.fullmatch(r"EPSG:\d{4,6}", text):
        return text
    try:
        return str(normalise_crs(text))
    except UsageError as error:
        raise UsageError(f"{where}: crs: {error}", code="description-crs") from None


@cache
def described_names() -> tuple[str, ...]:
    """Return the names of geodp's own descriptions, in order, without reading them."""
    found = (files("geodp.grid.codes") / "systems").iterdir()
    return tuple(
        sorted(one.name[:-5].replace("_", ":") for one in found if one.name.endswith(".toml"))
    )


@cache
def find_description(name: str) -> GridDescription | None:
    """Return geodp's own description of a name; None for none."""
    if name not in described_names():
        return None
    path = files("geodp.grid.codes") / "systems" / f"{name.replace(':', '_')}.toml"
    return parse_description(path.read_text("utf-8"), name)


def read_description(path: Path) -> GridDescription:
    """Read somebody's own description from a TOML file.

    Raises InputError for what is no file, and UsageError for what is no description or has a name
    that is taken.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode) or path.stat().st_size > MOST_BYTES:
            raise InputError(
                f"{path} is no file of a grid's description (TOML).",
                code="description-not-toml-file",
            )
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(
            f"{path} cannot be read as a TOML file (--grid file:NAME.toml).",
            code="description-unreadable",
        ) from None
    found = parse_description(text, str(path))
    _crs(found.crs, str(path), known=True)
    if found.name in (*described_names(), *CODE_FAMILIES):
        raise UsageError(
            f"{path}: name is {found.name}, which is a grid of geodp; give yours another name.",
            code="description-name-taken",
        )
    return found


def parse_description(text: str, where: str) -> GridDescription:
    """Return the description of a TOML document; UsageError, which names it, for none."""
    try:
        said = tomllib.loads(text, parse_float=_exact)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{where} is no TOML document ({error}).", code="description-not-toml"
        ) from None
    return GridDescription.of(said, where)


def _exact(text: str) -> Fraction:
    """Return a decimal number exactly; ValueError for inf and nan."""
    if not math.isfinite(float(text)) or len(text) > 40:
        raise ValueError("a number must be finite and short")
    return Fraction(text.replace("_", ""))
