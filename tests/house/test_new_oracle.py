"""A new local oracle is one file: the example of docs/how-to works with no other edit."""

from xml.etree import ElementTree

import pytest

from tests.house.recipes import copy_with, run_module

ASKED = {"tests.local.oracles.test_conformance": 30, "tests.laws.test_oracles": 9}
"""The tests of all oracles, and how many of each there are at least."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project, with the example's file and no other change."""
    file = "geodp/local/oracles/subset.py"
    return copy_with(tmp_path_factory.mktemp("project"), file, "Add a local oracle")


@pytest.mark.law
def test_the_house_takes_it(project):
    words = ("pytest", "-q", "-p", "no:cacheprovider", "tests/house/test_house.py")
    assert " passed" in run_module(project, *words, "-k", "imports_go_down_only")


def asked(project, name):
    """How many tests of a file the new oracle passed."""
    file = f"{name.replace('.', '/')}.py"
    words = ("-q", "-p", "no:cacheprovider", "--junitxml", "asked.xml")
    run_module(project, "pytest", file, "-k", "subset", *words)
    return sum(not len(case) for case in ElementTree.parse(project / "asked.xml").iter("testcase"))


@pytest.mark.law
def test_it_passes_what_every_oracle_is_asked(project):
    name = "tests.local.oracles.test_conformance"
    assert asked(project, name) >= ASKED[name]


@pytest.mark.law
def test_it_has_the_law_that_it_states(project):
    name = "tests.laws.test_oracles"
    assert asked(project, name) >= ASKED[name]


def test_it_is_as_good_as_its_paper_says(project):
    lines = (
        "from geodp.local.oracles import ORACLES",
        "one, best = (ORACLES[n](cells=1000, epsilon=2).variance(1) for n in ('subset', 'oue'))",
        "print(one / best)",
    )
    (project / "better.py").write_text("\n".join(lines), encoding="utf-8")
    assert 0.9 < float(run_module(project, "better")) < 1.01
