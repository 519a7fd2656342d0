"""Readers of the inputs: one file for each kind of input.

Every module here whose ``READERS`` lists readers adds them to :func:`find_readers`: every
reader by its name. So does every module of a third-party package that an entry point
``geodp.readers`` names. The command line makes its options from their fields, and :func:`choose`
selects the reader that a call is meant for.

Files here load nothing heavy, as help reads them: fields of geodp's own readers are in ``options``,
and what they do with their inputs is in ``counting``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from geodp.errors import UsageError, add_plugins
from geodp.io.read.reader import Call, MatchScore, Reader
from geodp.options.option import Option


@cache
def builtin_readers() -> Mapping[str, type[Reader]]:
    """Return the readers of geodp itself, by their names."""
    names = [info.name for info in pkgutil.iter_modules(__path__) if not info.ispkg]
    modules = [import_module(f"{__name__}.{name}") for name in names]
    readers = [reader for module in modules for reader in getattr(module, "READERS", ())]
    return {reader.name: reader for reader in readers}


@cache
def find_readers() -> Mapping[str, type[Reader]]:
    """Return all readers by their names, those of plug-ins last."""
    return add_plugins(builtin_readers(), "geodp.readers", "READERS", _fits)


def _fits(one: object) -> bool:
    """Test whether a plug-in's object is a reader with all required attributes."""
    if not (isinstance(one, type) and issubclass(one, Reader)):
        return False
    options = all(isinstance(entry, Option) for entry in one.option_fields())
    return options and isinstance(one.kind, str) and isinstance(one.flag, str)


def give_key(reader: type[Reader], key: object) -> Mapping[str, Any]:
    """Return the field of a reader for the office's key, which must not reach code of plugins."""
    has_one = reader in builtin_readers().values() and "secret" in reader.__dataclass_fields__
    return {"secret": key} if has_one else {}


def choose(call: Call, readers: Mapping[str, type[Reader]] | None = None) -> type[Reader]:
    """Choose the reader that a call is meant for, by its options and the names of its files.

    ``readers``: the candidates; default: all. Raises UsageError if none matches, or several match
    equally well.
    """
    among = find_readers() if readers is None else readers
    scores = {name: _score(reader, call) for name, reader in among.items()}
    # Ties are an error, as choosing one would depend on the order in which modules are listed.
    highest = max(scores.values())
    best = [name for name, score in scores.items() if score == highest]
    if not highest or len(best) > 1:
        names = ", ".join(best if highest else scores)
        raise UsageError(
            f"Nothing says which of these readers the call is meant for: {names}.",
            code="reader-ambiguous",
        )
    return among[best[0]]


def _score(reader: type[Reader], call: Call) -> MatchScore:
    """Return how well a reader matches a call.

    Readers of other packages match by their flag alone, and one whose test fails does not match.
    """
    if reader in builtin_readers().values():
        return reader.match_score(call)
    try:
        match_score = MatchScore(reader.match_score(call))
    except Exception:
        return MatchScore.NONE
    return (
        MatchScore.NONE
        if match_score is MatchScore.FLAG and not reader.is_requested(call)
        else match_score
    )
