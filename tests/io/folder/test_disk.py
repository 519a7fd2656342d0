"""Everything that publishing needs, in a process without anything of POSIX."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from geodp.io.folder import atomic
from geodp.privacy.ledger import Ledger
from tests import windows
from tests.command import geodp

pytestmark = [
    pytest.mark.law,
    pytest.mark.skipif(
        sys.platform != "linux", reason="reads memory through /proc, to know what is open"
    ),
]
MONTHS = ("2024-01", "2024-02")
GRID = ["--grid", "regular:8x8", "--value", "n", "--x", "x", "--y", "y", "--anchor", "index"]
GRID += ["--contribution", "1"]
BUDGET = ["--ledger", "office.ledger", "--dataset", "census"]


class Office:
    """A ledger, inputs and processes that have nothing of POSIX."""

    def __init__(self, folder):
        self.folder = folder
        self.process = None
        for number, month in enumerate(MONTHS):
            rows = "".join(f"{x},{y},{20 + x + number}\n" for x in range(8) for y in range(8))
            (folder / f"{month}.csv").write_text(f"x,y,n\n{rows}")
        assert self.run("key", "key")[0] == 0
        assert self.run("budget", "init", *BUDGET, "--epsilon", "20")[0] == 0

    def run(self, *arguments, held=None, end=None):
        """Exit code, standard output and error; a process that ended has none of the latter."""
        if self.process is None:
            call = [sys.executable, "-P", windows.__file__]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self.process = subprocess.Popen(call, cwd=self.folder, text=True, **pipes)
        line = [[*arguments], None if held is None else str(held), end]
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        if not (answer := self.process.stdout.readline()):
            code = self.process.wait()
            self.close()
            return code, "", ""
        return json.loads(answer)

    def publish(self, output, *more, **options):
        call = ["publish", f"{MONTHS[0]}.csv", *GRID, "--epsilon", "1", *BUDGET]
        return self.run(*call, "--output", output, *more, **options)

    def charges(self):
        return len(Ledger.open(self.folder / "office.ledger").charges("census"))

    def left(self):
        known = {"key", "office.ledger", *(f"{month}.csv" for month in MONTHS)}
        return sorted({path.name for path in self.folder.iterdir()} - known)

    def hidden(self):
        return [name for name in self.left() if name.startswith(".")]

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.process = None


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    made = Office(tmp_path_factory.mktemp("office"))
    yield made
    made.close()


def files_of(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_release_is_that_of_any_system_and_is_replayed_free(office):
    before = office.charges()
    code, _, err = office.publish("one", "--key-file", "key")
    assert (code, office.charges()) == (0, before + 1), err
    for place in ("key", Path("one", "restricted")):
        assert f"Note: Access to {place} is not checked" in err
    code, out, err = office.run("verify", "one")
    assert code == 0, err
    assert "restricted: as it was written; who may read it is not checked" in out
    (office.folder / "key").chmod(0o600)
    call = ["publish", f"{MONTHS[0]}.csv", *GRID, "--epsilon", "1", *BUDGET, "--key-file", "key"]
    done = geodp(*call, "--output", "two", cwd=office.folder)
    assert (done.returncode, office.charges()) == (0, before + 1), done.stderr
    assert "Who may read" not in done.stderr
    one, two = (files_of(office.folder / name / "public") for name in ("one", "two"))
    assert one == two
    assert office.hidden() == []


def test_a_release_is_replaced_and_an_empty_folder_is_taken(office):
    (office.folder / "taken").mkdir()
    assert office.publish("taken")[0] == 0
    before, old = office.charges(), files_of(office.folder / "taken")
    assert office.publish("taken")[0] == 2
    assert (office.charges(), files_of(office.folder / "taken")) == (before, old)
    code, _, err = office.publish("taken", "--overwrite")
    assert (code, office.charges()) == (0, before + 1), err
    assert files_of(office.folder / "taken") != old
    assert office.hidden() == []


def test_an_open_file_of_the_release_to_replace_is_told_before_the_charge(office):
    assert office.publish("seen")[0] == 0
    before, old = office.charges(), files_of(office.folder / "seen")
    held = office.folder / "seen" / "public" / "population.tif"
    code, _, err = office.publish("seen", "--overwrite", held=held)
    assert (code, office.charges()) == (1, before), err
    assert "another program has a file open" in err
    assert files_of(office.folder / "seen") == old
    assert office.hidden() == []


def test_a_run_that_ends_after_its_charge_goes_on_free(office):
    before = office.charges()
    assert office.publish("half", end="release.json")[0] == 9
    assert office.charges() == before + 1
    code, _, err = office.publish("half")
    assert (code, office.charges()) == (2, before + 1)
    assert "--resume" in err
    code, _, err = office.publish("half", "--resume")
    assert (code, office.charges()) == (0, before + 1), err
    assert office.run("verify", "half")[0] == 0
    assert office.hidden() == []


def test_a_living_run_is_left_alone_and_what_a_dead_one_left_is_removed(office):
    partial = office.folder / ".beside.partial"
    partial.mkdir()
    (office.folder / ".beside.lock-4567abcd").touch()
    before = office.charges()
    with FileLock(atomic.name_lock(partial)):
        code, _, err = office.publish("beside")
        assert (code, office.charges()) == (1, before)
        assert "another run writes to the same folder" in err
        assert partial.exists()
    assert office.publish("beside")[0] == 0
    assert office.hidden() == []


def test_a_budget_refuses(office):
    before = office.charges()
    code, out, err = office.run("budget", "show", "--ledger", "office.ledger")
    assert code == 0, err
    assert f"by releases: {before}" in out
    call = ["publish", f"{MONTHS[0]}.csv", *GRID, "--epsilon", "100", *BUDGET]
    code, _, err = office.run(*call, "--output", "over")
    assert (code, office.charges()) == (4, before), err
    assert "over" not in office.left()
    assert office.run("budget", "check", "--ledger", "office.ledger")[0] == 0


def test_a_series_is_published_and_verified(office):
    before = office.charges()
    inputs = [f"{month}={month}.csv" for month in MONTHS]
    call = ["publish-series", *inputs, *GRID, "--epsilon", "1", "--person-in", "all", *BUDGET]
    code, _, err = office.run(*call, "--output", "series")
    assert (code, office.charges()) == (0, before + 1), err
    code, out, err = office.run("verify", "series")
    assert code == 0, out + err


def test_a_cluster_is_refused_before_anything_is_asked():
    code = """
from tests import windows
windows.forget()
from geodp.errors import UsageError
from geodp.cluster.api import publish
try:
    publish(None, None)
except UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "geodp.cluster needs file permissions of POSIX; use Linux or macOS."
    )
