"""Documents show the figures of benchmarks that were kept, to the letter."""

import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
from bench import suites

NAMES = [one.name for one in pkgutil.iter_modules(suites.__path__)]
FILLED = [name for name in NAMES if hasattr(import_module(f"bench.suites.{name}"), "fill_document")]
DRAWN = (("publish", "draw"), ("speed_growth", "draw"), ("speed_growth", "draw_memory"))
"""Pictures, whose bytes depend on the version of a library."""


@pytest.mark.parametrize("name", FILLED)
def test_a_document_that_is_filled_again_stays_as_it_is(name, monkeypatch):
    """And it has each place that is filled exactly once."""
    filled = []

    def compare(path, text, **_):
        assert path.read_text(encoding="utf-8") == text
        filled.append(path)

    for module, function in DRAWN:
        monkeypatch.setattr(f"bench.suites.{module}.{function}", lambda *_: None)
    monkeypatch.setattr(Path, "write_text", compare)
    import_module(f"bench.suites.{name}").fill_document()
    assert filled
