import shutil

import pytest


@pytest.fixture(scope="module")
def written(release, shared):
    """The folder of a release, for tests that only read it."""
    return shared.write(release, restricted={"told": 7})


@pytest.fixture
def public(written, tmp_path):
    """A copy of its public folder."""
    shutil.copytree(written, tmp_path / "out")
    return tmp_path / "out" / "public"
