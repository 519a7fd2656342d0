"""Packages are layers, and imports go down only: one table, one test that lists violations."""

import ast
import functools
import graphlib
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from geodp.registry import list_parts
from tests.sources import FILES, PACKAGE, nodes_of, parse, read

ROOT = Path(__file__).parents[2]

GROUND = "advice errors options registry progress reprs typing"
CORE = "release mechanisms io accuracy table grid privacy kernels"
PARTS = [home.replace(".", "/") for home in list_parts().values()]
"""They stand above the core, which imports none of them, and beside each other but for these: a
cluster aggregates reports of devices; methods of the literature are compared with those of local
collection and of tests; a plan tells what a series costs, and whoever begins a release what it will
be like; a selection is explained as other releases are, and chooses settings of amounts and flows,
whose commands run it; amounts of several periods are a series. Only their commands know of the
shell, and what is nothing but a command."""

FLOORS = {
    # What of geodp a place may import beside itself and the ground.
    "advice": "",
    "errors": "",
    "options": "",
    "progress": "",
    "registry": "",
    "reprs": "",
    "typing": "",
    "kernels": "",
    "grid": "kernels",
    "privacy": "kernels",
    "table": "grid privacy kernels",
    "accuracy": "table grid privacy kernels",
    "mechanisms/base": "accuracy table grid privacy kernels",
    "mechanisms/measure": "mechanisms/base accuracy table grid privacy kernels",
    "mechanisms/learned": "kernels",
    "mechanisms/trees": (
        "mechanisms/learned mechanisms/measure mechanisms/base accuracy table grid privacy kernels"
    ),
    "mechanisms/parts": (
        "mechanisms/learned mechanisms/trees mechanisms/base accuracy table grid privacy kernels"
    ),
    "mechanisms/central": (
        "mechanisms/parts mechanisms/trees mechanisms/learned mechanisms/measure mechanisms/base "
        "accuracy table grid privacy kernels"
    ),
    "mechanisms/baselines": (
        "mechanisms/central mechanisms/parts mechanisms/trees mechanisms/learned "
        "mechanisms/measure mechanisms/base accuracy table grid privacy kernels"
    ),
    "mechanisms": (
        "mechanisms/baselines mechanisms/central mechanisms/trees mechanisms/base "
        "accuracy table grid privacy kernels"
    ),
    "io": "",
    "io/opening": "",
    "io/memory": "",
    "io/numbers": "",
    "io/read": "io/read/rows io/opening io/memory accuracy table grid privacy kernels",
    "io/read/public": "io/read/rows io/opening accuracy table grid privacy kernels",
    "io/read/rows": "io/opening io/memory io/numbers accuracy table grid privacy kernels",
    "io/write": "io/opening io/memory io/numbers accuracy table grid privacy kernels",
    "io/write/map": "io/write io/read/public accuracy table grid privacy kernels",
    "io/write/picture": "io/write io/read/public accuracy table grid privacy kernels",
    "io/write/export": "io/write io/numbers accuracy table grid privacy kernels",
    "io/folder": "io/write io/opening accuracy table grid privacy kernels",
    "io/verify": (
        "io/folder io/read io/write io/opening io/memory io/numbers accuracy table grid "
        "privacy kernels"
    ),
    "release/report": "privacy table",
    "release/report/html": ("release io/read/public io/write accuracy table grid privacy kernels"),
    "release": "release/report mechanisms io accuracy table grid privacy kernels",
    "cli": f"cli/commands {CORE}",
    "cli/commands": f"cli {CORE}",
    **dict.fromkeys(PARTS, CORE),
    **{f"{one}/commands": f"{one} cli {CORE}" for one in PARTS},
    "kinds/amounts": (
        f"kinds/amounts kinds/census tools/explain kinds/selection kinds/series {CORE}"
    ),
    "kinds/amounts/commands": f"kinds/amounts cli {CORE}",
    "kinds/amounts/running": (
        f"kinds/amounts kinds/selection kinds/selection/running kinds/series cli {CORE}"
    ),
    "kinds/amounts/kernels": "kernels",
    "cluster": f"local {CORE}",
    "cluster/publishing": f"cluster cli {CORE}",
    "literature": f"local tools/audit/classes tools/compare {CORE}",
    "tools/audit": f"tools/audit literature {CORE}",
    "tools/audit/classes": CORE,
    "tools/audit/commands": f"tools/audit literature cli {CORE}",
    "tools/compare/commands": f"tools/compare literature cli {CORE}",
    "local/commands": f"local literature cli {CORE}",
    "kinds/flows": f"kinds/flows tools/evaluate tools/explain kinds/selection {CORE}",
    "kinds/census/running": f"kinds/census kinds/households cli {CORE}",
    "kinds/flows/commands": f"kinds/flows kinds/selection/running cli {CORE}",
    "kinds/flows/running": f"kinds/flows kinds/selection kinds/selection/running cli {CORE}",
    "kinds/flows/kernels": "kernels",
    "kinds/census": f"kinds/census kinds/households tools/explain {CORE}",
    "kinds/households": f"kinds/households tools/explain {CORE}",
    "local": f"local {CORE}",
    "local/kernels": "local/coins privacy kernels",
    "local/coins": "privacy kernels",
    "local/oracles": "local/kernels local/coins privacy kernels",
    "tools/new": f"tools/plan cli {CORE}",
    "tools/plan/commands": f"tools/plan kinds/series cli {CORE}",
    "kinds/selection": f"kinds/selection tools/explain {CORE}",
    "kinds/selection/mechanisms": "grid privacy kernels",
    "kinds/selection/running": f"kinds/selection cli {CORE}",
    "kinds": "",
    "tools": "",
    "__main__": "cli",
    "": "",
}
"""A place is a package, or a file of one that stands alone; the longest name that fits counts.

Whoever may import a package may import all places in it. The faces, which import their own
package only, are the exception: ``geodp`` itself imports lazily, by text.
"""

SHELL = " ".join(
    ["cli kinds/amounts/running cluster/publishing kinds/flows/running"]
    + ["tools/new kinds/selection/running"]
    + [f"{one}/commands" for one in PARTS]
)
"""Where Click is: the command line, and what parts have of it."""

OUTSIDE = {
    # Where a library may be imported, and where inside functions only: it is slow or heavy there.
    "numpy": (
        f"typing {CORE} kinds tools local cluster literature",
        "cli",
    ),
    "numba": (
        "kernels kinds/amounts/kernels kinds/flows/kernels local/kernels",
        "cli",
    ),
    "llvmlite": ("kernels", ""),
    "platformdirs": ("kernels", ""),
    "click": (SHELL, ""),
    "filelock": ("", "io/folder/atomic privacy/locked_file"),
    "fontTools": ("", "privacy/samples"),
    "confusable_homoglyphs": ("", "privacy/samples"),
    "rich": ("", f"progress {SHELL}"),
    "pyarrow": (
        "io kinds/amounts/records kinds/households/records kinds/flows/files "
        "kinds/flows/reading local/files",
        "tools/audit",
    ),
    "rasterio": ("io/read/rows/pixels io/write io/verify cluster", "io cli"),
    "pyproj": ("io", "grid release/report/html cli"),
    "shapely": ("", "grid io/read io/write/export kinds tools local cluster release/frames"),
    "scipy": (
        "",
        "mechanisms/baselines/barak mechanisms/baselines/matrix kinds tools local "
        "io/write/export io/verify/rewritten",
    ),
    "PIL": ("", "io/write/drawing"),
    "matplotlib": ("", "accuracy/style kinds tools local literature release/frames"),
    "pandas": ("", "tools/evaluate/result release/frames"),
    "polars": ("", "release/frames"),
    "xarray": ("", "release/frames"),
    "pyogrio": ("", "io/read io/write/export"),
    "openpyxl": ("", "io/read/rows/forms io/write/export"),
    "pmtiles": ("", "io/write/export"),
    "fsspec": ("", "io/read/rows/forms"),
    "aiohttp": ("", "io/read/rows/forms"),
    "h3": ("", "grid/cells"),
    "h5py": ("", "io/verify io/write/export"),
    "s2geometry": ("", "grid/cells"),
    "geopandas": ("", "release/frames kinds/flows"),
    "dask": ("", "cluster"),
    "distributed": ("", "cluster"),
}

LATE = {
    # Imports of geodp inside functions outside the shell: from where, of what, and why.
    ("__main__", "cli"): "signals and threads are set before anything is loaded",
    ("io/folder/pending", "privacy"): "commands that only look at folders load no kernels",
    ("io/read", "io/read"): "help of commands reads the fields of readers, and loads no NumPy",
    ("io/read/reader", "grid/grid"): "help of commands reads the fields of readers",
    ("io/verify", "io/read/public"): "few releases have tables, and all readers come with theirs",
    ("io/verify/verify", "io/verify/formats"): "few releases have formats that readers come with",
    ("kinds/flows/flows", "kinds/flows"): "only files and maps are drawn",
    ("kinds/selection/kind", "kinds/selection"): "the list of kinds loads no kind",
    ("release/cutting", "io/read"): "few polygons come with a finer map",
    ("release/estimates", "io/read"): "few shapes are of another CRS than the grid",
    ("release/frames", "io/write"): "only notebooks draw, and only xarray asks for a CRS",
    ("release/index_kind", "io/verify"): "the list of kinds loads no kind",
    ("release/index_kind", "release"): "the list of kinds loads no kind",
    ("release/opening", "release/settlements"): "few releases have simulated errors",
    ("release/publish", "release/settlements"): "few releases have simulated errors",
}
"""The places may be packages; each row stands for at least one import. Imports of libraries are in
:data:`OUTSIDE`, and the shell imports inside functions whatever loads NumPy."""

ROLES = {
    "parts have one each": "api kind methods publish plan inputs streams estimates page english "
    "series",
    "it runs what a command is called": "options estimate sql",
    "layers have one each": "base card raster",
}
"""Names that more than three files share, as the folder says whose each is."""

FACES = {"__init__", *(f"{one}/{face}" for one in PARTS for face in ("api", "__init__"))}
"""Files that do nothing but offer names of other files."""

MOST_OF_A_FUNCTION = 60


@dataclass(frozen=True)
class Import:
    """One import of a source: the module, and whether it is made later than the file's own.

    ``late``: in a function, and not for type checks alone.
    """

    module: str
    inside: bool
    late: bool


def name_of(path: Path, package: Path = PACKAGE) -> str:
    """``io/read/table`` of that file, ``io/read`` of its package's ``__init__``."""
    parts = path.relative_to(package).with_suffix("").parts
    return "/".join(parts[:-1] if parts[-1] == "__init__" else parts)


def place_of(name: str) -> str | None:
    """The place of a module by its name: the longest that contains it; None in no layer."""
    parts = name.split("/") if name else []
    for n in range(len(parts), 0, -1):
        if "/".join(parts[:n]) in FLOORS:
            return "/".join(parts[:n])
    return None if name else ""


def named(node: ast.expr) -> str:
    """The last part of a name, such as ``importlib.import_module``; empty for other expressions."""
    return getattr(node, "attr", getattr(node, "id", ""))


@functools.cache
def imports(source: str, names: frozenset[str]) -> list[Import]:
    """All that a source imports, also inside functions, by text and for type checks alone."""
    checked, late = set(), set()
    for node in nodes_of(source):
        if isinstance(node, ast.If) and named(node.test) == "TYPE_CHECKING":
            checked.update(id(inner) for inner in ast.walk(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            late.update(id(inner) for inner in ast.walk(node))
    found = []
    for node in nodes_of(source):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and named(node.func) == "import_module":
            modules = [a.value for a in node.args if isinstance(a, ast.Constant)]
        elif isinstance(node, ast.ImportFrom) and node.level:
            modules = ["geodp.relative"]
        elif isinstance(node, ast.ImportFrom):
            own = str(node.module)
            for alias in node.names:
                full = f"{own}.{alias.name}"
                is_module = full.removeprefix("geodp.").replace(".", "/") in names
                if own == "geodp" and alias.name == "__version__":
                    continue
                modules.append(full if is_module or own == "geodp" else own)
        in_function = id(node) in late
        inside = in_function or id(node) in checked
        found += [Import(module, inside, in_function) for module in modules]
    return found


def may(place: str, target: str) -> bool:
    """Whether one place may import another of geodp."""
    allowed = [*FLOORS[place].split(), *GROUND.split()]
    return target == place or any(target == one or target.startswith(f"{one}/") for one in allowed)


def allows_outside(name: str, library: str, inside: bool) -> bool:
    """Whether a file may import a library of others there."""
    everywhere, within = OUTSIDE[library]
    places = [*everywhere.split(), *(within.split() if inside else [])]
    return any(name == place or name.startswith(f"{place}/") for place in places)


def wrong_imports(name: str, source: str, names: frozenset[str]) -> list[str]:
    """Imports of the file ``name`` that the tables do not allow, as sentences."""
    place, bad = place_of(name), []
    if place is None:
        return [f"{name} is in no layer"]
    if not name:
        return []  # geodp itself has names of all layers, and imports them on demand
    for one in imports(source, names):
        library = one.module.partition(".")[0]
        if library == "geodp":
            target = "/".join(one.module.split(".")[1:])
            layer = place_of(target)
            if not target or layer is None or target not in names:
                bad.append(f"{name} imports {one.module}, which is in no layer")
            elif not may(place, layer) and not (name.removesuffix("/__init__") == place == layer):
                bad.append(f"{name} imports {one.module}, which {place or 'geodp'} may not")
        elif library not in sys.stdlib_module_names:
            if library not in OUTSIDE:
                bad.append(f"{name} imports {library}, which is in no table")
            elif not allows_outside(name, library, one.inside):
                bad.append(f"{name} may not import {library} there")
    return bad


def only_offers(source: str) -> bool:
    """Whether a source holds nothing but imports of geodp's own names, and their list."""
    body = parse(source).body
    kinds = [n for n in body if not isinstance(n, ast.Expr)]
    own = [n for n in kinds if isinstance(n, ast.ImportFrom) and str(n.module).startswith("geodp")]
    rest = [n for n in kinds if not isinstance(n, ast.ImportFrom | ast.Import)]
    return bool(own) and all(
        isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__" for n in rest
    )


def violations(package: Path) -> list[str]:
    """List all violations of the layering."""
    paths = sorted(path for path in package.rglob("*.py") if "__pycache__" not in path.parts)
    names = frozenset(name_of(path, package) for path in paths)
    bad = []
    for path in paths:
        source, name = read(path), name_of(path, package)
        file = path.relative_to(package).with_suffix("").as_posix()
        if only_offers(source) and file not in FACES:
            bad.append(f"{file} only offers names of other files")
        bad += long_functions(file, source)
        bad += wrong_imports(name, source, names)
    return bad


def long_functions(file: str, source: str) -> list[str]:
    """Functions with too many lines, without their signature and their docstring."""
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.FunctionDef):
            said = ast.get_docstring(node, clean=False) or ""
            lines = node.end_lineno - node.body[0].lineno + 1 - len(said.splitlines())
            if lines > MOST_OF_A_FUNCTION:
                found.append(f"{file}: {node.name} has {lines} lines")
    return found


def test_imports_go_down_only():
    assert violations(PACKAGE) == []


def find_late(sources):
    """List imports of geodp inside functions outside the shell: from which file, of which."""
    shell, names = tuple(f"{place}/" for place in SHELL.split()), frozenset(sources)
    return {
        (name, "/".join(one.module.split(".")[1:]))
        for name, source in sources.items()
        if name and not f"{name}/".startswith(shell)
        for one in imports(source, names)
        if one.late and one.module.startswith("geodp.")
    }


def covers(row, found):
    """Whether a row of LATE allows an import."""
    return all(f"{one}/".startswith(f"{place}/") for place, one in zip(row, found, strict=True))


def wrong_rows(found):
    """Imports inside functions that LATE does not allow, and rows of it that allow none."""
    stale = {row for row in LATE if not any(covers(row, one) for one in found)}
    return {one for one in found if not any(covers(row, one) for row in LATE)} | stale


def test_imports_inside_functions_are_those_of_the_list():
    assert wrong_rows(find_late(read_sources())) == set()


@pytest.mark.parametrize(
    ("file", "planted", "found"),
    [
        ("grid/grid", "def f():\n    from geodp.errors import UsageError", True),
        ("grid/grid", "from geodp.errors import UsageError", False),
        ("cli/inputs", "def f():\n    from geodp.grid.grid import Grid", False),
        ("release/publish", "def f():\n    from geodp.release import settlements", False),
    ],
)
def test_a_planted_import_inside_a_function_is_found(file, planted, found):
    allowed = {*LATE}
    late = find_late({**dict.fromkeys(read_sources(), ""), file: planted})
    assert bool(late & wrong_rows(late | allowed)) == found
    assert wrong_rows(allowed - {("release/publish", "release/settlements")}) != set()


def read_sources():
    """All sources of geodp by their names."""
    return {name_of(path): read(path) for path in FILES}


def find_shared_classes(sources):
    """Names of classes that several files define, but for private ones."""
    homes = {}
    for name, source in sources.items():
        for node in nodes_of(source):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name)
    return {one: files for one, files in homes.items() if len(files) > 1}


def test_the_name_of_a_class_means_one_thing():
    sources = read_sources()
    del sources["io/verify/verify_release"]  # runs without geodp, and names the same things alike
    assert find_shared_classes(sources) == {}
    planted = {"a": "class Design: ...", "b": "def f():\n    class Design: ..."}
    assert find_shared_classes(planted) == {"Design": ["a", "b"]}
    assert find_shared_classes({"a": "class _Row: ...", "b": "class _Row: ..."}) == {}


def test_the_name_of_a_file_says_what_it_holds():
    homes, roles = {}, " ".join(ROLES.values()).split()
    for path in FILES:
        if path.stem != "__init__":
            homes.setdefault(path.stem, []).append(path.parent.relative_to(PACKAGE).as_posix())
    assert {name: at for name, at in homes.items() if len(at) > 3 and name not in roles} == {}
    assert {name for name in roles if len(homes.get(name, ())) < 2} == set()


@pytest.mark.parametrize(
    ("file", "planted"),
    [
        ("grid/grid", "from geodp.release.publish import publish"),
        ("grid/grid", "from geodp.privacy.key import NoiseKey"),
        ("kernels/key_lists", "from geodp.table.counts import CountTable"),
        ("io/read/table", "from geodp.io.write import tables"),
        ("mechanisms/base", "from geodp.mechanisms.trees import levels"),
        ("release/publish", "from geodp.tools.plan.plan import plan"),
        (
            "cli/commands/verify",
            "def f():\n    from geodp.kinds.series.series import verify_series",
        ),
        ("cli/periods", "import importlib\nimportlib.import_module('geodp.tools.plan.plan')"),
        ("release/publish", "from geodp.cluster.run import Run"),
        ("tools/audit/instead", "from geodp.tools.plan.plan import plan"),
        ("io/write/csv", "from . import tables"),
        ("table/counts", "from geodp.cellar import anything"),
        ("grid/grid", "import geodp\ngeodp.publish"),
        ("grid/grid", "import importlib\nimportlib.import_module('geodp.release.publish')"),
        ("grid/grid", "import pandas"),
        ("grid/grid", "import shapely"),
        ("cli/output", "import numpy"),
        ("mechanisms/baselines/hay", "def f():\n    import rasterio"),
    ],
)
def test_a_planted_import_is_caught(file, planted):
    names = frozenset(name_of(path) for path in FILES)
    assert wrong_imports(file, planted, names)


def find_circle(sources):
    """Return files that import each other in a circle, for type checks too; empty without one."""
    names, graph = frozenset(sources), {}
    for name, source in sources.items():
        targets = ("/".join(one.module.split(".")[1:]) for one in imports(source, names))
        # Faces import lazily what is above them, and a package is no file of its own.
        graph[name] = {one for one in targets if one in names and one not in ("", name)}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_no_files_import_each_other_in_a_circle():
    sources = read_sources()
    del sources[""]  # geodp itself has names of all files
    assert find_circle(sources) == []


@pytest.mark.parametrize(
    "planted",
    [
        "from geodp.b import x",
        "def f():\n    from geodp.b import x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from geodp.b import x",
        "from geodp import b",
        "import geodp.b",
        "import importlib\nimportlib.import_module('geodp.b')",
    ],
)
def test_a_planted_circle_is_found(planted):
    sources = {"a": planted, "b": "from geodp.c import y", "c": "from geodp.a import z"}
    assert {*find_circle(sources)} == {"a", "b", "c"}
    assert find_circle({**sources, "c": ""}) == []


def test_other_faults_of_the_plan_are_caught(tmp_path):
    (tmp_path / "grid").mkdir()
    (tmp_path / "grid" / "file1.py").write_text("x = 1\n")
    (tmp_path / "cellar.py").write_text("")
    (tmp_path / "errors.py").write_text("from geodp.grid.file1 import x\n__all__ = ['x']\n")
    long = "def long():\n" + "    x = 1\n" * (MOST_OF_A_FUNCTION + 1)
    (tmp_path / "grid" / "file2.py").write_text(long)
    found = "\n".join(violations(tmp_path))
    for said in (
        "file2: long has 61 lines",
        "errors only offers names of other files",
        "cellar is in no layer",
        "errors imports geodp.grid.file1, which errors may not",
    ):
        assert said in found


def test_the_oldest_versions_that_are_tested_are_those_that_are_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = re.findall(r"\w+", extras["all"][0].partition("[")[2])
    lines = [*project["dependencies"], *(line for name in named for line in extras[name])]
    stated = (re.sub(r"\[.*\]|;.*", "", line).strip() for line in lines)
    allowed = dict(line.split(">=") for line in stated)
    allowed["dask"] = allowed["distributed"]  # which belong together
    lines = (ROOT / ".ci" / "oldest.txt").read_text().splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert {*tested} == {*allowed}
    for name, least in allowed.items():
        numbers = tested[name].split(".")
        stated = least.split(".")
        assert numbers[: len(stated)] == stated, name
        assert {*numbers[len(stated) :]} <= {"0"}, name


def test_the_page_names_every_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    page = (ROOT / "docs" / "startup.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert extras["all"] == [f"geodp[{','.join(sorted({*named} - {'all'}))}]"]
    assert {*extras} - {*named} == {
        "bench",
        "bench-local",
        "browser",
        "dev",
        "docs",
        "release",
        "test",
    }
