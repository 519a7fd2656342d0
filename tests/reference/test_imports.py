"""References are independent of the fast code: they import nothing of geodp."""

import ast
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TWINS = sorted({*HERE.glob("*.py")} - {Path(__file__)})
ALLOWED = {*sys.stdlib_module_names, "numpy", "scipy"}
"""What a definition may be written with."""


def imported(source):
    """Modules that a source names, also inside functions and as text."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            home = node.module or ""
            found |= {f"{home}.{alias.name}" for alias in node.names} if home else {"."}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found |= {str(word.value) for word in node.args if isinstance(word, ast.Constant)}
    return found


def foreign(source):
    """Those that no reference may import."""
    named = {name for name in imported(source) if not name.startswith("tests.reference.")}
    return {name for name in named if name.partition(".")[0] not in ALLOWED}


@pytest.mark.parametrize("path", TWINS, ids=lambda path: path.stem)
def test_a_reference_imports_nothing_of_geodp(path):
    assert foreign(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    "planted",
    [
        "import geodp",
        "from geodp.accuracy.closed_form import block_variances",
        "def f():\n    from geodp import Grid",
        "from tests.grids import FORMS",
        "from . import noise",
        "import importlib\nimportlib.import_module('geodp.grid.grid')",
    ],
)
def test_a_planted_import_is_caught(planted):
    assert foreign(planted)
