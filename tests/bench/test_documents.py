"""Documents show the figures of benchmarks that were kept, to the letter."""

import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
from bench import suites, tables
from bench.inputs.public import load_households
from bench.inputs.series import load_months
from geodp.errors import UsageError

NAMES = [one.name for one in pkgutil.iter_modules(suites.__path__)]
FILLED = [name for name in NAMES if hasattr(import_module(f"bench.suites.{name}"), "fill_document")]
DRAWN = (("publish", "draw"), ("speed_growth", "draw"), ("speed_growth", "draw_memory"))
"""Pictures, whose bytes depend on the version of a library."""

PARTED = ("amounts", "amounts_priors", "informed", "pyramid", "speed")
"""Benchmarks of which parts may be measured alone."""


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


def test_a_document_without_the_place_to_fill_is_refused(tmp_path):
    (tmp_path / "a.md").write_text("<a><b><a><b>")
    for marks in (("<a>", "<b>"), ("<c>", "<d>")):
        with pytest.raises(ValueError, match=r"a\.md"):
            tables.fill(tmp_path / "a.md", marks, "text")


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("households", {}, "--data DIR"),
        ("flows", {}, "--data DIR"),
        ("series", {}, "--data DIR"),
        ("informed", {"parts": ["pairs"]}, "--data DIR"),
        ("pyramid", {"parts": ["kanto"]}, "--data DIR"),
        ("pyramid", {"data": Path("nowhere"), "parts": ["ratios"]}, "no directory"),
        ("pyramid", {"data": Path()}, "estat-2020-500m"),
        *((name, {"parts": ["heights"]}, "parts are of") for name in PARTED),
    ],
)
def test_what_cannot_be_measured_is_said_in_a_sentence(name, given, said):
    with pytest.raises(UsageError, match=said):
        import_module(f"bench.suites.{name}").measure(**given)


@pytest.mark.parametrize(
    ("load", "said"), [(load_households, "there are no zip files"), (load_months, "There is no")]
)
def test_public_data_that_are_not_there_are_named(load, said, tmp_path):
    with pytest.raises(UsageError, match=said):
        load(tmp_path)
