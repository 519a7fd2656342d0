"""Presets: what is known of a publisher's files, as TOML, among them those of the package.

A preset has a ``title``, a ``source``, a ``publisher`` and, of one census, the ``date`` of its
counts; ``columns``, patterns that a file's columns must all meet, and ``without``, patterns of
columns of which it has none, or ``files``, of which its name must meet one; names of columns are
compared by
:func:`geodp.io.read.rows.names.match`, in which case and width do not count
where the very spelling fits no preset; ``[options]`` as on the command line, in which
``*`` stands for anything in names of columns and ``|`` for "or"; ``[[attributes]]``, columns that
stand side by side and divide the people that are counted, by one attribute or by several at once,
or ``column``, one that has a label in each row;
``[grids]``, from patterns of the column of codes, or from numbers of digits, to grids, where the
codes do not tell; ``contribution``, how often a person is counted at most in the column of
``value`` of one table, by the publisher's documents; ``parts``, a pattern of the column that tells
rows of one cell apart, where a cell has a row for each part, such as each country that it lies in,
and their counts are added up, both of which a preset of the package alone may state; ``sheets``, a
pattern of columns whose names carry the id of a table that is published in several files; ``asks``,
what remains to be said; or ``refused``, why such files are not read and what to do.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from geodp.errors import UsageError, printable
from geodp.grid.axes import JOINT
from geodp.grid.codes import code_system
from geodp.io.opening import require_regular
from geodp.io.read.rows.columns import open_tables
from geodp.io.read.rows.headers import is_name
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.names import find_matching_patterns, fold_case, match
from geodp.table.stated.reading import StatedLayout

FIELDS: Mapping[str, type] = {
    "title": str,
    "source": str,
    "publisher": str,
    "date": str,
    "columns": list,
    "files": list,
    "without": list,
    "options": dict,
    "attributes": list,
    "grids": dict,
    "contribution": int,
    "sheets": str,
    "parts": str,
    "asks": list,
    "refused": str,
}
"""What a preset may state."""

OF_ATTRIBUTES: Mapping[str, type] = {
    "name": str,
    "columns": list,
    "column": str,
    "labels": list,
}
"""What one of its attributes may state."""

WRITTEN: Mapping[type, str] = {
    str: "a text",
    list: "a list",
    dict: "a table",
    int: "a whole number",
}
OF_OPERATOR = (
    "contribution",
    "domain-is-public",
    "mask-source",
    "regions-source",
    "units-source",
)
"""Options that only the operator gives, as they state what no layout can know."""

OF_FILE = ("encoding", "delimiter", "layer", "header_row", "first_row", "last_row", "member")
"""Options that say how a file is opened."""

OF_COLUMNS = ("code", "x", "y", "value", "person")
"""Options that name columns, and may be patterns in a preset."""


@dataclass(frozen=True)
class LabelColumns:
    """Columns side by side, each of which counts the people of one label.

    Attributes
    ----------
    name : str
        Of the attribute, such as "sex"; of a joint table those of several: "sex*age".
    columns : tuple of str
        A pattern for each label, two or more, of a joint table for each combination, the last
        attribute's labels in turn. A person is in one of the columns at most.
    labels : tuple of tuples of str
        Of each attribute. Default, of one attribute only: the names of the columns.
    """

    name: str
    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of the attributes, each alone."""
        return tuple(self.name.split(JOINT))

    @classmethod
    def make(cls, said: Mapping[str, Any]) -> LabelColumns:
        """Return a checked entry of ``[[attributes]]``."""
        return cls(said["name"], tuple(said["columns"]), tuple(map(tuple, _lists(said))))


def _lists(said: Mapping[str, Any]) -> list[Any]:
    """Return the lists of labels: of a joint table one in another."""
    given = said.get("labels", [])
    return given if JOINT in said["name"] else [given] if given else []


def _require_lists(where: str, said: Mapping[str, Any]) -> None:
    """Raise UsageError for labels that are no lists of texts."""
    if not all(isinstance(a, list) and all(isinstance(b, str) for b in a) for a in _lists(said)):
        raise UsageError(
            f"{where} labels must be a list of texts, of a joint table one for each of its names.",
            code="preset-labels",
        )


@dataclass(frozen=True)
class LabelledColumn:
    """A column that has a label of an attribute in each row.

    Attributes
    ----------
    name : str
        Of the attribute.
    column : str
        A pattern.
    labels : tuple of str
        All that the publisher documents.
    """

    name: str
    column: str
    labels: tuple[str, ...]

    @classmethod
    def make(cls, said: Mapping[str, Any]) -> LabelledColumn:
        """Return a checked entry of ``[[attributes]]`` with one column."""
        return cls(said["name"], said["column"], tuple(said["labels"]))


@dataclass(frozen=True)
class Preset:
    """What is known of a publisher's files; the attributes are those of the TOML file."""

    name: str
    title: str = ""
    source: str = ""
    publisher: str = ""
    date: str = ""
    columns: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    attributes: tuple[LabelColumns, ...] = ()
    labelled: tuple[LabelledColumn, ...] = ()
    grids: Mapping[str, str] = field(default_factory=dict)
    contribution: int | None = None
    sheets: str = ""
    parts: str = ""
    asks: tuple[str, ...] = ()
    refused: str = ""

    @classmethod
    def of(cls, name: str, text: str) -> Preset:
        """Read a TOML document; UsageError for one that is no preset, which names the field."""
        said = read_toml(text, f"The preset {name}")
        where = f"In the preset {name}"
        require_fields(where, said, FIELDS)
        for option in OF_OPERATOR:
            if option in said.get("options", {}):
                raise UsageError(
                    f"{where} there is {option}, which no preset states: give --{option} in the "
                    "call, where you answer for it.",
                    code="preset-option-not-stated",
                )
        if "contribution" in said and not _is_stated(said):
            raise UsageError(
                f"{where} contribution must be 1 or more, beside the option value, of which it is "
                "true, and without duplicates, as sums may count a person in several rows.",
                code="preset-contribution",
            )
        for option in OF_COLUMNS:
            if not isinstance(said.get("options", {}).get(option, ""), str):
                raise UsageError(
                    f"{where} the option {option} must be a text: patterns of names, "
                    'with "|" for "or".',
                    code="preset-option-not-text",
                )
        for pattern, grid in said.get("grids", {}).items():
            try:
                code_system(str(grid))
            except UsageError as error:
                raise UsageError(
                    f"{where} the grid of {printable(pattern)!r}: {error}.", code="preset-grid"
                ) from None
        long, wide = _split_entries(said)
        for one in wide:
            _require_attribute(where, one)
        for one in long:
            _require_labelled(where, one)
        return cls._make(name, said)

    @classmethod
    def of_package(cls, name: str, text: str) -> Preset:
        """Read a preset of the package, which its tests check by :meth:`of`."""
        return cls._make(name, read_toml(text, f"The preset {name}"))

    @classmethod
    def _make(cls, name: str, said: Mapping[str, Any]) -> Preset:
        lists = {n: tuple(v) for n, v in said.items() if isinstance(v, list)}
        long, wide = _split_entries(said)
        lists["attributes"] = tuple(map(LabelColumns.make, wide))
        return cls(name, **{**said, **lists, "labelled": tuple(map(LabelledColumn.make, long))})

    def fits(self, met: Set[str], anyhow: Set[str]) -> bool:
        """Whether a table has all columns of this layout, and none that tell of another.

        ``met``: the patterns that its columns meet; ``anyhow``: those that they meet in any
        spelling, by which the columns of another are told.
        """
        return {*self.columns} <= met and anyhow.isdisjoint(self.without)

    def find_attributes(self, names: Sequence[str]) -> dict[str, LabelColumns]:
        """Return the attributes whose columns a table all has, by their names.

        Their patterns are replaced by the names that they meet, and they have labels, which are
        the names of the columns, as the publisher spells them, where the preset states none.
        """
        found: dict[str, LabelColumns] = {}
        for one in self.attributes:
            met = [match(pattern, names) for pattern in one.columns]
            columns = tuple(some[0] for some in met if len({*some}) == 1)
            if len({*columns}) == len(one.columns):
                labels = one.labels or (tuple(map(_spell_out, one.columns, columns)),)
                found.setdefault(one.name, LabelColumns(one.name, columns, labels))
        return found


def _require_attribute(where: str, said: Any) -> None:
    """Raise UsageError, which names the preset, for an entry of ``[[attributes]]``."""
    where = f"{where} an entry of attributes"
    if not isinstance(said, dict):
        raise UsageError(f"{where} must be a table, [[attributes]].", code="preset-not-a-table")
    require_fields(where, said, OF_ATTRIBUTES)
    if missing := [name for name in ("name", "columns") if name not in said]:
        raise UsageError(f"{where} has no {missing[0]}.", code="preset-key-missing")
    _require_lists(where, said)
    found = LabelColumns.make(said)
    for texts in (found.columns, found.names, *found.labels):
        if len({*texts}) < len(texts):
            raise UsageError(
                f"{where} has columns, names and labels, each of them once.",
                code="preset-attribute-columns",
            )
    if len(found.columns) < 2:
        raise UsageError(f"{where} has columns, two or more.", code="preset-columns-fewer-than-two")
    if len(found.labels) not in ({0, 1} if len(found.names) == 1 else {len(found.names)}):
        raise UsageError(
            f"{where} has a list of labels for each of its names.", code="preset-labels-of-names"
        )
    if found.labels and len(found.columns) != math.prod(map(len, found.labels)):
        raise UsageError(
            f"{where} has a label for each of its columns, of a joint table ({JOINT} in its "
            "name) a combination.",
            code="preset-labels-of-columns",
        )
    every = [*found.names, *(label for labels in found.labels for label in labels)]
    if not all(every) or any(set("=,") & {*text} for text in every):
        raise UsageError(
            f"{where} has a name, and no comma or = in its name and labels.",
            code="preset-attribute-name",
        )


def _require_labelled(where: str, said: Mapping[str, Any]) -> None:
    """Raise UsageError, which names the preset, for an entry with one column."""
    where = f"{where} an entry of attributes"
    require_fields(where, said, OF_ATTRIBUTES)
    labels = said.get("labels", [])
    texts = [said.get("name", ""), *labels]
    if "columns" in said or not labels or not all(isinstance(one, str) for one in texts):
        raise UsageError(
            f"{where} with a column has a name and labels, a list of texts, and no columns.",
            code="preset-attribute-of-column",
        )
    if len({*labels}) < len(labels) or not all(texts) or any({*",=*"} & {*t} for t in texts):
        raise UsageError(
            f"{where} has labels, each of them once, and no comma, = or * in its name and labels.",
            code="preset-attribute-labels",
        )


def _split_entries(said: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return the entries of ``[[attributes]]`` with one column, and the others."""
    entries = said.get("attributes", [])
    long = [one for one in entries if isinstance(one, dict) and "column" in one]
    return long, [one for one in entries if one not in long]


def _spell_out(pattern: str, column: str) -> str:
    """Return the alternative of a pattern that is a column's name, or else the name itself."""
    every, name = pattern.split("|"), column.strip()
    near = [one for one in every if fold_case(one) == fold_case(name)]
    return name if name in every or not near else near[0]


def _is_stated(said: Mapping[str, Any]) -> bool:
    """Whether a preset's contribution is a number, of one column whose counts are not added up."""
    number, options = said["contribution"], said.get("options", {})
    whole = not isinstance(number, bool) and number >= 1
    return whole and "value" in options and "duplicates" not in options


def require_fields(where: str, said: Mapping[str, Any], fields: Mapping[str, type]) -> None:
    """Raise UsageError for a field that is unknown, or of another type than it has."""
    for name, value in said.items():
        if name not in fields:
            raise UsageError(
                f"{where} there is {printable(name)!r}, which means nothing; there are "
                f"{', '.join(fields)}.",
                code="preset-key-unknown",
            )
        if not isinstance(value, fields[name]):
            raise UsageError(
                f"{where} {name} must be {WRITTEN[fields[name]]}.", code="preset-value-kind"
            )
        if name in ("attributes", "options", "labels") or isinstance(value, int | str):
            continue  # checked elsewhere, or without entries
        entries: Any = [*value.values()] if isinstance(value, dict) else value
        if not all(isinstance(one, str) for one in entries):
            raise UsageError(
                f"{where} every entry of {name} must be a text; quote it.",
                code="preset-entry-not-text",
            )


@cache
def presets() -> tuple[Preset, ...]:
    """Return those of the package, by name."""
    folder = files("geodp.io.read.layout") / "official"
    found = {one.name.removesuffix(".toml"): one for one in folder.iterdir()}
    texts = {name: one for name, one in found.items() if one.name.endswith(".toml")}
    return tuple(Preset.of_package(name, texts[name].read_text("utf-8")) for name in sorted(texts))


def find_fitting(path: Path, columns: Sequence[str]) -> list[Preset]:
    """Return the presets of the package that a file of a name with these columns fits.

    Those that it fits as they spell their columns, or else those that it fits by
    :func:`geodp.io.read.rows.names.match`.
    """
    named = [one for one in presets() if any(fnmatchcase(path.name, form) for form in one.files)]
    spelt, anyhow = _find_fitting(tuple(columns))
    return sorted([*named, *spelt], key=lambda one: one.name) or anyhow


def choose_fitting(path: Path, columns: Sequence[str]) -> Preset | None:
    """Return the preset of the package that fits, None for none; SeveralLayoutsError for more."""
    found = find_fitting(path, columns)
    if len(found) > 1:
        names = ", ".join(one.name for one in found)
        raise SeveralLayoutsError(
            f"Several presets fit this file; choose one (--preset): {names}.",
            code="presets-several-fit",
        )
    return found[0] if found else None


def choose_of_file(path: FilePath, **options: Any) -> Preset | None:
    """Return the preset that a file's name and header fit, without a look at its rows.

    ``options``: how the file is opened. Of an archive it is the header of the one table with
    several columns; a first row that looks like data is none. Raises as :func:`choose_fitting`.
    """
    headers = [
        columns if all(map(is_name, columns)) else []
        for table in open_tables(path, labelled=True, **options)
        for columns in [[name.strip() for name in table.columns]]
    ]
    wide = [columns for columns in headers if len(columns) > 1]
    return choose_fitting(Path(path), wide[0] if len(wide) == 1 else headers[0])


class RefusedLayoutError(UsageError):
    """A file of a layout that its preset refuses, whatever else is said."""


class SeveralLayoutsError(UsageError):
    """A file that several presets fit, which may state different domains."""


def find_layout(columns: Sequence[str]) -> Preset | None:
    """Return the one layout of the package whose table has such a header."""
    spelt, anyhow = _find_fitting(tuple(columns))
    fitting = spelt or anyhow
    return fitting[0] if len(fitting) == 1 else None


@lru_cache(64)
def _find_fitting(columns: tuple[str, ...]) -> tuple[list[Preset], list[Preset]]:
    """Return the presets whose columns a table has: as they spell them, and in any spelling."""
    known = [one for one in presets() if one.columns]
    patterns = {name for one in known for name in (*one.columns, *one.without)}
    exactly, anyhow = find_matching_patterns(patterns, columns)
    spelt = [one for one in known if one.fits(exactly, anyhow)]
    return spelt, [one for one in known if one.fits(anyhow, anyhow)]


def describe_layout(columns: Sequence[str]) -> StatedLayout | None:
    """Describe for a card the layout that has such a header; None where there is none."""
    layout = find_layout(columns)
    return None if layout is None else StatedLayout(layout.name, layout.title, layout.source)


def find_preset(name: str) -> Preset:
    """Return a preset by its name, or of a file that ends in .toml; UsageError for none."""
    if name.endswith(".toml"):
        found = Preset.of(Path(name).stem, read_text(Path(name)))
        if found.contribution is not None:
            raise UsageError(
                f"In the preset {found.name} there is a contribution, which only presets of the "
                "package state, by their publishers' documents: give --contribution in the call.",
                code="preset-states-contribution",
            )
        if found.parts:
            raise UsageError(
                f"In the preset {found.name} there is parts, which only presets of the package "
                "state, as readers know their files by the header: leave it out.",
                code="preset-states-parts",
            )
        return found
    for one in presets():
        if one.name == name:
            return one
    names = ", ".join(one.name for one in presets())
    raise UsageError(
        f"There is no preset of this name; there are {names}, and files (.toml).",
        code="preset-unknown",
    )


def read_text(path: Path) -> str:
    """Return the text of a file; UsageError where it cannot be read, InputError for a pipe."""
    require_regular(path)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError(
            f"{path} cannot be read as a text in UTF-8.", code="preset-not-utf8"
        ) from None


def read_toml(text: str, what: str) -> dict[str, Any]:
    """Return what a TOML document says; UsageError, which names it, where it is none."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{what} is no TOML document ({error}).", code="preset-not-toml") from None
