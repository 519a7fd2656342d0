"""What comes in: one kind of input, one file.

Every module here whose ``READERS`` lists readers adds them to ``geodp.io.read.READERS``: every
reader by its name. So does every module of somebody else's package that an entry point
``geodp.readers`` names. The command line makes its options from their fields, and :func:`choose`
says which of them a call is meant for.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module

from geodp.errors import UsageError, add_plugins
from geodp.io.read.reader import Call, Option, Reader


@cache
def _found() -> Mapping[str, type[Reader]]:
    names = [info.name for info in pkgutil.iter_modules(__path__) if not info.ispkg]
    modules = [import_module(f"{__name__}.{name}") for name in names]
    found = [reader for module in modules for reader in getattr(module, "READERS", ())]
    own = {reader.name: reader for reader in found}
    return add_plugins(own, "geodp.readers", "READERS", partial(_fits, _spelt(own)))


def _spelt(readers: Mapping[str, type[Reader]]) -> dict[str, Option]:
    """Options of readers by their names."""
    asked = (one for reader in readers.values() for one in reader.asked())
    return {one.option.name: one.option for one in asked}


def _fits(spelt: Mapping[str, Option], one: object) -> bool:
    """Whether something is a reader, and shares only options that are spelt as geodp's own are."""
    if not (isinstance(one, type) and issubclass(one, Reader) and hasattr(one, "kind")):
        return False
    options = [asked.option for asked in one.asked()]
    return all(spelt.get(option.name, option) == option for option in options)


def __getattr__(name: str) -> Mapping[str, type[Reader]]:
    """Look for readers when the table is first asked for: most of the package does without."""
    if name != "READERS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _found()


def choose(call: Call) -> type[Reader]:
    """The reader that a call is meant for, by its options and the names of its files.

    Raises UsageError where none is, or several as surely as each other.
    """
    claims = {name: reader.claim(call) for name, reader in _found().items()}
    most = max(claims.values())
    found = [name for name, claim in claims.items() if claim == most]
    if not most or len(found) > 1:
        among = ", ".join(found if most else claims)
        raise UsageError(f"Nothing says which of these readers the call is meant for: {among}.")
    return _found()[found[0]]
