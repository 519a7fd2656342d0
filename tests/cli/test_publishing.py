"""Between a draw and its charge nothing is lost: the ledger says what becomes of what was kept."""

import os
import signal
from fractions import Fraction

import pytest

from geodp.errors import VerificationError
from geodp.io.folder import pending
from geodp.privacy.hash_chain import Log
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from tests.apart import exit_code
from tests.command import geodp

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of POSIX")

TABLE = ["--grid", "regular:8x8", "--value", "n", "--x", "x", "--y", "y", "--anchor", "index"]
BUDGET = ["--epsilon", "1", "--contribution", "1", "--ledger", "ledger", "--dataset", "census"]
END = [*TABLE, *BUDGET, "--output", "out"]
CALLS = {
    "publish": ["publish", "in.csv", *END],
    "select": ["select", "top", "in.csv", "--k", "2", *END],
}
"""Selections are charged as releases are, and stored by their card."""

by_command = pytest.mark.parametrize("command", CALLS)


def before(home, name):
    return home, name, True


def after(home, name):
    return home, name, False


UNCHARGED = {
    "keeping": before(pending, "keep"),
    "kept": after(pending, "keep"),
    "charging": before(Ledger, "charge"),
}
CHARGED = {"charged": after(Ledger, "charge"), "settled": after(pending, "mark_charged")}
POINTS = {**UNCHARGED, **CHARGED, "committed": after(Log, "commit")}


@pytest.fixture
def office(tmp_path):
    rows = "".join(f"{x},{y},{20 + x}\n" for x in range(8) for y in range(8))
    (tmp_path / "in.csv").write_text(f"x,y,n\n{rows}")
    into = ["--ledger", "ledger", "--dataset", "census"]
    assert geodp("budget", "init", *into, "--epsilon", 9, cwd=tmp_path).returncode == 0
    return tmp_path


def die(folder, call, point):
    """Run a command, in a process of its own, that is killed at a point."""
    os.chdir(folder)
    home, name, first = POINTS[point]
    whole = getattr(home, name)
    # Before the draw a charge is rehearsed, which commits nothing.
    rehearsals = ["commit"] if point == "committed" else []

    def dies(*given, **more):
        is_rehearsal = bool(rehearsals) and bool(rehearsals.pop())
        if is_rehearsal or not first:
            whole(*given, **more)
        if not is_rehearsal:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(home, name, dies)
    geodp(*call)


def kill(office, call, point):
    assert exit_code(die, office, call, point) == -signal.SIGKILL


def charges(office):
    return len(Ledger.open(office / "ledger").charges("census"))


def left(office):
    return sorted({*os.listdir(office)} - {"in.csv", "ledger"})


def require_refused(office, call, words):
    """Assert that a call is refused by a sentence, with --resume and without."""
    for more in ([], ["--resume"]):
        done = geodp(*call, *more, cwd=office)
        assert (done.returncode, words in done.stderr) == (2, True)


@by_command
@pytest.mark.parametrize("point", UNCHARGED)
def test_what_was_not_charged_is_removed_by_the_next_run(office, command, point):
    kill(office, CALLS[command], point)
    assert (charges(office), left(office)) == (0, [".out.partial"])
    done = geodp(*CALLS[command], "--resume", cwd=office)
    assert (done.returncode, "Nothing waits" in done.stderr) == (2, True)
    assert (charges(office), left(office)) == (0, [])
    kill(office, CALLS[command], point)
    done = geodp(*CALLS[command], cwd=office)
    assert done.returncode == 0, done.stderr
    assert (charges(office), left(office)) == (1, ["out"])


@by_command
@pytest.mark.parametrize("point", CHARGED)
def test_what_was_charged_is_completed(office, command, point):
    kill(office, CALLS[command], point)
    assert (charges(office), left(office)) == (1, [".out.partial"])
    done = geodp(*CALLS[command], cwd=office)
    assert (done.returncode, "which was charged, waits in" in done.stderr) == (2, True)
    done = geodp(*CALLS[command], "--resume", cwd=office)
    assert done.returncode == 0, done.stderr
    assert (charges(office), left(office)) == (1, ["out"])
    assert geodp("verify", office / "out").returncode == 0


@by_command
def test_without_its_ledger_nobody_knows(office, command):
    kill(office, CALLS[command], "charged")
    os.rename(office / "ledger", office / "elsewhere")
    index = CALLS[command].index("--ledger")
    Ledger.create(office / "other").add_dataset("census", PureDP(Fraction(9)))
    other = [*CALLS[command][: index + 1], "other", *CALLS[command][index + 2 :]]
    require_refused(office, other, "cannot be asked whether it was")
    os.rename(office / "other", office / "ledger")  # of the same name, and another one
    require_refused(office, CALLS[command], "is another ledger now")
    os.rename(office / "elsewhere", office / "ledger")
    done = geodp(*CALLS[command], "--resume", cwd=office)
    assert done.returncode == 0, done.stderr
    assert (charges(office), left(office)) == (1, ["out"])


@by_command
def test_a_ledger_without_the_charge_completes_nothing(office, command):
    before = (office / "ledger").read_bytes()
    kill(office, CALLS[command], "settled")
    (office / "ledger").write_bytes(before)
    done = geodp(*CALLS[command], "--resume", cwd=office)
    assert (done.returncode, "no charge of the interrupted run" in done.stderr) == (2, True)
    assert (charges(office), left(office)) == (0, [".out.partial"])


@by_command
def test_what_is_resumed_is_known_to_the_witness(office, command):
    ledger = Ledger.open(office / "ledger")
    ledger.set_witness(office / "witness")
    before = (office / "ledger").read_bytes()
    kill(office, CALLS[command], "committed")
    older = (office / "witness").read_bytes()
    done = geodp(*CALLS[command], "--resume", cwd=office)
    assert done.returncode == 0, done.stderr
    assert (office / "witness").read_bytes() != older
    (office / "ledger").write_bytes(before)
    with pytest.raises(VerificationError):
        Ledger.open(office / "ledger").check()


@by_command
def test_a_ledger_that_its_witness_refutes_removes_no_draw(office, command):
    ledger = Ledger.open(office / "ledger")
    ledger.set_witness(office / "witness")
    before = (office / "ledger").read_bytes()
    kill(office, CALLS[command], "charged")
    after = (office / "ledger").read_bytes()
    (office / "ledger").write_bytes(before)
    require_refused(office, CALLS[command], "cannot be asked whether it was")
    (office / "ledger").write_bytes(after)
    assert geodp(*CALLS[command], "--resume", cwd=office).returncode == 0
    assert (charges(office), left(office)) == (1, ["out", "witness"])
