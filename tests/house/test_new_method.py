"""A new method is one file: CONTRIBUTING's example works everywhere with no other edit."""

import json
import re

import pytest

from tests.house.recipes import copy_with, example, run

LINES = 68
"""A complete method is not longer than this, blank lines apart."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project, with the example's file and no other change."""
    file = "geodp/mechanisms/central/toy.py"
    return copy_with(tmp_path_factory.mktemp("project"), file, "Add a method")


@pytest.fixture(scope="module")
def people(project):
    """A table of 8 x 8 cells."""
    path = project / "people.csv"
    lines = [f"{x},{y},{10 * x + y}" for x in range(8) for y in range(8)]
    path.write_text("\n".join(["x,y,n", *lines, ""]), encoding="utf-8")
    table = ("--x", "x", "--y", "y", "--anchor", "index", "--value", "n")
    return (str(path), "--grid", "regular:8x8", *table, "--contribution", "1", "--epsilon", "1")


def test_the_example_is_short():
    assert sum(1 for line in example("Add a method").splitlines() if line.strip()) <= LINES


@pytest.mark.parametrize(
    ("file", "fewest"),
    [
        ("mechanisms/test_conformance.py", 25),
        ("mechanisms/test_queries.py", 3),
        ("mechanisms/test_every_domain.py", 60),
        ("laws/test_methods.py", 2),
        ("laws/test_audit.py", 4),
    ],
)
def test_it_passes_what_every_method_is_asked(project, file, fewest):
    words = ("pytest", f"tests/{file}", "-k", "toy", "-q", "-p", "no:cacheprovider")
    output = run(project, *words)
    passed = re.search(r"^(\d+) passed, \d+ deselected", output, re.MULTILINE)
    assert passed, output
    assert int(passed[1]) >= fewest


def test_the_command_line_knows_it(project, people):
    assert re.search(r"^toy\b.*\n.*share=1/10", run(project, "geodp", "methods"), re.MULTILINE)
    publish = ("geodp", "publish", *people, "--method", "toy:share=1/4", "--output", "out")
    run(project, *publish)
    card = json.loads((project / "out" / "public" / "release.json").read_text(encoding="utf-8"))
    assert card["guarantee"]["mechanism"] == "toy:share=1/4"
    assert card["mechanism"]["citation"] == "The example of CONTRIBUTING.md."
    run(project, "geodp", "verify", "out")


def test_it_is_evaluated_beside_the_others(project, people):
    words = ("--methods", "toy,laplace", "--trials", "2", "--json")
    found = run(project, "geodp", "evaluate", *people, *words)
    assert json.loads(found)
    assert '"toy"' in found


def test_it_is_measured_beside_the_others(project):
    if not (project / "bench").exists():
        pytest.skip("the benchmarks are no part of what is tested here")
    words = ("--size", "16", "--trials", "1", "--rounds", "1", "--json", "figures.json")
    assert "toy" in run(project, "bench", "methods", "--methods", "toy", *words)
    assert '"toy"' in (project / "figures.json").read_text(encoding="utf-8")
