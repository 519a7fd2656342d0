"""What comes in: one kind of input, one file.

Every module here whose ``READERS`` lists readers adds them to ``geodp.io.read.READERS``: every
reader by its name. So does every module of somebody else's package that an entry point
``geodp.readers`` names. The command line makes its options from their fields, and :func:`choose`
says which of them a call is meant for.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module

from geodp.errors import UsageError, add_plugins
from geodp.io.read.reader import Call, Claim, Option, Reader


@cache
def own() -> Mapping[str, type[Reader]]:
    """Readers of geodp's own, by their names."""
    names = [info.name for info in pkgutil.iter_modules(__path__) if not info.ispkg]
    modules = [import_module(f"{__name__}.{name}") for name in names]
    found = [reader for module in modules for reader in getattr(module, "READERS", ())]
    return {reader.name: reader for reader in found}


@cache
def _find_readers() -> Mapping[str, type[Reader]]:
    return add_plugins(own(), "geodp.readers", "READERS", _fits)


def _fits(one: object) -> bool:
    """Whether something is a reader with what its class must say."""
    if not (isinstance(one, type) and issubclass(one, Reader)):
        return False
    options = all(isinstance(asked.option, Option) for asked in one.asks())
    return options and isinstance(one.kind, str) and isinstance(one.flag, str)


def __getattr__(name: str) -> Mapping[str, type[Reader]]:
    """Look for readers when the table is first asked for: most of the package does without."""
    if name != "READERS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _find_readers()


def choose(call: Call, readers: Mapping[str, type[Reader]] | None = None) -> type[Reader]:
    """Choose the reader that a call is meant for, by its options and the names of its files.

    ``readers``: among which; default: all. Raises UsageError where none is, or several as surely
    as each other.
    """
    among = _find_readers() if readers is None else readers
    claims = {name: _claim(reader, call) for name, reader in among.items()}
    most = max(claims.values())
    found = [name for name, claim in claims.items() if claim == most]
    if not most or len(found) > 1:
        names = ", ".join(found if most else claims)
        raise UsageError(
            f"Nothing says which of these readers the call is meant for: {names}.",
            code="reader-ambiguous",
        )
    return among[found[0]]


def _claim(reader: type[Reader], call: Call) -> Claim:
    """Return what a reader claims; others' are asked for by their flag alone, and faults are no
    claim."""
    if reader in own().values():
        return reader.claim(call)
    try:
        claim = Claim(reader.claim(call))
    except Exception:
        return Claim.NONE
    return Claim.NONE if claim is Claim.ASKED and not reader.is_asked(call) else claim
