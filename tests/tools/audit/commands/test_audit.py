"""``geodp audit`` from the command line."""

import errno
import io
import json
import os
import stat
from contextlib import contextmanager
from fractions import Fraction

import pytest

from geodp.io.folder.atomic import write_atomically
from geodp.literature.recoding import RECODED_FROM_DATA
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP
from geodp.tools.audit.commands.audit import NOTICE, audit
from geodp.tools.audit.threshold import sampled_threshold
from tests.bits import has_bits
from tests.command import Runner, geodp

MODEL = ["--rate", "0.2", "--threshold", "10"]
GUARANTEE = [*MODEL, "--epsilon", "1.0252"]


RUNNER = Runner(audit)
run, error_of, document_of = RUNNER.run, RUNNER.error_of, RUNNER.document_of


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex,age,n\nf,30,2\nf,31,7\nm,40,5\n", encoding="utf-8")
    (tmp_path / "ages.csv").write_text("age,decade\n30,30s\n31,30s\n40,40s\n", encoding="utf-8")
    (tmp_path / "sexes.csv").write_text("sex,all\nf,*\nm,*\n", encoding="utf-8")
    return path


def test_a_guarantee_for_people():
    done = run(*GUARANTEE, "--grid", "regular:64x64", "--method", "laplace")
    assert done.exit_code == 0, done.output
    for text in ("(1.0252, 0.00000344328)", "stays secret", "Li's bound", "standard error of 1.4"):
        assert text in done.output


def test_figures_are_rounded_to_the_safe_side():
    pair = run(*MODEL, "--delta", "1e-6").output.partition("is (")[2].partition(",")[0]
    assert Fraction(pair) >= sampled_threshold(10, "0.2", delta="1e-6").pair[0]


def test_a_document_and_a_picture(tmp_path):
    picture, output = tmp_path / "a.png", tmp_path / "a.json"
    found = document_of(*GUARANTEE, "--plot", picture, "--output", output)
    expected = sampled_threshold(10, "0.2", epsilon="1.0252")
    assert found["guarantee"] == expected.to_dict()
    assert [*found] == ["guarantee", "curve"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads(output.read_text()) == found
    assert stat.S_IMODE(output.stat().st_mode) & 0o044


def test_the_smallest_threshold():
    found = document_of("--rate", "0.2", "--epsilon", 1, "--delta", "1e-6")
    assert found["smallest_k"]["k"] == found["guarantee"]["threshold"] == 12
    assert found["guarantee"]["delta"] <= 1e-6
    wide = document_of("--rate", "0.2", "--epsilon", 1, "--delta", "1e-6", "--bound", "li")
    assert wide["smallest_k"]["k"] > 12
    assert [*document_of(*MODEL)] == ["curve"]


def test_classes_of_a_table(people):
    columns = ["--column", "sex", "--column", "age"]
    assert document_of(people, *columns)["confidential"]["k_anonymity"] == 1
    assert document_of(people, "--column", "sex")["confidential"]["k_anonymity"] == 1
    assert document_of(people, *columns, "--count", "n")["confidential"]["k_anonymity"] == 2
    assert run(people, *columns).output.startswith(NOTICE)


def test_a_table_is_generalised(people, tmp_path):
    trees = [f"age={tmp_path / 'ages.csv'}", f"sex={tmp_path / 'sexes.csv'}"]
    words = [people, "--hierarchy", trees[0], "--hierarchy", trees[1], "--count", "n"]
    output = tmp_path / "found.json"
    found = document_of(*words, "--threshold", 5, "--output", output)["confidential"]
    assert found["generalized"]["nodes"]["age"] == {"30": "30s", "31": "30s", "40": "40"}
    assert found["generalized"]["smallest"] == 5
    assert has_bits(output, 0o600)
    assert "classes" in run(*words, "--threshold", 5).output
    assert error_of(*words, "--threshold", 5, "--rate", "0.2", "--epsilon", 1) == RECODED_FROM_DATA
    assert "above the number" in error_of(*words, "--threshold", 15)


def test_the_realised_number(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text("people,drawn\n50,12\n20,3\n11,11\n", encoding="utf-8")
    words = [path, "--rate", "0.2", "--counts", "people", "drawn"]
    found = document_of(*words)["confidential"]
    assert (found["realized"], found["record"], found["infinite"]) == (None, 3, 1)
    found = document_of(*words, "--threshold", 12)["confidential"]
    assert (round(found["realized"], 4), found["record"]) == (0.0513, 1)
    assert run(*words).output.startswith(NOTICE)
    path.write_text("people,drawn\n50,12\n20,21\n", encoding="utf-8")
    said = f"{path}: Record 2, without the header: More people were drawn than there are."
    assert error_of(*words) == said


def test_hierarchies_of_strangers_do_not_steer_the_terminal(people, tmp_path):
    path = tmp_path / "tree.csv"
    path.write_text("age,decade\n{0},a\n{0},b\n".format("\x1b[2J" + "z" * 999), encoding="utf-8")
    said = error_of(people, "--hierarchy", f"age={path}", "--threshold", 2)
    assert "has two parents" in said
    assert "\x1b" not in said
    assert len(said) < 200


def test_a_guarantee_is_charged_and_its_sample_stays_secret(tmp_path):
    path = tmp_path / "office.ledger"
    ledger = Ledger.create(path)
    ledger.add_dataset("census", ApproximateDP(Fraction(2), Fraction(1, 10**5)))
    into = ["--ledger", path, "--dataset", "census"]
    assert "--sample" in error_of(*GUARANTEE, *into)
    assert "one household" in error_of(*GUARANTEE, *into, "--sample", "s", "--unit", "household")
    before = ledger.check()
    assert "must end in" in error_of(*GUARANTEE, *into, "--sample", "s", "--plot", "a.gif")
    assert ledger.check() == before
    found = document_of(*GUARANTEE, *into, "--sample", "autumn")
    assert found["charge"]["spent"]["epsilon"] == "2563/2500"
    assert ledger.account("census").samples == ("autumn",)
    assert "charged to census already" in error_of(*GUARANTEE, *into, "--sample", "Autumn")
    assert "over its cap" in error_of(*GUARANTEE, *into, "--sample", "winter")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--threshold", 10], "Give a --rate, or a TABLE"),
        (["--epsilon", 1], "--epsilon goes with --rate"),
        (["--rate", "0.2"], "Give --threshold"),
        (["--rate", "0.2", "--epsilon", 1], "Give --threshold"),
        ([*GUARANTEE, "--delta", "1e-6"], "either epsilon or delta"),
        ([*GUARANTEE, "--bounds", 1, 2, 3, 4], "--bounds goes with --grid"),
        ([*GUARANTEE, "--column", "a"], "--column can only be given with a TABLE"),
        ([*GUARANTEE, "--dataset", "a"], "--dataset goes with --ledger"),
        ([*MODEL, "--grid", "regular:8x8"], "can only be given with --epsilon or --delta"),
        ([*GUARANTEE, "--sample-size", 5], "fixed number"),
        ([*GUARANTEE, "--weight", "3"], "1 / rate"),
        ([*GUARANTEE, "--tables", "2"], "Several tables"),
        (["--rate", "0.2", "--epsilon", 1, "--delta", "1e-6", "--tables", "2"], "Several tables"),
        (["--rate", "1", "--threshold", 10, "--epsilon", 1], "publish releases"),
        (["t.csv", "--hierarchy", "a=b.csv"], "--hierarchy goes with --threshold"),
        (["t.csv", "--hierarchy", "a=b", "--threshold", 2, "--column", "a"], "not both"),
        (["t.csv", "--counts", "a", "b"], "--counts goes with --rate"),
        (["nowhere.csv", "--column", "a"], "no such file"),
    ],
)
def test_what_does_not_go_together_is_refused(words, said):
    assert said in error_of(*words)


class Full(io.BytesIO):
    """A file on a disk without room."""

    def write(self, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_may_fail_of_the_file_fails_before_the_charge(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("census", ApproximateDP(Fraction(2), Fraction(1, 10**5)))
    into = ["--ledger", tmp_path / "ledger", "--dataset", "census", "--sample", "autumn"]
    call = ["audit", *GUARANTEE, *into, "--output", tmp_path / "a.json"]

    @contextmanager
    def write_to_full_disk(*given, **more):
        with write_atomically(*given, **more):
            yield Full()

    with monkeypatch.context() as patch:
        patch.setattr("geodp.io.folder.atomic.write_atomically", write_to_full_disk)
        done = geodp(*call)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert ledger.charges("census") == ()
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]
    assert geodp(*call).returncode == 0
    (charge,) = ledger.charges("census")
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["charge"]["sequence"] == charge.sequence
    assert geodp(*call[:-1], tmp_path / "b.json").returncode == 2  # the sample is charged already
    assert not (tmp_path / "b.json").exists()


def test_what_was_charged_is_written_again_by_its_own_call_alone(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("census", ApproximateDP(Fraction(2), Fraction(1, 10**5)))
    into = ["--ledger", tmp_path / "ledger", "--dataset", "census", "--sample", "autumn"]
    first = [*GUARANTEE, *into, "--output", tmp_path / "first.json"]
    resumed = [*GUARANTEE, *into, "--output", tmp_path / "again.json", "--resume"]
    assert "There is nothing to resume" in error_of(*resumed)
    assert run(*first).exit_code == 0
    assert run(*resumed).exit_code == 0
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "first.json").read_bytes()
    (charge,) = ledger.charges("census")
    assert json.loads((tmp_path / "again.json").read_text())["charge"]["head"] == charge.hash
    other = ["--rate", "0.1", *resumed[2:], "--overwrite"]
    assert "another charge for the sample autumn" in error_of(*other)
    assert "no charge for the sample spring" in error_of(
        *[word if word != "autumn" else "spring" for word in resumed], "--overwrite"
    )
    assert "--resume goes with --ledger" in error_of(*GUARANTEE, "--resume")
