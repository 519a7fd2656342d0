"""A run that is told to stop says so and has published nothing, or has published and says that."""

import io
import os
import signal
import sys
from contextlib import suppress
from fractions import Fraction

import pytest

import geodp.release.transaction
from geodp import cli
from geodp.io.folder import pending, staging, stopping
from geodp.io.read import table
from geodp.io.verify.verify import verify
from geodp.io.write import picture
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from tests.apart import exit_code

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of POSIX")

SIGNALS = {signal.SIGTERM: 143, signal.SIGINT: 130}
by_each_signal = pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.law)]
)


def before(home, name, when=lambda *_: True):
    """Send the signal right before a function is called."""

    def arm(number):
        whole = getattr(home, name)

        def sends(*given, **options):
            if when(*given):
                os.kill(os.getpid(), number)
            return whole(*given, **options)

        setattr(home, name, sends)

    return arm


def after(home, name, when=lambda *_: True):
    """The same right after it."""

    def arm(number):
        whole = getattr(home, name)

        def sends(*given, **options):
            found = whole(*given, **options)
            if when(*given):
                os.kill(os.getpid(), number)
            return found

        setattr(home, name, sends)

    return arm


def swallowed(number):
    """The signal comes where a library drops every exception."""
    whole = table.Table.read

    def reads(*given, **options):
        with suppress(BaseException):
            os.kill(os.getpid(), number)
        return whole(*given, **options)

    table.Table.read = reads


def to_its_place(_, destination):
    return str(destination).endswith("/out")


def puts_aside(_, destination):
    return ".replaced-" in str(destination)


FREE = {
    "reading": before(table.Table, "read"),
    "swallowed": swallowed,
    "draw": after(Pyramid, "release"),
    "keep": after(pending, "keep"),
}
KEPT = {
    "charge": after(Ledger, "charge"),
    "charged": after(geodp.release.transaction.Prepared, "release"),
    "write": before(picture, "draw_map"),
    "flush": before(staging, "sync_all"),
    "check": after(staging, "sync_all"),
}
DONE = {
    "aside": after(os, "rename", puts_aside),
    "rename": before(os, "rename", to_its_place),
    "renamed": after(os, "rename", to_its_place),
    "removal": before(staging, "remove_release"),
}


WORDS = "--x x --y y --anchor index --value n --epsilon 1 --contribution 1 --overwrite"


@pytest.fixture
def call(tmp_path):
    ledger = Ledger.create(tmp_path / "office.ledger")
    ledger.add_dataset("census", PureDP(Fraction(1000)))
    rows = "".join(f"{x},{y},{20 + x}\n" for x in range(8) for y in range(8))
    (tmp_path / "in.csv").write_text(f"x,y,n\n{rows}")
    (tmp_path / "place").mkdir()
    return [
        *("publish", str(tmp_path / "in.csv"), "--grid", "regular:8x8", *WORDS.split()),
        *("--ledger", str(ledger.path), "--dataset", "census"),
        *("--output", str(tmp_path / "place" / "out")),
    ]


FILES = {
    "file": before(os, "fsync"),
    "filed": after(os, "fsync"),
    "replace": before(os, "replace"),
    "replaced": after(os, "replace"),
}
ARMS = {**FREE, **KEPT, **DONE, **FILES}


def run(arguments, folder, point=None, number=0):
    """Exit code, standard output and error of a command in a process of its own.

    While threads still write files, Ctrl-C ends the process by its signal, which is 130 in a shell.
    """
    told = [folder / name for name in ("stdout", "stderr")]
    code = exit_code(begin, arguments, told, point, number)
    if code == -signal.SIGINT:
        code = SIGNALS[signal.SIGINT]
    return code, *(path.read_text() for path in told)


def begin(arguments, told, point, number):
    """The command, in the process that is told to stop at a point."""
    code = 99
    try:
        for file, path in enumerate(told, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), file)
        sys.stdout, sys.stderr = (io.TextIOWrapper(os.fdopen(n, "wb")) for n in (1, 2))
        sys.argv = ["geodp", *arguments]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if point is not None:
            ARMS[point](number)
        cli.main()
    except SystemExit as end:
        code = end.code
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def charges(folder):
    return len(Ledger.open(folder / "office.ledger").charges("census"))


@by_each_signal
@pytest.mark.parametrize("point", FREE)
def test_before_the_charge_nothing_is_charged_and_nothing_stays(call, tmp_path, point, number):
    code, out, _ = run(call, tmp_path, point, number)
    assert (code, out, charges(tmp_path)) == (SIGNALS[number], "", 0)
    assert os.listdir(tmp_path / "place") == []


@pytest.mark.law
@by_each_signal
@pytest.mark.parametrize("point", KEPT)
def test_from_the_charge_on_nothing_is_published_and_nothing_lost(call, tmp_path, point, number):
    code, out, err = run(call, tmp_path, point, number)
    assert (code, out, charges(tmp_path)) == (SIGNALS[number], "", 1)
    assert not (tmp_path / "place" / "out").exists()
    assert "the same command with --resume" in err
    code, out, err = run([*call, "--resume"], tmp_path)
    assert (code, charges(tmp_path)) == (0, 1), err
    assert "Published in" in out
    assert all(check.ok for check in verify(tmp_path / "place" / "out"))
    assert os.listdir(tmp_path / "place") == ["out"]


@pytest.mark.law
@by_each_signal
@pytest.mark.parametrize("point", DONE)
def test_with_the_rename_the_run_is_complete_and_says_so(call, tmp_path, point, number):
    assert run(call, tmp_path)[0] == 0
    old = (tmp_path / "place" / "out" / "public" / "release.json").read_bytes()
    code, out, err = run(call, tmp_path, point, number)
    assert (code, err, charges(tmp_path)) == (0, "", 2)
    assert "Published in" in out
    assert (tmp_path / "place" / "out" / "public" / "release.json").read_bytes() != old
    assert all(check.ok for check in verify(tmp_path / "place" / "out"))
    assert os.listdir(tmp_path / "place") == ["out"]


def test_a_commit_that_fails_raises_its_own_error_and_then_the_stop_counts():
    stopping.begin()
    stopping.complete_with_commit()

    def commit():
        with stopping.commits():
            stopping.request_stop(KeyboardInterrupt())
            raise OSError

    with pytest.raises(OSError):
        commit()
    with pytest.raises(KeyboardInterrupt), stopping.commits():
        raise AssertionError
    stopping.begin()


def test_a_commit_that_does_not_complete_the_process_leaves_the_stop():
    stopping.begin()
    done = []

    def commit():
        with stopping.commits():
            stopping.request_stop(KeyboardInterrupt())
            done.append("put in its place")

    with pytest.raises(KeyboardInterrupt):
        commit()
    assert done
    stopping.begin()


@pytest.mark.parametrize("command", [pytest.param("map", marks=pytest.mark.law), "report"])
def test_a_file_that_is_replaced_is_whole_whenever_the_run_is_killed(call, tmp_path, command):
    assert run(call, tmp_path)[0] == 0
    file = tmp_path / ("again.png" if command == "map" else "report.md")
    again = [command, str(tmp_path / "place" / "out"), "--output", str(file)]
    assert run(again, tmp_path)[0] == 0
    whole = file.read_bytes()
    again += ["--overwrite"] if command == "map" else []
    for point in ("file", "filed", "replace"):
        assert run(again, tmp_path, point, signal.SIGKILL)[0] == -signal.SIGKILL
        assert file.read_bytes() == whole
    code, _, err = run(again, tmp_path, "replaced", signal.SIGTERM)
    assert (code, err) == (0, "")
    assert file.read_bytes() == whole
