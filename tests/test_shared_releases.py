"""Shared releases are the same whoever asks first, and nobody changes another's folder."""

import os

import numpy as np

import geodp
from geodp.local import coins
from geodp.privacy import key
from tests.chance import FixedNoise
from tests.shared_releases import SharedReleases

GRID = geodp.Grid.regular((4, 4))
TABLE = geodp.CountTable.from_dense(np.full((4, 4), 30), GRID)


def test_a_changed_copy_changes_no_other(tmp_path, tmp_path_factory):
    shared = SharedReleases(lambda: tmp_path_factory.mktemp("shared"))
    release = geodp.publish(TABLE, epsilon=1, contribution=1)
    folder = shared.write(release)
    assert shared.write(release) == folder != shared.write(release, name="other")
    for name in ("one", "two"):
        shared.copy(release, tmp_path / name)
        (tmp_path / name / "public" / "release.json").unlink()
    listed = {path.relative_to(folder) for path in folder.rglob("*")}
    assert {path.relative_to(tmp_path / "two") for path in (tmp_path / "two").rglob("*")} < listed
    assert geodp.open(folder).table.total == release.table.total


def test_noise_follows_from_the_name(monkeypatch):
    monkeypatch.setattr(key, "secrets", key.secrets)
    monkeypatch.setattr(coins, "os", coins.os)
    FixedNoise()
    first, second = SharedReleases(os.getcwd), SharedReleases(os.getcwd)
    one, other = (first.make(name, key.secrets.token_bytes, 16) for name in ("one", "other"))
    key.secrets.token_bytes(5)
    assert second.make("other", key.secrets.token_bytes, 16) == other
    assert second.make("one", key.secrets.token_bytes, 16) == one != other
    assert first.make("one", key.secrets.token_bytes, 16) is one
