"""Many runs for one output at once: as many charges as releases, and nothing is left behind."""

import json
from fractions import Fraction

import pytest

from geodp.io.verify.verify import verify
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from tests.apart import exit_codes
from tests.command import geodp

RUNS = 24


def run(folder, *more):
    """Publish as a command does, in a process of its own; end with its exit code."""
    place = ["--grid", "regular:8x8", "--x", "x", "--y", "y", "--anchor", "index", "--value", "n"]
    charged = ["--epsilon", "1/100", "--contribution", 1]
    charged += ["--ledger", folder / "ledger", "--dataset", "census"]
    done = geodp("publish", folder / "in.csv", *place, *charged, "--output", folder / "out", *more)
    raise SystemExit(done.returncode)


@pytest.fixture
def office(tmp_path):
    (tmp_path / "in.csv").write_text("x,y,n\n0,0,5\n3,4,7\n")
    Ledger.create(tmp_path / "ledger").add_dataset("census", PureDP(Fraction(1)))
    return tmp_path


def charges(office):
    return len(Ledger.open(office / "ledger").charges("census"))


def left(office):
    return sorted(path.name for path in office.iterdir())


@pytest.mark.law
def test_of_many_runs_for_a_new_output_one_is_charged_and_published(office):
    codes = exit_codes(run, [(office,)] * RUNS)
    assert codes.count(0) == 1
    assert {*codes} <= {0, 1, 2}
    assert charges(office) == 1
    assert left(office) == ["in.csv", "ledger", "out"]
    assert all(check.ok for check in verify(office / "out"))


@pytest.mark.law
def test_with_overwrite_there_are_as_many_charges_as_releases(office):
    codes = exit_codes(run, [(office, "--overwrite")] * RUNS)
    assert 1 <= codes.count(0) <= RUNS
    assert {*codes} <= {0, 1}
    assert charges(office) == codes.count(0)
    assert left(office) == ["in.csv", "ledger", "out"]
    card = json.loads((office / "out" / "public" / "release.json").read_text())
    assert card["budget"]["earlier_releases"] == codes.count(0) - 1
