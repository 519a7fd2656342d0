"""``--pad-time``: neither the end of a run nor that of any line depends on the data."""

import shutil
import sys
from contextlib import contextmanager

import pytest

from geodp import cli, progress
from geodp.cli import running
from geodp.cli.recipes import layout_names
from geodp.cli.running import TOO_LONG, pad_time
from geodp.errors import InputError
from geodp.io.folder import staging
from geodp.io.read.rows.forms import locations
from geodp.privacy.ledger import Ledger
from tests.command import commands, context_of, geodp
from tests.laws.public_commands import CASES, CHARGED, prepare

EXEMPT = {
    "local randomize": "it takes its time by the number of devices, which is public",
    "new": "it asks an operator, publishes nothing, and checks as publish --check does",
}
"""Commands that get confidential counts and show nothing of them, and why they hide no duration.

Of the others, evaluate, inspect and audit show what is confidential itself, and all that remain
read what is protected or public already: tests/laws/public_commands.py has a class for each.
"""

OPTIONS = {
    name: {one.name for one in command.get_params(context_of(command))}
    for name, command in commands()
}

PADDED = {case.command: case for case in reversed(CASES.values()) if case.command not in EXEMPT}
"""Commands that must hide their duration, each with its first call."""

OVER = "over the cap"


def test_every_command_that_draws_from_confidential_counts_hides_its_duration():
    assert {name for name, options in OPTIONS.items() if "pad_time" in options} == {*PADDED}
    assert EXEMPT.keys() <= {case.command for case in CASES.values()}


class Clock:
    """A clock that work moves, a step at a time, and not the machine.

    Attributes
    ----------
    now : float
    shown : list of bytes
        What stood on stdout and stderr whenever somebody slept.
    """

    def __init__(self, step):
        self.now, self.shown, self._step = 0.0, [], step

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.shown += [stream.buffer.getvalue() for stream in (sys.stdout, sys.stderr)]
        self.now += seconds

    def begin(self, *_given, **_more):
        self.now += self._step


@contextmanager
def clocked(step, *, progress_is_shown=False):
    """Stop the clock, so that each step of the work takes as long as it is told."""
    clock = Clock(step)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "time", clock)
        patch.setattr(progress, "begin", clock.begin)
        if not progress_is_shown:
            patch.setattr(progress, "show", lambda *_given: pytest.fail("progress is shown"))
        yield clock


def run_padded(desk, case, *more, seconds=1000, step=1):
    """Run a case, whose steps take so long, and check that it hides this; return what it did."""
    with clocked(step) as clock:
        call = (*case.command.split(), *case.call, *more, "--pad-time", seconds)
        done = geodp(*call, cwd=desk)
    assert clock.now == seconds
    assert clock.shown == [b"", b""]
    return done


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    folder = tmp_path_factory.mktemp("office")
    prepare(folder)
    done = geodp(
        *("budget", "init", "--ledger", OVER, "--dataset", "census", "--epsilon", "1/9"), cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def desk(office, tmp_path):
    shutil.copytree(office, tmp_path / "desk")
    shutil.copy(office / "ledger.new", tmp_path / "desk" / "ledger")
    return tmp_path / "desk"


def damage(desk, case):
    """Add a row that no command takes to each input."""
    before = {path: path.read_bytes() for path in desk.iterdir() if path.is_file()}
    case.write(desk, "even")
    for path in desk.iterdir():
        if path.is_file() and before.get(path) != path.read_bytes():
            columns = path.read_text().partition("\n")[0].count(",")
            with path.open("a") as file:
                file.write("?" + ",?" * columns + "\n")


def fill_the_disk(*_given):
    raise OSError(28, "No space left on device")


WHOLE = "publish|select top|households publish-series|flows choose-trips|amounts choose-clip"


@pytest.mark.parametrize("name", WHOLE.split("|"))
def test_neither_the_end_of_a_run_nor_a_line_depends_on_the_data(desk, monkeypatch, name):
    case, kept = PADDED[name], (*CHARGED, "--key-file", "key")
    damage(desk, case)
    refused = run_padded(desk, case, *kept, step=7)
    assert refused.returncode == 5
    assert "Error: " in refused.stderr
    case.write(desk, "even")
    refused = run_padded(desk, case, "--ledger", OVER, "--dataset", "census", step=9)
    assert refused.returncode == 4
    if "check" in OPTIONS[name]:
        assert run_padded(desk, case, "--check", step=2).returncode == 0
    with monkeypatch.context() as patch:
        patch.setattr(staging, "_exchange", fill_the_disk)
        stopped = run_padded(desk, case, *kept)
    assert stopped.returncode == 1
    assert "--resume completes it" in stopped.stderr
    # Another duration is no other run.
    resumed = run_padded(desk, case, *kept, "--resume", seconds=2000, step=3)
    assert resumed.returncode == 0, resumed.stderr
    assert (desk / "out" / "public").is_dir()
    padded = run_padded(desk, case, *kept, "--overwrite", step=4)
    with clocked(0, progress_is_shown=True) as clock:
        plain = geodp(*case.command.split(), *case.call, *kept, "--overwrite", cwd=desk)
    assert padded == plain
    assert plain.returncode == 0
    assert clock.shown == []
    assert len(Ledger.open(desk / "ledger").charges("census")) == 1


def test_seconds_are_not_printed_and_hidden_at_once(desk):
    case = PADDED["publish"]
    case.write(desk, "even")
    done = geodp("publish", *case.call, "--profile", "--pad-time", 100, cwd=desk)
    assert done == (2, "", "Error: Give --profile or --pad-time, not both.\n")
    assert not (desk / "out").exists()


def test_a_download_is_part_of_the_run(desk, monkeypatch):
    clocks = []

    @contextmanager
    def fetch(*_given):
        clocks[0].now += 30
        raise InputError("It is gone.", code="url-refused")
        yield

    monkeypatch.setattr(locations, "require_readable", lambda _one: None)
    monkeypatch.setattr(locations, "fetch_urls", fetch)
    call = ("https://example.org/in.csv", *CASES["cells"].call[1:])
    with clocked(1) as clock:
        clocks.append(clock)
        done = geodp("publish", *call, "--pad-time", 100, cwd=desk)
    assert done.returncode == 5
    assert (clock.now, clock.shown) == (100, [b"", b""])


def test_a_run_that_took_longer_is_told(desk):
    case = CASES["cells"]
    case.write(desk, "even")
    with clocked(40) as clock:
        done = geodp("publish", *case.call, "--pad-time", 50, cwd=desk)
    assert done.returncode == 0
    assert done.stderr.endswith(f"{TOO_LONG}\n")
    assert clock.now > 50


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit(143)])
def test_a_run_that_the_operator_stops_ends_at_once(end, capsys):
    with clocked(0) as clock, pytest.raises(BaseException) as raised, pad_time({"pad_time": 9.0}):  # noqa: PT012
        print("said before")
        raise end
    assert raised.type is (end if isinstance(end, type) else type(end))
    assert capsys.readouterr().out == "said before\n"
    assert clock.now == 0


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300"])
def test_what_is_no_duration_is_refused(desk, seconds):
    case = CASES["cells"]
    case.write(desk, "even")
    done = geodp("publish", *case.call, "--pad-time", seconds, cwd=desk)
    assert done == (2, "", "Error: --pad-time takes a number from 0 to 1,000,000.\n")
    assert not (desk / "out").exists()


def test_no_recipe_states_a_duration():
    assert "pad_time" not in layout_names(cli.geodp.commands["publish"])
