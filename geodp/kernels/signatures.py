"""Types of arguments as plain JSON values, and the list of those that commands call kernels with.

A number is ``"int64"``, an array ``"uint64 1 C"`` or ``"uint64 1 C readonly"``, a tuple a list of
these, and a named tuple an object of one name, ``{"geodp.kernels.noise.NoiseTable": [...]}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types

LIST = Path(__file__).with_name("signatures.json")
"""File of the signatures with which Python calls each kernel, by the kernel's name.

``python -m tests.signatures`` writes it. Kernels that only other kernels call are compiled into
these and not listed.
"""
NUMBERS = (types.Integer, types.Float, types.Boolean)


def text_of(signature: Sequence[Any]) -> str | None:
    """Write the types of a call as text; None if a type is not supported."""
    try:
        return json.dumps([_write(one) for one in signature], separators=(",", ":"))
    except TypeError:
        return None


def types_of(text: str) -> tuple[Any, ...]:
    """Read the types of a call from text."""
    return tuple(_read(one) for one in json.loads(text))


def listed() -> Iterator[tuple[Any, tuple[Any, ...], str]]:
    """Iterate over the listed kernels, with the types of each call and their text."""
    for name, signatures in json.loads(LIST.read_text(encoding="utf-8")).items():
        for one in signatures:
            text = json.dumps(one, separators=(",", ":"))
            yield _named(name), types_of(text), text


def _named(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def _write(of: Any) -> Any:
    # Exact types only: a subclass such as an unaligned or otherwise special array is compiled on
    # demand instead of being confused with a plain one.
    if type(of) is types.Array and of.aligned:
        return f"{of.dtype} {of.ndim} {of.layout}" + " readonly" * (not of.mutable)
    if isinstance(of, types.BaseNamedTuple):
        made = of.instance_class
        return {f"{made.__module__}.{made.__qualname__}": [_write(one) for one in of.types]}
    if isinstance(of, types.BaseTuple):
        return [_write(one) for one in of.types]
    if type(of) in NUMBERS:
        return str(of)
    raise TypeError(of)


def _read(written: Any) -> Any:
    if isinstance(written, list):
        return types.BaseTuple.from_types([_read(one) for one in written])
    if isinstance(written, dict):
        ((name, parts),) = written.items()
        return types.BaseTuple.from_types([_read(one) for one in parts], _named(name))
    name, *form = written.split()
    number = numba.from_dtype(np.dtype(name))
    if not form:
        return number
    return types.Array(number, int(form[0]), form[1], readonly="readonly" in form)
