"""Commands that write one file: each change fails once, or kills; the next run leaves nothing."""

import errno
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import geodp
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from tests.command import geodp as command

FAULTS = Path(__file__).parents[1] / "release"
MANY = 1 << 30
NUMBERS = (errno.ENOSPC, errno.EIO, errno.EROFS)
GRID = ["--grid", "regular:8x8"]
TABLE = ["in.csv", *GRID, "--value", "n", "--x", "x", "--y", "y", "--anchor", "index"]
BUDGET = ["--epsilon", "1", "--contribution", "1"]

CALLS = {
    "map": (["map", "first", "--output", "place/a.png"], "a.png"),
    "diff": (["diff", "first", "second", "--cells", "--output", "place/a.csv"], "a.csv"),
    "plan": (["plan", *GRID, "--epsilon", "1", "--output", "place/a.toml"], "a.toml"),
    "plot": (["plan", *GRID, "--epsilon", "1", "--plot", "place/a.svg"], "a.svg"),
    "report": (["report", "first", "--output", "place/a.md"], "a.md"),
    "evaluate": (
        [
            *["evaluate", *TABLE, *BUDGET, "--methods", "laplace", "--trials", "2", "--output"],
            *["place/a.json"],
        ],
        "a.json",
    ),
    "audit": (
        [
            *["audit", "--rate", "0.2", "--threshold", "10", "--delta", "1e-6", "--output"],
            *["place/a.json"],
        ],
        "a.json",
    ),
    "withdraw": (["withdraw", "place", "--reason", "Counted twice."], "WITHDRAWN.json"),
    "export": (["budget", "export", "--ledger", "phones", "--output", "place/a.jsonl"], "a.jsonl"),
    "local-plan": (
        [
            *["local", "plan", *GRID, "--epsilon", "1", "--devices", "5000", "--output"],
            *["place/a.toml"],
        ],
        "a.toml",
    ),
    "local-open": (["local", "open", "--plan", "plan.toml", "--output", "place/a.json"], "a.json"),
    "local-open-ledger": (
        [
            *["local", "open", "--plan", "plan.toml", "--ledger", "place/phones", "--dataset"],
            *["phones", "--output", "place/a.json"],
        ],
        "a.json",
    ),
    "randomize": (
        ["local", "randomize", "round.json", "cells.csv", "-o", "place/a.parquet"],
        "a.parquet",
    ),
    "aggregate": (
        ["local", "aggregate", "round.json", "reports.jsonl", "-o", "place/a.sums"],
        "a.sums",
    ),
}
REPLACES = ("map", "diff", "plan", "plot", "evaluate", "audit", "withdraw", "local-plan")
REPLACES += ("aggregate",)
"""Commands with --overwrite; report always replaces."""
CONFIDENTIAL = ("evaluate",)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None,
    reason="faults are injected with a C compiler and the loader of Linux",
)


class Desk:
    """Inputs of all commands, and a folder for the file of one, in which changes may fail."""

    def __init__(self, folder, commands, *, nameless):
        self.folder, self.place = folder, folder / "place"
        rows = "".join(f"{x},{y},{20 + x}\n" for x in range(8) for y in range(8))
        (folder / "in.csv").write_text(f"x,y,n\n{rows}")
        (folder / "cells.csv").write_text("cell\n" + "3_4\n" * 1000)
        for name in ("first", "second"):
            self.prepare("publish", *TABLE, *BUDGET, "--output", name)
        ledger = Ledger.create(folder / "phones")
        terms = {"unit": "device", "neighbours": "replace-one", "model": "local"}
        ledger.add_dataset("phones", PureDP(Fraction(1)), **terms)
        devices = ["--devices", "5000", "--epsilon", "1"]
        self.prepare("local", "plan", *GRID, *devices, "--output", "plan.toml")
        self.prepare("local", "open", "--plan", "plan.toml", "--output", "round.json")
        self.prepare("local", "randomize", "round.json", "cells.csv", "-o", "reports.jsonl")
        shim = folder / "faults.so"
        build = ["cc", "-shared", "-fPIC", "-O1", "-o", shim, FAULTS / "faults.c", "-ldl"]
        subprocess.run(build, check=True)
        environment = {**os.environ, "LD_PRELOAD": str(shim)}
        if not nameless:
            environment["FAULTS_NO_TMPFILE"] = "1"
        self.clear("local-open-ledger")
        warm = " then ".join(" ".join(CALLS[one][0]) for one in commands if one != "withdraw")
        self.process = subprocess.Popen(
            [sys.executable, "-P", FAULTS / "faulty.py", *(warm or "--version").split(" ")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment,
        )
        assert self.process.stdout.readline() == "ready\n"

    def prepare(self, *arguments):
        done = command(*arguments, cwd=self.folder)
        assert done.returncode == 0, done.stderr

    def clear(self, name):
        """Make the folder anew, with what the command needs in it."""
        shutil.rmtree(self.place, ignore_errors=True)
        if name == "withdraw":
            shutil.copytree(self.folder / "first", self.place)
        else:
            self.place.mkdir()
        if name == "local-open-ledger":
            shutil.copyfile(self.folder / "phones", self.place / "phones")
        self.there = {*os.listdir(self.place)}

    def run(self, name, *more, first=0, last=0, number=0):
        """Exit code, changes seen, standard error of a run whose changes first to last fail."""
        place = str(self.place.resolve())
        words = [re.sub("^place", place, word) for word in CALLS[name][0]]
        line = [[*words, *more], place, first, last, number]
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        code, seen, _, err = json.loads(self.process.stdout.readline())
        assert "unforeseen" not in err, err
        return code, seen, err

    def left(self):
        return sorted({*os.listdir(self.place)} - self.there)

    def charges(self):
        return len(Ledger.open(self.place / "phones").charges("phones"))

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def go_on(desk, name):
    """Run a command again after a fault; return what is left beside its file."""
    file = desk.place / CALLS[name][1]
    for path in desk.place.iterdir() if name in CONFIDENTIAL else ():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    whole = file.read_bytes() if file.exists() else None
    more = ["--overwrite"] if name in REPLACES and whole is not None else []
    code, _, err = desk.run(name, *more)
    if code == 2:  # it replaces nothing
        assert whole is not None
        assert not more, (name, err)
        assert file.read_bytes() == whole
    else:
        assert code == 0, (name, err)
    assert file.stat().st_size > 9
    if name == "local-open-ledger":
        assert desk.charges() == 1
        assert geodp.local.read_round(file).budget is not None
    return [one for one in desk.left() if one != CALLS[name][1]]


def cut_off(desk, name, *, kinds=("kill", "fail", "stay"), overwrite=False):
    """Let every change of a command fail; return the number of faults and of files left for good.

    "kill" ends the process, "fail" is an error of one change, "stay" of it and all that follow.
    """
    more = ["--overwrite"] if overwrite and name in REPLACES else []

    def begin():
        desk.clear(name)
        if overwrite:
            assert desk.run(name)[0] == 0
            return (desk.place / CALLS[name][1]).read_bytes()
        return None

    old = begin()
    code, changes, err = desk.run(name, *more, first=MANY, last=MANY)
    assert (code, changes > 2) == (0, True), err
    faults, left, file = 0, [], desk.place / CALLS[name][1]
    for n in range(1, changes + 1):
        for kind in kinds:
            old = begin()
            number = 0 if kind == "kill" else NUMBERS[n % len(NUMBERS)]
            last = MANY if kind == "stay" else n
            code, _, err = desk.run(name, *more, first=n, last=last, number=number)
            assert code in ((-9,) if kind == "kill" else (0, 1)), (name, n, kind, err)
            if overwrite or code == 0:
                assert file.stat().st_size > 9
                if code == 1:
                    assert file.read_bytes() == old
            elif file.exists():
                assert file.stat().st_size > 9
            faults += 1
            left += go_on(desk, name)
    return faults, left


@pytest.fixture(scope="module")
def begin(tmp_path_factory):
    desks = {}

    def opens(*commands, nameless=True):
        if (commands, nameless) not in desks:
            folder = tmp_path_factory.mktemp("desk")
            desks[commands, nameless] = Desk(folder, commands, nameless=nameless)
        return desks[commands, nameless]

    yield opens
    for desk in desks.values():
        desk.close()


def test_a_killed_run_leaves_nothing_after_the_next(begin):
    desk = begin("report", "local-open-ledger")
    assert cut_off(desk, "report", kinds=("kill",), overwrite=True)[1] == []
    assert cut_off(desk, "local-open-ledger", kinds=("kill",))[1] == []


@pytest.mark.law
@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("kind", ["kill", "fail", "stay"])
def test_no_fault_of_any_command_leaves_a_file_after_the_next_run(begin, kind, nameless, overwrite):
    desk = begin(*CALLS, nameless=nameless)
    for name in [*REPLACES, "report"] if overwrite else CALLS:
        faults, left = cut_off(desk, name, kinds=(kind,), overwrite=overwrite)
        print(f"{name}: {faults} faults, {len(left)} left")
        assert (faults > 2, left) == (True, [])
