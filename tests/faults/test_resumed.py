"""A release that was cut short after its charge is completed by the same command, and as drawn."""

import errno
import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.calls import CALLS
from tests.faults.desk import MANY, desk_of, in_memory

pytestmark = [
    pytest.mark.law,
    pytest.mark.skipif(
        sys.platform != "linux" or shutil.which("cc") is None,
        reason="faults are injected with a C compiler and the loader of Linux",
    ),
]

NAME = "publish charged"


class Office:
    """A desk at which one call is run, with more words each time."""

    def __init__(self, desk):
        self.desk, self.call, self.out = desk, CALLS[NAME], desk.place / "out"

    def run(self, *more, first=MANY, last=MANY, number=0):
        """Exit code, number of changes, standard error; changes first to last fail."""
        call = replace(self.call, words=(*self.call.words, *more))
        code, seen, err = self.desk.run(call, first=first, last=last, number=number)
        return code, len(seen), err

    def charges(self):
        return len(self.desk.charges(self.call))

    def left(self):
        return sorted(one.name for one in self.desk.place.iterdir() if one.name != "ledger")

    def require_release(self):
        self.call.require(self.out)
        names = ["README.txt", "SHA256SUMS", "run.json"]
        assert sorted(one.name for one in (self.out / "restricted").iterdir()) == names

    def clear(self):
        self.desk.begin(NAME, self.call)


@pytest.fixture(scope="module")
def opened():
    with (
        tempfile.TemporaryDirectory(dir=in_memory()) as folder,
        desk_of(Path(folder), [NAME]) as desk,
    ):
        yield Office(desk)


@pytest.fixture
def office(opened):
    opened.clear()
    return opened


def complete(office, before):
    """Complete what a failed run was charged for, at no further cost."""
    assert office.charges() == before + 1
    assert office.left() == [".out.partial"]
    code, _, err = office.run("--resume")
    assert (code, office.charges(), office.left()) == (0, before + 1, ["out"]), err
    office.require_release()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_folder_that_takes_no_files_costs_nothing(office, number):
    code, _, err = office.run(first=1, last=MANY, number=number)
    assert (code, office.charges(), office.left()) == (1, 0, []), err


def test_a_disk_that_fills_up_while_the_formats_are_written_costs_nothing_more(office):
    _, changes, _ = office.run()
    office.clear()
    code, _, err = office.run(first=changes // 2, last=MANY, number=errno.ENOSPC)
    assert code == 1
    assert "the disk is full" in err
    complete(office, 0)


def test_an_interrupted_replacement_goes_on(office):
    office.run()
    _, changes, _ = office.run("--overwrite")
    resumed = 0
    for n in range(changes - 30, changes - 14):  # from the last fsyncs to the removal of the old
        office.clear()
        office.run()
        before, old = office.charges(), (office.out / "public" / "release.json").read_bytes()
        code, _, _ = office.run("--overwrite", first=n, last=n)
        assert (code, office.charges()) == (-9, before + 1)
        code, _, err = office.run("--resume", "--overwrite")
        assert code == 0 or "Nothing waits" in err  # as the new one was in its place
        resumed += code == 0
        assert (office.charges(), office.left()) == (before + 1, ["out"])
        assert (office.out / "public" / "release.json").read_bytes() != old
    assert 0 < resumed < 16


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
    complete(office, before)


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
    assert "other --public-totals" in err
    totals.write_text(was)
    code, _, err = office.run("--resume", *more)
    assert (code, office.charges()) == (0, before + 1), err
    assert (office.out / "public" / "population.totals.csv").read_text() == was


def test_what_was_learned_of_a_prior_is_completed(office, tmp_path):
    path = tmp_path / "prior.csv"
    rows = "".join(f"{x},{y},{x}\n" for x in range(8) for y in range(8))
    path.write_text(f"x,y,n\n{rows}")
    more = ["--prior", str(path), "--prior-is-public", "--prior-source", "made up"]
    _, changes, err = office.run(*more)
    assert changes > 30, err
    card = json.loads((office.out / "public" / "release.json").read_text())
    office.clear()
    before = office.charges()
    assert office.run(*more, first=changes - 30, last=changes - 30)[0] == -9
    code, _, err = office.run(
        "--resume", *more[:2], "--prior-is-public", "--prior-source", "another"
    )
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
