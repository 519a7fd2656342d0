"""Releases that many tests look at or change: written once, and copied for each."""

import pytest

from tests.io.write.test_writers import KANTO, released


@pytest.fixture(scope="session")
def released_once():
    """Return the release of a grid, the same one each time."""
    kept = {}

    def release(grid):
        if id(grid) not in kept:
            # The grid is kept too, so that no other object has its identity.
            kept[id(grid)] = grid, released(grid)
        return kept[id(grid)][1]

    return release


@pytest.fixture(scope="session")
def written_once(shared, released_once):
    """Return the release of a grid and its public folder, to be read only."""

    def write(grid):
        release = released_once(grid)
        return release, shared.write(release) / "public"

    return write


@pytest.fixture(scope="session")
def write_copy(shared, released_once):
    """Write the release of a grid, as if it were written anew."""

    def write(grid, folder, **options):
        shared.copy(released_once(grid), folder, **options)

    return write


@pytest.fixture
def public(tmp_path, write_copy):
    write_copy(KANTO, tmp_path / "out")
    return tmp_path / "out" / "public"
