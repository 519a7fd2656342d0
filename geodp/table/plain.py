"""Frozen dataclasses as the plain values of a JSON document, and back; captions of their fields.

The fields of a dataclass are the keys of its JSON object, in their order, but for those that are
stated to come :func:`before` another; a field whose name in Python differs has its key in its
metadata. Types are enforced on reading, so that untrusted input
becomes a value of these types or is refused. Arrays of NumPy are values of their own, which no JSON
has (:mod:`geodp.io.folder.pending`).

A field with a caption is shown by everything that shows its part of the card: the privacy card in
Markdown, the page in every language, the registry's record, NetCDF files and items of STAC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from geodp.errors import VerificationError, printable

CAPTION = "caption"
"""Key of the caption in the metadata of a dataclass's field."""


@dataclass(frozen=True)
class Caption:
    """Names of a field.

    Attributes
    ----------
    en, ja : str
        In English and in Japanese, as in the middle of a sentence.
    cf, stac : str
        In the conventions of CF and of STAC; empty: they have no name for it, and it stands under
        that of geodp.
    """

    en: str
    ja: str
    cf: str = ""
    stac: str = ""

    def in_language(self, language: Literal["en", "ja"]) -> str:
        """Return the caption in a language of pages."""
        return self.en if language == "en" else self.ja

    @property
    def heading(self) -> str:
        """The English caption with an initial capital."""
        return f"{self.en[:1].upper()}{self.en[1:]}"


def caption(en: str, ja: str, *, cf: str = "", stac: str = "") -> dict[str, Caption]:
    """Return field metadata with a caption, so that the field is shown."""
    # Next to the field itself: a new field of the card needs no change in any writer.
    return {CAPTION: Caption(en, ja, cf, stac)}


def list_captioned(part: Any) -> Iterator[tuple[str, Caption, Any]]:
    """Yield name, caption and value of the captioned fields of a part of the card.

    Fields that are None are left out; a part that is None has no fields.
    """
    for one in () if part is None else fields(part):
        value = getattr(part, one.name)
        if CAPTION in one.metadata and value is not None:
            yield one.name, one.metadata[CAPTION], value


T = TypeVar("T")

LONGEST = 80
"""Characters of an untrusted name that a message repeats."""


@dataclass(frozen=True)
class Text:
    """Annotation: a text that matches a pattern in full."""

    pattern: str


@dataclass(frozen=True)
class AtLeast:
    """Annotation: a number with a minimum and perhaps a maximum."""

    value: int
    maximum: int | None = None


def before(name: str) -> dict[str, str]:
    """Return the metadata of a field that comes before an inherited one in JSON."""
    return {"before": name}


@lru_cache(maxsize=256)
def list_in_order(kind: type) -> tuple[Field[Any], ...]:
    """List the fields of a dataclass in the order of its JSON."""
    listed = [one for one in fields(kind) if "before" not in one.metadata]
    for own in fields(kind):
        if "before" in own.metadata:
            names = [one.name for one in listed]
            listed.insert(names.index(own.metadata["before"]), own)
    return tuple(listed)


def key_of(one: Field[Any]) -> str:
    """Return the key of a dataclass's field in JSON."""
    key: str = one.metadata.get("key", one.name)
    return key


def write_plain(value: Any) -> Any:
    """Convert dataclasses, tuples and mappings to dicts, lists, texts and numbers.

    A field whose default is None is left out where it is None; the names of a field that is
    `inline` are at the same level as those of its dataclass.
    """
    # Most values are texts and numbers, and asking them for more takes time.
    if isinstance(value, str | int | float | None):
        return value
    if is_dataclass(value):
        plain: dict[str, Any] = {}
        kind: Any = type(value)
        for one in list_in_order(kind):
            inner = getattr(value, one.name)
            if one.metadata.get("inline"):
                plain |= write_plain(inner)
            # Optional fields were added later: leaving out None keeps cards of earlier versions
            # valid.
            elif inner is not None or one.default is not None:
                plain[key_of(one)] = write_plain(inner)
        return plain
    if isinstance(value, Mapping):
        return {name: write_plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return [write_plain(inner) for inner in value]
    return value


def read_plain(kind: type[T], value: Any, where: str) -> T:
    """Read a dataclass back from the plain values of `write_plain`.

    Parameters
    ----------
    kind : type
        A dataclass.
    value : plain
        Untrusted input.
    where : str
        What it is, for messages.

    Raises
    ------
    VerificationError
        A name is missing or unknown, or a value has another type; the message says where.
    """
    result: T = _read(kind, value, where)
    return result


@lru_cache(maxsize=256)
def types_of(kind: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields, with their annotations."""
    return get_type_hints(kind, include_extras=True)


@lru_cache(1024)
def _form_of(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the origin of a type, and its arguments."""
    return get_origin(kind), get_args(kind)


def _read(kind: Any, value: Any, where: str) -> Any:
    origin, parts = _form_of(kind)
    if origin is Annotated:
        return _within(_read(parts[0], value, where), parts[1], where)
    if origin in (Union, UnionType):
        return _read(_choose(parts, value, where), value, where)
    # 1 == True in Python, so the types are compared as well.
    if origin is Literal:
        _require(any(value == one and type(value) is type(one) for one in parts), where, "as known")
        return value
    if origin is tuple:
        _require(isinstance(value, list), where, "a list")
        each = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
        _require(len(value) == len(each), where, f"a list of {len(each)}")
        pairs = zip(each, value, strict=True)
        return tuple(_read(part, one, f"{where}[{n}]") for n, (part, one) in enumerate(pairs))
    if origin is np.ndarray:
        _require(_fits(kind, value), where, "an array")
        return value
    if origin is not None:  # a mapping, whose names are texts
        _require(isinstance(value, dict), where, "an object")
        return {name: _read(parts[1], one, _inside(where, name)) for name, one in value.items()}
    if is_dataclass(kind):
        return _read_fields(kind, value, where)
    _require(_is(kind, value), where, TYPE_NAMES[kind])
    return value


def _read_fields(kind: Any, value: Any, where: str) -> Any:
    """Read a dataclass from an object."""
    _require(isinstance(value, dict), where, "an object")
    # Keys are removed as they are read, so that what remains is unknown and is refused.
    left, types, values = dict(value), types_of(kind), {}
    inline = [one for one in list_in_order(kind) if one.metadata.get("inline")]
    for one in list_in_order(kind):
        if one in inline:
            continue
        key = key_of(one)
        if key in left:
            values[one.name] = _read(types[one.name], left.pop(key), _inside(where, key))
        elif one.default is not None:
            raise VerificationError(
                printable(f"{_inside(where, key)} is missing."), code="plain-key-missing"
            )
    for one in inline:
        inline_types: Mapping[str, Any] = one.metadata["inline"]
        values[one.name] = {
            name: _read(inline_types[name], left.pop(name), _inside(where, name))
            for name in [*left]
            if name in inline_types
        }
    if left:
        raise VerificationError(
            printable(f"{_inside(where, min(left))} is unknown."), code="plain-key-unknown"
        )
    return kind(**values)


def _choose(parts: tuple[Any, ...], value: Any, where: str) -> Any:
    """Choose the first of several types that a plain value fits."""
    # Types of a union must differ in their outermost form, so the first fit is the only one.
    for part in parts:
        origin, inner = _form_of(part)
        if _fits(inner[0] if origin is Annotated else part, value):
            return part
    raise VerificationError(
        f"{printable(where)} is of none of the types that it can have.", code="plain-type-unknown"
    )


def _fits(kind: Any, value: Any) -> bool:
    """Return whether the outermost form of a plain value fits a type."""
    origin, parts = _form_of(kind)
    if origin is tuple:
        return isinstance(value, list)
    if origin is Literal:
        return isinstance(value, str)
    if origin is np.ndarray:
        dtype = get_args(parts[1])[0]
        return isinstance(value, np.ndarray) and (dtype is Any or value.dtype == dtype)
    if origin is Mapping:
        return isinstance(value, dict)
    if is_dataclass(kind):
        return isinstance(value, dict) and _is_variant(kind, value)
    return _is(kind, value)


@lru_cache(256)
def _literals_of(kind: type) -> dict[str, tuple[Any, ...]]:
    """Return the values that the fields of a dataclass with a literal type can have."""
    forms = {name: _form_of(one) for name, one in types_of(kind).items()}
    return {name: parts for name, (origin, parts) in forms.items() if origin is Literal}


def _is_variant(kind: Any, value: dict[str, Any]) -> bool:
    """Return whether an object has the literals that distinguish a dataclass from others."""
    return all(value.get(name) in known for name, known in _literals_of(kind).items())


def _is(kind: Any, value: Any) -> bool:
    if kind is float:
        return type(value) in (int, float)
    # In Python, True is an int; in JSON, true is no number.
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _within(value: Any, limit: Text | AtLeast, where: str) -> Any:
    """Return a value, checked against its annotation."""
    if isinstance(limit, Text):
        _require(re.fullmatch(limit.pattern, value) is not None, where, "of its form")
    else:
        _require(value >= limit.value, where, f"at least {limit.value}")
        if limit.maximum is not None:
            _require(value <= limit.maximum, where, f"at most {limit.maximum}")
    return value


TYPE_NAMES = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "null",
}


def _inside(where: str, name: str) -> str:
    return f"{where}.{name[:LONGEST]}"


def _require(ok: bool, where: str, what: str) -> None:
    if not ok:
        raise VerificationError(f"{printable(where)} is not {what}.", code="plain-type-wrong")
