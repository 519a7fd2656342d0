"""Every source file has a test where a stranger looks for it: tests mirror the packages."""

import ast
from functools import cache
from pathlib import Path

import geodp

PACKAGE = Path(geodp.__file__).parent
TESTS = Path(__file__).parents[1]

ELSEWHERE = {
    # Entry points, called by all tests of commands.
    "tests/cli/test_process.py": "__main__",
    "tests/cli/test_cli.py": (
        "cli/commands/key cli/commands/map cli/commands/mesh cli/commands/methods "
        "cli/commands/verify"
    ),
    "tests/release/report/test_markdown.py": "cli/commands/report",
    "tests/io/read/test_selections.py": "cli/check io/folder/check",
    "tests/cli/commands/test_inspect.py": "cli/output",
    "tests/cli/commands/test_plan.py": "cli/commands/plan/tables",
    # What others ask a release; a type checker holds it against the class.
    "tests/release/test_estimates.py": "release/described",
    # Errors have no behaviour but in those who raise them.
    "tests/cli/test_options.py": "errors",
    # Parts of a number that is asked for as a whole: beside its closed form or its slow twin.
    "tests/accuracy/test_areas.py": "accuracy/hierarchy io/write/areas",
    "tests/analysis/plan/test_plan.py": (
        "analysis/plan/areas analysis/plan/comparison analysis/plan/figure analysis/style "
        "analysis/plan/objectives analysis/plan/settings"
    ),
    "tests/table/test_coarsen.py": "grid/coarsen",
    "tests/grid/codes/test_codes.py": ("grid/codes/arrays grid/codes/jis grid/codes/system"),
    # What a reader goes by: every reader's tests go through all of it.
    "tests/io/read/test_readers.py": ("io/read/rows/locators io/read/rows/mesh_columns"),
    "tests/io/read/test_streaming.py": (
        "io/read/rows/external_sort io/read/rows/parquet io/read/rows/scratch kernels/coo"
    ),
    "tests/io/read/test_points_and_rasters.py": "io/read/rows/projection",
    # A folder in the making: it is cut off at every change that is made to it.
    "tests/release/test_publish.py": "release/outline",
    "tests/faults/test_resumed.py": "io/folder/publication io/folder/staged_release",
    "tests/release/cluster/test_parts.py": (
        "io/folder/parts io/write/tiles release/cluster/joining release/cluster/tiles"
    ),
    "tests/release/cluster/test_same_release.py": (
        "release/cluster/cluster release/cluster/partitions release/cluster/prepared "
        "release/cluster/run"
    ),
    "tests/analysis/audit/test_recoding.py": (
        "analysis/audit/areas analysis/audit/paths io/read/rows/records"
    ),
    "tests/analysis/audit/test_threshold.py": "analysis/audit/figure",
    "tests/privacy/test_samples.py": "analysis/audit/charge",
    "tests/release/select/test_select.py": (
        "io/folder/selection io/verify/selection release/select/question"
    ),
    "tests/io/verify/test_verify.py": "io/folder/digest table/plain",
    "tests/io/verify/test_strangers.py": "io/opening",
    "tests/io/verify/test_golden_releases.py": "io/crs io/write/geometry",
    "tests/io/read/public/test_hierarchy.py": "io/write/hierarchy",
    # Kernels, and what methods share: equal to the slow twin of each method that calls them.
    "tests/kernels/test_coo_haar.py": "kernels/haar table/haar",
    "tests/mechanisms/central/test_agrid.py": "kernels/rectangles mechanisms/trees/plane",
    "tests/mechanisms/central/test_dawa.py": "kernels/intervals",
    "tests/mechanisms/central/test_hay.py": "mechanisms/trees/least_squares",
    "tests/mechanisms/central/test_matrix.py": "mechanisms/trees/strategies",
    "tests/mechanisms/central/test_mwem.py": "kernels/multiplicative_weights",
    "tests/mechanisms/central/test_pyramid.py": (
        "mechanisms/trees/dense mechanisms/trees/shrinkage mechanisms/trees/made_up"
    ),
    "tests/mechanisms/central/test_topdown.py": (
        "kernels/topdown mechanisms/trees/parallel mechanisms/trees/refinement"
    ),
    "tests/mechanisms/local/test_twins.py": (
        "kernels/hashing kernels/oracles kernels/projective mechanisms/local/base "
        "mechanisms/local/bits mechanisms/local/grr mechanisms/local/hadamard mechanisms/local/olh "
        "mechanisms/local/unary"
    ),
    "tests/mechanisms/local/test_haar.py": "kernels/local_tree mechanisms/trees/halving",
    "tests/laws/test_local_tree.py": "mechanisms/local/clamping",
    "tests/privacy/noise/test_noise.py": "kernels/noise",
    "tests/mechanisms/central/test_filter.py": "privacy/noise/geometric",
    "tests/table/test_card.py": (
        "release/card table/charged table/stated/error table/stated/release"
    ),
    "tests/io/write/test_writers.py": "table/released",
}
"""Files without a test of their name, by the test that asks most of them."""

MOST = 99
"""So many files had none when the list was made: it may only become shorter."""


@cache
def imported(path: Path) -> set[str]:
    """What a test imports: names of modules, and of what is in them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def without_test(package: Path, tests: Path) -> list[str]:
    """Files of a package that have no test of their name, nor one in their folder that imports
    them."""
    found = []
    for path in sorted(package.rglob("*.py")):
        name, folder = path.relative_to(package), tests / path.relative_to(package).parent
        if path.stem == "__init__" or (folder / f"test_{path.name}").exists():
            continue
        module = ".".join(["geodp", *name.with_suffix("").parts])
        if not any(module in imported(test) for test in folder.glob("test_*.py")):
            found.append(name.with_suffix("").as_posix())
    return found


def excused() -> list[str]:
    """The files of the list."""
    return [name for names in ELSEWHERE.values() for name in names.split()]


def test_every_file_has_a_test_or_is_on_the_list():
    assert without_test(PACKAGE, TESTS) == sorted(excused())


def test_the_list_only_becomes_shorter_and_names_tests_that_are_there():
    assert len(excused()) <= MOST
    assert [test for test in ELSEWHERE if not (TESTS.parent / test).exists()] == []


def test_a_file_without_a_test_is_found(tmp_path):
    for file in ("grid/grid.py", "grid/axes.py", "grid/mask.py", "io/mask.py", "grid/__init__.py"):
        (tmp_path / "geodp" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "geodp" / file).write_text("")
    for test, source in (
        ("grid/test_grid.py", ""),
        ("grid/test_forms.py", "def test():\n    from geodp.grid import axes\n"),
        ("io/test_files.py", "from geodp.grid.mask import x\n"),
    ):
        (tmp_path / "tests" / test).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / test).write_text(source)
    assert without_test(tmp_path / "geodp", tmp_path / "tests") == ["grid/mask", "io/mask"]
