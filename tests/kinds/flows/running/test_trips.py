"""``geodp flows choose-trips``: read, charged once, answered in words of the next command."""

import json

import numpy as np
import pytest

import geodp as package
from geodp.privacy.ledger import Ledger
from tests.command import geodp

READ = ("--grid", "regular:8x8", "--from", "oy,ox", "--to", "dy,dx", "--person", "id")
ASKED = ("--largest", "20", "--epsilon", "1/2")


@pytest.fixture
def office(tmp_path):
    draw = np.random.default_rng(4)
    rows = [
        f"p{person},{','.join(map(str, draw.integers(0, 8, 4)))},2024-05-0{day % 7 + 1}"
        for person, number in enumerate(draw.geometric(0.3, 400))
        for day in range(number)
    ]
    (tmp_path / "trips.csv").write_text("id,oy,ox,dy,dx,day\n" + "\n".join(rows) + "\n")
    into = ("--ledger", tmp_path / "ledger", "--dataset", "trips")
    assert geodp("budget", "init", *into, "--epsilon", 9).returncode == 0
    return tmp_path, into


def choose(office, *more, output="out"):
    folder, into = office
    call = ("trips.csv", *READ, *ASKED, *into, "--output", output, *more)
    return geodp("flows", "choose-trips", *call, cwd=folder)


def losses(office):
    return [str(one.loss.epsilon) for one in Ledger.open(office[0] / "ledger").charges("trips")]


def test_it_is_charged_once_and_said_in_words_of_the_next_command(office):
    folder, into = office
    done = choose(office)
    assert done.returncode == 0, done.stderr
    use, where, promise, *_ = done.stdout.splitlines()
    assert "Published in" in where
    assert "1.649 (exp(1/2))" in promise
    assert losses(office) == ["1/2"]
    assert geodp("verify", folder / "out").returncode == 0
    assert geodp("explain", folder / "out").returncode == 0
    run = json.loads((folder / "out" / "restricted" / "run.json").read_text())
    assert run["counted_units"] == 400
    words = use.removeprefix("Use ").removesuffix(" with geodp flows publish.").split()
    call = ("trips.csv", *READ, *words, "--epsilon", "1", *into, "--output", "flows")
    assert geodp("flows", "publish", *call, cwd=folder).returncode == 0
    assert losses(office) == ["1/2", "1"]
    assert package.open(folder / "flows").index.guarantee.contribution == int(words[1])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--labels", "mode=walk,car"), "leave --labels out"),
        (("--share", "1"), "above 0 and below 1"),
        (("--largest", "20000"), "at most 10,000"),
        (("--largest", "1"), "--trips 1"),
        (("--pings", "oy,ox"), "not both"),
        (("--time", "day"), "for units of periods"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_charged(office, more, said):
    folder, into = office
    given = (*ASKED[2:], *more) if more[0] == "--largest" else (*ASKED, *more)
    call = ("trips.csv", *READ, *given, *into, "--output", "out")
    done = geodp("flows", "choose-trips", *call, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert losses(office) == []
    assert not (folder / "out").exists()
