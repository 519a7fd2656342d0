"""``geodp amounts choose-clip``: charged once, said in words to go on with."""

import json

import numpy as np
import pytest

import geodp as package
from geodp.kinds.selection.selected import StagedSelection
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from tests.command import geodp
from tests.keys import keep

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


def choose(office, *more):
    folder, into = office
    call = ("in.csv", *READ, *CHOICE, "--epsilon", "1", *into, "--output", "out")
    return geodp("amounts", "choose-clip", *call, *more, cwd=folder)


def losses(office):
    return [str(one.loss.epsilon) for one in Ledger.open(office[0] / "ledger").charges("persons")]


def test_it_is_charged_once_and_said_in_words_of_the_next_command(office):
    folder, into = office
    done = choose(office)
    assert done.returncode == 0, done.stderr
    use, where, promise, told = done.stdout.splitlines()
    assert "records_beyond_clip" in told
    assert "Published in" in where
    assert "2.718 (exp(1))" in promise
    assert losses(office) == ["1"]
    assert geodp("verify", folder / "out").returncode == 0
    assert geodp("explain", folder / "out").returncode == 0
    run = json.loads((folder / "out" / "restricted" / "run.json").read_text())
    assert run["records"] == 2000
    words = use.removeprefix("Use ").removesuffix(" with geodp amounts publish.").split()
    assert words[0] == "--clip"
    call = ("in.csv", *READ, *words, "--epsilon", "1", *into, "--output", "amounts")
    published = geodp("amounts", "publish", *call, cwd=folder)
    assert published.returncode == 0, published.stderr
    assert losses(office) == ["1", "1"]


@pytest.mark.parametrize(
    ("more", "given"),
    [
        ((), {}),
        (("--weight", "w", "--max-weight", "3"), {"weight": "w", "max_weight": 3}),
        (("--person", "id"), {"person": "id"}),
    ],
)
def test_it_is_the_choice_of_the_library(office, more, given):
    folder, _ = office
    file = keep(folder / "key")
    done = choose(office, *more, "--key-file", file, "--json")
    assert done.returncode == 0, done.stderr
    choice = package.amounts.choose_clip(
        folder / "in.csv",
        grid=package.Grid.mesh("jis:basic", bounds=(139, 35, 140, 36)),
        code="mesh",
        amount="income",
        unit_of_amount="EUR",
        contribution=1,
        epsilon=1,
        key=NoiseKey.from_file(file),
        lowest=100,
        highest=5000,
        share="1/20",
        **given,
    )
    said = json.loads(done.stdout)
    assert said["chosen"] == [dict(one) for one in choice.selected.chosen]
    assert said["clip"] == ["0", choice.upper]
    card = json.loads((folder / "out" / "public" / "release.json").read_text())
    expected = json.loads(json.dumps(choice.selected.card().to_json()))
    # Of one choice, but for the ledger that charged it.
    for document in (card, expected):
        del document["budget"], document["release_id"]
    assert card == expected


def test_an_interrupted_choice_is_completed_without_another_charge(office, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(StagedSelection, "write", fail)
        stopped = choose(office)
    assert stopped.returncode == 1
    assert "--resume" in stopped.stderr
    other = choose(office, "--resume", "--share", "1/10")
    assert other.returncode == 2
    (office[0] / "in.csv").write_text("mesh\n")  # nothing is read
    done = choose(office, "--resume")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Use --clip ")
    assert losses(office) == ["1"]
    assert geodp("verify", office[0] / "out").returncode == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--candidates", "100,200"), "not both"),
        (("--share", "0"), "above 0 and below 1"),
        (("--duplicates", "sum"), "--duplicates"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_charged(office, more, said):
    folder, into = office
    asked = [*CHOICE]
    if more[0] in asked:
        at = asked.index(more[0])
        del asked[at : at + len(more)]
    call = ("in.csv", *READ, *asked, *more, "--epsilon", "1", *into, "--output", "out")
    done = geodp("amounts", "choose-clip", *call, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert losses(office) == []
    assert not (folder / "out").exists()
