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

pytestmark = pytest.mark.law

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
from geodp.io.read.reader import Reader, cli_option
from geodp.options.option import Option
@dataclass(frozen=True, kw_only=True)
class Asks(Reader):
    name, kind = "asks", "what it likes"
    value: int = field(default=1, metadata=cli_option(Option("FLAG", "Mine.", type=int)))
    def read(self, paths):
        raise NotImplementedError
READERS = (Asks,)
"""


BARE = """
from geodp.mechanisms.central.laplace import Laplace
from geodp.mechanisms.base import Mechanism
class Bare(Mechanism):
    name, version, LEFT = "bare", 1, "It."
    release = queries = None
class Spelt(Laplace):
    name = "La\\x1bplace"
METHODS = (Bare(), Spelt())
"""

RUDE = """
from dataclasses import dataclass, field
from geodp.io.read.reader import MatchScore, Reader, cli_option
@dataclass(frozen=True, kw_only=True)
class Rude(Reader):
    name, kind, flag = "rude", "what it likes", "Read rudely."
    secret: object = None
    @classmethod
    def match_score(cls, call):
        CLAIM
    def read(self, paths):
        print("SECRET", self.secret)
        raise NotImplementedError
READERS = (Rude,)
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


def start(folder, *words):
    """Run Python where the distributions of a folder are installed."""
    paths = os.pathsep.join([str(folder), str(Path(geodp.__file__).parents[1])])
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def run(folder, *words):
    """Run ``geodp`` there."""
    return start(folder, "-m", "geodp", *words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The examples of docs/how-to in one package, and three packages that go wrong."""
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
    assert "--count-name" in run(folder, "publish", "--help-all").stdout
    rows = [{"code": "533946111", "count": 3}, {"code": "533946112", "count": 4}]
    (folder / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    grid = ("--grid", "jis:half", "--bounds", "139", "35.3333333333", "140", "36")
    words = ("--method", "toy:share=1/4", "--epsilon", "1", "--contribution", "1")
    done = run(folder, "publish", "people.jsonl", *grid, *words, "--output", "out")
    assert done.returncode == 0, done.stderr
    card = json.loads((folder / "out" / "public" / "release.json").read_text(encoding="utf-8"))
    assert card["guarantee"]["mechanism"] == "toy:share=1/4"
    kept = json.loads((folder / "out" / "restricted" / "run.json").read_text(encoding="utf-8"))
    assert kept["counted_people"] == 7
    assert "offers table, a name that is taken." in done.stderr


def test_what_geodp_has_is_never_replaced(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    with pytest.warns(PluginWarning) as told:
        found = add_plugins(METHODS, "geodp.methods", "METHODS", lambda o: isinstance(o, Mechanism))
    assert len(told) == 4
    assert {*found} - {*METHODS} == {"toy"}
    assert all(found[name] is METHODS[name] for name in METHODS)
    assert [*found] == sorted(found)


ORACLE = """
from geodp.local.oracles.base import Oracle
from geodp.local.oracles.grr import Grr
class Unfinished(Oracle):
    name, version, title, citation, guarantee = "half", 1, "It.", "It.", Grr.guarantee
ORACLES = (Grr, Unfinished, 3)
"""


def test_an_oracle_of_others_is_one_of_all(tmp_path):
    subset = example("Add a local oracle")
    points = [("geodp.oracles", name) for name in ("subset", "wrong")]
    plant(tmp_path, "theirs", points, subset=subset, wrong=ORACLE)
    lines = "from geodp.local.oracles import ORACLES\nprint(*ORACLES, ORACLES['grr'].__module__)"
    done = start(tmp_path, "-W", "always", "-c", lines)
    assert done.returncode == 0, done.stderr
    *names, home = done.stdout.split()
    assert "subset" in names
    assert names == sorted(names)
    assert home == "geodp.local.oracles.grr"
    assert done.stderr.count("lists what geodp cannot use in ORACLES") == 2
    assert "offers grr, a name that is taken" in done.stderr


def test_without_other_packages_there_is_nothing_to_tell(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert add_plugins(METHODS, "geodp.nothing", "METHODS", bool) == METHODS


@pytest.mark.parametrize("left", ["title", "citation"])
def test_a_method_without_what_geodp_lists_is_left_out(tmp_path, left):
    plant(tmp_path, "other", [("geodp.methods", "bare")], bare=BARE.replace("LEFT", left))
    done = run(tmp_path, "methods")
    assert done.returncode == 0, done.stderr
    assert [line.partition(" (")[2] for line in done.stderr.splitlines()] == [
        "geodp.methods) lists what geodp cannot use in METHODS. It is left out.",
        "geodp.methods) offers La\\x1bplace, which is not a name of letters a-z, digits and "
        "hyphens. It is left out.",
    ]


@pytest.mark.parametrize(
    "flag",
    [
        *("--value", "--epsilon", "-v", "--mine/--yours"),
        *(
            pytest.param(flag, marks=pytest.mark.law)
            for flag in ("--memory", "--points", "--trials", "--grid", "--spec", "--help")
        ),
        *(pytest.param(flag, marks=pytest.mark.law) for flag in ("value", "--", "--Mine")),
    ],
)
def test_a_reader_that_asks_for_what_geodp_has_is_left_out(tmp_path, flag):
    plant(tmp_path, "other", [("geodp.readers", "asks")], asks=ASKS.replace("FLAG", flag))
    for command in ("publish", "evaluate"):
        done = run(tmp_path, command, "--help-all")
        assert done.returncode == 0, done.stderr
        assert done.stderr == (
            f"Note: The reader asks of other.asks needs {flag}, which is taken or not a valid "
            "option. It is left out.\n"
        )
        assert "Mine." not in done.stdout


@pytest.mark.parametrize("name", ["value", "epsilon", "points", "labels"])
def test_a_reader_whose_own_flag_is_an_option_of_geodps_is_left_out(tmp_path, name):
    rude = RUDE.replace('"rude"', repr(name)).replace("CLAIM", "return MatchScore.FLAG")
    plant(tmp_path, "other", [("geodp.readers", "rude")], rude=rude)
    done = run(tmp_path, "publish", "--help-all")
    assert done.returncode == 0
    assert done.stderr.count("It is left out.") == 1
    assert "other.rude" in done.stderr
    assert "Read rudely." not in done.stdout


def test_a_default_that_its_option_cannot_have_stops_no_command(tmp_path):
    asks = ASKS.replace("FLAG", "--mine").replace("default=1", 'default="x"')
    plant(tmp_path, "other", [("geodp.readers", "asks")], asks=asks)
    done = run(tmp_path, "publish", "--help-all")
    said = "reader asks of other.asks needs --mine, which is taken or not a valid option."
    assert said in done.stderr


def test_of_two_that_spell_an_option_differently_the_second_is_left_out(tmp_path):
    for name in ("first", "second"):
        asks = ASKS.replace("FLAG", "--mine").replace('"asks"', repr(name))
        source = asks.replace("Mine.", f"Of {name}.")
        plant(tmp_path, f"of_{name}", [("geodp.readers", name)], **{name: source})
    done = run(tmp_path, "publish", "--help-all")
    assert "Of first." in done.stdout
    assert "The reader second of of_second.second needs --mine" in done.stderr


def test_a_shared_option_keeps_geodps_default(tmp_path):
    asks = ASKS.replace("import Reader", "import DUPLICATES, Reader").replace(
        'cli_option(Option("FLAG", "Mine.", type=int))', "cli_option(DUPLICATES)"
    )
    source = asks.replace("value: int = field(default=1", 'how: str = field(default="sum"')
    plant(tmp_path, "other", [("geodp.readers", "asks")], asks=source)
    done = run(tmp_path, "publish", "--help-all")
    assert done.stderr == ""
    assert "[default: error]" in done.stdout
    assert "[default: sum]" not in done.stdout


@pytest.mark.parametrize(
    "claim", ["raise ValueError", "return MatchScore.FLAG", "return 9", "return None"]
)
def test_a_claim_takes_no_call_that_did_not_ask(tmp_path, claim):
    plant(tmp_path, "other", [("geodp.readers", "rude")], rude=RUDE.replace("CLAIM", claim))
    (tmp_path / "t.csv").write_text("code,n\n53394611,3\n")
    (tmp_path / "key").write_text(os.urandom(32).hex() + "\n")
    (tmp_path / "key").chmod(0o600)
    words = ("t.csv", "--grid", "jis:basic", "--primary", "5339", "--epsilon", "1")
    table = ("--code", "code", "--value", "n", "--contribution", "1")
    done = run(tmp_path, "publish", *words, *table, "--output", "out")
    assert done.returncode == 0, done.stderr
    kept = ("--key-file", "key", "--rude", "--output", "more")
    done = run(tmp_path, "publish", *words, *kept)
    if claim == "return MatchScore.FLAG":
        assert "SECRET None" in done.stdout
    else:
        assert done.returncode == 2, done.stderr
