"""Conversion of dataclasses of arrays to plain values and few long arrays, and back.

A draw is stored in this form until its release is complete (:mod:`geodp.io.folder.pending`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodp.table.plain import read_plain, write_plain

T = TypeVar("T")

Packed: TypeAlias = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""Plain values, and arrays by name."""

ARRAY = "array"
"""Key of the plain value that stands for an array."""


def pack(value: Any) -> Packed:
    """Convert dataclasses, mappings and tuples, some of whose values are arrays.

    Arrays of one type are stored one after the other: a file for every table of a long series would
    cost more than its cells.

    Examples
    --------
    >>> plain, arrays = pack({"name": "a", "counts": (np.arange(3), np.zeros((1, 2), np.int64))})
    >>> plain["counts"][1], arrays["int64"].tolist()
    ({'array': 'int64', 'start': 3, 'shape': [1, 2]}, [0, 1, 2, 0, 0])
    """
    parts: dict[str, list[NDArray[Any]]] = {}
    ends: dict[str, int] = {}

    def append(array: NDArray[Any]) -> dict[str, Any]:
        name, start = array.dtype.name, ends.get(array.dtype.name, 0)
        parts.setdefault(name, []).append(array.ravel())
        ends[name] = start + array.size
        return {ARRAY: name, "start": start, "shape": [*array.shape]}

    plain = _replace(write_plain(value), np.ndarray, append)
    return plain, {name: np.concatenate(listed) for name, listed in parts.items()}


def unpack(kind: type[T], plain: Any, arrays: Mapping[str, NDArray[Any]]) -> T:
    """Restore a value of a type from what :func:`pack` made of it.

    Raises
    ------
    VerificationError, LookupError, TypeError, ValueError
        It is none, or is damaged.
    """

    def cut(one: dict[str, Any]) -> Any:
        if one.keys() != {ARRAY, "start", "shape"}:
            return {name: _replace(inner, dict, cut) for name, inner in one.items()}
        start, shape = one["start"], one["shape"]
        return arrays[one[ARRAY]][start : start + int(np.prod(shape))].reshape(shape)

    return read_plain(kind, _replace(plain, dict, cut), "draw")


def _replace(plain: Any, kind: type, change: Any) -> Any:
    """Return plain values in which those of a type are changed."""
    if isinstance(plain, kind):
        return change(plain)
    if isinstance(plain, dict):
        return {name: _replace(one, kind, change) for name, one in plain.items()}
    return [_replace(one, kind, change) for one in plain] if isinstance(plain, list) else plain
