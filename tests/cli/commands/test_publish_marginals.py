"""``--marginals`` of publish and plan: sums over attributes that are measured by themselves."""

import json

import pytest

from tests.command import geodp

GRID = ["--grid", "regular:8x8", "--labels", "sex=f,m", "--labels", "age=child,adult,old"]
TERMS = ["--epsilon", "1", "--contribution", "1"]


@pytest.fixture
def call(tmp_path):
    rows = "".join(
        f"{x},{y},{sex},{age},{x * y % 7 * 30 + 5}\n"
        for x in range(8)
        for y in range(8)
        for sex in "fm"
        for age in ("child", "adult", "old")
    )
    (tmp_path / "people.csv").write_text(f"x,y,sex,age,n\n{rows}")
    read = ["--value", "n", "--x", "x", "--y", "y", "--anchor", "index"]
    read += ["--column", "sex=sex", "--column", "age=age"]
    return ["publish", tmp_path / "people.csv", *GRID, *read, *TERMS, "--output", tmp_path / "out"]


def test_a_workload_is_published_and_verified(call, tmp_path):
    done = geodp(*call, "--marginals", "sex, age,sex*age", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["method"] == "parts:marginals=sex+age+sex*age"
    assert geodp("verify", tmp_path / "out").returncode == 0
    card = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    assert "each of these 3 has 1/6 of the budget" in card["guarantee"]["sensitivity_counts"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--marginals", "sex,income"], "(sex, age), and income is not one."),
        (["--marginals", "sex", "--method", "pyramid"], "and pyramid is another one."),
        (["--marginals", "sex", "--method", "parts:marginals=age"], "Give marginals once"),
        (["--marginals", "sex,,age"], "parts:marginals lists attributes"),
    ],
)
def test_what_is_no_workload_is_refused_in_a_sentence(call, tmp_path, given, words):
    done = geodp(*call, *given)
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_plan_shows_them_beside_all_parts():
    done = geodp("plan", *GRID, *TERMS, "--people", "9000", "--marginals", "sex")
    assert done.returncode == 0, done.stderr
    assert "2 sex" in done.stdout
    refused = geodp("plan", *GRID, *TERMS, "--marginals", "sex", "--prior", "x")
    assert refused.returncode == 2
    assert "Give --prior or --marginals, not both" in refused.stderr
