"""``geodp plan`` from the command line, and ``publish --plan`` with what it wrote."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import geodp
from geodp.accuracy import style
from geodp.cli.commands.publish import publish
from geodp.tools.plan.api import read_plan
from geodp.tools.plan.commands.plan import plan
from tests.command import Runner
from tests.contract.regions import write_regions

DATA = Path(__file__).parents[4] / "data" / "kanto"
BOX = ["--bounds", "138", "35", "141.2", "37.1333333333"]
KANTO = ["--grid", "jis:half", *BOX]
INPUT = [*sorted(map(str, DATA.glob("*.zip"))), *KANTO, "--value", "人口（総数）"]
SMALL = ["--grid", "regular:64x64", "--epsilon", "0.1"]


RUNNER, PUBLISHER = Runner(plan), Runner(publish)
run, error_of, document_of = RUNNER.run, RUNNER.error_of, RUNNER.document_of


def test_a_plan_for_people():
    done = run(*KANTO, "--epsilon", 0.1, "--people", 45e6, "--compare", "topdown,mwem,matrix")
    assert done.exit_code == 0, done.output
    for text in ("jis:primary", "4,096", "407.3", "190.0", "not planned: matrix", "roughly"):
        assert text in done.output
    assert not re.search(r"\de[+-]\d", done.output)  # as in 1e+01 s


def test_a_document_and_a_picture(tmp_path):
    rectangle = ["--rectangle", 139, 35, 139.5, 35.5]
    picture = ["--plot", tmp_path / "a.png", "--smallest", 5000, 5]
    budget = ["--rho", "0.01", "--delta", "1e-6", "--compare", "topdown,laplace"]
    found = document_of(*KANTO, *budget, "--people", 1e6, *rectangle, *picture)
    assert [one["method"] for one in found["plans"]] == ["pyramid", "topdown"]
    assert "laplace" in found["refused"]
    main = found["plans"][0]
    assert main["regions"][0]["name"] == "139 35 139.5 35.5"
    assert main["regions"][0]["cells"] == 80 * 120
    assert main["smallest"]["cells"] == 1
    assert main["floor"] == 4
    with Image.open(tmp_path / "a.png") as picture_of_plans:
        assert picture_of_plans.text == {"Software": "geodp"}


def test_that_no_area_is_as_exact_as_is_asked_is_said():
    said = " ".join(run(*SMALL, "--smallest", 5, 0.001).stdout.split())
    assert "smallest area with a margin of 0.001 % of 5: none." in said


def test_the_line_of_people_begins_at_one_cell(tmp_path):
    file = tmp_path / "a.svg"
    document_of(*SMALL, "--people", 20 * 64 * 64, "--plot", file)
    lines = re.findall(r'd="M ([\d.]+) [^"]*"[^>]*stroke: (#[0-9a-f]+)', file.read_text("utf-8"))
    begins = {colour: x for x, colour in reversed(lines)}
    assert begins["#777777"] == begins[style.COLOURS[0].lower()]


def test_polygons(tmp_path):
    file = write_regions(tmp_path, {"A": (139, 35, 139.5, 35.5)})
    found = document_of(*KANTO, "--epsilon", 1, "--polygons", file, "--polygon-name", "name")
    (area,) = found["plans"][0]["regions"]
    assert (area["name"], area["cells"]) == ("A", 80 * 120)


@pytest.mark.law
def test_a_prior_alone_chooses_between_the_default_and_who_trusts_it(tmp_path):
    grid = geodp.Grid.regular((128, 128))
    people = np.random.default_rng(0).pareto(1.0, grid.shape).astype(np.int64)
    old = geodp.CountTable.from_dense(people, grid)
    geodp.publish(old, epsilon=10, contribution=1).write(tmp_path / "old")
    arguments = ["--grid", "regular:128x128", "--epsilon", "0.5", "--releases"]
    prior = ["--prior", tmp_path / "old" / "public"]
    (main,) = document_of(*arguments, 1, *prior)["plans"]
    assert main["method"] in ("pyramid", "pyramid:setting=informed")
    assert "1 releases of the prior itself with the prior" in main["reasons"][0]
    told = main["reasons"][0].removesuffix(".").split("errors: ")[1].split("; ")
    errors = dict(one.rsplit(" ", 1) for one in told)
    assert main["method"] == min(errors, key=lambda name: float(errors[name].replace(",", "")))
    compared = document_of(*arguments, 1, *prior, "--compare", "topdown")["plans"]
    assert [one["method"] for one in compared] == [main["method"], "topdown"]
    assert compared[0]["reasons"] == main["reasons"]


def test_coarser_cells_and_official_orders():
    fine = ["--grid", "jis:half", *BOX, "--epsilon", 1]
    assert document_of(*fine, "--stop-at", "basic")["plans"][0]["grid"]["cells"] == 65536
    found = document_of(*fine, "--order", "official")
    assert found["plans"][0]["areas"][0]["name"] == "jis:primary"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["--epsilon", "1", "--rho", "1"], "either epsilon or rho"),
        (["--epsilon", "1", "--prior", "x", "--method", "topdown"], "Give --prior or --method"),
        (["--epsilon", "1", "--prior", "x", "--snapshots", "2"], "Give --prior or --snapshots"),
        (["--epsilon", "1", "--releases", "1"], "--releases goes with --prior"),
        (["--epsilon", "1", "--primary", "5339"], "Not for regular: grids: --primary"),
        (["--epsilon", "1", "--polygon-name", "n"], "--polygons"),
        (["--epsilon", "1", "--mask-source", "n"], "--mask "),
        (["--epsilon", "1", "--output", "plan.json"], ".toml"),
        (["--epsilon", "1", "--people", "0"], "people"),
        (["--epsilon", "1", "--smallest", "0", "1"], "above 0"),
        (["--epsilon", "1", "--rectangle", "0", "0", "1", "nan"], "rectangle"),
    ],
)
def test_errors_are_one_sentence(wrong, words):
    assert words in error_of("--grid", "regular:64x64", *wrong)


def test_publish_takes_a_plan_as_it_is(tmp_path):
    file = tmp_path / "plan.toml"
    budget = ["--epsilon", "1/2", "--unit", "household"]
    planned = document_of(*KANTO, *budget, "--method", "pyramid:setting=R", "--output", file)[
        "plans"
    ][0]
    out = ["--output", tmp_path / "out", "--json"]
    done = PUBLISHER.run(*INPUT, "--plan", file, *out)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["method"] == planned["method"] == read_plan(file).method
    card = json.loads((tmp_path / "out" / "public" / "release.json").read_text(encoding="utf-8"))
    assert '"1/2"' in json.dumps(card)
    assert "household" in json.dumps(card)


def test_publish_refuses_what_is_not_as_planned(tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text(geodp.plan(geodp.Grid.regular((64, 64)), epsilon=1).toml())
    out = ["--plan", file, "--output", tmp_path / "out"]
    assert "another grid" in PUBLISHER.error_of(*INPUT, *out)
    for option in (["--epsilon", 1], ["--method", "topdown"], ["--unit", "trip"]):
        words = PUBLISHER.error_of(*INPUT, *out, *option)
        assert words == f"--plan already sets {option[0]}; give one of them."
    assert "cannot be read" in PUBLISHER.error_of(*INPUT, "--plan", tmp_path / "x", *out[2:])
    assert not (tmp_path / "out").exists()
