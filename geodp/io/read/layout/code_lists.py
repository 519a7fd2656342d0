"""Lists of labels in the formats of statistical offices: codebooks of DDI, SDMX and CSVW.

Codes are labels, as records have them; names of codes are not read. XML is read by the parser of
Python's library as a stream. References in a document, such as a schema or a table, are not opened:
a table that metadata refer to may be the confidential one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from geodp.errors import UsageError, printable
from geodp.io.opening import require_regular

MAX_BYTES = 1 << 28
"""Largest XML document, in bytes; the largest codebooks have some ten megabytes."""

MAX_CODE_LENGTH = 1000
"""Longest code, in characters."""

XML_FORMS = (
    "XML is read as a codebook of DDI (codeBook, with categories of variables) or as a structure "
    "message of SDMX (Structure, with code lists)"
)
ENTITIES = (
    "declares entities, which are not expanded: write what they stand for in their places, or save "
    "the list as CSV"
)
PARTS = (
    "has codes that are parts of others (Parent), and people would be in several of them: give a "
    "list of one level, such as a CSV of its codes"
)
PARTIAL = (
    "is a part of its list (isPartial), and may be the part that some records have: give the whole "
    "list"
)
NO_FORMATS = (
    "is CSVW metadata in which no column lists its labels (datatype with a format such as 'm|f'); "
    "the tables that it names are not opened, as they may be the inputs: give the table of codes "
    "itself"
)


def read_xml(path: Path) -> dict[str, tuple[str, ...]]:
    """Read the lists of a codebook of DDI or a structure message of SDMX, by their names.

    Names are those of variables, or of dimensions and code lists without ``CL_``; the only code
    list of a message without dimensions has an empty name.

    Raises
    ------
    UsageError
        The document is of another kind, not XML, has entities, or is too large; or a list has codes
        that are parts of others, or is not complete.
    """
    require_regular(path)
    document = _Document()
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_BYTES:
                document.wrong = f"is larger than {MAX_BYTES >> 20} MiB; give a smaller list"
            else:
                document.parser.ParseFile(file)
    except (expat.ExpatError, ValueError, LookupError):
        document.wrong = document.wrong or "is not a valid XML document; save it again"
    except OSError:
        document.wrong = "cannot be read"
    # Handlers cannot return an error to the parser, so they leave it here and raise to stop it.
    if document.wrong or document.form is None:
        raise UsageError(f"{path} {document.wrong}.", code="code-list-broken")
    return document.form.lists(path)


class _Document:
    """Document being parsed: passes elements on to the format that its root element names."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        # Otherwise expat splits text at line breaks and entities into many calls.
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._add
        self.parser.EntityDeclHandler = self._refuse
        self.wrong = ""
        self.form: _Codebook | _Structure | None = None
        self._path: list[str] = []
        self._text = ""

    # Expanding entities could fill all memory from a small file, or read other files.
    def _refuse(self, *_: object) -> None:
        self.wrong = ENTITIES
        raise ValueError

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        local = _local(name)
        if not self._path:
            if local.casefold() not in ("codebook", "structure"):
                self.wrong = f"has the root {printable(local[:80])}; {XML_FORMS}"
                raise ValueError
            self.form = _Codebook() if local.casefold() == "codebook" else _Structure()
        elif self.form is not None:
            self.form.start(self._path, local, {_local(k): v for k, v in attributes.items()})
        self._path.append(local)
        self._text = ""

    def _add(self, text: str) -> None:
        # Only codes are needed: texts of any length, such as descriptions, would fill the memory.
        if len(self._text) < MAX_CODE_LENGTH:
            self._text += text

    def _end(self, name: str) -> None:
        self._path.pop()
        if self.form is not None:
            self.form.end(self._path, _local(name), self._text.strip())
        self._text = ""


def _local(name: str) -> str:
    """Return a name without its namespace."""
    return name.rpartition(" ")[2].rpartition("}")[2]


@dataclass
class _Variable:
    """A variable of a codebook.

    Attributes
    ----------
    name : str
    continuous : bool
    values : list of str
        Values of its categories.
    valid : int
        Number of categories that are not marked as missing.
    ranges : list of tuples of str
        Smallest and largest valid values.
    """

    name: str
    continuous: bool
    values: list[str] = field(default_factory=list)
    valid: int = 0
    ranges: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_listed(self) -> bool:
        """Whether its categories are all of its values, and not labels of only some numbers."""
        if not self.valid or (self.continuous and not self.ranges):
            return False
        return all(_is_covered(limits, self.values) for limits in self.ranges)


class _Codebook:
    """Variables of a codebook of DDI, with the values of their categories."""

    def __init__(self) -> None:
        self._variables: list[_Variable] = []
        self._missing, self._value = False, ""

    def start(self, path: Sequence[str], name: str, attributes: Mapping[str, str]) -> None:
        """Process the beginning of an element."""
        if name == "var":
            name_of_variable = attributes.get("name") or attributes.get("ID") or ""
            self._variables.append(
                _Variable(name_of_variable, attributes.get("intrvl") == "contin")
            )
        elif name == "catgry":
            self._missing, self._value = attributes.get("missing", "N").upper() == "Y", ""
        elif name == "range" and path[-1] == "valrng" and self._variables:
            limits = attributes.get("min", ""), attributes.get("max", "")
            self._variables[-1].ranges.append(limits)

    def end(self, path: Sequence[str], name: str, text: str) -> None:
        """Process the end of an element."""
        if name == "catValu" and path[-1] == "catgry":
            self._value = text
        elif name == "catgry" and path[-1] == "var" and self._value:
            self._variables[-1].values.append(self._value)
            self._variables[-1].valid += not self._missing

    def lists(self, path: Path) -> dict[str, tuple[str, ...]]:
        """Return the categories by variable, if they are all values of the variable."""
        lists: dict[str, tuple[str, ...]] = {}
        for one in self._variables:
            if one.name and one.is_listed:
                _add_list(lists, one.name, tuple(one.values), path)
        if not lists:
            raise UsageError(
                f"{path} is a codebook without a variable whose categories are all of its values; "
                "give a list of the labels.",
                code="codebook-incomplete",
            )
        return lists


def _is_covered(limits: tuple[str, str], values: Sequence[str]) -> bool:
    """Test whether every integer of a range is among the values of categories."""
    try:
        # Codebooks write limits as decimals such as 1.0, too.
        low, high = (round(float(one)) for one in limits)
    except (ValueError, OverflowError):
        return False
    listed = {int(value) for value in values if re.fullmatch(r"-?\d{1,18}", value)}
    # The length is compared first: a range such as 0 to 10**12 must not be built as a set.
    return high - low < len(values) and {*range(low, high + 1)} <= listed


class _Structure:
    """Code lists of a structure message of SDMX, and the dimensions that they are for."""

    def __init__(self) -> None:
        self._lists: list[tuple[str, list[str], list[str]]] = []
        self._dimensions: dict[str, str] = {}
        self._dimension = ""

    def start(self, path: Sequence[str], name: str, attributes: Mapping[str, str]) -> None:
        """Process the beginning of an element."""
        if name in ("Codelist", "CodeList"):
            wrong = [PARTIAL] if attributes.get("isPartial", "").lower() in ("true", "1") else []
            self._lists.append((attributes.get("id", ""), [], wrong))
        elif name == "Code" and path[-1] in ("Codelist", "CodeList"):
            code = attributes.get("id") or attributes.get("value") or ""  # of SDMX 2.0
            self._lists[-1][1].append(code)
            if attributes.get("parentCode"):
                self._lists[-1][2].append(PARTS)
        elif name == "Parent" and path[-1] == "Code" and self._lists:
            self._lists[-1][2].append(PARTS)
        elif name == "Dimension":
            self._dimension = attributes.get("id") or attributes.get("conceptRef") or ""
            if attributes.get("codelist"):
                self._dimensions[self._dimension] = attributes["codelist"]
        elif name == "Ref" and path[-1] == "Enumeration" and "Dimension" in path:
            self._dimensions[self._dimension] = attributes.get("id", "")

    def end(self, path: Sequence[str], name: str, text: str) -> None:
        """Process the end of an element."""
        is_reference = name == "Enumeration" or (name == "URN" and path[-1] == "Enumeration")
        if is_reference and text and "Dimension" in path:
            self._dimensions[self._dimension] = _id_of_urn(text)

    def lists(self, path: Path) -> dict[str, tuple[str, ...]]:
        """Return codes by dimensions and code lists."""
        return _of_code_lists(self._lists, self._dimensions, path)


def _id_of_urn(text: str) -> str:
    """Return the id of a code list from ``urn:...Codelist=AGENCY:ID(VERSION)``."""
    return text.rpartition("=")[2].rpartition(":")[2].partition("(")[0].strip()


def _of_code_lists(
    every: Sequence[tuple[str, Sequence[str], Sequence[str]]],
    dimensions: Mapping[str, str],
    path: Path,
) -> dict[str, tuple[str, ...]]:
    """Return codes by dimensions and code lists.

    ``every``: id, codes and faults of each list.
    """
    if not every:
        raise UsageError(
            f"{path} has no code lists; give the message that has them.", code="code-lists-missing"
        )
    lists: dict[str, tuple[str, ...]] = {}
    for name, codes, wrong in every:
        if wrong:
            raise UsageError(
                f"The code list {printable(name)} of {path} {wrong[0]}.", code="code-list-unfit"
            )
        _add_list(lists, name, tuple(codes), path)
    if len(lists) == 1 and not dimensions:
        return {"": next(iter(lists.values()))}
    by_list = {re.sub("(?i)^CL_", "", name): codes for name, codes in lists.items()}
    return by_list | {name: lists[one] for name, one in dimensions.items() if name and one in lists}


def _add_list(
    lists: dict[str, tuple[str, ...]], name: str, labels: tuple[str, ...], path: Path
) -> None:
    if lists.setdefault(name, labels) != labels:
        raise UsageError(
            f"{path} has two lists of the name {printable(name)}, which differ.",
            code="code-lists-differ",
        )


def read_json_lists(document: Any, path: Path) -> dict[str, tuple[str, ...]] | None:
    """Read the lists of a JSON document of SDMX or CSVW; None for any other.

    Raises UsageError as :func:`read_xml` does.
    """
    if not isinstance(document, dict):
        return None
    if "csvw" in str(document.get("@context", "")):
        return _of_csvw(document, path)
    data = document.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("codelists"), list):
        return None
    try:
        return _of_code_lists(
            [_code_list(one) for one in data["codelists"]], _dimensions(data), path
        )
    except (KeyError, TypeError, AttributeError, IndexError):
        raise UsageError(
            f"{path} is not a valid structure message of SDMX; save it again.", code="sdmx-broken"
        ) from None


def _code_list(entry: Mapping[str, Any]) -> tuple[str, list[str], list[str]]:
    codes = entry["codes"]
    wrong = [PARTIAL] if entry.get("isPartial") else []
    # A code and its parts in one list would make a person belong to two labels.
    wrong += [PARTS for code in codes if code.get("parent")]
    return str(entry["id"]), [str(code["id"]) for code in codes], wrong


def _dimensions(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the code lists of the dimensions of all data structures."""
    code_lists = {}
    for structure in data.get("dataStructures", ()):
        listed = structure["dataStructureComponents"]["dimensionList"]["dimensions"]
        for one in listed:
            enumeration = one.get("localRepresentation", {}).get("enumeration")
            if isinstance(enumeration, str):
                code_lists[str(one["id"])] = _id_of_urn(enumeration)
    return code_lists


def _of_csvw(document: Mapping[str, Any], path: Path) -> dict[str, tuple[str, ...]]:
    """Return the labels of columns whose format is a choice of words: ``m|f``."""
    lists: dict[str, tuple[str, ...]] = {}
    # Metadata may describe one table or a group of tables.
    tables = document.get("tables", [document])
    for table in tables if isinstance(tables, list) else ():
        schema = table.get("tableSchema") if isinstance(table, dict) else None
        columns = schema.get("columns") if isinstance(schema, dict) else None
        for column in columns if isinstance(columns, list) else ():
            labels = _choices_of(column)
            for name in _titles(column) if labels else ():
                _add_list(lists, name, labels, path)
    if not lists:
        raise UsageError(f"{path} {NO_FORMATS}.", code="code-list-format-unknown")
    return lists


def _choices_of(column: Any) -> tuple[str, ...]:
    """Return the alternatives of a format that allows nothing else; none for other formats."""
    kind = column.get("datatype") if isinstance(column, dict) else None
    form = kind.get("format") if isinstance(kind, dict) else None
    if not isinstance(form, str) or not isinstance(kind, dict):
        return ()
    if kind.get("base", "string") not in ("string", "boolean", "token", "normalizedString"):
        return ()
    match = re.fullmatch(r"\^?(?:\((?:\?:)?([^()]*)\)|([^()]*?))\$?", form)
    choices = (match[1] or match[2] or "").split("|") if match else []
    plain = all(choice and not {*r"\^$.*+?[]{}"} & {*choice} for choice in choices)
    return tuple(choices) if plain and len(choices) > 1 else ()


def _titles(column: Mapping[str, Any]) -> list[str]:
    """Return the names of a column: its name, and its titles in any language."""
    titles = column.get("titles", [])
    several = [*titles.values()] if isinstance(titles, dict) else [titles]
    flat = [one for some in several for one in (some if isinstance(some, list) else [some])]
    names = [one for one in (column.get("name"), *flat) if isinstance(one, str) and one.strip()]
    return list(dict.fromkeys(names))
