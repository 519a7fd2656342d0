"""Every command that writes, with a call of it: what it makes, charges and replaces."""

import json
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from PIL import Image

from geodp.errors import UsageError
from geodp.local.collect import Sums
from geodp.local.round import read_round
from geodp.privacy.key import read_key
from geodp.privacy.ledger import Ledger
from tests.command import geodp as command

PLACE = "place"
"""First part of a path in a call that stands for the folder in which changes fail."""

READ = {
    "budget check": {"file": "a ledger, to read"},
    "budget export": {"file": "a ledger, to read"},
    "budget show": {"file": "a ledger, to read"},
    "households publish": dict.fromkeys(
        ("households_file", "others_file"), "confidential counts, to read"
    ),
    **{
        name: {"file": "a plan, a table or a round, to read"}
        for name in ("local open", "local randomize", "local aggregate")
    },
    **{
        name: {"release": "a release, to read"}
        for name in (
            *(
                "estimate",
                "explain",
                "export",
                "map",
                "report",
                "statistics",
            ),
            "verify",
        )
    },
}
"""Options with a path of which a command writes nothing, by command."""

READ_BY_ALL = {
    *(
        "given",
        "about",
        "across",
        "cells",
        "compare",
        "inputs",
        "key_file",
        "mask",
        "metadata",
        "new",
        "old",
    ),
    *(
        "parts",
        "places",
        "plan",
        "polygons",
        "prior",
        "public_totals",
        "recipe",
        "regions",
        "releases",
    ),
    *("releases", "reports", "sums", "supersedes", "table", "use", "within"),
}
"""Names of such options of all commands that have them."""

LEFT_OUT = {
    "scratch": "files without a name, which go with their process however it ends",
    "key_folder": "of clusters, whose workers are processes of their own: a key that outlives "
    "its driver is erased by another process, see tests/cluster",
}
"""Options that name what is written and that no call has, and why."""


def state_of(path: Path) -> object:
    """Return all of a file, or of a folder with names and bytes of what is in it; None: absent."""
    if path.is_dir():
        return {
            one.relative_to(path).as_posix(): one.read_bytes() if one.is_file() else None
            for one in sorted(path.rglob("*"))
        } or None
    return path.read_bytes() if path.exists() else None


def state_of_ledger(path: Path) -> object:
    """Return the entries of a ledger that has a data set; None where there is no such ledger."""
    try:
        ledger = Ledger.open(path)
    except UsageError:
        return None
    ledger.check()
    return list(ledger.export()) if ledger.accounts() else None


def state_of_witness(path: Path) -> object:
    """Return which witness an intact ledger has."""
    ledger = Ledger.open(path)
    ledger.check()
    return ledger.witness


def require_file(path: Path) -> None:
    """Read a file to its end, as whoever opens its form does."""
    match path.suffix:
        case ".json":
            json.loads(path.read_text())
        case ".jsonl":
            lines = path.read_text()
            assert lines.endswith("\n")
            assert all(json.loads(line) for line in lines.splitlines())
        case ".toml":
            tomllib.loads(path.read_text())
        case ".png":
            Image.open(path).load()
        case ".svg":
            ElementTree.parse(path)
        case ".parquet":
            assert pq.read_table(path).num_rows > 0
        case ".sums":
            assert Sums.read(path).reports > 0
        case ".key":
            assert len(read_key(path)) == 32
        case ".html":
            assert path.read_text().rstrip().endswith("</html>")
        case ".csv" | ".md":
            assert path.read_bytes().endswith(b"\n")
            assert path.stat().st_size > 9


def require_round(path: Path) -> None:
    """Read a round, which was charged."""
    assert read_round(path).budget is not None


def require_release(path: Path) -> None:
    """Verify a release, a series or a selection."""
    done = command("verify", path)
    assert done.returncode == 0, done.stderr + done.stdout


def require_charged(path: Path) -> None:
    """Verify a release, whose card has the head of the charge that paid for it."""
    require_release(path)
    card = json.loads((path / "public" / "release.json").read_text())
    head = Ledger.open(path.parent / "ledger").charges("census")[-1].hash
    assert card["budget"]["head"] == head


def require_check(path: Path) -> None:
    """Read what a check found."""
    require_file(path / "restricted" / "check.json")
    assert (path / "restricted" / "SHA256SUMS").stat().st_size > 9


def require_exports(path: Path) -> None:
    """Read files of other formats."""
    for one in path.iterdir():
        assert one.stat().st_size > 9
        require_file(one)


def require_ledger(path: Path) -> None:
    """Open a ledger that has a data set."""
    assert state_of_ledger(path) is not None


def require_witness(path: Path) -> None:
    """Open a ledger that has a data set, and a witness that agrees with it."""
    require_ledger(path)
    assert state_of_witness(path) == path.with_name("witness").resolve()


@dataclass(frozen=True)
class Call:
    """A call of a command that writes.

    Attributes
    ----------
    words : tuple of str
        Paths in the folder whose changes fail begin with ``place/``.
    output : str
        What it makes in that folder.
    require : callable
        Asserts that this is complete.
    state : callable
        Returns it for comparison, None where there is nothing that anybody would take for it.
    before : dict of str to str
        What lies in the folder before, by the name there; "." is the folder itself.
    charged : str or None
        The data set of ``ledger`` there that it charges.
    resume : tuple of str or None
        What completes a charged run is the same call with these words; None: nothing does.
    replaces : bool or None
        Whether ``--overwrite`` replaces it; None: it is replaced without.
    confidential : bool
        Whether only its owner may read any of it.
    slow : bool
        Whether a sample has one of its faults, and not one of every kind.
    """

    words: tuple[str, ...]
    output: str
    require: Callable[[Path], None] = require_file
    state: Callable[[Path], object] = state_of
    before: tuple[tuple[str, str], ...] = ()
    charged: str | None = None
    resume: tuple[str, ...] | None = None
    replaces: bool | None = False
    confidential: bool = False
    slow: bool = False


GRID = ("--grid", "regular:8x8")
TABLE = ("in.csv", *GRID, "--value", "n", "--x", "x", "--y", "y", "--anchor", "index")
TERMS = ("--epsilon", "1", "--contribution", "1")
LEDGER = ("--ledger", "place/ledger", "--dataset", "census")
OUT = ("--output", "place/out")
SMALL = ("--grid", "jis:basic", "--bounds", "139.5", "35.5", "139.55", "35.525")
SAMPLED = ("--rate", "0.2", "--threshold", "10", "--delta", "1e-6")
ROUND = (*GRID, "--epsilon", "1", "--devices", "5000")
CENSUS = ("census.csv", "--bounds", "4000000", "3000000", "4004000", "3004000")
MONTHS = ("2024-01=in.csv", "2024-02=in.csv", *TABLE[1:], *TERMS, "--person-in", "all")


def release(*words: str, **more) -> Call:
    """Return a call that makes a folder and replaces one."""
    return Call((*words, *OUT), "out", require_release, replaces=True, **more)


def charged(*words: str, require=require_charged, slow: bool = False) -> Call:
    """Return a call that makes a folder, charges for it, and resumes."""
    told = {"before": (("ledger", "ledger"),), "charged": "census", "resume": ("--resume",)}
    return Call((*words, *LEDGER, *OUT), "out", require, replaces=True, slow=slow, **told)


def file(*words: str, replaces: bool | None = True, **more) -> Call:
    """Return a call that makes a file, which is its last word."""
    return Call(words, words[-1].removeprefix("place/"), replaces=replaces, **more)


CALLS = {
    "publish": release("publish", *TABLE, *TERMS),
    "publish charged": charged("publish", *TABLE, *TERMS),
    "publish measurements": charged("publish", *TABLE, *TERMS, "--measurements", slow=True),
    "publish formats": charged(
        "publish", "codes.csv", *SMALL, "--code", "code", "--value", "n", *TERMS,
        "--metadata", "office.toml", "--formats",
        "csv:excel,fgb,geojson,gpkg,maplibre,netcdf,parquet,qml,stac,xlsx",
        slow=True,
    ),
    "publish recipe": charged("publish", *CENSUS, *TERMS, slow=True),
    "publish check": Call(("publish", *TABLE, *TERMS, "--check", *OUT), "out", require_check,
                          replaces=None),
    "publish-series": charged("publish-series", *MONTHS, require=require_release, slow=True),
    "select top": charged("select", "top", *TABLE, *TERMS, "--k", "2"),
    "amounts publish": charged("amounts", "publish", "codes.csv", *SMALL, "--code", "code",
                               "--amount", "n", "--clip", "0", "9", "--unit-of-amount", "EUR",
                               *TERMS, require=require_release, slow=True),
    # With so little noise that every run lists the same cells, and so makes as many changes.
    "amounts publish-series": charged("amounts", "publish-series", "2015=codes.csv",
                                      "2020=codes.csv", *SMALL, "--code", "code", "--amount", "n",
                                      "--clip", "0", "9", "--unit-of-amount", "EUR",
                                      "--person-in", "all", "--epsilon", "90",
                                      "--contribution", "1", require=require_release, slow=True),
    "amounts choose-clip": charged("amounts", "choose-clip", "codes.csv", *SMALL, "--code", "code",
                                   "--amount", "n", "--candidates", "3,9", "--unit-of-amount",
                                   "EUR", *TERMS),
    "flows choose-trips": charged("flows", "choose-trips", "trips.csv", *GRID, "--from", "y,x",
                                  "--to", "to_y,to_x", "--person", "n", "--largest", "5",
                                  "--epsilon", "1"),
    "flows publish": charged("flows", "publish", "trips.csv", *GRID, "--from", "y,x", "--to",
                             "to_y,to_x", "--value", "n", *TERMS, require=require_release,
                             slow=True),
    "flows publish-series": charged("flows", "publish-series", "2019=trips.csv", "2020=trips.csv",
                                    *GRID, "--from", "y,x", "--to", "to_y,to_x", "--value", "n",
                                    "--epsilon", "90", "--contribution", "1", "--person-in", "all",
                                    require=require_release, slow=True),
    "report of amounts": file("report", "incomes", "--output", "place/a.html", replaces=None),
    "report of flows": file("report", "flows", "--output", "place/a.html", replaces=None,
                            slow=True),
    "census publish": charged("census", "publish", *TABLE, "--margin", "e=x,y",
                              "--contradictions", "fit", *TERMS,
                              require=require_release, slow=True),
    "households publish": charged("households", "publish", *TABLE, "--households", "n", *TERMS,
                                  "--protect", "person",
                                  require=require_release, slow=True),
    "households publish-series": charged("households", "publish-series", "2015=in.csv",
                                         "2020=in.csv", *TABLE[1:], "--households", "n",
                                         "--epsilon", "90", "--contribution", "1", "--protect",
                                         "person", "--person-in", "all",
                                         require=require_release, slow=True),
    "report of households": file("report", "homes", "--output", "place/a.html", replaces=None),
    "local publish": Call(("local", "publish", "round.sums", "-o", "place/out"), "out",
                          require_release, replaces=True),
    "join": release("join", "parts"),
    "export": Call(
        ("export", "mesh", "--to", "csv:excel,csv:estat,fgb,geojson,gpkg,maplibre,netcdf,parquet,"
         "qml,stac,xlsx", *OUT),
        "out", require_exports,
    ),
    "map": file("map", "first", "--output", "place/a.png"),
    "diff": file("diff", "first", "second", "--output", "place/a.csv"),
    "estimate": file("estimate", "first", "--area", "0_0:7_7", "--output", "place/a.csv"),
    "new": file("new", *TABLE, *TERMS, "--output", "out", "--recipe", "place/a.toml",
                 confidential=True),
    "compare plan": file("compare", "--plan", "--maximum", "1", "--difference", "0.1", "--plot",
                         "place/a.svg"),
    "local blend": file("local", "blend", "--menu", "0.8:0.5,0.6:0.5", "--devices", "2", "--plot",
                        "place/a.svg", slow=True),
    "plan": file("plan", *GRID, "--epsilon", "1", "--output", "place/a.toml"),
    "plan plot": file("plan", *GRID, "--epsilon", "1", "--plot", "place/a.svg"),
    "report": file("report", "first", "--output", "place/a.md", replaces=None),
    "report page": file("report", "first", "--output", "place/a.html",
                        replaces=None),
    "evaluate": file("evaluate", *TABLE, *TERMS, "--methods", "laplace", "--trials", "2",
                     "--output", "place/a.json", confidential=True),
    "flows evaluate": file("flows", "evaluate", "trips.csv", *GRID, "--from", "y,x", "--to",
                           "to_y,to_x", "--value", "n", *TERMS, "--trials", "1",
                           "--output", "place/a.json", confidential=True, slow=True),
    "evaluate plot": file("evaluate", *TABLE, *TERMS, "--methods", "laplace", "--trials", "2",
                          "--plot", "place/a.png", confidential=True, slow=True),
    "audit": file("audit", *SAMPLED, "--output", "place/a.json"),
    "audit plot": file("audit", *SAMPLED, "--plot", "place/a.svg", slow=True),
    "audit table": file("audit", "people.csv", "--column", "sex", "--output", "place/a.json",
                        confidential=True),
    "audit charged": file(
        "audit", *SAMPLED, "--ledger", "place/ledger", "--dataset", "samples", "--sample", "s",
        "--output", "place/a.json",
        replaces=False, before=(("ledger", "ledger"),), charged="samples", resume=("--resume",),
    ),
    "withdraw": Call(("withdraw", "place", "--reason", "Counted twice."), "WITHDRAWN.json",
                     before=(("first", "."),), replaces=True),
    "key": file("key", "place/own.key", replaces=False, confidential=True),
    "budget init": Call(
        ("budget", "init", *LEDGER, "--epsilon", "9"), "ledger", require_ledger, state_of_ledger
    ),
    "budget init witness": Call(
        ("budget", "init", *LEDGER, "--epsilon", "9", "--witness", "place/witness"), "ledger",
        require_witness, state_of_ledger,
    ),
    "budget witness": Call(
        ("budget", "witness", "--ledger", "place/ledger", "place/witness"), "ledger",
        require_witness, state_of_witness, (("ledger", "ledger"),),
    ),
    "budget export": file("budget", "export", "--ledger", "ledger", "--output", "place/a.jsonl",
                          replaces=False),
    "local plan": file("local", "plan", *ROUND, "--output", "place/a.toml"),
    "local open": file("local", "open", "--plan", "plan.toml", "--output", "place/a.json",
                       replaces=False),
    "local open charged": file(
        "local", "open", "--plan", "plan.toml", "--ledger", "place/ledger", "--dataset", "phones",
        "--output", "place/a.json",
        require=require_round, replaces=False, before=(("ledger", "ledger"),), charged="phones",
        resume=(),
    ),
    "local randomize": file("local", "randomize", "round.json", "cells.csv", "-o",
                            "place/a.parquet", replaces=False),
    "local aggregate": file("local", "aggregate", "round.json", "reports.jsonl", "-o",
                            "place/a.sums"),
}  # fmt: skip
