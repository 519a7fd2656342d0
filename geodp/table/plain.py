"""Frozen values to the plain ones of a JSON document and back.

The fields of a dataclass are the names of its object, in their order, and their types say what is
accepted: what a stranger wrote is a value of these types, or is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from geodp.errors import VerificationError, printable

T = TypeVar("T")

LONGEST = 80
"""Letters of a stranger's word that a message repeats."""


@dataclass(frozen=True)
class Text:
    """A text that a pattern matches in full."""

    pattern: str


@dataclass(frozen=True)
class AtLeast:
    """A number that is not smaller, and not larger where a largest is given."""

    value: int
    most: int | None = None


def write_plain(value: Any) -> Any:
    """Return a value of dataclasses, tuples and mappings as dicts, lists, texts and numbers.

    A field whose default is None is left out where it is None; the names of a field that is
    `inline` stand beside those of its dataclass.
    """
    if is_dataclass(value):
        found: dict[str, Any] = {}
        for one in fields(value):
            inner = getattr(value, one.name)
            if one.metadata.get("inline"):
                found |= write_plain(inner)
            elif inner is not None or one.default is not None:
                found[one.name] = write_plain(inner)
        return found
    if isinstance(value, Mapping):
        return {name: write_plain(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return [write_plain(inner) for inner in value]
    return value


def read_plain(kind: type[T], value: Any, where: str) -> T:
    """Return what `write_plain` wrote of a value of a dataclass.

    Parameters
    ----------
    kind : type
        A dataclass.
    value : plain
        What somebody else may have written.
    where : str
        What it is, for messages.

    Raises
    ------
    VerificationError
        A name is missing or unknown, or a value is none of its type: the message says where.
    """
    found: T = _read(kind, value, where)
    return found


@lru_cache(maxsize=256)
def types_of(kind: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields, with what they are annotated with."""
    return get_type_hints(kind, include_extras=True)


def _read(kind: Any, value: Any, where: str) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _within(_read(parts[0], value, where), parts[1], where)
    if origin in (Union, UnionType):
        return _read(_choose(parts, value, where), value, where)
    if origin is Literal:
        _require(any(value == one and type(value) is type(one) for one in parts), where, "as known")
        return value
    if origin is tuple:
        _require(isinstance(value, list), where, "a list")
        each = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
        _require(len(value) == len(each), where, f"a list of {len(each)}")
        pairs = zip(each, value, strict=True)
        return tuple(_read(part, one, f"{where}[{n}]") for n, (part, one) in enumerate(pairs))
    if origin is not None:  # a mapping, whose names are texts
        _require(isinstance(value, dict), where, "an object")
        return {name: _read(parts[1], one, _inside(where, name)) for name, one in value.items()}
    if is_dataclass(kind):
        return _read_fields(kind, value, where)
    _require(_is(kind, value), where, WORDS[kind])
    return value


def _read_fields(kind: Any, value: Any, where: str) -> Any:
    """Return a dataclass of an object's names."""
    _require(isinstance(value, dict), where, "an object")
    left, types, found = dict(value), types_of(kind), {}
    inline = [one for one in fields(kind) if one.metadata.get("inline")]
    for one in fields(kind):
        if one in inline:
            continue
        if one.name in left:
            found[one.name] = _read(types[one.name], left.pop(one.name), _inside(where, one.name))
        elif one.default is not None:
            raise VerificationError(
                printable(f"{_inside(where, one.name)} is missing."), code="plain-key-missing"
            )
    for one in inline:
        known: Mapping[str, Any] = one.metadata["inline"]
        found[one.name] = {
            name: _read(known[name], left.pop(name), _inside(where, name))
            for name in [*left]
            if name in known
        }
    if left:
        raise VerificationError(
            printable(f"{_inside(where, min(left))} is unknown."), code="plain-key-unknown"
        )
    return kind(**found)


def _choose(parts: tuple[Any, ...], value: Any, where: str) -> Any:
    """Return the one of several types that a plain value can be of."""
    for part in parts:
        if _fits(get_args(part)[0] if get_origin(part) is Annotated else part, value):
            return part
    raise VerificationError(
        f"{printable(where)} is of none of the types that it can have.", code="plain-type-unknown"
    )


def _fits(kind: Any, value: Any) -> bool:
    """Whether a plain value is of a type as far as its outermost form tells."""
    if get_origin(kind) is tuple:
        return isinstance(value, list)
    if get_origin(kind) is Literal:
        return isinstance(value, str)
    if is_dataclass(kind):
        return isinstance(value, dict) and _is_variant(kind, value)
    if get_origin(kind) is Mapping:
        return isinstance(value, dict)
    return _is(kind, value)


def _is_variant(kind: Any, value: dict[str, Any]) -> bool:
    """Whether an object has the words that tell a dataclass from others."""
    words = {name: one for name, one in types_of(kind).items() if get_origin(one) is Literal}
    return all(value.get(name) in get_args(one) for name, one in words.items())


def _is(kind: Any, value: Any) -> bool:
    if kind is float:
        return type(value) in (int, float)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _within(value: Any, limit: Text | AtLeast, where: str) -> Any:
    """Return a value that keeps a limit."""
    if isinstance(limit, Text):
        _require(re.fullmatch(limit.pattern, value) is not None, where, "of its form")
    else:
        _require(value >= limit.value, where, f"at least {limit.value}")
        if limit.most is not None:
            _require(value <= limit.most, where, f"at most {limit.most}")
    return value


WORDS = {
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
