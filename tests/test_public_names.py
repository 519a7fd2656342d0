"""What public functions and classes take, return and raise is public too, with examples."""

import ast
import inspect
import os
import re
import subprocess
import sys
import typing
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path

import pytest

import geodp
import geodp.errors

PACKAGE = Path(geodp.__file__).parent

INTERNAL = {
    "fields of a card, which read as the schema of its file says": (
        "geodp.kinds.amounts.kind.AmountsGuarantee",
        "geodp.kinds.amounts.kind.StatedAmount",
        "geodp.kinds.amounts.kind.StatedAmountsPrior",
        "geodp.kinds.amounts.kind.StatedRelation",
        "geodp.kinds.amounts.kind.AmountsSeriesGuarantee",
        "geodp.kinds.census.kind.StatedGiven",
        "geodp.kinds.flows.kind.FlowsGuarantee",
        "geodp.kinds.flows.kind.FlowsSeriesGuarantee",
        "geodp.kinds.flows.kind.StatedDecay",
        "geodp.kinds.flows.kind.StatedFlowsPrior",
        "geodp.kinds.flows.kind.StatedPairErrors",
        "geodp.kinds.flows.kind.StatedStays",
        "geodp.kinds.households.kind.HouseholdsGuarantee",
        "geodp.kinds.households.kind.HouseholdsSeriesGuarantee",
        "geodp.local.round.RoundInfo",
        "geodp.kinds.selection.card.FalseHotSpots",
        "geodp.kinds.selection.card.SelectionGuarantee",
        "geodp.kinds.selection.card.QuestionInfo",
        "geodp.kinds.selection.card.SelectorInfo",
        "geodp.kinds.series.kind.SnapshotInfo",
        "geodp.kinds.series.kind.SeriesGuarantee",
        "geodp.table.card.File",
        "geodp.table.card.LeftOut",
        "geodp.table.card.StatedMetadata",
        "geodp.table.stated.release.StatedCharge",
        "geodp.table.index.PeriodInfo",
        "geodp.table.index.TablesGuarantee",
        "geodp.table.plain.AtLeast",
        "geodp.table.plain.Text",
        "geodp.table.stated.domain.StatedDomain",
        "geodp.table.stated.error.StatedError",
        "geodp.table.stated.error.StatedSettlements",
        "geodp.table.stated.release.StatedPrior",
        "geodp.table.reading.StatedReading",
        "geodp.table.stated.release.Software",
        "geodp.table.stated.release.StatedGuarantee",
        "geodp.table.stated.release.StatedMechanism",
        "geodp.table.stated.release.TableInfo",
    ),
    "what a method is made of: for those who write one in geodp": (
        "geodp.accuracy.interval.NodeSums",
        "geodp.accuracy.part_errors.Split",
        "geodp.accuracy.part_errors.Sum",
        "geodp.accuracy.variance.TreeVariance",
        "geodp.kinds.amounts.streams.AmountAxes",
        "geodp.kinds.flows.estimator.NoisyPairs",
        "geodp.kinds.flows.label_model.NoisyLabels",
        "geodp.kinds.flows.prior_flows.FlowsPrior",
        "geodp.local.coins.Chance",
        "geodp.local.oracles.base.State",
        "geodp.local.tree.TreeState",
        "geodp.mechanisms.base.BaseUse",
        "geodp.mechanisms.base.Query",
        "geodp.privacy.noise.exact_draws.Decay",
        "geodp.privacy.noise.draws.Draw",
        "geodp.privacy.noise.draws.Draws",
        "geodp.privacy.selected.Change",
        "geodp.table.measured.MeasuredLevels",
        "geodp.table.measured.NodeLevel",
    ),
    "what a grid is made of: a grid answers for it": (
        "geodp.grid.coarsen.Coarsening",
        "geodp.grid.grid.MapProperties",
        "geodp.grid.names.CellNames",
        "geodp.grid.order.Limits",
        "geodp.grid.outlines.Outlines",
    ),
    "what an index is rebuilt from and compared with: verify uses it": (
        "geodp.kinds.amounts.streams.ReleasedAmounts",
        "geodp.kinds.flows.streams.StreamsPlan",
        "geodp.table.index.Constraint",
        "geodp.table.index.Rebuilt",
    ),
    "what a folder is written and read by: save, open and the command line use it": (
        "geodp.io.folder.staged_release.StagedPeriods",
        "geodp.kinds.selection.selected.StagedSelection",
        "geodp.io.folder.staged_release.StagedTables",
        "geodp.io.write.view.View",
        "geodp.io.write.view.JointView",
        "geodp.io.write.view.Original",
        "geodp.kinds.census.census.CensusView",
        "geodp.privacy.hash_chain.HashChain",
        "geodp.table.source.Outside",
    ),
    "how the command line asks for several differences at once: a method for one is public": (
        "geodp.kinds.flows.comparison.FlowSide",
        "geodp.kinds.flows.flows.EndsOfRegions",
        "geodp.release.regional.Compared",
    ),
    "a form that many types have, each public by itself or somebody else's": (
        "geodp.kinds.amounts.numbers.AmountNumbers",
        "geodp.kinds.census.inputs.CensusTables",
        "geodp.kinds.census.margins.Margins",
        "geodp.kinds.amounts.streams.AmountAxes",
        "geodp.io.folder.kinds.PublicCard",
        "geodp.io.read.rows.input_files.ArrowStream",
        "geodp.io.read.rows.input_files.LabelledArray",
        "geodp.release.base.BaseRelease",
        "geodp.release.base.PartsOfMap",
        "geodp.table.counts.Cells",
        "geodp.table.index.TablesCard",
    ),
}
"""Classes that signatures name and that are deliberately no public names, by the reason."""

ON_A_CLUSTER = {f"cluster.{name}" for name in ("aggregate", "join", "publish", "write")}
"""Functions whose example is docs/distributed.md, which a test runs: each needs a cluster."""


HANDED_ON = (
    *("geodp.privacy.terms", "geodp.release.request", "geodp.cluster.run"),
    *("geodp.io.read.reader", "geodp.io.read.table", "geodp.io.read.points"),
    *("geodp.io.read.raster", "geodp.kinds.flows.reading.reader"),
)
"""Modules that name the types of keywords which public functions hand on."""


def list_public():
    """Return the public objects by name: ``Grid``, ``local.plan``."""
    found = {}
    for name in geodp.__all__:
        if name in (*geodp._NAMESPACES, *geodp._PACKAGES):
            package = import_module(f"geodp.{name}")
            found |= {f"{name}.{inner}": getattr(package, inner) for inner in package.__all__}
        else:
            found[name] = getattr(geodp, name)
    return found


PUBLIC = list_public()
FUNCTIONS = sorted(name for name, one in PUBLIC.items() if inspect.isfunction(one))
CLASSES = sorted(name for name, one in PUBLIC.items() if inspect.isclass(one))


@cache
def names_in(module):
    """What the names of a module mean in its annotations: also those that only checkers import."""
    found = {}
    for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("geodp"):
            source = import_module(node.module)
            for one in node.names:
                if hasattr(source, one.name):
                    found[one.asname or one.name] = getattr(source, one.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id[:1].isupper():
                found[target.id] = node.value
    return found | vars(module)


def classes_of(annotation, module):
    """Yield geodp's classes in an annotation, which is a text, a type or a part of a source."""
    if annotation is None or annotation is Ellipsis:
        return
    if isinstance(annotation, str):
        annotation = ast.parse(annotation, mode="eval")
    if isinstance(annotation, ast.AST):
        for node in ast.walk(annotation):
            if isinstance(node, ast.Name) and node.id in names_in(module):
                yield from classes_of(names_in(module)[node.id], module)
            elif isinstance(node, ast.Constant) and node.value in names_in(module):  # a quoted one
                yield from classes_of(node.value, module)
    elif inspect.isclass(annotation) and not typing.get_args(annotation):
        if annotation.__module__.startswith("geodp."):
            yield annotation
    else:
        for inner in typing.get_args(annotation):
            inner = getattr(inner, "__forward_arg__", None if isinstance(inner, str) else inner)
            yield from classes_of(inner, module)


def classes_in(function):
    """Yield geodp's classes in the signature of a function, but for private parameters."""
    whole, empty = inspect.signature(function), inspect.Signature.empty
    modules = (function.__module__, *(HANDED_ON if hasattr(function, "__signature__") else ()))
    annotations = {name: one.annotation for name, one in whole.parameters.items()}
    for name, annotation in (annotations | {"return": whole.return_annotation}).items():
        if not name.startswith("_") and annotation is not empty:
            for module in modules:
                yield from classes_of(annotation, import_module(module))


def members_of(one):
    """Yield the functions behind public methods and properties that a public class has."""
    for base in one.__mro__:
        for name, member in vars(base).items():
            if base.__module__.startswith("geodp") and (name == "__init__" or name[0] != "_"):
                if isinstance(member, property):
                    member = member.fget
                elif isinstance(member, cached_property):
                    member = member.func
                member = inspect.unwrap(getattr(member, "__func__", member))
                if inspect.isfunction(member) and member.__module__.startswith("geodp"):
                    yield name, member


def named_by(name):
    """Return geodp's classes that a public object names, each with where it does."""
    one = PUBLIC[name]
    if inspect.isfunction(one):
        return {(found, name) for found in classes_in(one)}
    found = {
        (inner, f"{name}.{member}")
        for member, function in members_of(one)
        for inner in classes_in(function)
    }
    for base in one.__mro__:
        if base.__module__.startswith("geodp"):
            for field, annotation in vars(base).get("__annotations__", {}).items():
                if not field.startswith("_"):
                    of = classes_of(annotation, import_module(base.__module__))
                    found |= {(inner, f"{name}.{field}") for inner in of}
    return found


def where_of(one):
    return f"{one.__module__}.{one.__qualname__}"


def list_named():
    return [pair for name in [*FUNCTIONS, *CLASSES] for pair in named_by(name)]


def test_every_class_that_a_public_signature_names_is_public_or_internal_on_purpose():
    public = {where_of(one) for one in PUBLIC.values() if inspect.isclass(one)}
    named = {}
    for one, where in list_named():
        named.setdefault(where_of(one), set()).add(where)
    missing = {one: sorted(where)[:3] for one, where in named.items() if one not in public}
    internal = {one for several in INTERNAL.values() for one in several}
    assert {one: where for one, where in missing.items() if one not in internal} == {}
    assert internal - {*missing} == set(), "no public signature names these any more"


def test_a_class_that_is_not_public_is_found(monkeypatch):
    monkeypatch.delitem(PUBLIC, "Ledger")
    assert "geodp.privacy.ledger.Ledger" in {where_of(one) for one, _ in named_by("publish")}
    assert "geodp.privacy.loss.PureDP" in {where_of(one) for one, _ in named_by("Event")}, "alias"
    assert "geodp.accuracy.area_sums.Areas" in {where_of(one) for one, _ in named_by("Release")}


def test_every_error_and_warning_is_public():
    errors = {
        name
        for name, one in vars(geodp.errors).items()
        if inspect.isclass(one) and issubclass(one, Exception)
    }
    assert errors - {*geodp.__all__} == set()


def test_no_name_is_that_of_the_module_of_errors_but_for_its_case():
    assert [name for name in geodp.__all__ if name.casefold() == "errors"] == []
    with pytest.raises(AttributeError, match="no 'Errors'"):
        geodp.Errors  # noqa: B018


def test_checkers_of_types_see_the_public_names():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    seen = {one.asname for node in imported for one in node.names} - {"open_written"}
    assert seen | {"open", "__version__"} == {*geodp.__all__}
    spaces = geodp._NAMESPACES | {name: f"geodp.{name}.api" for name in geodp._PACKAGES}
    for name, home in spaces.items():
        place = f"{name}/__init__" if name in geodp._PACKAGES else name
        stub = (PACKAGE / f"{place}.pyi").read_text(encoding="utf-8").splitlines()
        assert stub == [f"from {home} import *"]


@pytest.mark.parametrize("name", [*geodp._NAMESPACES, *geodp._PACKAGES])
def test_a_namespace_has_its_names_alone(name):
    package = import_module(f"geodp.{name}")
    assert dir(package) == sorted(package.__all__)
    assert not [one for one in package.__all__ if inspect.ismodule(getattr(package, one))]


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_a_public_name_says_what_it_is(name):
    text = inspect.getdoc(PUBLIC[name]) or ""
    assert text.splitlines()[0].endswith((".", ":")) or ". " in text.split("\n\n")[0]
    if name in FUNCTIONS and name not in ON_A_CLUSTER:
        assert ">>> " in text, "an example that runs"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_says_once_what_every_parameter_of_a_public_function_is(name):
    text = inspect.getdoc(PUBLIC[name])
    section = re.search(r"\nParameters\n-+\n(.*?)(?=\n\n\S[^\n]*\n-{3}|\Z)", text, re.DOTALL)
    if section is not None:  # one without says in its sentences what it takes
        heads = re.findall(r"^[*\w]+(?:, [*\w]+)*", section[1], re.MULTILINE)
        said = [one.strip("*") for head in heads for one in head.split(", ")]
        assert sorted(said) == sorted(inspect.signature(PUBLIC[name]).parameters)


USER = """
from __future__ import annotations

from pathlib import Path

import geodp
import geodp.audit
import geodp.local as local
from geodp import Grid, InputError, Ledger, Release, UsageError, planning
from geodp.select import top_cells


def release_of(folder: Path, ledger: Ledger) -> Release | None:
    grid = Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
    try:
        table: geodp.CountTable = geodp.read_table([folder / "a.csv"], grid=grid, value="people")
        best: geodp.select.Selected = top_cells(table, 3, epsilon="0.1")
        return geodp.publish(table, epsilon="0.4", ledger=ledger, records=best.card().schema)
    except UsageError:
        return None
    except (InputError, geodp.BudgetError) as error:
        raise SystemExit(error.exit_code) from error


def estimate_of(folder: Path) -> float:
    release: geodp.WrittenRelease = geodp.open(folder)
    found: geodp.Estimate = release.estimate((139.1, 35.1, 139.2, 35.2))
    return found.count


def collect(grid: Grid) -> local.Round:
    plan: geodp.local.LocalPlan = geodp.local.plan(grid, devices=50_000, epsilon=1)
    return local.open_round(plan)


def smallest() -> int:
    return geodp.audit.smallest_k("0.1", epsilon="1", delta="1e-6")


def settings_of(file: Path) -> planning.Settings:
    return planning.read_plan(file)
"""


@pytest.mark.law
def test_the_script_of_a_user_has_types_in_strict_mode(tmp_path):
    script = tmp_path / "user.py"
    assert (PACKAGE / "py.typed").exists()
    path = {} if PACKAGE.parent.name == "site-packages" else {"MYPYPATH": str(PACKAGE.parent)}
    words = ["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache")]
    for text, code in ((USER, 0), (f"{USER}\nx: str = smallest()\nlocal.no_such_name\n", 1)):
        script.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "mypy", *words, str(script)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | path,
        )
        assert done.returncode == code, done.stdout + done.stderr
    assert [line.rpartition("[")[2] for line in done.stdout.splitlines()[:-1]] == [
        "assignment]",
        "attr-defined]",
    ]
