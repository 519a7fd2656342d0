"""Methods and readers of somebody else's package are found by its entry points."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import geodp
from geodp.errors import PluginWarning, add_plugins
from geodp.mechanisms import METHODS
from geodp.mechanisms.base import Mechanism
from tests.house.recipes import example

LOUD = "import sys\nprint('IMPORTED', file=sys.stderr)\n"
"""Says when a module is imported."""

TAKEN = """
from dataclasses import dataclass
from geodp.mechanisms.central.laplace import Laplace
METHODS = (Laplace(),)
from geodp.io.read.table import Table
READERS = (Table,)
"""

ASKS = """
from dataclasses import dataclass, field
from geodp.io.read.reader import Option, Reader, asks
@dataclass(frozen=True, kw_only=True)
class Asks(Reader):
    name, kind = "asks", "what it likes"
    value: float = field(default=1.0, metadata=asks(Option("Mine.", "FLAG", type=float)))
    def read(self, paths):
        raise NotImplementedError
READERS = (Asks,)
"""


def plant(folder, package, points, **modules):
    """A distribution as installers leave it: modules of a package, and its entry points."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"[{group}]\n{name} = {package}.{name}\n" for group, name in points]
    (info / "entry_points.txt").write_text("\n".join(lines))
    (folder / package).mkdir()
    (folder / package / "__init__.py").write_text("")
    for name, source in modules.items():
        (folder / package / f"{name}.py").write_text(source, encoding="utf-8")


def run(folder, *words):
    """``geodp`` where the distributions of a folder are installed."""
    paths = os.pathsep.join([str(folder), str(Path(geodp.__file__).parents[1])])
    return subprocess.run(
        [sys.executable, "-m", "geodp", *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """CONTRIBUTING's examples in one package, and three packages that go wrong."""
    folder = tmp_path_factory.mktemp("installed")
    toy, jsonl = (example(f"Add a {kind}") + LOUD for kind in ("method", "reader"))
    plant(
        folder,
        "theirs",
        [("geodp.methods", "toy"), ("geodp.readers", "jsonl")],
        toy=toy,
        jsonl=jsonl,
    )
    both = [(f"geodp.{group}", "taken") for group in ("methods", "readers")]
    plant(folder, "thieves", both, taken=TAKEN)
    wrong = {"fails": "import there_is_no_such_module", "nothing": "", "rubbish": "METHODS = (3,)"}
    plant(folder, "wrongs", [("geodp.methods", name) for name in wrong], **wrong)
    return folder


def test_help_imports_nothing_of_others(folder):
    for words in (["--help"], ["--version"], ["plan", "--help"]):
        done = run(folder, *words)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_method_of_others_is_one_of_all_and_what_is_wrong_is_named(folder):
    done = run(folder, "methods")
    assert done.returncode == 0
    listed = [line.split()[0] for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert listed == sorted([*METHODS, "toy"])
    notes = [line for line in done.stderr.splitlines() if line != "IMPORTED"]
    assert done.stderr.count("IMPORTED") == 1
    assert sorted(notes) == sorted(
        f"Note: {words} It is left out."
        for words in (
            "thieves.taken of the package thieves (geodp.methods) offers laplace, a name that is "
            "taken.",
            "wrongs.fails of the package wrongs (geodp.methods) cannot be used "
            "(ModuleNotFoundError).",
            "wrongs.nothing of the package wrongs (geodp.methods) cannot be used (AttributeError).",
            "wrongs.rubbish of the package wrongs (geodp.methods) lists what geodp cannot use in "
            "METHODS.",
        )
    )


def test_a_reader_and_a_method_of_others_publish(folder):
    assert "--count-name" in run(folder, "publish", "--help").stdout
    rows = [{"code": "533946111", "count": 3}, {"code": "533946112", "count": 4}]
    (folder / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    grid = ("--grid", "jis:half", "--bounds", "139", "35.3333333333", "140", "36")
    words = ("--method", "toy:share=1/4", "--epsilon", "1", "--contribution", "1")
    done = run(folder, "publish", "people.jsonl", *grid, *words, "--output", "out")
    assert done.returncode == 0, done.stderr
    card = json.loads((folder / "out" / "public" / "release.json").read_text(encoding="utf-8"))
    assert card["guarantee"]["mechanism"] == "toy:share=1/4"
    kept = json.loads((folder / "out" / "restricted" / "run.json").read_text(encoding="utf-8"))
    assert kept["people"] == 7
    assert "offers table, a name that is taken." in done.stderr


def test_what_geodp_has_is_never_replaced(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    with pytest.warns(PluginWarning) as told:
        found = add_plugins(METHODS, "geodp.methods", "METHODS", lambda o: isinstance(o, Mechanism))
    assert len(told) == 4
    assert {*found} - {*METHODS} == {"toy"}
    assert all(found[name] is METHODS[name] for name in METHODS)
    assert [*found] == sorted(found)


def test_without_other_packages_there_is_nothing_to_tell(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert add_plugins(METHODS, "geodp.nothing", "METHODS", bool) == METHODS


@pytest.mark.parametrize("flag", ["--value", "--memory"])
def test_a_reader_that_spells_a_shared_option_otherwise_is_left_out(tmp_path, flag):
    plant(tmp_path, "other", [("geodp.readers", "asks")], asks=ASKS.replace("FLAG", flag))
    done = run(tmp_path, "publish", "--help")
    assert done.returncode == 0
    assert "lists what geodp cannot use in READERS. It is left out." in done.stderr
    assert "Mine." not in done.stdout


def test_a_reader_that_asks_for_a_commands_own_option_is_told(tmp_path):
    plant(tmp_path, "other", [("geodp.readers", "asks")], asks=ASKS.replace("FLAG", "--epsilon"))
    done = run(tmp_path, "publish", "--help")
    assert done.returncode == 2
    assert "A reader of another package asks for --epsilon, which publish has." in done.stderr
    assert run(tmp_path, "--help").returncode == 0
