"""Releases that many tests look at or change: written once, and copied for each."""

import pytest

from tests.io.write.test_writers import KANTO, released


@pytest.fixture(scope="session")
def written_once(shared):
    """Return the release of a grid and its public folder, to be read only."""
    return lambda grid: (released(grid), shared.write(released(grid)) / "public")


@pytest.fixture(scope="session")
def write_copy(shared):
    """Write the release of a grid, as if it were written anew."""
    return lambda grid, folder, **options: shared.copy(released(grid), folder, **options)


@pytest.fixture
def public(tmp_path, write_copy):
    write_copy(KANTO, tmp_path / "out")
    return tmp_path / "out" / "public"
