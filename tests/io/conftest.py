"""Releases that many tests look at or change: written once, and copied for each."""

import shutil

import pytest

from tests.io.write.test_writers import KANTO, released


@pytest.fixture(scope="session")
def write_copy(tmp_path_factory):
    """Write the release of a grid, as if it were written anew."""
    kept = {}

    def write(grid, folder, **options):
        named = (id(grid), *options.items())
        if named not in kept:
            kept[named] = grid, tmp_path_factory.mktemp("release") / "out"
            released(grid).write(kept[named][1], **options)
        shutil.copytree(kept[named][1], folder)

    return write


@pytest.fixture
def public(tmp_path, write_copy):
    write_copy(KANTO, tmp_path / "out")
    return tmp_path / "out" / "public"
