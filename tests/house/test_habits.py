"""What surrounds the code names what is there: workflow, make, decisions, citation."""

import re
from pathlib import Path

import pytest

import geodp

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")

ROOT = Path(__file__).parents[2]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
PARTS = ["Context", "Decision", "Consequences", "What would change our mind"]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["Makefile", ".github/workflows/ci.yml"])
def test_the_paths_that_are_named_are_there(name):
    found = re.findall(r"(?:tests|docs|data|\.ci)/[\w./*-]*\w", read(name))
    assert found
    assert [path for path in found if not [*ROOT.glob(path)]] == []


PLACEHOLDERS = {"NAME", "test_NAME", "toy", "subset", "json_lines", "jsonl", "cells"}


def paths_in_backticks(text):
    """Those of the project's own folders, but for the files that a reader is to write."""
    found = re.findall(r"`((?:tests|docs|geodp|bench)/[^`\s]*)", text)
    return [path for path in found if Path(path).stem not in PLACEHOLDERS]


@pytest.mark.parametrize(
    "path",
    [
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / ".github").rglob("*.md")),
        *sorted((ROOT / "docs" / "decisions").glob("*.md")),
    ],
    ids=lambda path: path.stem,
)
def test_the_paths_in_backticks_are_there(path):
    named = paths_in_backticks(path.read_text(encoding="utf-8"))
    assert [one for one in named if not [*ROOT.glob(one)]] == []


def test_a_path_that_is_gone_is_found():
    text = "`tests/claims.txt`, `tests/laws`, `tests/reference/NAME.py`, `make test`"
    assert paths_in_backticks(text) == ["tests/claims.txt", "tests/laws"]
    assert not [*ROOT.glob("tests/claims.txt")]


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


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_is_short_and_has_all_of_its_parts(path):
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == PARTS
    assert text.startswith(f"# {int(path.stem[:4])}. ")
    assert 20 <= len(text.splitlines()) <= 40


def test_all_decisions_are_listed_and_numbered():
    text = read("docs/decisions/README.md")
    listed = re.findall(r"^(\d+)\. \[.*\]\((\S+)\)$", text, re.MULTILINE)
    assert [name for _, name in listed] == [path.name for path in DECISIONS]
    assert [int(number) for number, _ in listed] == [*range(1, len(DECISIONS) + 1)]


def test_documents_link_to_what_is_there():
    broken = []
    for path in ROOT.glob("docs/**/*.md"):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if "://" not in target and not (path.parent / target).exists():
                broken.append(f"{path.name}: {target}")
    assert broken == []


@pytest.mark.parametrize(
    "path",
    [*DECISIONS, *(ROOT / name for name in ("SECURITY.md", "docs/decisions/README.md"))],
    ids=lambda path: path.stem,
)
def test_lines_are_at_most_100_characters(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 100 and not line.startswith("|")] == []


def test_the_citation_is_of_this_version():
    assert re.search(r"^version: (\S+)$", read("CITATION.cff"), re.MULTILINE)[1] == (
        geodp.__version__
    )
    paper = geodp.METHODS["topdown"].citation
    title = re.search(r"^    title: (.*)$", read("CITATION.cff"), re.MULTILINE)[1]
    assert title in paper


def test_make_demo_installs_what_geodp_runs_on_and_nothing_else():
    text = read("Makefile")
    needed = dict(re.findall(r"^(\w+): (.*)$", text, re.MULTILINE))
    rules = re.findall(r"^\$\((\w+)\): pyproject.toml\n((?:\t.*\n)+)", text, re.MULTILINE)
    installed = {name: re.search(r"\$\(INSTALL\) (.*)", steps)[1] for name, steps in rules}
    assert installed == {"RUNS": ".", "INSTALLED": "'.[dev]'"}
    assert needed["demo"] == "$(RUNS)"
    assert needed["test"] == needed["check"] == "$(INSTALLED)"
