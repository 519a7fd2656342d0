"""Tests are where a stranger looks for them: the folders of tests are those of the package."""

from pathlib import Path

import geodp

PACKAGE = Path(geodp.__file__).parent
TESTS = Path(__file__).parents[1]


ONE_ABOVE = {"cluster/commands", "local/kernels"}
"""Folders whose tests are one above: what they hold is asked for by all tests of the feature."""


def without_tests(package: Path, tests: Path) -> list[str]:
    """Folders of a package that hold code, and no tests in the folder of their name."""
    folders = {path.parent for path in package.rglob("*.py") if path.stem != "__init__"}
    names = sorted(folder.relative_to(package).as_posix() for folder in folders - {package})
    return [name for name in names if not [*(tests / name).glob("test_*.py")]]


def test_every_folder_of_code_has_one_of_tests():
    assert {*without_tests(PACKAGE, TESTS)} == ONE_ABOVE


def test_a_folder_without_tests_is_found(tmp_path):
    for file in ("geodp/grid/axes.py", "geodp/io/csv.py", "geodp/cli/__init__.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    (tmp_path / "tests" / "io").mkdir(parents=True)
    (tmp_path / "tests" / "io" / "test_files.py").write_text("")
    assert without_tests(tmp_path / "geodp", tmp_path / "tests") == ["grid"]
