"""Noise that is the same in every run of CI, so that what passed once never fails by chance.

Elsewhere every run draws noise of its own and so looks at other cases.
"""

import contextlib
import os
import random
from types import SimpleNamespace

import pytest

from geodp.local import coins
from geodp.privacy import key

_drawing = [random.Random("what modules draw when they are imported")]


@contextlib.contextmanager
def named(name):
    """Let the noise of CI follow from this name for a while."""
    _drawing.append(random.Random(name))
    try:
        yield
    finally:
        _drawing.pop()


class FixedNoise:
    """Bytes of keys and coins that follow from the name of the test or fixture that draws them."""

    def __init__(self):
        self._process = os.getpid()
        key.secrets = SimpleNamespace(token_bytes=self.draw)
        coins.os = SimpleNamespace(urandom=self.draw, getpid=os.getpid)

    def draw(self, count):
        """Return so many bytes, in a fork those of the operating system."""
        fork = os.getpid() != self._process
        return os.urandom(count) if fork else _drawing[-1].randbytes(count)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        # Whichever test asks for a shared fixture first, its releases are the same.
        number = getattr(request, "param_index", 0)
        with named(f"{request.node.nodeid} {fixturedef.argname} {number}"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        with named(item.nodeid):
            return (yield)
