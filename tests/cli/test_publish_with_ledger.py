"""The command line against a ledger, and runs of a stated length."""

import json
import sys
from types import SimpleNamespace

import pytest

from tests.cli.test_cli import SMALL
from tests.command import geodp


@pytest.fixture
def ledger(tmp_path):
    file = tmp_path / "office.ledger"
    made = geodp("budget", "init", "--ledger", file, "--dataset", "census", "--epsilon", "1")
    assert made.returncode == 0, made.stderr
    return file


def test_publishing_is_charged_refused_over_the_cap_and_replayed_free(tmp_path, ledger):
    key = tmp_path / "key"
    geodp("key", key)
    charged = [*SMALL, "--ledger", ledger, "--dataset", "census"]  # epsilon 1/2
    for name in ("one", "two"):
        done = geodp("publish", *charged, "--output", tmp_path / name, "--key-file", key)
        assert done.returncode == 0, done.stderr
    one, two = ((tmp_path / n / "public" / "release.json").read_bytes() for n in ("one", "two"))
    assert one == two
    head = json.loads(one)["budget"]["head"]
    assert geodp("budget", "check", "--ledger", ledger, "--head", head).returncode == 0
    assert geodp("publish", *charged, "--output", tmp_path / "three").returncode == 0
    refused = geodp("publish", *charged, "--output", tmp_path / "four")
    assert refused.returncode == 4
    assert "cap" in refused.stderr
    assert not (tmp_path / "four").exists()
    assert geodp("verify", tmp_path / "one").returncode == 0


def test_a_ledger_needs_a_data_set_and_a_data_set_a_ledger(tmp_path, ledger):
    for extra in (["--ledger", ledger], ["--dataset", "census"]):
        done = geodp("publish", *SMALL, *extra, "--output", tmp_path / "out")
        assert done.returncode == 2
        assert "go together" in done.stderr


def test_a_padded_run_takes_its_time_also_when_it_fails(tmp_path, monkeypatch):
    slept = []
    clock = SimpleNamespace(perf_counter=lambda: 7.0, sleep=slept.append)
    monkeypatch.setattr(sys.modules["geodp.cli.commands.publish"], "time", clock)
    done = geodp("publish", "absent.zip", *SMALL[1:], "--pad-time", "3", "--output", tmp_path / "o")
    assert done.returncode == 5
    assert slept == [3.0]
