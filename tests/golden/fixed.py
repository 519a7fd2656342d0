"""What a golden folder must not depend on, held still: clock, versions, and what the system draws.

The noise of a release follows from a kept key and needs none of this.
"""

import itertools
import os
import random
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import geodp
from geodp.local import coins, opening
from tests.contract.kinds import offer_own
from tests.ledgers import steady_ledgers

VERSION = "0"
"""Of geodp, on the cards: a new version of geodp is no change of a release."""


def _set_version(old, new):
    """Change the version of geodp wherever it is known, also where it was imported from."""
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] == "geodp" and vars(module).get("__version__") == old:
            module.__version__ = new


@contextmanager
def fixed():
    """Hold still what differs from run to run.

    These are the kinds that a package adds; the version of geodp on cards; time and id in a ledger;
    the id of a round of local collection; and the coins of its devices.
    """
    version, drawn = geodp.__version__, random.Random("golden folders")
    numbers = itertools.count(1)

    def count(size):
        return f"{next(numbers):0{2 * size}x}"

    with pytest.MonkeyPatch.context() as patched, steady_ledgers(count), offer_own():
        patched.setattr(opening, "secrets", SimpleNamespace(token_hex=count))
        patched.setattr(coins, "os", SimpleNamespace(urandom=drawn.randbytes, getpid=os.getpid))
        _set_version(version, VERSION)
        try:
            yield
        finally:
            _set_version(VERSION, version)
