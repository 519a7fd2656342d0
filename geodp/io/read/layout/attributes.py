"""Attributes that a call names, and the public lists of their labels: tables, texts, TOML, JSON.

Most calls have none, and need no header then; :mod:`geodp.io.read.layout.by` evaluates it.

Labels belong to the public domain of a release, so they are declared and never taken from records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from geodp.errors import UsageError, printable
from geodp.grid.axes import JOINT, Attribute
from geodp.io.opening import parse_json
from geodp.io.read.layout.presets import read_text, read_toml
from geodp.io.read.rows.columns import InputTable, batches, open_tables
from geodp.io.read.rows.fields import as_text
from geodp.io.read.rows.names import find_columns_of, fold, list_names
from geodp.io.read.rows.pairing import Values
from geodp.io.read.rows.span import opening_options

if TYPE_CHECKING:
    from geodp.io.read.layout.presets import Preset
    from geodp.io.read.rows.input_files import FilePath


Lists: TypeAlias = "Mapping[str, Sequence[str] | FilePath]"
"""Labels, or files of them, by attribute; under an empty name a file that is for several."""

STAR = "*"
"""Wildcard in a pattern of columns of counts."""


@dataclass(frozen=True)
class Named:
    """Options of a call that describe the attributes of its table.

    Attributes
    ----------
    by : sequence of str
        Names of attributes.
    labels : mapping
        Public lists of labels, see :func:`geodp.io.read.layout.attributes.read_lists`.
    attributes : sequence of Attribute
        Attributes that the grid has already, with their labels.
    columns : mapping of str to str
        Columns that the call names, by axis.
    values : Values
        Columns of counts, possibly as patterns.
    taken : sequence of str
        Columns that the call names for other roles: codes, coordinates, persons.
    preset : Preset, optional
        Default: the packaged one that fits.
    """

    by: Sequence[str] = ()
    labels: Lists = field(default_factory=dict)
    attributes: Sequence[Attribute] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Values = None
    taken: Sequence[str] = ()
    preset: Preset | None = None

    def __post_init__(self) -> None:
        if self.labels and not self.needs_header:
            raise UsageError(
                "Labels go with the names of attributes (--by, by=).", code="labels-need-names"
            )

    @property
    def needs_header(self) -> bool:
        """Whether anything must be looked up in a header, or in lists of labels."""
        attributes = bool(self.by) and (bool(self.labels) or not stand_side_by_side(self.values))
        return attributes or has_pattern(self.values)


def stand_side_by_side(values: Values) -> bool:
    """Test whether several columns of counts are named, which make the labels of attributes."""
    # A single column counts everybody and makes no labels, however it is written.
    several = isinstance(values, Mapping) or not (values is None or isinstance(values, str))
    return several and len(values or ()) > 1 and not has_pattern(values)


def name_joint(by: Sequence[str], values: Values) -> str | None:
    """Return the name of the attribute of columns side by side; None if there are none."""
    return JOINT.join(by) if by and stand_side_by_side(values) else None


def has_pattern(values: Values) -> bool:
    """Test whether a column of counts is given as a pattern."""
    names = [values] if isinstance(values, str) else values
    if names is None or isinstance(names, Mapping):
        return False
    return any(STAR in one for one in names)


ATTRIBUTES = frozenset(
    map(fold, ("attribute", "variable", "dimension", "axis", "属性", "変数", "項目"))
)
CODES = frozenset(map(fold, ("code", "id", "notation", "key", "value", "コード", "符号")))
LABELS = frozenset(map(fold, ("label", "labels", "name", "title", "ラベル", "名称", "区分")))
"""Names of the columns of a list, regardless of case."""

FORMS = (
    "a list of labels is a table with columns attribute and label, or code and name for one "
    "attribute, a text with one label a line, or TOML or JSON with a list for each attribute"
)


def read_lists(
    sources: Lists, columns: Mapping[str, str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Read the labels of every attribute that the lists are for.

    Parameters
    ----------
    sources : mapping
        See :data:`Lists`. A file under the name of an attribute is for that attribute only, or has
        a list for it among others; a file under an empty name names the attributes of its lists.
    columns : mapping of str to str, optional
        Columns of the attributes' labels: a list of this name is also the attribute's, and so is
        one whose name is a synonym. Lists for other names are left out then.

    Returns
    -------
    dict
        Labels in the order of the list, by attribute; under an empty name those of a list without
        the name of an attribute.

    Raises
    ------
    UsageError
        A file is not such a list; a label is repeated, blank or has a comma; two lists of one
        attribute differ.
    InputError
        A file that cannot be read.
    """
    labels_by_name: dict[str, tuple[str, ...]] = {}
    for name, one in sources.items():
        if isinstance(one, str) or not isinstance(one, Sequence):
            lists = _read_file(Path(one), opening_options(one))
            if name:
                list_name = _find_list(lists, name, (columns or {}).get(name, name))
                if list_name is None:
                    raise UsageError(
                        f"{one} has no list for {printable(name)}, but for "
                        f"{list_names([*lists])}; {FORMS}.",
                        code="list-for-attribute-missing",
                    )
                lists = {name: lists[list_name]}
            elif columns is not None and "" not in lists:
                # The file may have lists for other attributes, which this table does not need.
                names_of_lists = {each: _find_list(lists, each, columns[each]) for each in columns}
                lists = {
                    each: lists[list_name]
                    for each, list_name in names_of_lists.items()
                    if list_name is not None
                }
        else:
            lists = {name: tuple(map(str, one))}
        for other, labels in lists.items():
            if labels_by_name.get(other, labels) != labels:
                raise UsageError(
                    f"The labels of {printable(other) or 'one attribute'} are given twice and "
                    "differ (--labels, labels=); give one list.",
                    code="labels-differ",
                )
            what = f"The labels of {printable(other)}" if other else "The list of labels"
            labels_by_name[other] = _require_labels(labels, what)
    return labels_by_name


def _find_list(lists: Mapping[str, Sequence[str]], name: str, column: str) -> str | None:
    """Return the name of an attribute's list; UsageError if several may be meant.

    The order is: its exact name, its column's name, a synonym, a list without a name.
    """
    for wanted in (name, column):
        if exact := [other for other in lists if other and fold(other) == fold(wanted)]:
            return exact[0]
    synonyms = find_columns_of(name, [*lists])
    if len(synonyms) > 1:
        raise UsageError(
            f"Several lists may be that of {printable(name)}: {list_names(synonyms)}; give a "
            f"file with one of them (--labels '{printable(name)}=FILE', labels=).",
            code="lists-ambiguous",
        )
    return synonyms[0] if synonyms else "" if "" in lists else None


def _read_file(path: Path, opening: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Read the lists of a file by attributes; a list without an attribute is under ""."""
    if path.suffix.lower() == ".toml":
        return _of_document(read_toml(read_text(path), str(path)), path)
    if path.suffix.lower() == ".json":
        try:
            document = parse_json(read_text(path).encode())
        except ValueError:
            raise UsageError(
                f"{path} is not a valid JSON document.", code="labels-not-json"
            ) from None
        return _of_document(document, path)
    # Its lines would pass for labels.
    if path.suffix.lower() == ".xml":
        raise UsageError(
            f"{path} is XML, such as a codebook or a message of code lists; {FORMS}.",
            code="labels-in-xml",
        )
    tables = [*open_tables(path, **opening)]
    if len(tables) != 1:
        raise UsageError(f"{path} holds several tables; {FORMS}.", code="labels-of-several-tables")
    return _of_table(tables[0], path)


def _of_document(document: Any, path: Path) -> dict[str, tuple[str, ...]]:
    """Read the lists of TOML or JSON: one for each attribute, or a single one."""
    # The lists may be wrapped in a table called labels.
    if (
        isinstance(document, dict)
        and {*document} == {"labels"}
        and isinstance(document["labels"], dict)
    ):
        document = document["labels"]
    lists = document if isinstance(document, dict) else {"": document}
    labels_by_name = {}
    for name, labels in lists.items():
        codes = [*labels] if isinstance(labels, dict | list) else []
        named = [*labels.values()] if isinstance(labels, dict) else []
        plain = all(isinstance(one, str | int) and not isinstance(one, bool) for one in codes)
        if not codes or not plain or any(isinstance(one, dict | list) for one in named):
            raise UsageError(f"{path} is not a list of labels; {FORMS}.", code="labels-not-a-list")
        labels_by_name[str(name)] = tuple(str(one) for one in codes)
    return labels_by_name


def _of_table(table: InputTable, path: Path) -> dict[str, tuple[str, ...]]:
    """Read the lists of a table: with a header, or one label a line."""
    folded = [fold(name) for name in table.columns]
    attribute, code, label = (
        next((at for at, name in enumerate(folded) if name in names), None)
        for names in (ATTRIBUTES, CODES, LABELS)
    )
    # A column of codes wins over one of names, as records hold codes.
    label = label if code is None else code
    if label is None and len(folded) > 1:
        raise UsageError(
            f"{path} has none of the columns of a list; {FORMS}.", code="labels-columns-missing"
        )
    chosen = [0 if label is None else label, *([] if attribute is None else [attribute])]
    columns: list[list[str]] = [[] for _ in chosen]
    for rows, arrays in batches(table, chosen):
        for texts, array in zip(columns, arrays, strict=True):
            with rows.named():
                texts += [text or "" for text in as_text(array).to_pylist()]
    if label is None:  # without a header, the row that was read as one is the first label
        columns[0].insert(0, table.columns[0])
    names = columns[1] if len(columns) > 1 else [""] * len(columns[0])
    if attribute is not None and not all(map(str.strip, names)):
        raise UsageError(
            f"{path} has a label without the name of its attribute; {FORMS}.",
            code="labels-without-attribute",
        )
    lists: dict[str, list[str]] = {}
    for name, text in zip(names, columns[0], strict=True):
        lists.setdefault(name.strip(), []).append(text)
    return {name: tuple(labels) for name, labels in lists.items()}


def _require_labels(labels: Sequence[str], what: str) -> tuple[str, ...]:
    """Return trimmed labels; UsageError for an invalid one."""
    trimmed = tuple(label.strip() for label in labels)
    if not trimmed or not all(trimmed):
        raise UsageError(
            f"{what}: a label is blank (--labels, labels=); leave it out.", code="label-blank"
        )
    if twice := [label for label in trimmed if trimmed.count(label) > 1]:
        raise UsageError(f"{what}: {printable(twice[0])} occurs twice.", code="label-twice")
    # The command line separates labels by commas, and so do cards.
    if commas := [label for label in trimmed if "," in label]:
        raise UsageError(
            f"{what}: {printable(commas[0])} has a comma, which separates labels (--labels).",
            code="label-has-comma",
        )
    return trimmed
