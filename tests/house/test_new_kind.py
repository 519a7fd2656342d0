"""A new kind of release is one file of another package: the example of docs/how-to works."""

import json

import pytest

from tests.house.recipes import example
from tests.house.test_plugins import plant, run, start

pytestmark = pytest.mark.law

ROWS = "code,working,grown\n" + "".join(
    f"533945{i:02d},{10 * i},{20 * i + 5}\n" for i in range(100)
)
WORDS = (
    *("census.csv", "--grid", "jis:basic", "--bounds", "139", "35", "140", "36", "--code", "code"),
    *("--map", "employed=working", "--map", "adults=grown"),
    *("--epsilon", "1", "--contribution", "1"),
)


def publish(folder, *more):
    """Run the command of the package."""
    return start(folder, "-m", "acme.employment", *WORDS, *more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example as an installed package, and a release of its kind that its command wrote."""
    folder = tmp_path_factory.mktemp("installed")
    source = example("Add a kind of release")
    plant(folder, "acme", [("geodp.kinds", "employment")], employment=source)
    (folder / "census.csv").write_text(ROWS, encoding="utf-8")
    done = publish(folder, "--output", "out")
    assert done.returncode == 0, done.stderr
    return folder


def test_it_is_verified_opened_and_withdrawn(folder):
    done = run(folder, "verify", "out")
    assert done.returncode == 0, done.stdout
    assert "ok      employed: " in done.stdout
    assert "ok      joint files: rate.csv, rate.csvt, rate.parquet, rate.gpkg" in done.stdout
    code = "import geodp; print(geodp.open('out').estimate((139, 35, 140, 36))['rate'])"
    found = start(folder, "-c", code)
    assert found.returncode == 0, found.stderr
    value = float(found.stdout.partition("value=")[2].partition(",")[0])
    assert abs(value - 49500 / 99500) < 0.02
    done = run(folder, "withdraw", "out", "--reason", "It was counted twice.")
    assert done.returncode == 0, done.stderr
    notice = json.loads((folder / "out" / "WITHDRAWN.json").read_text(encoding="utf-8"))
    assert len(notice["release_id"]) == 16
    assert "counted twice" in run(folder, "verify", "out").stderr


def test_maps_without_a_column_are_asked_for(folder):
    done = start(folder, "-m", "acme.employment", *WORDS[:-6], "--output", "no", *WORDS[-4:])
    assert done.returncode == 2
    assert "--map adults=COLUMN" in done.stderr
    assert not (folder / "no").exists()
