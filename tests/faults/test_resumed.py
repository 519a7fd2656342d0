"""Every change of the output's folder fails once, or kills the run: no charge buys nothing."""

import errno
import json
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from geodp.io.verify.verify import verify
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP

HERE = Path(__file__).parent
MANY = 1 << 30
NUMBERS = (errno.ENOSPC, errno.EIO, errno.EROFS)
KEEPING = 12
"""Changes that put a charged table on the disk; a kill in them loses the charge."""

pytestmark = [
    pytest.mark.law,
    pytest.mark.skipif(
        sys.platform != "linux" or shutil.which("cc") is None,
        reason="faults are injected with a C compiler and the loader of Linux",
    ),
]


class Office:
    """A ledger, an input, and a folder for releases in which changes may fail."""

    def __init__(self, folder, shim):
        self.place, self.out = folder / "place", folder / "place" / "out"
        self.place.mkdir()
        rows = "".join(f"{x},{y},{20 + x}\n" for x in range(8) for y in range(8))
        (folder / "in.csv").write_text(f"x,y,n\n{rows}")
        self.ledger = Ledger.create(folder / "office.ledger")
        self.ledger.add_dataset("census", PureDP(Fraction(10**6)))
        self.call = [
            *["publish", str(folder / "in.csv"), "--grid", "regular:8x8", "--value", "n"],
            *["--x", "x", "--y", "y", "--anchor", "index", "--epsilon", "1"],
            *["--contribution", "1"],
            *["--ledger", str(self.ledger.path), "--dataset", "census"],
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-P", HERE / "faulty.py", *self.call, "--output", folder / "first"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LD_PRELOAD": str(shim)},
        )
        assert self.process.stdout.readline() == "ready\n"

    def run(self, *more, first=0, last=0, number=0):
        """Exit code, changes seen, standard error of a run whose changes first to last fail."""
        arguments = [*self.call, "--output", str(self.out), *more]
        line = [arguments, f"{self.place}/", first, last, number]
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        code, seen, _, err = json.loads(self.process.stdout.readline())
        assert "unforeseen" not in err
        return code, seen, err

    def charges(self):
        return len(self.ledger.charges("census"))

    def left(self):
        return sorted(os.listdir(self.place))

    def require_release(self):
        assert [c.detail for c in verify(self.out) if not c.ok] == []
        card = json.loads((self.out / "public" / "release.json").read_text())
        assert card["budget"]["head"] == self.ledger.charges("census")[-1].hash
        assert sorted(os.listdir(self.out / "restricted")) == [
            "README.txt",
            "SHA256SUMS",
            "run.json",
        ]

    def clear(self):
        for name in self.left():
            shutil.rmtree(self.place / name)


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    folder = tmp_path_factory.mktemp("office")
    shim = folder / "faults.so"
    build = ["cc", "-shared", "-fPIC", "-O1", "-o", shim, HERE / "faults.c", "-ldl"]
    subprocess.run(build, check=True)
    made = Office(folder, shim)
    yield made
    made.process.stdin.close()
    made.process.wait()


@pytest.fixture(autouse=True)
def clean(office):
    office.clear()


def complete(office, before):
    """What a failed run left: nothing, and no charge; or what completes at no further cost."""
    if office.charges() == before:
        assert office.left() == []
        return False
    assert office.charges() == before + 1
    (waiting,) = office.left()
    assert waiting == ".out.partial"
    code, _, err = office.run("--resume")
    assert (code, office.charges(), office.left()) == (0, before + 1, ["out"]), err
    office.require_release()
    return True


def test_every_change_fails_once(office):
    before = office.charges()
    code, changes, err = office.run()
    assert (code, office.charges()) == (0, before + 1), err
    office.require_release()
    resumed = free = survived = 0
    for n in range(1, changes + 1):
        office.clear()
        before = office.charges()
        code, _, err = office.run(first=n, last=n, number=NUMBERS[n % len(NUMBERS)])
        if code == 0:  # the table could not be kept, but the release was written
            assert (office.charges(), office.left()[-1:]) == (before + 1, ["out"])
            survived += 1
        elif complete(office, before):
            assert "--resume" in err
            resumed += 1
        else:
            free += 1
    assert free >= 10
    assert resumed >= 30
    assert 0 < survived <= KEEPING + 1  # and the last, when the release is in its place


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_folder_that_takes_no_files_costs_nothing(office, number):
    before = office.charges()
    code, _, err = office.run(first=1, last=MANY, number=number)
    assert (code, office.charges(), office.left()) == (1, before, []), err


def test_a_disk_that_fills_up_while_the_formats_are_written_costs_nothing_more(office):
    _, changes, _ = office.run()
    office.clear()
    before = office.charges()
    code, _, err = office.run(first=changes // 2, last=MANY, number=errno.ENOSPC)
    assert (code, office.charges()) == (1, before + 1)
    assert "the disk is full" in err
    assert complete(office, before)


def test_a_run_that_is_killed_at_every_second_change_goes_on(office):
    _, changes, _ = office.run()
    lost = resumed = 0
    for n in range(1, changes + 1, 2):
        office.clear()
        before = office.charges()
        code, _, _ = office.run(first=n, last=n)
        assert code == -9
        if office.out.exists():  # after the rename
            assert office.charges() == before + 1
            continue
        waiting = [path for path in office.place.iterdir() if any(path.rglob("released.npz"))]
        if waiting:
            assert complete(office, before)
            resumed += 1
            continue
        lost += office.charges() - before
        code, _, err = office.run()
        assert (code, office.left()) == (0, ["out"]), err
        office.require_release()
    assert resumed >= 20
    assert lost <= KEEPING / 2


def test_an_interrupted_replacement_goes_on(office):
    office.run()
    _, changes, _ = office.run("--overwrite", first=MANY, last=MANY)
    for n in range(changes - 22, changes - 14):  # from the last fsyncs to the removal of the old
        before, old = office.charges(), (office.out / "public" / "release.json").read_bytes()
        code, _, _ = office.run("--overwrite", first=n, last=n)
        assert (code, office.charges()) == (-9, before + 1)
        code, _, err = office.run("--resume", "--overwrite")
        assert code == 0 or "Nothing waits" in err  # as the new one was in its place
        assert (office.charges(), office.left()) == (before + 1, ["out"])
        assert (office.out / "public" / "release.json").read_bytes() != old
        office.clear()
        office.run()


def test_only_the_same_command_with_resume_goes_on(office):
    _, changes, _ = office.run()
    office.clear()
    before = office.charges()
    assert office.run(first=changes - 20, last=changes - 20)[0] == -9
    code, _, err = office.run()
    assert (code, office.charges()) == (2, before + 1)
    assert "interrupted release, which was charged, waits" in err
    code, _, err = office.run("--resume", "--unit", "household")
    assert (code, office.charges()) == (2, before + 1)
    assert "other --unit" in err
    assert complete(office, before)


def test_measurements_are_completed_as_they_were_drawn(office):
    _, changes, _ = office.run("--measurements")
    office.clear()
    before = office.charges()
    assert office.run("--measurements", first=changes - 30, last=changes - 30)[0] == -9
    code, _, err = office.run("--resume")
    assert (code, office.charges()) == (2, before + 1)
    assert "other --measurements" in err
    code, _, err = office.run("--resume", "--measurements")
    assert (code, office.charges()) == (0, before + 1), err
    office.require_release()
    assert (office.out / "public" / "population.measurements.parquet").exists()


def test_an_interrupted_run_keeps_to_its_public_totals(office, tmp_path):
    regions, totals = tmp_path / "regions.csv", tmp_path / "totals.csv"
    cells = "".join(f"{row}_{col},a\n" for row in range(8) for col in range(8))
    regions.write_text(f"cell,city\n{cells}")
    more = ["--regions", str(regions), "--regions-source", "made up"]
    more += ["--public-totals", str(totals), "--public-totals-source", "the law"]
    totals.write_text(f"city,total\na,{sum(20 + x for x in range(8)) * 8}\n")
    _, changes, _ = office.run(*more)
    office.clear()
    before = office.charges()
    assert office.run(*more, first=changes - 30, last=changes - 30)[0] == -9
    was = totals.read_text()
    totals.write_text("city,total\na,5\n")
    code, _, err = office.run("--resume", *more)
    assert (code, office.charges()) == (2, before + 1)
    assert "other public totals" in err
    totals.write_text(was)
    code, _, err = office.run("--resume", *more)
    assert (code, office.charges()) == (0, before + 1), err
    assert (office.out / "public" / "population.totals.csv").read_text() == was


def test_what_was_learned_of_a_prior_is_completed(office, tmp_path):
    path = tmp_path / "prior.csv"
    rows = "".join(f"{x},{y},{x}\n" for x in range(8) for y in range(8))
    path.write_text(f"x,y,n\n{rows}")
    more = ["--prior", str(path), "--prior-source", "made up"]
    _, changes, err = office.run(*more)
    assert changes > 30, err
    card = json.loads((office.out / "public" / "release.json").read_text())
    office.clear()
    before = office.charges()
    assert office.run(*more, first=changes - 30, last=changes - 30)[0] == -9
    code, _, err = office.run("--resume", *more[:2], "--prior-source", "another")
    assert (code, office.charges()) == (2, before + 1)
    assert "other --prior-source" in err
    code, _, err = office.run("--resume", *more)
    assert (code, office.charges()) == (0, before + 1), err
    again = json.loads((office.out / "public" / "release.json").read_text())
    assert again["prior"]["source"] == card["prior"]["source"] == "made up"
    assert len(again["prior"]["levels"]) == len(card["prior"]["levels"]) > 0


def test_nothing_waits_where_no_run_was_interrupted(office):
    code, _, err = office.run("--resume")
    assert code == 2
    assert "Nothing waits" in err
    assert office.left() == []
