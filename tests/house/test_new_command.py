"""A new command is one file: the example of docs/how-to works with no other edit."""

import json

import pytest

from tests.house.recipes import copy_with, count_passed, run, run_any
from tests.house.test_house import violations

pytestmark = pytest.mark.law


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with the example's file, and a release of 4 cells."""
    file = "geodp/cli/commands/cells.py"
    copy = copy_with(tmp_path_factory.mktemp("project"), file, "Add a command")
    (copy / "people.csv").write_text("x,y,n\n0,0,5000\n1,1,7000\n", encoding="utf-8")
    table = ("--x", "x", "--y", "y", "--anchor", "index", "--value", "n", "--contribution", "1")
    grid = ("--grid", "regular:2x2", "--method", "laplace-nonnegative")
    words = ("people.csv", *grid, *table, "--epsilon", "1", "--output", "out")
    run(copy, "publish", *words)
    return copy


def test_it_stands_in_the_list_after_those_in_the_order_of_use(project):
    """After all steps of work with a release, as none of them names it."""
    said = run(project, "--help")
    places = [said.index(words) for words in ("\n  inspect ", "\n  publish ", "Others:\n  cells ")]
    assert places == sorted(places)
    assert "Others" not in run(project, "publish", "--help")


def test_it_counts_the_cells_of_a_release(project):
    found = json.loads(run(project, "cells", "out", "--json"))
    assert found["domain"] == 4
    assert 2 <= found["not_zero"] <= 4
    assert run(project, "cells", "out").startswith("4 cells, ")
    done = run_any(project, "cells", "nowhere")
    assert done.returncode == 3
    assert done.stderr.startswith("Error: ")


def test_the_house_takes_it_and_the_help_stays_quick(project):
    assert violations(project / "geodp") == []
    (passed,) = count_passed(project, ["tests.cli.test_process"], "imports_little").values()
    assert passed
