"""The command line against a ledger."""

import json

from tests.cli.test_cli import SMALL
from tests.command import geodp


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
