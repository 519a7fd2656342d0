"""A file lists the tables of a census, each with inputs and options of its own."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import geodp
from tests.command import geodp as run

DOMAIN = ["--grid", "regular:4x4", "--cell", "1", "--origin", "0", "0", "--crs", "EPSG:3035"]
ASKED = [*DOMAIN, "--points", "--x", "x", "--y", "y", "--max-size", "20", "--epsilon", "10000"]
BUDGET = ["--contribution", "1", "--contradictions", "refuse"]

LISTED = """
[persons]
inputs = "people.csv"
[margins.sex]
inputs = ["people.csv"]
by = "sex"
labels = ["sex=f,m"]
[households]
inputs = "homes.csv"
household = "household"
"""


@pytest.fixture
def folder(tmp_path):
    """A register of persons: eight households of three in the first row, and twelve others."""
    rows = [[i % 4 + 0.5, 0.5, "fm"[i % 2], f"h{i // 3}"] for i in range(0, 24)]
    rows = [[i // 3 % 4 + 0.5, *row[1:]] for i, row in enumerate(rows)]
    others = [[i % 4 + 0.5, 2.5, "f", ""] for i in range(12)]
    for name, some in (("people.csv", rows + others), ("homes.csv", rows)):
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["x", "y", "sex", "household"], *some])
    (tmp_path / "census.toml").write_text(LISTED)
    return tmp_path


def test_three_files_are_one_release(folder):
    done = run(
        "census", "publish", folder / "census.toml", *ASKED, *BUDGET, "--output", folder / "out"
    )
    assert done.returncode == 0, done.stderr
    assert run("verify", folder / "out").returncode == 0
    census = geodp.open(folder / "out")
    found = {name: one.value for name, one in census.estimate((0, 0, 4, 4)).items()}
    assert found == pytest.approx(
        {
            "persons": 36,
            "households": 8,
            "persons in households": 24,
            "persons outside households": 12,
            "f": 24,
            "m": 12,
        },
        abs=1,
    )
    record = json.loads((folder / "out" / "restricted" / "run.json").read_text())
    assert {"people.csv", "homes.csv"} <= {Path(one).name for one in record["inputs"]}


def test_counts_have_a_column_each(folder):
    rows = [[x, y, 5, 2, 4] for x in range(4) for y in range(4)]
    with (folder / "cells.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["x", "y", "T", "H", "P"], *rows])
    tables = {"persons": "T", "households": "H", "members": "P"}
    (folder / "census.toml").write_text(
        "".join(
            f'[{name}]\ninputs = "cells.csv"\nvalue = "{column}"\n'
            for name, column in tables.items()
        )
    )
    at = ["--grid", "regular:4x4", "--x", "x", "--y", "y", "--anchor", "index"]
    call = ["census", "publish", folder / "census.toml", *at, *BUDGET, "--output", folder / "out"]
    done = run(*call, "--epsilon", "10000")
    assert done.returncode == 0, done.stderr
    counts = geodp.open(folder / "out").releases["household_status"].table.to_dense()
    assert np.abs(counts - [2, 2, 1]).max() <= 1


def test_households_of_records_have_sizes(folder):
    (folder / "census.toml").write_text(LISTED + "sizes = 2\n")
    call = ["census", "publish", folder / "census.toml", *ASKED, *BUDGET]
    done = run(*call, "--output", folder / "out")
    assert done.returncode == 0, done.stderr
    census = geodp.open(folder / "out")
    found = {name: one.value for name, one in census.estimate((0, 0, 4, 4)).items()}
    assert found["households of 2 or more"] == pytest.approx(8, abs=1)
    assert found["persons in households"] == pytest.approx(24, abs=1)


def test_counts_of_households_have_sizes(folder):
    """A column of each size, and all persons in them."""
    rows = [[x, y, 9, 2, 1, 4] for x in range(4) for y in range(4)]
    with (folder / "cells.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["x", "y", "T", "1", "2+", "P"], *rows])
    tables = {"persons": '"T"', "members": '"P"', "households": '["1", "2+"]\nby = ["size"]'}
    (folder / "census.toml").write_text(
        "".join(
            f'[{name}]\ninputs = "cells.csv"\nvalue = {value}\n' for name, value in tables.items()
        )
    )
    at = ["--grid", "regular:4x4", "--x", "x", "--y", "y", "--anchor", "index"]
    call = ["census", "publish", folder / "census.toml", *at, *BUDGET, "--output", folder / "out"]
    done = run(*call, "--epsilon", "10000", "--max-size", "20")
    assert done.returncode == 0, done.stderr
    counts = geodp.open(folder / "out").releases["household_status"].table.to_dense()
    assert np.abs(counts - [3, 1, 0, 5]).max() <= 1


def test_the_file_states_the_largest_size_and_labels_lie_beside_it(folder):
    (folder / "sexes.csv").write_text("f\nm\n")
    text = LISTED.replace('"sex=f,m"', '"sex=sexes.csv"') + "max-size = 3\n"
    (folder / "census.toml").write_text(text)
    asked = [one for one in ASKED if one not in ("--max-size", "20")]
    done = run(
        "census", "publish", folder / "census.toml", *asked, *BUDGET, "--output", folder / "out"
    )
    assert done.returncode == 0, done.stderr
    margins = {one.name: one for one in geodp.open(folder / "out").margins.margins}
    assert margins["household_status"].max_size == 3
    assert margins["sex"].labels == ("f", "m")


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        ("", [], "persons"),
        ('[persons]\nvalue = "n"\n', [], "inputs"),
        (LISTED + '[members]\ninputs = "people.csv"\n', [], "members"),
        (LISTED + '[flows]\ninputs = "people.csv"\n', [], "persons"),
        (LISTED.replace("by =", "epsilon ="), [], "--epsilon"),
        (LISTED + "sizes = 'all'\n", [], "sizes"),
        (LISTED + "sizes = 8\n", [], "sizes"),
        (LISTED + 'max-size = "3"\n', [], "persons"),
        (LISTED + "max-size = 1\n", [], "max_size"),
        (LISTED.replace('"sex=f,m"', '"age=f,m"'), [], "labels of sex"),
        (LISTED.replace("people.csv", "nobody.csv"), [], "nobody.csv"),
        (LISTED, ["--part", "sex"], "--part"),
    ],
    ids=range(12),
)
def test_a_file_that_lists_something_else_is_refused(folder, text, more, told):
    (folder / "census.toml").write_text(text)
    done = run(
        *("census", "publish", folder / "census.toml", *ASKED, *BUDGET, *more),
        *("--output", folder / "out"),
    )
    assert done.returncode not in (0, 1)
    assert told in done.stderr
    assert not (folder / "out").exists()
