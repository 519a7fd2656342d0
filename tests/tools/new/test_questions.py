"""Questions: what is open, in which order, and which options an answer stands for."""

import tomllib
from types import SimpleNamespace

import click
import pytest

from geodp.errors import UsageError
from geodp.tools.new import questions
from geodp.tools.new.commands.new import new
from geodp.tools.new.interview import write_lines
from geodp.tools.new.questions import area_options, list_questions, read_call
from tests.tools.new.talk import BOX, write_table


def read(*words):
    """Return a call of these words."""
    outer = click.Context(new, info_name="geodp new")
    return read_call(outer, tuple(map(str, words)), {})


def numbers(*words):
    return [one.number for one in list_questions(read(*words))]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_table(tmp_path / "t.csv")


def test_there_are_four_questions_before_anything_is_said():
    assert numbers() == [1, 2, 3, 4]
    assert [one.default for one in list_questions(read())] == [None] * 4


def test_an_option_is_an_answer(table):
    assert numbers(table) == [2, 3, 4]
    assert numbers(table, "--bounds", "japan") == [3, 4]
    assert numbers(table, "--primary", 5339, "--contribution", 2) == [4]
    assert numbers(table, "--area", "all", "--contribution", 2, "--epsilon", 1) == []


@pytest.mark.parametrize("grid", ["regular:2x2", "units:u.csv"])
def test_a_grid_that_is_its_own_area_is_not_asked_for_one(grid, table):
    table.with_name("u.csv").write_text("unit\n53394611\n53394526\n")
    more = ("--units-source", "an office") if grid.startswith("units") else ()
    more += ("--x", "mesh", "--y", "n") if grid.startswith("regular") else ()
    assert 2 not in numbers(table, "--grid", grid, *more, "--code", "mesh")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("all", []),
        ("layout", []),
        ("public", ["--domain-is-public"]),
        ("land:japan:5km", ["--mask", "land:japan:5km"]),
        ("like:a.tif", ["--grid", "like:a.tif"]),
        ("東京都", ["--bounds", "東京都"]),
        (BOX, ["--bounds", BOX]),
    ],
)
def test_an_area_stands_for_options(answer, words):
    assert area_options(answer) == words


def test_an_answer_is_a_value_or_options(table):
    area, often, epsilon = list_questions(read(table))
    assert area.options_for("--mask m.gpkg --mask-source 'an office'") == [
        *("--mask", "m.gpkg", "--mask-source", "an office"),
    ]
    assert often.options_for("3") == ["--contribution", "3"]
    assert epsilon.options_for("1/10") == ["--epsilon", "1/10"]
    with pytest.raises(UsageError, match="Ask the maker of the file"):
        often.options_for("?")


@pytest.mark.parametrize(
    ("system", "answer", "words"),
    [
        ("posix", r"'my file.csv' a\ b.csv #1.csv", ["my file.csv", "a b.csv", "#1.csv"]),
        ("nt", r'"C:\my data\f.csv" C:\f.csv', [r"C:\my data\f.csv", r"C:\f.csv"]),
    ],
)
def test_a_file_is_answered_as_its_system_writes_it(system, answer, words, monkeypatch):
    monkeypatch.setattr(questions, "os", SimpleNamespace(name=system))
    assert questions.split_arguments(answer) == words


def test_a_plan_goes_by_what_bounds_a_person(table):
    write_table(table, [("a", 139.5, 35.5)], "id;lon;lat")
    points = (table, "--points", "--person", "id", "--cells", 3, "--per-cell", 2)
    assert read(*points, "--grid", "jis:basic").terms.contribution == 6
    assert read(*points, "--grid", "jis:basic", "--contribution", 9).terms.contribution == 9


def test_vouching_and_the_budget_are_in_no_recipe(table):
    said = ("--area", "japan", "--contribution", 3, "--epsilon", 1, "--unit", "trip")
    call = read(table, *said, "--people", 5e6)
    assert call.publish_options == [
        *("--epsilon", "1", "--contribution", "3", "--unit", "trip", "--people", "5000000"),
    ]
    text = write_lines(call, ["geodp publish t.csv", "geodp verify t-release"])
    assert "\n# geodp publish t.csv\n# geodp verify t-release\n\n" in text
    assert tomllib.loads(text) == {
        "options": {"grid": "jis:basic", "bounds": "japan", "value": ["n"], "code": "mesh"},
        "metadata": {},
    }
    assert all(line.startswith("# ") for line in text.partition("[metadata]\n")[2].splitlines())
