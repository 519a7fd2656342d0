"""What surrounds the code names what is there: workflow, make, citation."""

import importlib.util
import re
from pathlib import Path

import pytest

import geodp

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")

ROOT = Path(__file__).parents[2]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["Makefile", ".github/workflows/ci.yml", ".github/workflows/release.yml"]
)
def test_the_paths_that_are_named_are_there(name):
    found = re.findall(r"(?:tests|docs|data|\.ci)/[\w./*-]*\w", read(name))
    assert found
    assert [path for path in found if not [*ROOT.glob(path)]] == []


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
PLACEHOLDERS = {
    "NAME",
    "geodp-kernels-DIGEST",
    "test_NAME",
    "toy",
    "subset",
    "json_lines",
    "jsonl",
    "cells",
}


@pytest.mark.parametrize(
    "path",
    [*DOCUMENTS, *sorted((ROOT / ".github").rglob("*.md"))],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_what_documents_name_is_there(path):
    """Files of the project, names in them, and modules that are run."""
    text = path.read_text(encoding="utf-8")
    for file, name in re.findall(r"`((?:tests|docs|geodp|bench)/[^`\s:]*)(?:::(\w+))?`", text):
        if Path(file).stem in PLACEHOLDERS:
            continue
        found = [*ROOT.glob(file)]
        assert found, file
        defined = rf"(?:def|class) {name}\b"
        assert not name or re.search(defined, found[0].read_text(encoding="utf-8")), name
    modules = re.findall(r"python -m ((?:bench|tests)[\w.]*)", text)
    assert [name for name in modules if importlib.util.find_spec(name) is None] == []


def test_the_targets_that_are_named_are_there():
    targets = re.findall(r"^(\w+):", read("Makefile"), re.MULTILINE)
    named = re.search(r"^\.PHONY: (.*)$", read("Makefile"), re.MULTILINE)[1].split()
    assert sorted(targets) == sorted(named)
    documents = ("README.md", ".github/workflows/ci.yml", ".github/PULL_REQUEST_TEMPLATE.md")
    called = {
        one
        for name in documents
        for one in re.findall(r"(?m)(?:run: |^    |`)make (\w+)", read(name))
    }
    assert called <= {*targets}


def test_documents_link_to_what_is_there():
    broken = []
    for path in [*DOCUMENTS, ROOT / "SECURITY.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if "://" not in target and not (path.parent / target).exists():
                broken.append(f"{path.name}: {target}")
    assert broken == []


def test_the_citation_is_of_this_version():
    assert re.search(r"^version: (\S+)$", read("CITATION.cff"), re.MULTILINE)[1] == (
        geodp.__version__
    )
    paper = geodp.METHODS["topdown"].citation
    title = re.search(r"^    title: (.*)$", read("CITATION.cff"), re.MULTILINE)[1]
    assert title in paper
