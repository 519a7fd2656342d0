"""Presets: descriptions of publishers' files as TOML, among them those of the package.

A preset has a ``title``, a ``source``, a ``publisher`` and, for one census, the ``date`` of its
counts; ``columns``, patterns that must all match columns of a file, and ``without``, patterns that
must match none, or ``files``, one of which its name must match; names of columns are compared by
:func:`geodp.io.read.rows.names.match`, which ignores case and width
if the exact spelling fits no preset; ``[options]`` as on the command line, in which
``*`` stands for anything in names of columns and ``|`` for "or"; ``[[attributes]]``, columns
side by side that divide the people counted by one attribute or by several at once,
or ``column``, one that has a label in each row;
``[grids]``, from patterns of the column of codes, or from numbers of digits, to grids, if the
codes do not determine it; ``contribution``, how often a person is counted at most in the column of
``value`` of one table, according to the publisher; ``parts``, a pattern of the column that
distinguishes rows of one cell, if a cell has a row for each part, such as each country, whose
counts are added up (both only in presets of the package); ``sheets``, a
pattern of columns whose names carry the id of a table that is published in several files; ``asks``,
what the call must still specify; ``[table]``, how its columns are related
(:mod:`geodp.io.read.layout.relations`); or ``refused``, why such files are not read and what to do.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from geodp.errors import UsageError, printable
from geodp.grid.axes import JOINT
from geodp.grid.codes import code_system
from geodp.io.opening import require_regular
from geodp.io.read.layout.relations import TableLayout
from geodp.io.read.rows.columns import open_tables
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.names import find_matching_patterns, fold_case, match
from geodp.io.read.rows.span import is_name
from geodp.table.reading import StatedLayout

OF_ATTRIBUTES: Mapping[str, type] = {
    "name": str,
    "columns": list,
    "column": str,
    "labels": list,
}
"""Fields of one of its attributes, with their types."""

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
"""Options that only the operator gives, as no layout can know them."""

OF_COLUMNS = ("code", "x", "y", "value", "person")
"""Options that name columns, and may be patterns in a preset."""


@dataclass(frozen=True)
class WideColumns:
    """Columns side by side, each of which counts the people of one label.

    Attributes
    ----------
    name : str
        Name of the attribute, such as "sex"; for a joint table of several: "sex*age".
    columns : tuple of str
        A pattern for each label, two or more; for a joint table one for each combination, in which
        the last attribute changes fastest. A person is in one of the columns at most.
    labels : tuple of tuples of str
        Labels of each attribute. Default, for one attribute only: the names of the columns.
    """

    name: str
    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the single attributes."""
        return tuple(self.name.split(JOINT))

    @classmethod
    def make(cls, entry: Mapping[str, Any]) -> WideColumns:
        """Build an instance from a checked entry of ``[[attributes]]``."""
        return cls(entry["name"], tuple(entry["columns"]), tuple(map(tuple, _lists(entry))))


def _lists(entry: Mapping[str, Any]) -> list[Any]:
    """Return the lists of labels: one for each attribute of a joint table."""
    labels = entry.get("labels", [])
    return labels if JOINT in entry["name"] else [labels] if labels else []


def _require_lists(where: str, entry: Mapping[str, Any]) -> None:
    """Raise UsageError for labels that are not lists of texts."""
    if not all(isinstance(a, list) and all(isinstance(b, str) for b in a) for a in _lists(entry)):
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
        Name of the attribute.
    column : str
        Pattern of the column.
    labels : tuple of str
        All labels that the publisher documents.
    """

    name: str
    column: str
    labels: tuple[str, ...]

    @classmethod
    def make(cls, entry: Mapping[str, Any]) -> LabelledColumn:
        """Build an instance from a checked entry of ``[[attributes]]`` with one column."""
        return cls(entry["name"], entry["column"], tuple(entry["labels"]))


@dataclass(frozen=True)
class Preset:
    """Description of a publisher's files; the attributes are those of the TOML file."""

    name: str
    title: str = ""
    source: str = ""
    publisher: str = ""
    date: str = ""
    columns: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    attributes: tuple[WideColumns, ...] = ()
    labelled: tuple[LabelledColumn, ...] = ()
    grids: Mapping[str, str] = field(default_factory=dict)
    contribution: int | None = None
    sheets: str = ""
    parts: str = ""
    asks: tuple[str, ...] = ()
    refused: str = ""
    table: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, text: str) -> Preset:
        """Read and check a TOML document; UsageError, which names the field, if it is invalid."""
        document = read_toml(text, f"The preset {name}")
        where = f"In the preset {name}"
        require_fields(where, document, FIELDS)
        # A preset that vouched for the domain or the contribution would do so without anybody
        # deciding it.
        for option in OF_OPERATOR:
            if option in document.get("options", {}):
                raise UsageError(
                    f"{where} there is {option}, which no preset states: give --{option} in the "
                    "call, where you answer for it.",
                    code="preset-option-not-stated",
                )
        if "contribution" in document and not _is_valid_contribution(document):
            raise UsageError(
                f"{where} contribution must be 1 or more, beside the option value, of which it is "
                "true, and without duplicates, as sums may count a person in several rows.",
                code="preset-contribution",
            )
        for option in OF_COLUMNS:
            if not isinstance(document.get("options", {}).get(option, ""), str):
                raise UsageError(
                    f"{where} the option {option} must be a text: patterns of names, "
                    'with "|" for "or".',
                    code="preset-option-not-text",
                )
        for pattern, grid in document.get("grids", {}).items():
            try:
                code_system(str(grid))
            except UsageError as error:
                raise UsageError(
                    f"{where} the grid of {printable(pattern)!r}: {error}.", code="preset-grid"
                ) from None
        # Both kinds of entries share the key, but have different required fields.
        long, wide = _split_entries(document)
        for one in wide:
            _require_attribute(where, one)
        for one in long:
            _require_labelled_column(where, one)
        if "table" in document:
            TableLayout.of(where, document["table"]).check()
        return cls.make(name, document)

    @classmethod
    def make(cls, name: str, document: Mapping[str, Any]) -> Preset:
        """Make a preset of a document that was checked, as tests check those of the package."""
        lists = {n: tuple(v) for n, v in document.items() if isinstance(v, list)}
        long, wide = _split_entries(document)
        lists["attributes"] = tuple(map(WideColumns.make, wide))
        return cls(name, **{**document, **lists, "labelled": tuple(map(LabelledColumn.make, long))})

    @property
    def related(self) -> TableLayout | None:
        """The relations of columns; None where the preset has none."""
        return TableLayout.of(f"In the preset {self.name}", self.table) if self.table else None

    def fits(self, met: Set[str], anyhow: Set[str]) -> bool:
        """Test whether a table has all columns of this layout, and none that indicate another.

        ``met``: the patterns that its columns match; ``anyhow``: those that match in any spelling,
        by which another layout is recognised.
        """
        return {*self.columns} <= met and anyhow.isdisjoint(self.without)

    def find_attributes(self, names: Sequence[str]) -> dict[str, WideColumns]:
        """Return the attributes whose columns a table has completely, by their names.

        Their patterns are replaced by the names that match. If the preset has no labels, they are
        the names of the columns, as the publisher spells them.
        """
        attributes: dict[str, WideColumns] = {}
        for one in self.attributes:
            matches = [match(pattern, names) for pattern in one.columns]
            columns = tuple(some[0] for some in matches if len({*some}) == 1)
            if len({*columns}) == len(one.columns):
                labels = one.labels or (tuple(map(_spell_out, one.columns, columns)),)
                attributes.setdefault(one.name, WideColumns(one.name, columns, labels))
        return attributes


KINDS = {"str": str, "int": int, "tuple": list, "Mapping": dict}
"""Types in a TOML document, by the first word of those of a class."""

FIELDS: Mapping[str, type] = {
    one.name: KINDS[re.split(r"\W", str(one.type))[0]]
    for one in fields(Preset)
    if one.name not in ("name", "labelled")
}
"""Fields of a preset, with their types."""


def _require_attribute(where: str, entry: Any) -> None:
    """Raise UsageError, which names the preset, for an invalid entry of ``[[attributes]]``."""
    where = f"{where} an entry of attributes"
    if not isinstance(entry, dict):
        raise UsageError(f"{where} must be a table, [[attributes]].", code="preset-not-a-table")
    require_fields(where, entry, OF_ATTRIBUTES)
    # Checked before the class is built, which would raise a KeyError.
    if missing := [name for name in ("name", "columns") if name not in entry]:
        raise UsageError(f"{where} has no {missing[0]}.", code="preset-key-missing")
    _require_lists(where, entry)
    attribute = WideColumns.make(entry)
    for texts in (attribute.columns, attribute.names, *attribute.labels):
        if len({*texts}) < len(texts):
            raise UsageError(
                f"{where} has columns, names and labels, each of them once.",
                code="preset-attribute-columns",
            )
    if len(attribute.columns) < 2:
        raise UsageError(f"{where} has columns, two or more.", code="preset-columns-fewer-than-two")
    if len(attribute.labels) not in (
        {0, 1} if len(attribute.names) == 1 else {len(attribute.names)}
    ):
        raise UsageError(
            f"{where} has a list of labels for each of its names.", code="preset-labels-of-names"
        )
    if attribute.labels and len(attribute.columns) != math.prod(map(len, attribute.labels)):
        raise UsageError(
            f"{where} has a label for each of its columns, of a joint table ({JOINT} in its "
            "name) a combination.",
            code="preset-labels-of-columns",
        )
    every = [*attribute.names, *(label for labels in attribute.labels for label in labels)]
    if not all(every) or any(set("=,") & {*text} for text in every):
        raise UsageError(
            f"{where} has a name, and no comma or = in its name and labels.",
            code="preset-attribute-name",
        )


def _require_labelled_column(where: str, entry: Mapping[str, Any]) -> None:
    """Raise UsageError, which names the preset, for an invalid entry with one column."""
    where = f"{where} an entry of attributes"
    require_fields(where, entry, OF_ATTRIBUTES)
    labels = entry.get("labels", [])
    texts = [entry.get("name", ""), *labels]
    if "columns" in entry or not labels or not all(isinstance(one, str) for one in texts):
        raise UsageError(
            f"{where} with a column has a name and labels, a list of texts, and no columns.",
            code="preset-attribute-of-column",
        )
    if len({*labels}) < len(labels) or not all(texts) or any({*",=*"} & {*t} for t in texts):
        raise UsageError(
            f"{where} has labels, each of them once, and no comma, = or * in its name and labels.",
            code="preset-attribute-labels",
        )


def _split_entries(document: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Split ``[[attributes]]`` into entries with one column, and the others."""
    entries = document.get("attributes", [])
    long = [one for one in entries if isinstance(one, dict) and "column" in one]
    return long, [one for one in entries if one not in long]


def _spell_out(pattern: str, column: str) -> str:
    """Return the alternative of a pattern that equals a column's name, or else the name."""
    every, name = pattern.split("|"), column.strip()
    near = [one for one in every if fold_case(one) == fold_case(name)]
    return name if name in every or not near else near[0]


def _is_valid_contribution(document: Mapping[str, Any]) -> bool:
    """Test whether a contribution is positive, for a column that is not added up."""
    number, options = document["contribution"], document.get("options", {})
    is_positive = not isinstance(number, bool) and number >= 1
    return is_positive and "value" in options and "duplicates" not in options


def require_fields(where: str, document: Mapping[str, Any], fields: Mapping[str, type]) -> None:
    """Raise UsageError for a field that is unknown or has the wrong type."""
    for name, value in document.items():
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
        # Their entries have types of their own, which are checked where they are used.
        if name in ("attributes", "options", "labels", "table") or isinstance(value, int | str):
            continue  # checked elsewhere, or without entries
        entries: Any = [*value.values()] if isinstance(value, dict) else value
        if not all(isinstance(one, str) for one in entries):
            raise UsageError(
                f"{where} every entry of {name} must be a text; quote it.",
                code="preset-entry-not-text",
            )


@cache
def presets() -> tuple[Preset, ...]:
    """Return the presets of the package, sorted by name."""
    folder = files("geodp.io.read.layout") / "official"
    entries = {one.name.removesuffix(".toml"): one for one in folder.iterdir()}
    texts = {name: one for name, one in entries.items() if one.name.endswith(".toml")}
    loaded = {name: tomllib.loads(texts[name].read_text("utf-8")) for name in sorted(texts)}
    return tuple(Preset.make(name, document) for name, document in loaded.items())


def find_fitting(path: Path, columns: Sequence[str]) -> list[Preset]:
    """Return the packaged presets that fit a file's name and columns.

    Presets that fit by the exact spelling of columns come first; only without one, those that
    fit by :func:`geodp.io.read.rows.names.match`.
    """
    named = [one for one in presets() if any(fnmatchcase(path.name, form) for form in one.files)]
    # Tuples, since results are cached by the header.
    spelt, anyhow = _find_fitting(tuple(columns))
    return sorted([*named, *spelt], key=lambda one: one.name) or anyhow


def choose_fitting(path: Path, columns: Sequence[str]) -> Preset | None:
    """Return the packaged preset that fits, None if none does; SeveralLayoutsError for several."""
    fitting = find_fitting(path, columns)
    if len(fitting) > 1:
        names = ", ".join(one.name for one in fitting)
        raise SeveralLayoutsError(
            f"Several presets fit this file; choose one (--preset): {names}.",
            code="presets-several-fit",
        )
    return fitting[0] if fitting else None


def choose_of_file(path: FilePath, **options: Any) -> Preset | None:
    """Return the preset that a file's name and header fit, without reading its rows.

    ``options``: for opening the file. For an archive, the one table with several columns
    counts; a first row that looks like data is not a header. Raises as :func:`choose_fitting`.
    """
    headers = [
        columns if all(map(is_name, columns)) else []
        for table in open_tables(path, labelled=True, **options)
        for columns in [[name.strip() for name in table.columns]]
    ]
    wide = [columns for columns in headers if len(columns) > 1]
    return choose_fitting(Path(path), wide[0] if len(wide) == 1 else headers[0])


class RefusedLayoutError(UsageError):
    """File of a layout that its preset refuses, whatever the other options."""


class SeveralLayoutsError(UsageError):
    """File that several presets fit, which may declare different domains."""


def find_layout(columns: Sequence[str]) -> Preset | None:
    """Return the packaged layout with such a header; None unless exactly one fits."""
    spelt, anyhow = _find_fitting(tuple(columns))
    # An exact spelling wins, as two layouts may differ in case alone.
    fitting = spelt or anyhow
    return fitting[0] if len(fitting) == 1 else None


@lru_cache(64)
def _find_fitting(columns: tuple[str, ...]) -> tuple[list[Preset], list[Preset]]:
    """Return the presets whose columns a table has: in exact spelling, and in any spelling."""
    candidates = [one for one in presets() if one.columns]
    patterns = {name for one in candidates for name in (*one.columns, *one.without)}
    # All patterns are matched at once: every preset has several, and most presets do not fit.
    exactly, anyhow = find_matching_patterns(patterns, columns)
    spelt = [one for one in candidates if one.fits(exactly, anyhow)]
    return spelt, [one for one in candidates if one.fits(anyhow, anyhow)]


def describe_layout(columns: Sequence[str]) -> StatedLayout | None:
    """Describe the layout with such a header for a card; None if there is none."""
    layout = find_layout(columns)
    return None if layout is None else StatedLayout(layout.name, layout.title, layout.source)


def find_preset(name: str) -> Preset:
    """Return a preset by its name, or from a .toml file; UsageError if there is none."""
    if name.endswith(".toml"):
        preset = Preset.of(Path(name).stem, read_text(Path(name)))
        # Anybody can write a preset: only documented contributions of the package count as known.
        if preset.contribution is not None:
            raise UsageError(
                f"In the preset {preset.name} there is a contribution, which only presets of the "
                "package state, by their publishers' documents: give --contribution in the call.",
                code="preset-states-contribution",
            )
        if preset.parts:
            raise UsageError(
                f"In the preset {preset.name} there is parts, which only presets of the package "
                "state, as readers know their files by the header: leave it out.",
                code="preset-states-parts",
            )
        return preset
    for one in presets():
        if one.name == name:
            return one
    names = ", ".join(one.name for one in presets())
    raise UsageError(
        f"There is no preset of this name; choose from {names}, or give a file (.toml).",
        code="preset-unknown",
    )


def read_text(path: Path) -> str:
    """Read the text of a file; UsageError if it cannot be read, InputError for a pipe."""
    require_regular(path)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError(
            f"{path} cannot be read as text in UTF-8.", code="preset-not-utf8"
        ) from None


def read_toml(text: str, what: str) -> dict[str, Any]:
    """Parse a TOML document; UsageError, which names it, if it is invalid."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"{what} is not a valid TOML document ({error}).", code="preset-not-toml"
        ) from None
