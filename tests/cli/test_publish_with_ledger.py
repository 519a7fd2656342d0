"""The command line against a ledger."""

import json

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


def test_after_a_sampled_table_a_release_declares_its_records(tmp_path):
    ledger = tmp_path / "office.ledger"
    into = ["--ledger", ledger, "--dataset", "census"]
    geodp("budget", "init", *into, "--epsilon", "3", "--delta", "1e-5")
    model = ["--rate", "0.2", "--threshold", "10", "--epsilon", "1.0252"]
    done = geodp("audit", *model, *into, "--sample", "autumn")
    assert done.returncode == 0, done.stderr
    assert "Charged to census" in done.stdout
    for extra, said in (([], "--records"), (["--records", "same-sample"], "do not add up")):
        done = geodp("publish", *SMALL, *into, *extra, "--output", tmp_path / "out")
        assert done.returncode == 2
        assert said in done.stderr
        assert not (tmp_path / "out").exists()
    done = geodp("publish", *SMALL, *into, "--records", "all", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    shown = json.loads(geodp("budget", "show", *into, "--json").stdout)["datasets"][0]
    assert shown["spent"]["epsilon"] == "3813/2500"  # 1.0252 + 1/2
    assert shown["secret_samples"] == ["autumn"]
    assert "secret     autumn" in geodp("budget", "show", "--ledger", ledger).stdout
    assert geodp("budget", "check", "--ledger", ledger).returncode == 0
    assert geodp("verify", tmp_path / "out").returncode == 0
    done = geodp("publish", *SMALL, "--records", "all", "--output", tmp_path / "two")
    assert "declared to a ledger" in done.stderr
