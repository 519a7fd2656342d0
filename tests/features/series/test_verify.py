"""Links in a series' folder, and the command that verifies one."""

import json
import shutil

import pytest

from geodp.features.series.verify import verify_series
from tests.command import geodp


def test_the_command_asks_index_and_snapshots(folder):
    done = geodp("verify", folder)
    assert done.returncode == 0, done.stdout
    assert "ok      budget: 3 x epsilon 1 = 3" in done.stdout
    assert done.stdout.count("questions") == 3


def test_a_link_is_no_part_of_a_series(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "out")
    public = tmp_path / "out" / "public"
    (public / "2024-02" / "away.txt").symlink_to("/etc/hostname")
    (check,) = verify_series(public)
    assert not check.ok
    assert "link" in check.detail
    assert geodp("verify", public).returncode == 3


@pytest.mark.parametrize("person", ["all", "one"])
def test_an_index_without_snapshots_is_told_in_a_sentence(folder, tmp_path, person):
    public = shutil.copytree(folder / "public", tmp_path / "public")
    path = public / "series.json"
    index = json.loads(path.read_text("utf-8"))
    index["snapshots"] = []
    index["guarantee"]["sharing"]["person"] = person
    path.write_text(json.dumps(index), "utf-8")
    failed = {one.name: one.detail for one in verify_series(public) if not one.ok}
    for question in ("snapshots", "budget", "shared files"):
        assert failed[question] == "The index lists no snapshots."
