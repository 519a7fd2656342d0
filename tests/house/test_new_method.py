"""A new method is one file: the example of docs/how-to works everywhere with no other edit."""

import json
import re

import pytest

from tests.house.recipes import copy_with, count_passed, run, run_module

pytestmark = pytest.mark.law


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


ASKED = {
    "tests.mechanisms.test_conformance": 25,
    "tests.mechanisms.test_queries": 3,
    "tests.mechanisms.test_every_domain": 60,
    "tests.laws.test_methods": 2,
    "tests.laws.test_audit": 4,
}
"""The tests of all methods, and how many of each there are at least."""


@pytest.fixture(scope="module")
def asked(project):
    """How many tests of the new method passed, by file."""
    return count_passed(project, ASKED, "toy")


@pytest.mark.parametrize("name", ASKED)
def test_it_passes_what_every_method_is_asked(asked, name):
    assert asked[name] >= ASKED[name]


def test_the_command_line_knows_it(project, people):
    assert re.search(r"^toy\b.*\n.*share=1/10", run(project, "methods"), re.MULTILINE)
    publish = ("publish", *people, "--method", "toy:share=1/4", "--output", "out")
    run(project, *publish)
    card = json.loads((project / "out" / "public" / "release.json").read_text(encoding="utf-8"))
    assert card["guarantee"]["mechanism"] == "toy:share=1/4"
    assert card["mechanism"]["citation"] == "The example of docs/how-to."
    run(project, "verify", "out")


def test_it_is_evaluated_beside_the_others(project, people):
    words = ("--methods", "toy,laplace", "--trials", "2", "--json")
    found = run(project, "evaluate", *people, *words)
    assert json.loads(found)
    assert '"toy"' in found


def test_it_is_measured_beside_the_others(project):
    if not (project / "bench").exists():
        pytest.skip("the benchmarks are no part of what is tested here")
    words = ("--size", "16", "--trials", "1", "--rounds", "1", "--json", "figures.json")
    assert "toy" in run_module(project, "bench", "methods", "--methods", "toy", *words)
    assert '"toy"' in (project / "figures.json").read_text(encoding="utf-8")
