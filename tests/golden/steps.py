"""Steps of a run at which it can fail, by the functions that take them."""

import errno
import sys
from contextlib import contextmanager

import pytest

from geodp.io.folder import pending, publication, staging
from geodp.privacy.ledger import Ledger

STEPS = {
    "charge": (Ledger.charge, Ledger),
    "mark": (pending.mark_charged, None),
    "file": (publication.describe_entry, None),
    "place": (staging.sync_all, None),
}
"""The charge of a draw that is stored; the mark that it was charged; a file that was written; and
the folder that is about to take its place."""


@contextmanager
def failing(step: str, number: int = 1):
    """Let the n-th call of a step fail once, as on a disk that is full; yield the calls so far."""
    function, owner = STEPS[step]
    calls = []

    def call(*given, **named):
        calls.append(given)
        if len(calls) == number:
            raise OSError(errno.ENOSPC, "No space left on device")
        return function(*given, **named)

    with pytest.MonkeyPatch.context() as patched:
        for module in [owner] if owner else _modules():
            if vars(module).get(function.__name__) is function:
                patched.setattr(module, function.__name__, call)
        yield calls


def _modules():
    """Return the modules of geodp, which may have imported a function by its name."""
    named = [*sys.modules.items()]
    return [module for name, module in named if name.partition(".")[0] == "geodp"]
