"""Inputs of all commands that write, and a folder in which the n-th change fails."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import geodp as package
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, PureDP
from tests.command import geodp
from tests.faults.calls import CALLS, PLACE, ROUND, SMALL, TABLE, TERMS, Call

HERE = Path(__file__).parent
MANY = 1 << 30

SOURCE = str(Path(package.__file__).parents[1])
"""Where the package lies that this process tests, which commands then are of."""


class Desk:
    """A folder of inputs, ``place`` in it, and a process that runs commands in forks.

    Parameters
    ----------
    folder : Path
        An empty one.
    calls : sequence of (str, Call)
        Those that will be run: the process has run each before.
    """

    def __init__(self, folder: Path, calls=()):
        self.folder = folder.resolve()
        self.place = self.folder / PLACE
        self._write_inputs(any("parts" in call.words for _, call in calls))
        shim = self.folder / "faults.so"
        build = ["cc", "-shared", "-fPIC", "-O1", "-o", shim, HERE / "faults.c", "-ldl"]
        subprocess.run(build, check=True)
        for name, call in calls:
            self._lay(call, self.made(name))
        self.process = subprocess.Popen(
            [sys.executable, "-P", HERE / "faulty.py",
             json.dumps([self._words(call, self.made(name)) for name, call in calls])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**os.environ, "LD_PRELOAD": str(shim), "PYTHONPATH": SOURCE},
        )  # fmt: skip
        assert self.process.stdout.readline() == "ready\n"
        for name, call in calls:
            call.require(self.made(name) / call.output)

    def _write_inputs(self, parts: bool) -> None:
        folder = self.folder
        rows = "".join(f"{x},{y},{20 + x}\n" for x in range(8) for y in range(8))
        (folder / "in.csv").write_text(f"x,y,n\n{rows}")
        rows = "".join(f"{x},{y},{y},{x},{20 + x}\n" for x in range(8) for y in range(8))
        (folder / "trips.csv").write_text(f"x,y,to_x,to_y,n\n{rows}")
        (folder / "cells.csv").write_text("code\n" + "3_4\n" * 1000)
        (folder / "codes.csv").write_text("code,n\n53392400,90\n53392411,30\n")
        (folder / "people.csv").write_text("sex,n\n" + "f,1\nm,2\n" * 20)
        rows = "".join(
            f"{20 + x},CRS3035RES1000mN{3000000 + 1000 * y}E{4000000 + 1000 * x}\n"
            for x in range(4)
            for y in range(4)
        )
        (folder / "census.csv").write_text(f"OBS_VALUE_T,GRD_ID\n{rows}")
        (folder / "office.toml").write_text('reference_date = "2020-10-01"\npublisher = "Us"\n')
        codes = ("publish", "codes.csv", *SMALL, "--code", "code", "--value", "n", *TERMS)
        for call in (
            ("publish", *TABLE, *TERMS, "--output", "first"),
            ("publish", *TABLE, *TERMS, "--output", "second"),
            (
                "households",
                "publish",
                *TABLE,
                "--households",
                "n",
                *TERMS,
                "--protect",
                "person",
                "--output",
                "homes",
            ),
            (
                *("flows", "publish", "trips.csv", "--grid", "regular:2x2", "--outside", "drop"),
                *("--from", "y,x", "--to", "to_y,to_x", "--value", "n", *TERMS),
                *("--output", "flows"),
            ),
            (
                *("amounts", "publish", "codes.csv", *SMALL, "--code", "code", "--amount", "n"),
                *("--clip", "0", "9", "--unit-of-amount", "EUR", *TERMS, "--output", "incomes"),
            ),
            (*codes, "--metadata", "office.toml", "--output", "mesh"),
            ("local", "plan", *ROUND, "--output", "plan.toml"),
            ("local", "open", "--plan", "plan.toml", "--output", "round.json"),
            ("local", "randomize", "round.json", "cells.csv", "-o", "reports.jsonl"),
            ("local", "aggregate", "round.json", "reports.jsonl", "-o", "round.sums"),
        ):
            done = geodp(*call, cwd=folder)
            assert done.returncode == 0, done.stderr
        if parts:  # by a cluster, which starts processes of its own
            call = (*codes, "--workers", "1", "--output", "parts")
            start = [sys.executable, "-P", "-W", "ignore", "-m", "geodp", *call]
            given = {**os.environ, "PYTHONPATH": SOURCE}
            subprocess.run(start, check=True, cwd=folder, env=given, capture_output=True)
        ledger = Ledger.create(folder / "ledger")
        ledger.add_dataset("census", PureDP(Fraction(1000)))
        ledger.add_dataset("samples", ApproximateDP(Fraction(1000), Fraction(1, 10)))
        devices = {"unit": "device", "neighbours": "replace-one", "model": "local"}
        ledger.add_dataset("phones", PureDP(Fraction(1000)), **devices)

    def made(self, name: str) -> Path:
        """Return the folder in which a call was run once, without a fault."""
        return self.folder / "made" / name.replace(" ", "-")

    def _words(self, call: Call, place: Path) -> list[str]:
        return [re.sub(rf"^{PLACE}(?=/|$)", str(place), word) for word in call.words]

    def _lay(self, call: Call, place: Path) -> None:
        """Make a folder with what a call needs in it."""
        place.mkdir(parents=True)
        for source, name in call.before:
            if name == ".":
                shutil.copytree(self.folder / source, place, dirs_exist_ok=True)
            else:
                shutil.copy(self.folder / source, place / name)

    def begin(self, name: str, call: Call, *, overwrite: bool = False) -> None:
        """Make the folder anew: with what the call needs, or with what it has made before."""
        shutil.rmtree(self.place, ignore_errors=True)
        if overwrite:
            shutil.copytree(self.made(name), self.place)
        else:
            self._lay(call, self.place)

    def run(self, call: Call, *more, first=0, last=0, number=0, named=False):
        """Run a call whose changes first to last fail, or kill where the number is 0.

        Returns
        -------
        int
            Exit code; negative: the signal that ended it.
        list of str
            All changes, where the process was not killed.
        str
            What it said on standard error.
        """
        words = [*self._words(call, self.place), *more]
        line = [words, str(self.place), first, last, number, named]
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        code, seen, _, err = json.loads(self.process.stdout.readline())
        assert "unforeseen" not in err, err
        return code, seen, err

    def count(self, call: Call, *more, named=False) -> list[str]:
        """Return the changes of a run without a fault."""
        code, seen, err = self.run(call, *more, first=MANY, last=MANY, named=named)
        assert code == 0, err
        return seen

    def names(self) -> list[str]:
        """Return the names of all that is in the folder, hidden or not."""
        return sorted(one.relative_to(self.place).as_posix() for one in self.place.rglob("*"))

    def charges(self, call: Call):
        """Return the charges of a call's data set."""
        if call.charged is None:
            return ()
        ledger = Ledger.open(self.place / "ledger")
        ledger.check()
        return ledger.charges(call.charged)

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@contextlib.contextmanager
def desk_of(folder: Path, names=tuple(CALLS)):
    """Yield a desk for calls by their names."""
    desk = Desk(folder, [(name, CALLS[name]) for name in names])
    try:
        yield desk
    finally:
        desk.close()


def in_memory() -> str | None:
    """Return a folder in memory, where this system has one: faults are no slower or rarer there."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
