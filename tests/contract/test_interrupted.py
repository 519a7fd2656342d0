"""A run that fails on the way: it costs nothing, or it is completed and costs nothing more."""

import pytest

from geodp.io.folder import pending, staging
from geodp.privacy.ledger import Ledger
from tests.contract.desk import CHARGED, contents, require
from tests.contract.kinds import CODES, lines
from tests.ledgers import steady_ledgers

CITIES = dict(zip(CODES, "aaaaaabbbbbb", strict=True))
PUBLIC = {
    "--mask": [lines(("code",), *zip(CODES[n:], strict=True)) for n in (0, 1)],
    "--regions": [lines(("code", "city"), *{**CITIES, CODES[0]: city}.items()) for city in "ab"],
    "--public-totals": [lines(("city", "total"), ("a", 435), ("b", n)) for n in (615, 616)],
}
"""Texts of public files by their options, and others in their place."""

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


def test_a_public_file_that_changed_refuses_to_resume(desk):
    """What the release was made of is as it was, or it is said which file is not."""
    kind = desk.kind
    files = {option: PUBLIC[option] for option in kind.public}
    words = [word for one in files for word in (one, f"{one[2:]}.csv", f"{one}-source", "A law")]
    if kind.prior:
        files["--prior"] = kind.prior, kind.prior.replace("7919", "7920")
        words += ["--prior", "prior.csv", "--prior-source", "A map", "--prior-is-public"]
    for option, (text, _) in files.items():
        (desk.folder / f"{option[2:]}.csv").write_text(text, encoding="utf-8")
    call = (*CHARGED, *words, *kind.with_prior)
    fail_at(NOTED, desk, *call)
    for option, (text, other) in files.items():
        (desk.folder / f"{option[2:]}.csv").write_text(other, encoding="utf-8")
        done = desk.publish(*call, "--resume")
        assert done.returncode == 2, done.stdout or done.stderr
        assert f"had other {option};" in done.stderr
        (desk.folder / f"{option[2:]}.csv").write_text(text, encoding="utf-8")
    require(desk.publish(*call, "--resume"))
