"""``geodp amounts choose-clip``: charged once, said in words to go on with."""

import json

import numpy as np
import pytest

from geodp.privacy.ledger import Ledger
from tests.command import geodp

PLACE = ("--grid", "jis:basic", "--bounds", "139", "35", "140", "36", "--code", "mesh")
AMOUNT = ("--amount", "income", "--unit-of-amount", "EUR")
READ = (*PLACE, *AMOUNT, "--contribution", "1")
CHOICE = ("--lowest", "100", "--highest", "5000", "--share", "1/20")


@pytest.fixture
def office(tmp_path):
    income = np.random.default_rng(4).lognormal(5.5, 0.7, 2000).round().astype(int)
    rows = [f"53394611,{one},p{i // 2},{1 + i % 3}" for i, one in enumerate(income)]
    (tmp_path / "in.csv").write_text("mesh,income,id,w\n" + "\n".join(rows) + "\n")
    into = ("--ledger", tmp_path / "ledger", "--dataset", "persons")
    assert geodp("budget", "init", *into, "--epsilon", 9).returncode == 0
    return tmp_path, into


def losses(office):
    return [str(one.loss.epsilon) for one in Ledger.open(office[0] / "ledger").charges("persons")]


def test_it_is_charged_once_and_said_in_words_of_the_next_command(office):
    folder, into = office
    call = ("in.csv", *READ, *CHOICE, "--epsilon", "1", *into, "--output", "out")
    done = geodp("amounts", "choose-clip", *call, cwd=folder)
    assert done.returncode == 0, done.stderr
    use, where, promise, told, *_ = done.stdout.splitlines()
    assert "records_beyond_clip" in told
    assert "Published in" in where
    assert "2.718 (exp(1))" in promise
    assert losses(office) == ["1"]
    assert geodp("verify", folder / "out").returncode == 0
    assert geodp("explain", folder / "out").returncode == 0
    run = json.loads((folder / "out" / "restricted" / "run.json").read_text())
    assert run["counted_records"] == 2000
    words = use.removeprefix("Use ").removesuffix(" with geodp amounts publish.").split()
    assert words[0] == "--clip"
    call = ("in.csv", *READ, *words, "--epsilon", "1", *into, "--output", "amounts")
    published = geodp("amounts", "publish", *call, cwd=folder)
    assert published.returncode == 0, published.stderr
    assert losses(office) == ["1", "1"]
