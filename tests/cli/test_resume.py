"""``--resume`` completes a run for the same call alone: all that settles a release is compared."""

import csv
import json
from fractions import Fraction

import pytest

from geodp.cli import geodp as command_line
from geodp.cli.running import describe_call
from geodp.errors import UsageError
from geodp.io.folder import staged_release
from geodp.io.folder.pending import read_pending_draw
from geodp.privacy.ledger import Ledger
from geodp.release.transaction import Prepared
from tests.command import context_of, geodp, override
from tests.io.folder.test_pending import write_kept
from tests.keys import keep as keep_key
from tests.refusals import refuses

CELLS = ["--grid", "regular:8x8", "--value", "n", "--x", "x", "--y", "y", "--anchor", "index"]

CARRIED_OUT = {
    *("output", "overwrite", "resume", "memory", "scratch", "pad_time", "profile", "as_json"),
    *("cluster", "workers", "key_folder", "trust_cluster", "formats"),
}
"""Options that may differ: they say where and how a run is carried out, and no byte of a release
follows from them."""


def params_of(command):
    """Return all parameters of a command, those of readers among them."""
    return command.get_params(context_of(command))


EACH = {
    name: [str(one.name) for one in params_of(command_line.commands[name]) if one.name != "help"]
    for name in ("publish", "publish-series")
}


@pytest.mark.parametrize("command", EACH)
def test_every_option_that_settles_a_release_is_compared(tmp_path, command):
    options = dict.fromkeys(EACH[command])
    write_kept(tmp_path, describe_call(options))
    for option in options:
        other = describe_call({**options, option: "another"})
        if option in CARRIED_OUT:
            assert read_pending_draw(tmp_path, other).fingerprint == "f" * 64
        else:
            with refuses(UsageError, f"resumed-options-differ: --{option.replace('_', '-')};"):
                read_pending_draw(tmp_path, other)


@pytest.mark.parametrize(
    ("command", "parameter", "option"),
    [(("flows", "publish"), "attributes", "by"), (("publish",), "spec", "grid")],
)
def test_options_have_the_names_of_the_command(command, parameter, option):
    found = command_line
    for name in command:
        found = found.commands[name]
    with context_of(found).scope():
        assert describe_call({parameter: 2, "output": "x"}) == {option: "2"}


@pytest.fixture
def office(tmp_path):
    """Two months of people, and a ledger."""
    for number, month in enumerate(("2024-01", "2024-02", "2024-03")):
        rows = "".join(f"{x},{y},{20 + x + number}\n" for x in range(8) for y in range(8))
        (tmp_path / f"{month}.csv").write_text(f"x,y,n\n{rows}")
    file = tmp_path / "office.ledger"
    into = ["--ledger", file, "--dataset", "stays"]
    assert geodp("budget", "init", *into, "--epsilon", 9).returncode == 0
    return [*CELLS, "--epsilon", "1", "--contribution", "1", *into, "--output", tmp_path / "out"]


def interrupt(monkeypatch, place, name, *call):
    """Run a command whose disk is full once the table is kept."""

    def fail(*_given, **_more):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(place, name, fail)
        done = geodp(*override(*call))
    assert done.returncode == 1, done
    assert "--resume completes" in done.stderr


def charges(tmp_path):
    return Ledger.open(tmp_path / "office.ledger").charges("stays")


PUBLISH = {
    "epsilon": ["--epsilon", "2"],
    "method": ["--method", "laplace"],
    "neighbours": ["--neighbours", "replace-one"],
    "contribution": ["--contribution", "2"],
    "unit": ["--unit", "household"],
    "value": ["--value", "x"],
    "stop-at": ["--stop-at", "2"],
    "inputs": ["2024-02.csv"],
}


def count_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return {row["code"]: int(row["population"]) for row in csv.DictReader(file)}


def test_an_interrupted_release_is_completed_by_its_own_call_alone(office, tmp_path, monkeypatch):
    first = tmp_path / "2024-01.csv"
    drawn_tables = []
    real = Prepared.release

    def watch(prepared, keep):
        found = real(prepared, keep)
        drawn_tables.append(found.table)
        return found

    monkeypatch.setattr(Prepared, "release", watch)
    interrupt(monkeypatch, staged_release, "write_public", "publish", first, *office)
    (waiting,) = (path for path in tmp_path.iterdir() if path.name.endswith(".partial"))
    before = (waiting / "restricted" / "released.npz").read_bytes()
    for name, more in PUBLISH.items():
        given = [tmp_path / more[0]] if name == "inputs" else [first]
        done = geodp(
            *override("publish", *given, *office, *(more if name != "inputs" else ()), "--resume")
        )
        assert (done.returncode, f"had other --{name};" in done.stderr) == (2, True), done
        assert (waiting / "restricted" / "released.npz").read_bytes() == before
    assert len(charges(tmp_path)) == 1
    done = geodp("publish", first, *office, "--resume")
    assert done.returncode == 0, done.stderr
    assert len(charges(tmp_path)) == 1
    (table,) = drawn_tables
    index = table.grid.decode(table.key)
    expected = {
        f"{row}_{col}": count
        for row, col, count in zip(*index.tolist(), table.count.tolist(), strict=True)
    }
    assert count_of(tmp_path / "out" / "public" / "population.csv") == expected
    card = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    assert card["guarantee"]["epsilon"] == "1"
    assert card["budget"]["spent"]["epsilon"] == "1"


SERIES = {
    "person-in": ["--person-in", "one"],
    "noise": ["--noise", "laplace"],
    "smooth": ["--smooth", "none"],
    "epsilon": ["--epsilon", "2"],
    "inputs": ["2024-03=2024-03.csv"],
}


def test_an_interrupted_series_is_completed_by_its_own_call_alone(office, tmp_path, monkeypatch):
    months = [f"{month}={tmp_path / month}.csv" for month in ("2024-01", "2024-02")]
    call = [*office, "--person-in", "all"]
    interrupt(monkeypatch, staged_release, "write_member", "publish-series", *months, *call)
    for name, more in SERIES.items():
        given = [months[0], f"2024-02={tmp_path / '2024-03.csv'}"] if name == "inputs" else months
        asked = [*call, *(more if name != "inputs" else ()), "--resume"]
        done = geodp(*override("publish-series", *given, *asked))
        assert (done.returncode, f"had other --{name}" in done.stderr) == (2, True), done
    assert len(charges(tmp_path)) == 1
    assert geodp(*override("publish-series", *months, *call, "--resume")).returncode == 0
    (line,) = charges(tmp_path)
    assert line.loss.epsilon == Fraction(1)


def public_bytes(folder):
    public = folder / "public"
    files = (path for path in sorted(public.rglob("*")) if path.is_file())
    return {path.relative_to(public).as_posix(): path.read_bytes() for path in files}


def run_of(folder):
    run = json.loads((folder / "restricted" / "run.json").read_text(encoding="utf-8"))
    run.pop("seconds", None)
    return run


WHOLE = {
    "a guess of people": ("publish", ["--people", "5000"]),
    "measurements": ("publish", ["--measurements", "--measurements-complete-to", "4"]),
    "totals": ("publish", ["--public-totals", "totals.csv", "--public-totals-source", "a law"]),
    "a prior": (
        "publish",
        ["--prior", "2024-03.csv", "--prior-is-public", "--prior-source", "a map"],
    ),
    "what an office says": ("publish", ["--metadata", "office.toml", "--display-below", "30"]),
    "a Gaussian series": (
        "publish-series",
        ["--person-in", "one", "--noise", "gaussian", "--delta", "1e-6", "--smooth", "forward"],
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_resumed_run_writes_what_it_would_have_written(office, tmp_path, monkeypatch, name):
    command, more = WHOLE[name]
    monkeypatch.chdir(tmp_path)
    regions = "".join(f"{y}_{x},{'ab'[x // 4]}\n" for x in range(8) for y in range(8))
    (tmp_path / "regions.csv").write_text(f"cell,city\n{regions}")
    totals = {"ab"[half]: sum(20 + x for x in range(4 * half, 4 * half + 4)) * 8 for half in (0, 1)}
    text = "".join(f"{city},{total}\n" for city, total in totals.items())
    (tmp_path / "totals.csv").write_text(f"city,total\n{text}")
    (tmp_path / "office.toml").write_text('publisher = "An office"\n')
    into = ["--ledger", tmp_path / "office.ledger", "--dataset", "stays"]
    geodp("budget", "init", *into[:2], "--dataset", "other", "--epsilon", 9, "--delta", "1e-3")
    keep_key(tmp_path / "key")
    given = ["2024-01.csv"]
    if command == "publish-series":
        given = [f"{month}={month}.csv" for month in ("2024-01", "2024-02")]
    if name == "totals":
        more = [*more, "--regions", "regions.csv", "--regions-source", "a law"]
    call = [command, *given, *office, *more, "--key-file", "key", "--dataset", "other"]
    place, written = staged_release, "write_public"
    if command == "publish-series":
        place, written = staged_release, "write_member"
    interrupt(monkeypatch, place, written, *call)
    done = geodp(*override(*call, "--resume"))
    assert done.returncode == 0, done.stderr
    again = geodp(*override(*call, "--output", tmp_path / "again"))
    assert again.returncode == 0, again.stderr
    assert len(Ledger.open(tmp_path / "office.ledger").charges("other")) == 1
    assert public_bytes(tmp_path / "out") == public_bytes(tmp_path / "again")
    assert run_of(tmp_path / "out") == run_of(tmp_path / "again")
    assert {"inputs", "occupied_cells", "people", "released_people"} <= run_of(
        tmp_path / "out"
    ).keys()
    assert [
        path for path in (tmp_path / "out" / "restricted").iterdir() if "npz" in path.name
    ] == []
