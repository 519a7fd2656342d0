"""The house has floors, and imports go down only."""

import ast
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "geodp"

FLOORS = [
    ("ground", ("_jit", "errors", "kernels", "progress", "stopping", "workspace")),
    (
        "nouns",
        (
            "accounting",
            "accounts",
            "areas",
            "axes",
            "books",
            "cell_interval",
            "chain",
            "coarser",
            "contribution",
            "domain",
            "domains",
            "edges",
            "grid",
            "gridcode",
            "haar",
            "interval",
            "keyfile",
            "lattice",
            "ledger",
            "loss",
            "noise",
            "office",
            "optimise",
            "neighbours",
            "order",
            "randomness",
            "reading",
            "region",
            "regions",
            "table",
            "totals",
            "tree",
            "uneven",
            "variance",
        ),
    ),
    ("rooms", ("io", "mechanisms")),
    (
        "sentence",
        ("card", "distributed", "evaluation", "identity", "planning", "publisher", "release"),
    ),
    ("doors", ("__init__", "__main__", "cli", "plot", "plot_plan", "report")),
]
FLOOR = {name: number for number, (_, names) in enumerate(FLOORS) for name in names}


def room_of(module: str) -> str:
    """The first name under ``geodp``."""
    return module.split(".")[1] if "." in module else "__init__"


def imports(source: str) -> list[str]:
    """Every geodp module that a source imports, also inside functions; not for type checks."""
    found = []
    tree = ast.parse(source)
    type_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in type_only:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            found += [name for name in names if name == "geodp" or name.startswith("geodp.")]
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            texts = [a.value for a in node.args if isinstance(a, ast.Constant)]
            found += [text for text in texts if str(text).startswith("geodp")]
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.append("geodp.relative")
        elif isinstance(node, ast.ImportFrom) and node.module == "geodp":
            found += [f"geodp.{alias.name}" for alias in node.names if alias.name != "__version__"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("geodp."):
            found.append(str(node.module))
    return found


def violations(room: str, source: str) -> list[str]:
    """Imports of ``source``, which stands in ``room``, that do not go down."""
    bad = []
    for module in imports(source):
        target = room_of(module)
        if target not in FLOOR:
            bad.append(f"{room} imports {module}, which stands on no floor")
        elif FLOOR[target] > FLOOR[room]:
            bad.append(f"{room} imports {module}, a floor above")
        elif target != room and FLOORS[FLOOR[room]][0] == "rooms" and FLOOR[target] == FLOOR[room]:
            bad.append(f"{room} imports {module}, another room")
    return bad


def sources():
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_only(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    assert parts[0] in FLOOR, f"{path.name} stands on no floor"
    assert violations(parts[0], path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("room", "planted"),
    [
        ("grid", "from geodp.release.publish import publish"),
        ("grid", "def f():\n    import geodp.mechanisms.central.topdown"),
        ("kernels", "from geodp.table.counts import CountTable"),
        ("io", "from geodp.mechanisms import METHODS"),
        ("mechanisms", "from geodp import release"),
        ("io", "from . import cog"),
        ("table", "from geodp.cellar import anything"),
        ("grid", "import geodp\ngeodp.publish"),
        ("grid", "import importlib\nimportlib.import_module('geodp.release.publish')"),
    ],
)
def test_a_planted_upward_import_is_caught(room, planted):
    assert violations(room, planted)


def test_no_module_is_longer_than_400_lines():
    long = {p.name: n for p in sources() if (n := len(p.read_text().splitlines())) > 400}
    assert long == {}


def test_the_oldest_versions_that_are_tested_are_those_that_are_allowed():
    root = PACKAGE.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    allowed = dict(line.split(">=") for line in project["dependencies"])
    lines = (root / ".ci" / "oldest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert {*tested} == {*allowed}
    for name, least in allowed.items():
        numbers = tested[name].split(".")
        stated = least.split(".")
        assert numbers[: len(stated)] == stated, name
        assert {*numbers[len(stated) :]} <= {"0"}, name


def test_no_cellar():
    names = {path.stem for path in sources()}
    assert not names & {"utils", "common", "core", "helper", "helpers", "manager"}
