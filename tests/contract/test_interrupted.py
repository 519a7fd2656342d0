"""A run that fails on the way: it costs nothing, or it is completed and costs nothing more."""

import pytest

from geodp.io.folder import pending, staging
from geodp.privacy.ledger import Ledger
from tests.contract.desk import CHARGED, contents, require
from tests.ledgers import steady_ledgers

STORED, CHARGE = (pending, "keep"), (Ledger, "charge")
NOTED, PLACED = (pending, "mark_charged"), (staging, "_exchange")


def fail_at(step, desk, *words):
    """Publish while the disk is full at one step; return what is left of the command."""

    def fail(*_given, **_more):
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(*step, fail)
        done = desk.publish(*words)
    assert done.returncode == 1, done.stdout or done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return done


def test_what_fails_before_the_charge_leaves_nothing(released, tmp_path):
    """A draw that cannot be stored or charged is gone, and the release to be replaced stays."""
    desk = released.moved(tmp_path / "desk")
    before, charges = contents(desk.folder), desk.charges()
    for step in (STORED, CHARGE):
        fail_at(step, desk, *CHARGED, "--overwrite")
        assert contents(desk.folder) == before
        assert desk.names() == released.names()
    assert desk.charges() == charges
    done = desk.publish("--resume", *CHARGED, "--overwrite")
    assert done.returncode == 2, done.stdout
    assert "Nothing waits" in done.stderr


def test_a_run_that_dies_after_its_charge_is_resumed(charged, released, tmp_path):
    """It dies when the folder does not know of the charge yet, and again when all is written.

    The release is that of a run without a fault, to the byte, and it is charged once.
    """
    desk = released.moved(tmp_path / "desk")
    (desk.folder / "out").rename(tmp_path / "expected")
    charges, more = desk.charges(), ()
    with steady_ledgers():
        (desk.folder / "ledger").unlink()
        desk.open_ledger()
        for step in (NOTED, PLACED) if charged else (PLACED,):
            failed = fail_at(step, desk, *charged, *more)
            assert not (desk.folder / "out").exists()
            assert len(desk.charges()) == len(charges)
            waiting = (desk.folder / ".out.partial").exists()
            assert waiting == bool(charged) == ("--resume" in failed.stderr)
            more = ("--resume",) if waiting else ()
        require(desk.publish(*charged, *more))
    assert contents(desk.folder / "out/public") == contents(tmp_path / "expected/public")
    assert len(desk.charges()) == len(charges)
    assert desk.names() == released.names()


def test_the_same_command_alone_resumes_a_run(desk):
    """A run that waits is neither resumed by other options nor hidden by a new one."""
    fail_at(NOTED, desk, *CHARGED)
    before = contents(desk.folder)
    other = desk.publish(*CHARGED, "--neighbours", "replace-one", "--resume")
    assert other.returncode == 2, other.stdout
    assert "--neighbours" in other.stderr
    again = desk.publish(*CHARGED)
    assert again.returncode == 2, again.stdout
    assert "--resume" in again.stderr
    assert {*contents(desk.folder)} >= {*before} - {".out.partial/restricted/released.drawn"}
    assert len(desk.charges()) == 1
