"""An interrupted selection goes on from what it was charged for."""

import json

import pytest

from geodp.io.folder.pending import PENDING
from geodp.kinds.selection.selected import StagedSelection
from geodp.privacy.ledger import Ledger
from tests.command import geodp


@pytest.fixture
def office(tmp_path):
    rows = "".join(f"{x},{y},{20 + x * y}\n" for x in range(8) for y in range(8))
    (tmp_path / "in.csv").write_text(f"x,y,n\n{rows}")
    into = ["--ledger", tmp_path / "ledger", "--dataset", "census"]
    assert geodp("budget", "init", *into, "--epsilon", 9).returncode == 0
    return tmp_path, into


def call(office, *more, k=2, **given):
    folder, into = office
    table = ["in.csv", "--grid", "regular:8x8", "--x", "x", "--y", "y", "--anchor", "index"]
    asked = {"value": "n", "epsilon": "1/2", "contribution": 1, "output": "out", **given}
    options = [word for name, value in asked.items() for word in (f"--{name}", value)]
    return geodp("select", "top", *table, "--k", k, *options, *into, *more, cwd=folder)


def charges(office):
    return len(Ledger.open(office[0] / "ledger").charges("census"))


def interrupt(office, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(StagedSelection, "write", fail)
        done = call(office)
    assert done.returncode == 1
    assert "--resume" in done.stderr
    assert charges(office) == 1
    assert sorted(path.name for path in office[0].iterdir() if path.name[:1] == ".") == [
        ".out.partial"
    ]


def test_it_is_completed_without_another_charge_or_draw(office, monkeypatch):
    interrupt(office, monkeypatch)
    (office[0] / "in.csv").unlink()  # nothing is read
    again = call(office)
    assert again.returncode != 0
    (office[0] / "in.csv").write_text("x,y,n\n0,0,1\n")
    waits = call(office)
    assert waits.returncode == 2
    assert "waits in" in waits.stderr
    done = call(office, "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert charges(office) == 1
    card = json.loads((office[0] / "out" / "public" / "release.json").read_text())
    assert card["chosen"] == json.loads(done.stdout)["chosen"]
    run = json.loads((office[0] / "out" / "restricted" / "run.json").read_text())
    assert run["occupied_cells"] == 64
    assert geodp("verify", office[0] / "out").returncode == 0
    assert {path.name for path in office[0].iterdir()} == {"in.csv", "ledger", "out"}


@pytest.mark.parametrize(
    ("given", "name"), [({"epsilon": "1"}, "epsilon"), ({"contribution": 2}, "contribution")]
)
def test_another_call_does_not_go_on(office, given, name, monkeypatch):
    interrupt(office, monkeypatch)
    done = call(office, "--resume", **given)
    assert done.returncode == 2
    assert f"had other --{name};" in done.stderr
    assert call(office, "--resume", k=3).returncode == 2
    assert call(office, "--resume").returncode == 0


def test_what_was_damaged_is_refused_in_a_sentence(office, monkeypatch):
    interrupt(office, monkeypatch)
    kept = office[0] / ".out.partial" / PENDING
    kept.write_bytes(kept.read_bytes()[:-20])
    done = call(office, "--resume")
    assert done.returncode == 2
    assert "cannot be read back" in done.stderr


def test_nothing_waits_where_no_run_was_interrupted(office):
    done = call(office, "--resume")
    assert done.returncode == 2
    assert "Nothing waits" in done.stderr
    assert not (office[0] / "out").exists()
