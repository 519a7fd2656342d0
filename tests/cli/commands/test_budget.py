"""``geodp budget``: the commands and their exit codes."""

import json
from fractions import Fraction as F

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from geodp.cli.commands.budget import _round_up, budget
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP, ZeroConcentratedDP, epsilon_for, rho_for
from tests.ledgers import charge, forge, used_ledger


def geodp_budget(*arguments):
    return CliRunner().invoke(budget, [str(a) for a in arguments])


def test_the_commands(tmp_path):
    file = tmp_path / "office.ledger"
    made = geodp_budget("init", "--ledger", file, "--dataset", "人口", "--epsilon", "0.30")
    assert (made.exit_code, made.stdout) == (
        0,
        f"{file}: all releases of 人口 together may spend epsilon 3/10.\n",
    )
    more = ["--dataset", "panel", "--rho", "1/8", "--unit", "one household", "--json"]
    made = geodp_budget("init", "--ledger", file, *more)
    assert json.loads(made.stdout)["cap"]["rho"] == "1/8"
    more = ["--dataset", "b", "--epsilon", "1", "--delta", "1e-6", "--neighbours", "replace-one"]
    assert geodp_budget("init", "--ledger", file, *more).exit_code == 0
    head = charge(Ledger.open(file), PureDP(F(1, 7)), "人口").hash

    shown = geodp_budget("show", "--ledger", file).stdout
    assert "spent      epsilon 1/7 = 0.142857  by releases: 1" in shown
    assert "panel  (household, add-remove-one)" in shown
    assert head not in shown
    assert head in geodp_budget("show", "--ledger", file, "--dataset", "人口").stdout
    plain = json.loads(geodp_budget("show", "--ledger", file, "--json").stdout)["datasets"]
    assert [entry["dataset"] for entry in plain] == ["人口", "panel", "b"]
    assert plain[0]["remaining"]["epsilon"] == "11/70"
    assert plain[0]["charges"][0]["head"] == head

    assert head in geodp_budget("check", "--ledger", file, "--head", head).stdout
    plain = json.loads(geodp_budget("check", "--ledger", file, "--json").stdout)
    assert (plain["entries"], plain["head"]) == (5, head)

    lines = geodp_budget("export", "--ledger", file).stdout
    assert [json.loads(line)["kind"] for line in lines.splitlines()] == (
        ["genesis"] + 3 * ["dataset"] + ["charge"]
    )
    assert geodp_budget("export", "--ledger", file, "--output", tmp_path / "x").exit_code == 0
    assert (tmp_path / "x").read_text(encoding="utf-8") == lines


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (2, ["init", "--dataset", "a"]),
        (2, ["init", "--dataset", "a", "--epsilon", "1", "--rho", "1"]),
        (2, ["init", "--dataset", "a", "--rho", "1", "--delta", "1/10"]),
        (2, ["init", "--dataset", "a", "--delta", "1/10"]),
        (2, ["init", "--dataset", "a", "--epsilon", "much"]),
        (2, ["init", "--dataset", "a", "--epsilon", "1", "--in-rho"]),
        (2, ["init", "--dataset", "a", "--rho", "1", "--delta", "1/10", "--in-rho"]),
        (2, ["show", "--delta", "1"]),
        (2, ["show", "--delta", "0"]),
        (2, ["init", "--dataset", "census", "--epsilon", "1"]),
        (2, ["show", "--dataset", "nobody"]),
        (2, ["check", "--head", "abc"]),
        (3, ["check", "--head", "0" * 64]),
        (2, ["export", "--output", "office.ledger"]),
        (1, ["export", "--output", "nowhere/x"]),
    ],
)
def test_exit_codes(ledger, monkeypatch, code, arguments):
    monkeypatch.chdir(ledger.path.parent)
    done = geodp_budget(arguments[0], "--ledger", ledger.path, *arguments[1:])
    assert done.exception.exit_code == code
    assert str(done.exception).endswith(".")


def test_a_cap_in_rho_shows_costs_and_the_epsilon_that_follows(tmp_path):
    file, delta = tmp_path / "office.ledger", F(1, 10**6)
    assert geodp_budget("init", "--ledger", file, "--dataset", "a", "--rho", "1/20").exit_code == 0
    charge(Ledger.open(file), PureDP(F(1, 10)), "a")
    charge(Ledger.open(file), ZeroConcentratedDP(F(1, 200)), "a", 1)
    shown = geodp_budget("show", "--ledger", file, "--dataset", "a", "--delta", "1e-6").stdout
    assert "spent      rho 1/100 = 0.01  by releases: 2" in shown
    assert "topdown  epsilon 1/10 (rho 1/200)  " in shown
    assert "topdown  rho 1/200  " in shown
    assert "at delta 1/1000000: cap epsilon 1.4716, spent epsilon 0.6217" in shown
    assert "at delta" not in geodp_budget("show", "--ledger", file).stdout
    told = geodp_budget("show", "--ledger", file, "--delta", "1e-6", "--json").stdout
    (plain,) = json.loads(told)["datasets"]
    assert F(plain["implied"]["cap"]["epsilon"]) == epsilon_for(F(1, 20), delta)
    assert F(plain["implied"]["spent"]["epsilon"]) == epsilon_for(F(1, 100), delta)
    assert [one["cost"]["rho"] for one in plain["charges"]] == ["1/200", "1/200"]


def test_a_cap_of_epsilon_and_delta_is_kept_in_rho(tmp_path):
    file, amounts = tmp_path / "office.ledger", ("--epsilon", "1", "--delta", "1e-6")
    made = geodp_budget("init", "--ledger", file, "--dataset", "a", *amounts, "--in-rho")
    rho = rho_for(F(1), F(1, 10**6))
    assert f"may spend rho {rho}." in made.stdout
    assert "No more than epsilon 1 at delta 1e-6 follows" in made.stdout
    assert Ledger.open(file).account("a").cap == ZeroConcentratedDP(rho)
    # Other caps have nothing to convert.
    assert geodp_budget("init", "--ledger", file, "--dataset", "b", *amounts).exit_code == 0
    shown = geodp_budget("show", "--ledger", file, "--dataset", "b", "--delta", "1e-6")
    assert "at delta" not in shown.stdout


@given(st.fractions(0, 100, max_denominator=10**6))
def test_a_shown_epsilon_is_a_bound(epsilon):
    assert epsilon <= F(_round_up(epsilon)) < epsilon + F(1, 10**4)


def test_commands_on_a_broken_ledger(tmp_path):
    busy = used_ledger(tmp_path)
    forge(busy.path, 5, lambda text: text.replace("1/5", "1/9"))
    done = geodp_budget("check", "--ledger", busy.path)
    assert done.exception.exit_code == 3
    assert "entry 5" in str(done.exception)
    done = geodp_budget("show", "--ledger", busy.path)
    assert done.exception.exit_code == 3
    assert "is damaged" in str(done.exception)
    assert geodp_budget("export", "--ledger", busy.path).exit_code == 0


def test_a_witness_is_set_when_a_ledger_is_made_and_moved(tmp_path):
    file, witness, new = (tmp_path / name for name in ("office.ledger", "witness", "new"))
    more = ["--ledger", file, "--dataset", "census", "--epsilon", "1"]
    assert geodp_budget("init", *more, "--witness", witness).exit_code == 0
    made = charge(Ledger.open(file))
    assert f"witness {witness} agrees" in geodp_budget("check", "--ledger", file).stdout
    plain = json.loads(geodp_budget("check", "--ledger", file, "--json").stdout)
    assert (plain["head"], plain["witness"]) == (made.hash, str(witness))
    moved = geodp_budget("witness", "--ledger", file, new)
    assert moved.stdout == f"{file}: every charge is compared with {new}.\n"
    assert Ledger.open(file).witness == new
    # The same option again is fine, and never gives a ledger another witness in passing.
    more = ["--ledger", file, "--dataset", "trips", "--epsilon", "1"]
    refused = geodp_budget("init", *more, "--witness", witness)
    assert "geodp budget witness gives it this one" in str(refused.exception)
    assert geodp_budget("init", *more, "--witness", new).exit_code == 0


def test_a_restored_ledger_is_told_by_check_and_by_the_next_command(tmp_path):
    file, witness = tmp_path / "office.ledger", tmp_path / "witness"
    more = ["--ledger", file, "--dataset", "census", "--epsilon", "1"]
    assert geodp_budget("init", *more, "--witness", witness).exit_code == 0
    older = file.read_bytes()
    head = charge(Ledger.open(file)).hash
    latest = file.read_bytes()
    file.write_bytes(older)
    for arguments in (["check"], ["init", "--dataset", "trips", "--epsilon", "1"]):
        done = geodp_budget(arguments[0], "--ledger", file, *arguments[1:])
        assert done.exception.exit_code == 3
        assert head in str(done.exception)
    assert "was not compared" in geodp_budget("check", "--ledger", file, "--no-witness").stdout
    file.write_bytes(latest)
    witness.unlink()
    done = geodp_budget("check", "--ledger", file)
    assert done.exception.exit_code == 3
    assert "geodp budget witness" in str(done.exception)
    done = geodp_budget("witness", "--ledger", file, "--head", head, tmp_path / "new")
    assert done.exit_code == 0
    assert geodp_budget("check", "--ledger", file).exit_code == 0


@pytest.mark.parametrize(
    "more",
    [
        ["--dataset", "\u0441ensus"],
        ["--dataset", "..."],
        ["--dataset", "census", "--unit", ""],
        ["--dataset", "census", "--neighbours", "friends"],
        ["--dataset", "census", "--model", "local", "--neighbours", "add-remove-one"],
    ],
)
def test_a_data_set_that_is_refused_leaves_no_ledger(tmp_path, more):
    file = tmp_path / "office.ledger"
    done = geodp_budget("init", "--ledger", file, "--epsilon", "1", *more)
    assert done.exception.exit_code == 2
    assert not file.exists()
