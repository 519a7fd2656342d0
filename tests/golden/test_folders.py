"""Whole public folders of every kind are what they were, from files and frames, and resumed."""

import itertools
import json

import pytest

from geodp.privacy.ledger import Ledger
from tests.command import geodp
from tests.golden import __main__ as golden
from tests.golden.case import BUDGETS, DATASET, EXTRAS, KEY, LEDGER, RELEASES
from tests.golden.differences import tell_changes
from tests.golden.fixed import fixed
from tests.golden.folders import CASES, TAKES
from tests.golden.pinned import read_golden
from tests.golden.steps import failing
from tests.keys import keep

ONLY_EPSILON = ("selection", "local round")

RESUMED = (
    *("counts-prior", "parts", "series-both", "households", "households-by-size"),
    *("flows-labels", "flows-counted-prior", "flows-units"),
    *("amounts-classes", "amounts-series", "select-clip", "census-homes-mask"),
)
"""Cases that are interrupted, at least one of every kind that resumes."""

PUBLIC = ("before.csv", "mask.txt", "office.toml", "regions.csv", "sizes.toml")
"""Inputs that anybody may have, and that a run which resumes another reads again."""


def require(name, old, new):
    """Assert that a golden folder has not changed, or tell in words how it has."""
    told = "\n".join(tell_changes(name, old, new))
    assert old == new, f"{told}\n`python -m tests.golden --write {name}` pins it."


@pytest.fixture
def still():
    with fixed():
        yield


@pytest.mark.usefixtures("still")
@pytest.mark.parametrize("name", CASES)
def test_files_and_frames_make_the_pinned_release(name, tmp_path):
    """Frames do so under the key that was kept, at no further charge."""
    case = CASES[name]
    case.prepare(tmp_path)
    case.publish(tmp_path)
    require(name, read_golden(case.folder), {**case.pin(tmp_path), **case.pin_run(tmp_path)})
    if case.kind == "local round":  # whose devices draw anew
        return
    case.publish_frames(tmp_path, "frames")
    require(name, case.pin(tmp_path), case.pin(tmp_path, "frames"))


@pytest.mark.usefixtures("still")
@pytest.mark.parametrize("name", [one.name for one in CASES.values() if one.kind == "local round"])
def test_a_round_in_python_is_the_pinned_one(name, tmp_path):
    case = CASES[name]
    case.prepare(tmp_path)
    case.publish_frames(tmp_path)
    pinned = case.pin(tmp_path)
    golden_folder = read_golden(case.folder)
    of_commands = {"run.json", "plan.toml", "reports.jsonl.txt", "round.sums.txt"}
    require(name, {k: v for k, v in golden_folder.items() if k not in of_commands}, pinned)


@pytest.mark.usefixtures("still")
@pytest.mark.parametrize("name", RESUMED)
def test_a_release_that_is_cut_short_is_completed_as_pinned(name, tmp_path):
    """Before its charge nothing is left of it; after it the draw is, however often it fails."""
    case = CASES[name]
    case.prepare(tmp_path)
    ledger = Ledger.open(tmp_path / LEDGER)

    def fail(step, number, *more):
        with failing(step, number):
            done = case.run(tmp_path, *more)
        assert done.returncode == 1, done
        assert not (tmp_path / "out").exists()

    fail("charge", 1)
    assert ledger.charges(DATASET) == ()
    assert case.run(tmp_path, "--resume").returncode == 2
    fail("mark", 1)
    # Nothing is read or drawn any more.
    (tmp_path / KEY).unlink()
    keep(tmp_path / KEY, "another")
    for file in {*case.files} - {*PUBLIC}:
        head = case.files[file].partition("\n")[0]
        (tmp_path / file).write_text(f"{head}\n", encoding="utf-8")
    with failing("file", 0) as files:
        fail("place", 1, "--resume")
    for number in sorted({1, len(files) // 2, len(files)} & {*range(1, len(files) + 1)}):
        fail("file", number, "--resume")
    case.publish(tmp_path, "--resume")
    assert len(ledger.charges(DATASET)) == 1
    done = geodp("verify", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    require(name, read_golden(case.folder), {**case.pin(tmp_path), **case.pin_run(tmp_path)})


@pytest.mark.usefixtures("still")
def test_a_round_whose_opening_is_cut_short_is_completed_as_pinned(tmp_path, monkeypatch):
    case = CASES["local"]
    case.prepare(tmp_path)
    plan, opening, *later = case.steps()
    assert geodp(*plan, cwd=tmp_path).returncode == 0
    with monkeypatch.context() as patched:
        patched.setattr("geodp.local.opening.read_plain", lambda *_: 1 / 0)
        assert geodp(*opening, cwd=tmp_path).returncode == 1
    assert not (tmp_path / "round.json").exists()
    for words in (opening, *later):
        assert geodp(*words, cwd=tmp_path).returncode == 0
    require("local", read_golden(case.folder), {**case.pin(tmp_path), **case.pin_run(tmp_path)})


@pytest.mark.parametrize("kind", TAKES)
def test_every_kind_has_its_budgets_and_all_that_it_takes(kind):
    cases = [one for one in CASES.values() if one.kind == kind]
    assert any(one.charged for one in cases)
    assert {extra for one in cases for extra in one.extras} == {*TAKES[kind]}
    if kind not in ONLY_EPSILON:
        assert {"epsilon", "rho"} <= {one.budget for one in cases}


@pytest.mark.parametrize(("budget", "extra"), [*itertools.product(BUDGETS, EXTRAS)])
def test_every_budget_meets_all_that_a_release_may_have(budget, extra):
    assert any(one.budget == budget and extra in one.extras for one in CASES.values())


def test_the_golden_folders_are_few_and_small():
    assert {one.name for one in RELEASES.iterdir()} == {*CASES}
    assert {one.kind for one in CASES.values()} == {*TAKES}
    assert len(CASES) <= 60
    size = sum(one.stat().st_size for one in RELEASES.rglob("*") if one.is_file())
    assert size < 3_100_000


# -- what `python -m tests.golden` says


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder in place of that of the golden folders."""
    monkeypatch.setattr("tests.golden.case.RELEASES", tmp_path)
    return tmp_path


def test_looking_writes_nothing_and_what_is_written_is_the_pinned(elsewhere, capsys):
    assert golden.main("select") == 1
    assert capsys.readouterr().out == "select: this case is new, with 4 files\n"
    assert not [*elsewhere.iterdir()]
    assert golden.main("select", "--write") == 0
    assert read_golden(elsewhere / "select") == read_golden(RELEASES / "select")
    capsys.readouterr()
    assert golden.main("select") == 0
    assert capsys.readouterr().out == "Nothing has changed.\n"


def test_a_changed_field_is_told_by_its_path():
    old = read_golden(RELEASES / "flows-labels")
    name = "public/flows/release.json"
    card = json.loads(old[name])
    card["guarantee"]["rho"] = "1/4"
    del card["guarantee"]["unit"]
    card["guarantee"]["assumptions"].append({"kind": "more"})
    card["new"] = None
    told = tell_changes("flows-labels", old, {**old, name: json.dumps(card)})
    assert told == [
        f"flows-labels: {name}: guarantee.rho 1/32 -> 1/4",
        f"flows-labels: {name}: guarantee.unit is gone, was person",
        f"flows-labels: {name}: guarantee.assumptions has 3 items, not 2",
        f"flows-labels: {name}: new is new: null",
    ]
