"""Public lists of the labels of attributes: tables, texts, TOML, JSON, codebooks, code lists.

Labels belong to the public domain of a release, so they are stated and never taken from records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geodp.errors import UsageError, printable
from geodp.io.opening import parse_json
from geodp.io.read.layout.code_lists import of_json, read_xml
from geodp.io.read.layout.named import Lists
from geodp.io.read.layout.presets import read_text, read_toml
from geodp.io.read.rows.columns import InputTable, Rows, batches, open_tables
from geodp.io.read.rows.fields import as_text
from geodp.io.read.rows.known_attributes import find_columns_of
from geodp.io.read.rows.names import fold, list_names
from geodp.io.read.rows.public_file import opening_options

ATTRIBUTES = frozenset(
    map(fold, ("attribute", "variable", "dimension", "axis", "属性", "変数", "項目"))
)
CODES = frozenset(map(fold, ("code", "id", "notation", "key", "value", "コード", "符号")))
LABELS = frozenset(map(fold, ("label", "labels", "name", "title", "ラベル", "名称", "区分")))
"""Names of the columns of a list, in letters of either case."""

FORMS = (
    "a list of labels is a table with columns attribute and label, or code and name for one "
    "attribute, a text with one label a line, TOML or JSON with a list for each attribute, a "
    "codebook of DDI, code lists of SDMX, or CSVW metadata"
)


def read_lists(
    given: Lists, columns: Mapping[str, str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the labels of every attribute that the lists are for.

    Parameters
    ----------
    given : mapping
        See :data:`Lists`. A file under the name of an attribute is for it alone, or has a list for
        it among others; one under an empty name says for which attributes its lists are.
    columns : mapping of str to str, optional
        Columns that attributes have their labels in: a list of this name is the attribute's, too,
        and so is one whose name is a word for it. Lists for other names are left out then.

    Returns
    -------
    dict
        Labels in the order of the list, by attributes; under an empty name those of a list which
        does not say for which it is.

    Raises
    ------
    UsageError
        A file that is no such list, a label that is there twice, is blank or has a comma; lists
        that say two things of one attribute.
    InputError
        A file that cannot be read.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, one in given.items():
        if isinstance(one, str) or not isinstance(one, Sequence):
            lists = _read_file(Path(one), opening_options(one))
            if name:
                own = _find_list(lists, name, (columns or {}).get(name, name))
                if own is None:
                    raise UsageError(
                        f"{one} has no list for {printable(name)}, but for "
                        f"{list_names([*lists])}; {FORMS}.",
                        code="list-for-attribute-missing",
                    )
                lists = {name: lists[own]}
            elif columns is not None and "" not in lists:
                found_of = {each: _find_list(lists, each, columns[each]) for each in columns}
                lists = {each: lists[own] for each, own in found_of.items() if own is not None}
        else:
            lists = {name: tuple(map(str, one))}
        for other, labels in lists.items():
            if found.get(other, labels) != labels:
                raise UsageError(
                    f"The labels of {printable(other) or 'one attribute'} are given twice and "
                    "differ (--labels, labels=); give one list.",
                    code="labels-differ",
                )
            what = f"The labels of {printable(other)}" if other else "The list of labels"
            found[other] = _require_labels(labels, what)
    return found


def _find_list(lists: Mapping[str, Sequence[str]], name: str, column: str) -> str | None:
    """Return which list is an attribute's; UsageError where several may be.

    That of its very name comes first, then that of its column's, of a word for it, or without one.
    """
    for wanted in (name, column):
        if own := [other for other in lists if other and fold(other) == fold(wanted)]:
            return own[0]
    near = find_columns_of(name, [*lists])
    if len(near) > 1:
        raise UsageError(
            f"Several lists may be that of {printable(name)}: {list_names(near)}; give a file with "
            f"one of them (--labels '{printable(name)}=FILE', labels=).",
            code="lists-ambiguous",
        )
    return near[0] if near else "" if "" in lists else None


def _read_file(path: Path, opening: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the lists of a file by attributes; under an empty name one that does not say."""
    if path.suffix.lower() == ".toml":
        return _of_document(read_toml(read_text(path), str(path)), path)
    if path.suffix.lower() == ".json":
        try:
            said = parse_json(read_text(path).encode())
        except ValueError:
            raise UsageError(f"{path} is no JSON document.", code="labels-not-json") from None
        found = of_json(said, path)
        return _of_document(said, path) if found is None else found
    if path.suffix.lower() == ".xml":
        return read_xml(path)
    tables = [*open_tables(path, **opening)]
    if len(tables) != 1:
        raise UsageError(f"{path} holds several tables; {FORMS}.", code="labels-of-several-tables")
    return _of_table(tables[0], path)


def _of_document(said: Any, path: Path) -> dict[str, tuple[str, ...]]:
    """Return the lists of TOML or JSON: a list for each attribute, or one; codes with names too."""
    if isinstance(said, dict) and {*said} == {"labels"} and isinstance(said["labels"], dict):
        said = said["labels"]
    lists = said if isinstance(said, dict) else {"": said}
    found = {}
    for name, labels in lists.items():
        codes = [*labels] if isinstance(labels, dict | list) else []
        named = [*labels.values()] if isinstance(labels, dict) else []
        plain = all(isinstance(one, str | int) and not isinstance(one, bool) for one in codes)
        if not codes or not plain or any(isinstance(one, dict | list) for one in named):
            raise UsageError(f"{path} is no list of labels; {FORMS}.", code="labels-not-a-list")
        found[str(name)] = tuple(str(one) for one in codes)
    return found


def _of_table(table: InputTable, path: Path) -> dict[str, tuple[str, ...]]:
    """Return the lists of a table: with a header, or one label a line."""
    folded = [fold(name) for name in table.columns]
    at = [_position(folded, names) for names in (ATTRIBUTES, CODES, LABELS)]
    attribute, label = at[0], at[2] if at[1] is None else at[1]
    if label is None and len(folded) > 1:
        raise UsageError(
            f"{path} has none of the columns of a list; {FORMS}.", code="labels-columns-missing"
        )
    chosen = [0 if label is None else label, *([] if attribute is None else [attribute])]
    columns: list[list[str]] = [[] for _ in chosen]
    for rows, arrays in batches(table, chosen):
        for texts, array in zip(columns, arrays, strict=True):
            texts += _texts(rows, array)
    if label is None:  # without a header: what was read as one is the first label
        columns[0].insert(0, table.columns[0])
    names = columns[1] if len(columns) > 1 else [""] * len(columns[0])
    if attribute is not None and not all(map(str.strip, names)):
        raise UsageError(
            f"{path} has a label without the name of its attribute; {FORMS}.",
            code="labels-without-attribute",
        )
    found: dict[str, list[str]] = {}
    for name, text in zip(names, columns[0], strict=True):
        found.setdefault(name.strip(), []).append(text)
    return {name: tuple(labels) for name, labels in found.items()}


def _texts(rows: Rows, array: Any) -> list[str]:
    with rows.named():
        return [text or "" for text in as_text(array).to_pylist()]


def _position(folded: Sequence[str], names: frozenset[str]) -> int | None:
    found = [i for i, name in enumerate(folded) if name in names]
    return found[0] if found else None


def _require_labels(labels: Sequence[str], what: str) -> tuple[str, ...]:
    """Return trimmed labels; UsageError for what cannot be one."""
    found = tuple(label.strip() for label in labels)
    if not found or not all(found):
        raise UsageError(
            f"{what}: a label is blank (--labels, labels=); leave it out.", code="label-blank"
        )
    if twice := [label for label in found if found.count(label) > 1]:
        raise UsageError(f"{what}: {printable(twice[0])} is there twice.", code="label-twice")
    if commas := [label for label in found if "," in label]:
        raise UsageError(
            f"{what}: {printable(commas[0])} has a comma, which separates labels (--labels).",
            code="label-has-comma",
        )
    return found
