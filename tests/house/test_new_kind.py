"""A new kind of release is one file of another package: the example of docs/how-to works."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import geodp
from tests.house.recipes import example
from tests.house.test_plugins import plant, run

pytestmark = pytest.mark.law


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example as an installed package, and a release of its kind that it wrote."""
    folder = tmp_path_factory.mktemp("installed")
    total = example("Add a kind of release")
    plant(folder, "acme", [("geodp.kinds", "total")], total=total)
    python(folder, "total.write(total.TotalCard(12, '1'), Path('out'))")
    return folder


def python(folder, code):
    """Run code where the package is installed; what it printed."""
    paths = os.pathsep.join([str(folder), str(Path(geodp.__file__).parents[1])])
    head = "from pathlib import Path\nimport geodp\nfrom acme import total\n"
    done = subprocess.run(
        [sys.executable, "-c", head + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_verified_opened_and_withdrawn(folder):
    done = run(folder, "verify", "out")
    assert (done.returncode, done.stdout) == (0, "ok      people: 12 people\n")
    assert python(folder, "print(geodp.open('out').people)") == "12\n"
    done = run(folder, "withdraw", "out", "--reason", "It was counted twice.")
    assert done.returncode == 0, done.stderr
    notice = json.loads((folder / "out" / "WITHDRAWN.json").read_text(encoding="utf-8"))
    assert len(notice["release_id"]) == 16
    assert "counted twice" in run(folder, "verify", "out").stderr


def test_it_is_a_release_that_is_replaced_only_where_that_is_asked_for(folder):
    again = "total.write(total.TotalCard(13, '1'), Path('again'){})\n"
    python(folder, again.format(""))
    refused = (
        "try:\n    " + again.format("") + "except geodp.GeodpError as error:\n    print(error)"
    )
    assert "--overwrite" in python(folder, refused)
    python(folder, again.format(", overwrite=True"))


def test_what_needs_a_table_says_what_it_is(folder):
    for words in (["report"], ["map", "--output", "map.png"], ["export", "--to", "gpkg"]):
        more = ["--output", "to"] if words[0] == "export" else []
        done = run(folder, words[0], "out", *words[1:], *more)
        assert done.returncode == 3, done.stderr
        assert "This is a total, which has no table." in done.stderr
    done = run(folder, "explain", "out")
    assert (done.returncode, done.stdout) == (3, "")
    assert "This is a total, which geodp explain does not know." in done.stderr
