"""Releases that many tests look at or change: written once, and copied for each."""

import pytest

from tests.io.write.test_writers import KANTO, released


@pytest.fixture(scope="session")
def write_copy(shared):
    """Write the release of a grid, as if it were written anew."""
    kept = {}

    def write(grid, folder, **options):
        if id(grid) not in kept:
            # The grid is kept too, so that no other object has its identity.
            kept[id(grid)] = grid, released(grid)
        shared.copy(kept[id(grid)][1], folder, **options)

    return write


@pytest.fixture
def public(tmp_path, write_copy):
    write_copy(KANTO, tmp_path / "out")
    return tmp_path / "out" / "public"
