"""A new local oracle is one file: the example of docs/how-to works with no other edit."""

import pytest

from tests.house.recipes import copy_with, count_passed, run_module
from tests.house.test_house import violations

ASKED = {"tests.local.oracles.test_conformance": 30, "tests.laws.test_oracles": 9}
"""The tests of all oracles, and how many of each there are at least."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project, with the example's file and no other change."""
    file = "geodp/local/oracles/subset.py"
    return copy_with(tmp_path_factory.mktemp("project"), file, "Add a local oracle")


@pytest.mark.law
def test_it_passes_what_every_oracle_is_asked(project):
    assert violations(project / "geodp") == []
    passed = count_passed(project, ASKED, "subset")
    assert all(passed[name] >= least for name, least in ASKED.items()), passed


def test_it_is_as_good_as_its_paper_says(project):
    lines = (
        "from geodp.local.oracles import ORACLES",
        "one, best = (ORACLES[n](cells=1000, epsilon=2).variance(1) for n in ('subset', 'oue'))",
        "print(one / best)",
    )
    (project / "better.py").write_text("\n".join(lines), encoding="utf-8")
    assert 0.9 < float(run_module(project, "better")) < 1.01
