"""Pipes, sockets and devices are refused at every door, before a byte of them is read."""

import os
import shutil
import socket
from pathlib import Path

import click
import pytest

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.opening import NOT_REGULAR, open_base, open_parquet, open_raster, read_json
from geodp.io.read.layout.presets import read_text
from geodp.io.read.public.polygons import read_polygons
from geodp.io.read.rows.input_files import kind_of, list_paths
from geodp.local.collect import Sums
from geodp.local.files import read_reports, read_sums
from geodp.local.planning import read_local_plan
from geodp.local.round import read_round
from geodp.release.metadata import read_metadata
from geodp.release.plan_file import read_plan
from tests.command import commands, context_of, geodp, override
from tests.refusals import refuses

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the file system has no FIFOs"),
    pytest.mark.timeout(60),  # whoever opens a pipe waits
]

TEXT = b"x,y,n\n0,0,5\n1,1,7\n"

PIPE = "PIPE"
"""Stands for the pipe in a call."""

CELLS = ("--grid", "regular:8x8", "--x", "x", "--y", "y", "--anchor", "index", "--value", "n")
TERMS = ("--epsilon", "1", "--contribution", "1", "--output", "out")
TABLE = ("in.csv", *CELLS, *TERMS)
SERIES = ("2024-01=in.csv", "2024-02=in.csv", *CELLS, *TERMS, "--person-in", "all")
MESH = ("--grid", "jis:basic", "--primary", "5339", "--epsilon", "1")
INCOMES = (*CELLS[:6], "--amount", "n", "--clip", "0", "9", "--unit-of-amount", "EUR", *TERMS)
EARNED = (*MESH[:4], "--code", "code", *INCOMES[6:])
HOMES = (*CELLS, "--protect", "person", *TERMS)
ENDS = ("--grid", "regular:8x8", "--from", "y,x", "--to", "x,y")
JOURNEYS = ("in.csv", *ENDS[:4], "--to", "v,u", "--value", "n", *TERMS)
PRIOR = ("--prior", PIPE, "--prior-is-public", "--prior-source", "s")

NAMED = {
    **{one: (f"--{one}", PIPE, f"--{one}-source", "s") for one in ("mask", "regions")},
    **{one: (f"--{one}", PIPE) for one in ("metadata", "polygons", "across", "recipe")},
    "prior": PRIOR,
    "public_totals": ("--public-totals", PIPE, "--public-totals-source", "s"),
}
"""Words that name a pipe as the file of an option."""

USUAL = {
    # A call, and the options that it may have besides; of an input "in.csv" the input is one more.
    "publish": (TABLE, "mask regions public_totals prior metadata recipe"),
    "publish-series": (SERIES, "mask regions metadata recipe"),
    "select top": ((*TABLE, "--k", "1"), "mask regions recipe"),
    "evaluate": ((*TABLE[:-2], "--trials", "1"), "mask regions"),
    "plan": (MESH, "mask regions polygons"),
    "new": (TABLE, "mask regions"),
    "audit": (("--rate", "1/5", "--threshold", "10", *MESH), "mask regions"),
    "estimate": (("release",), "polygons"),
    "compare": (("release", "other"), "polygons"),
    "diff": (("release", "other"), "polygons"),
    "local plan": ((*CELLS[:2], "--devices", "1e6", "--epsilon", "1"), "mask regions"),
    "census publish": (
        ("in.csv", *CELLS, "--margin", "ends=x,y", "--contradictions", "fit", *TERMS),
        "mask regions metadata recipe",
    ),
    "households publish": (
        ("in.csv", *HOMES, "--households", "n"),
        "mask regions metadata recipe",
    ),
    "households plan": ((*MESH, "--protect", "person"), "mask regions"),
    "census plan": ((*MESH, "--margin", "ends=x,y"), "mask regions"),
    "amounts publish": (("in.csv", *INCOMES), "mask regions metadata recipe"),
    "amounts publish-series": (
        ("2015=in.csv", "2020=in.csv", *INCOMES, "--person-in", "all"),
        "mask regions metadata recipe",
    ),
    "amounts choose-clip": (
        ("in.csv", *INCOMES[:8], *INCOMES[11:], "--candidates", "3,9"),
        "mask regions",
    ),
    "amounts plan": (
        (*MESH, "--median", "3", "--upper-tenth", "9", "--people", "1e4"),
        "mask regions",
    ),
    "households publish-series": (
        ("2015=in.csv", "2020=in.csv", *HOMES, "--households", "n", "--person-in", "all"),
        "mask regions metadata recipe",
    ),
    "flows publish": (JOURNEYS, "metadata prior mask regions recipe"),
    "flows publish-series": (
        ("2015=in.csv", "2020=in.csv", *JOURNEYS[1:], "--person-in", "all"),
        "metadata prior mask regions recipe",
    ),
    "flows evaluate": (JOURNEYS[:-2], "prior mask regions"),
    "flows choose-trips": (
        ("in.csv", *ENDS, "--person", "n", "--largest", "5", *TERMS[:2], *TERMS[-2:]),
        "mask regions",
    ),
    "flows plan": ((*MESH, "--trips", "1"), "mask regions"),
    "select plan": ((*MESH, "--k", "2"), "mask regions"),
}

READ = {
    name: {option: (*call, *NAMED[option]) for option in options.split()}
    for name, (call, options) in USUAL.items()
}
"""Calls in which an option that names a file to read names a pipe."""

for _name, (_call, _) in USUAL.items():
    if "in.csv" in _call[0]:
        READ[_name]["inputs"] = (_call[0].replace("in.csv", PIPE), *_call[1:])

OTHERS = {
    "publish": {
        "plan": ("in.csv", *CELLS, "--output", "out", "--plan", PIPE),
        "spec": ("in.csv", "--grid", f"like:{PIPE}", *CELLS[2:], *TERMS),
    },
    "evaluate": {
        "polygons": (
            *("mesh.csv", *MESH[:4], "--code", "code", "--value", "n", "--epsilon", "1"),
            *NAMED["polygons"],
        ),
    },
    "inspect": {"file": (PIPE,)},
    "audit": {
        "table": (PIPE, "--rate", "1/20", "--threshold", "10", "--epsilon", "1", "--column", "n"),
        "hierarchy": ("in.csv", "--hierarchy", f"n={PIPE}", "--threshold", "2"),
    },
    "report": {
        "about": ("release", "--json", "--about", PIPE),
        "places": ("release", "--places", PIPE, "--output", "x.html"),
    },
    "export": {"metadata": ("release", "--to", "netcdf", "--output", "x", "--metadata", PIPE)},
    "compare": {"across": ("flows", *NAMED["across"])},
    "estimate": {
        "across": ("flows", *NAMED["across"]),
        "within": ("release", "--box", "139.1", "35.5", "139.6", "35.9", "--within", PIPE),
    },
    "diff": {"across": ("flows", "moves", *NAMED["across"])},
    "households publish": {
        "households_file": ("in.csv", *HOMES, "--households-file", PIPE),
        "others_file": ("in.csv", *HOMES, "--households", "n", "--others-file", PIPE),
    },
    "amounts publish": {"prior": ("mesh.csv", *EARNED, *PRIOR)},
    "local open": {"file": ("--plan", PIPE, "--output", "new.json")},
    "local randomize": {
        "file": (PIPE, "codes.csv", "-o", "new.parquet"),
        "inputs": ("round.json", PIPE, "-o", "new.parquet"),
    },
    "local aggregate": {
        "file": (PIPE, "reports.parquet", "-o", "new.sums"),
        "reports": ("round.json", PIPE, "-o", "new.sums"),
    },
    "local publish": {"sums": (PIPE, "-o", "out")},
}
for _name, _calls in OTHERS.items():
    READ[_name] = READ.get(_name, {}) | _calls

FOLDERS = ("given", "release", "releases", "parts", "old", "new", "use", "supersedes", "compare")
FOLDERS += ("prior of amounts", "prior of estimate", "prior of plan", "prior of statistics")
OTHERWISE = {
    "output": "written",
    "recipe of new": "written",
    "plot": "written",
    "file of key": "written",
    "file of budget": "a ledger",
    "ledger": "no input: it is locked as a regular file, and refused otherwise",
    "witness": "a file beside a ledger, which is made or locked as a ledger is",
    "key_file": "refused in words of its own, see tests/privacy/test_key_file.py",
    "key_folder": "a folder",
    "metadata": "read_metadata refuses it wherever it is asked for, see below",
    **dict.fromkeys(FOLDERS, "a folder, whose card is a regular file"),
    "prior of flows": "a folder, whose card is a regular file, or one of the files above",
    "scratch": "a folder",
}
"""Options with a path that is no file to read, and why."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Write what calls need beside the pipe: tables, a release and an open round."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "in.csv").write_bytes(TEXT)
    (folder / "mesh.csv").write_text("code,n\n53394611,5\n")
    (folder / "codes.csv").write_text("code\n53394611\n")
    (folder / "trips.csv").write_text("o,d\n53394611,53394612\n")
    grid = "--grid", "jis:basic", "--primary", "5339"
    mesh = *grid, "--code", "code", "--value", "n"
    # Between as many zones as the other grid has, flows would take longer than all else.
    few = "--grid", "jis:basic", "--bounds", "139.75", "35.6666666667", "139.875", "35.75"
    for call in (
        ("publish", "mesh.csv", *mesh, *TERMS, "--output", "release"),
        ("publish", "mesh.csv", *mesh, *TERMS, "--epsilon", "2", "--output", "other"),
        (
            *("households", "publish", "mesh.csv", *mesh, "--households", "n"),
            *("--protect", "person", *TERMS[:-1], "homes"),
        ),
        (
            *("amounts", "publish", "mesh.csv", *mesh[:-2], "--amount", "n", "--clip", "0", "9"),
            *("--unit-of-amount", "EUR", *TERMS[:-1], "incomes"),
        ),
        *(
            (
                *("flows", "publish", "trips.csv", *few, "--from", "o", "--to", "d"),
                *("--contribution", "1", "--epsilon", epsilon, "--output", name),
            )
            for name, epsilon in (("flows", "1"), ("moves", "2"))
        ),
        ("local", "plan", *grid, "--devices", "1e6", "--epsilon", "1", "--output", "plan.toml"),
        ("local", "open", "--plan", "plan.toml", "--output", "round.json"),
    ):
        done = geodp(*(override(*call) if call[0] == "publish" else call), cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def pipe(prepared, monkeypatch):
    """Make a pipe beside what calls need; at the end it still holds all of a table."""
    monkeypatch.chdir(prepared)
    before = {*os.listdir()}
    os.mkfifo("p")
    handle = os.open("p", os.O_RDWR | os.O_NONBLOCK)
    os.write(handle, TEXT)
    yield Path("p")
    assert os.read(handle, 1 << 16) == TEXT
    os.close(handle)
    for name in {*os.listdir()} - before:
        shutil.rmtree(name) if Path(name).is_dir() else os.unlink(name)


def test_every_option_that_names_a_file_is_known():
    for name, command in commands():
        for one in command.get_params(context_of(command)):
            path = isinstance(one.type, click.Path) or one.name in ("inputs", "file")
            known = one.name in READ.get(name, {}) or one.name in OTHERWISE
            known |= f"{one.name} of {name.split()[0]}" in OTHERWISE
            assert known or not path, f"{name} {one.opts[-1]}: is a pipe refused?"


@pytest.mark.parametrize(
    ("name", "option"), [(name, option) for name, calls in READ.items() for option in calls]
)
def test_a_pipe_is_refused_and_nothing_of_it_is_read(pipe, name, option):
    before = sorted(os.listdir())
    done = geodp(*name.split(), *(one.replace(PIPE, "p") for one in READ[name][option]))
    assert (done.returncode, NOT_REGULAR in done.stderr) == (5, True), done
    assert done.stdout == ""
    assert sorted(os.listdir()) == before


DOORS = (
    *(kind_of, list_paths, read_json, open_parquet, read_plan, read_local_plan, read_metadata),
    *(read_round, read_sums, read_text, Sums.read),
    lambda path: open_raster(path).__enter__(),
    lambda path: open_base(path).__enter__(),
    lambda path: read_polygons(path, Grid.mesh("jis:basic", bounds=(139, 35, 140, 36))),
    lambda path: next(read_reports(path.rename("p.jsonl"), "", [])),
)


@pytest.mark.parametrize("door", DOORS)
def test_every_function_that_opens_a_file_refuses_a_pipe(pipe, door):
    with refuses(InputError, "input-not-regular"):
        door(pipe)


def test_sockets_devices_links_to_pipes_and_substitutions_are_refused(pipe):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("s")
        Path("link.csv").symlink_to("p")
        handles = os.pipe()
        for path in ("s", "/dev/null", "/dev/zero", "link.csv", f"/dev/fd/{handles[0]}"):
            done = geodp("publish", path, *CELLS, *TERMS)
            assert (done.returncode, NOT_REGULAR in done.stderr) == (5, True), (path, done)
        for handle in handles:
            os.close(handle)


@pytest.mark.parametrize("given", ["folder", "folder/*.csv"])
def test_a_pipe_among_the_files_of_a_folder_is_not_passed_over(pipe, given):
    Path("folder").mkdir()
    shutil.copy("in.csv", "folder/a.csv")
    pipe.rename("folder/b.csv")
    done = geodp("publish", given, *CELLS, *TERMS)
    assert (done.returncode, NOT_REGULAR in done.stderr) == (5, True), done


@pytest.mark.parametrize("ending", [".dbf", ".shx", ".prj", ".cpg"])
def test_a_pipe_beside_a_shapefile_is_refused(pipe, ending):
    Path("a.shp").write_bytes(b"\0\0\x27\x0a" + bytes(96))
    pipe.rename(f"a{ending}")
    done = geodp("publish", "a.shp", *CELLS, *TERMS)
    assert (done.returncode, NOT_REGULAR in done.stderr) == (5, True), done
    with refuses(InputError, "input-not-regular"):
        read_polygons("a.shp", Grid.mesh("jis:basic", bounds=(139, 35, 140, 36)))


def test_a_standard_input_that_is_a_file_is_read_as_that_file(pipe):
    handle = os.open("in.csv", os.O_RDONLY)
    done = geodp("publish", f"/dev/fd/{handle}", *CELLS, *TERMS)
    assert done.returncode == 0, done
    os.close(handle)
