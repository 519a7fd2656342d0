"""``--resume`` completes a run for the same call alone: all that settles a release is compared."""

import json

import pytest

from geodp.cli import geodp as command_line
from geodp.cli.running import describe_call
from geodp.errors import UsageError
from geodp.io.folder import staged_release
from geodp.io.folder.pending import read_pending_draw
from geodp.privacy.ledger import Ledger
from tests.command import commands, context_of, geodp, override
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


EACH = {
    name: [str(one.name) for one in command.get_params(context_of(command)) if one.name != "help"]
    for name, command in commands()
    if name in ("publish", "publish-series")
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
    assert {"inputs", "occupied_cells", "counted_people", "released_people"} <= run_of(
        tmp_path / "out"
    ).keys()
    assert [
        path for path in (tmp_path / "out" / "restricted").iterdir() if "npz" in path.name
    ] == []
