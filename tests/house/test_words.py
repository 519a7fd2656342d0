"""The field's words: a glossary of all public names, and none of the words that they replace."""

import ast
import re
from pathlib import Path

import pytest

import geodp

PACKAGE = Path(geodp.__file__).parent
ROOT = Path(__file__).parents[2]

GONE = {
    *("Regions", "RegionOrder", "regions_file", "uneven", "UnevenTree", "wishes"),
    *("optimised", "densetwin", "subtrees", "descended", "refined", "isolated", "apart", "Cut"),
    *("overload", "refusal", "dress", "lean", "leave", "six", "crs_text", "public_guess"),
    *("About", "office", "resolution_floor", "contenders", "rivals", "lonely", "twins"),
    *("evidence", "refining", "hull", "core"),
}
"""Names of files, classes, functions and methods that have others now."""


def names(source):
    """Names of the classes and functions of a source."""
    kinds = ast.ClassDef | ast.FunctionDef
    return {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)}


def gone(path):
    return ({path.stem} | names(path.read_text(encoding="utf-8"))) & GONE


def test_no_name_is_one_that_was_replaced():
    assert {path.name: found for path in PACKAGE.rglob("*.py") if (found := gone(path))} == {}


@pytest.mark.parametrize("planted", ["class Regions: ...", "def f():\n    def dress(): ..."])
def test_a_planted_word_is_found(planted, tmp_path):
    path = tmp_path / "grid.py"
    path.write_text(planted)
    assert gone(path)


def test_every_public_name_is_in_the_glossary():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"^## Words\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    glossary = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (.*?) \|", section, re.M))))
    assert {name for name in geodp.__all__ if name != "__version__"} == glossary
