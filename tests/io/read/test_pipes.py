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
SAMPLE = ("--rate", "1/5", "--threshold", "10", *MESH)
INCOMES = (*CELLS[:6], "--amount", "n", "--clip", "0", "9", "--unit-of-amount", "EUR", *TERMS)
YEARS = ("2015=in.csv", "2020=in.csv", *INCOMES, "--person-in", "all")
EARNED = (*MESH[:4], "--code", "code", *INCOMES[6:])
CLIP = (*INCOMES[:8], *INCOMES[11:], "--candidates", "3,9")
GUESSES = (*MESH, "--median", "3", "--upper-tenth", "9", "--people", "1e4")
HOMES = (*CELLS, "--protect", "person", *TERMS)
ENDS = ("--grid", "regular:8x8", "--from", "y,x", "--to", "x,y")
TRIPS = (*ENDS, "--value", "n", *TERMS)
JOURNEYS = ("--grid", "regular:8x8", "--from", "y,x", "--to", "v,u", "--value", "n", *TERMS)
MEASURED = JOURNEYS[:-2]
MOST_TRIPS = (*ENDS, "--person", "n", "--largest", "5", *TERMS[:2], *TERMS[-2:])
ROUND = ("--grid", "regular:8x8", "--devices", "1e6", "--epsilon", "1")

READ = {
    "publish": {
        "inputs": (PIPE, *CELLS, *TERMS),
        "recipe": ("in.csv", "--recipe", PIPE, *TERMS),
        "mask": (*TABLE, "--mask", PIPE, "--mask-source", "s"),
        "regions": (*TABLE, "--regions", PIPE, "--regions-source", "s"),
        "plan": ("in.csv", *CELLS, "--output", "out", "--plan", PIPE),
        "public_totals": (*TABLE, "--public-totals", PIPE, "--public-totals-source", "s"),
        "prior": (*TABLE, "--prior", PIPE, "--prior-is-public", "--prior-source", "s"),
        "metadata": (*TABLE, "--metadata", PIPE),
        "spec": ("in.csv", "--grid", f"like:{PIPE}", *CELLS[2:], *TERMS),
    },
    "publish-series": {
        "inputs": (f"2024-01={PIPE}", "2024-02=in.csv", *CELLS, *TERMS, "--person-in", "all"),
        "mask": (*SERIES, "--mask", PIPE, "--mask-source", "s"),
        "regions": (*SERIES, "--regions", PIPE, "--regions-source", "s"),
        "metadata": (*SERIES, "--metadata", PIPE),
        "recipe": (*SERIES[:2], "--recipe", PIPE, *TERMS, "--person-in", "all"),
    },
    "select top": {
        "inputs": (PIPE, *CELLS, *TERMS, "--k", "1"),
        "mask": (*TABLE, "--k", "1", "--mask", PIPE, "--mask-source", "s"),
        "regions": (*TABLE, "--k", "1", "--regions", PIPE, "--regions-source", "s"),
    },
    "evaluate": {
        "inputs": (PIPE, *CELLS, "--epsilon", "1"),
        "mask": ("in.csv", *CELLS, "--epsilon", "1", "--mask", PIPE, "--mask-source", "s"),
        "regions": ("in.csv", *CELLS, "--epsilon", "1", "--regions", PIPE, "--regions-source", "s"),
        "polygons": (
            *("mesh.csv", "--grid", "jis:basic", "--primary", "5339", "--code", "code"),
            *("--value", "n", "--epsilon", "1", "--polygons", PIPE),
        ),
    },
    "plan": {
        "mask": (*MESH, "--mask", PIPE, "--mask-source", "s"),
        "regions": (*MESH, "--regions", PIPE, "--regions-source", "s"),
        "polygons": (*MESH, "--polygons", PIPE),
    },
    "inspect": {"file": (PIPE,)},
    "new": {
        "inputs": (PIPE, *CELLS, *TERMS),
        "mask": (*TABLE, "--mask", PIPE, "--mask-source", "s"),
        "regions": (*TABLE, "--regions", PIPE, "--regions-source", "s"),
    },
    "audit": {
        "table": (PIPE, "--rate", "1/20", "--threshold", "10", "--epsilon", "1", "--column", "n"),
        "hierarchy": ("in.csv", "--hierarchy", f"n={PIPE}", "--threshold", "2"),
        "mask": (*SAMPLE, "--mask", PIPE, "--mask-source", "s"),
        "regions": (*SAMPLE, "--regions", PIPE, "--regions-source", "s"),
    },
    "report": {
        "about": ("release", "--json", "--about", PIPE),
        "places": ("release", "--places", PIPE, "--output", "x.html"),
    },
    "export": {"metadata": ("release", "--to", "netcdf", "--output", "x", "--metadata", PIPE)},
    "compare": {
        "polygons": ("release", "other", "--polygons", PIPE),
        "across": ("flows", "--across", PIPE),
    },
    "estimate": {
        "polygons": ("release", "--polygons", PIPE),
        "across": ("flows", "--across", PIPE),
    },
    "diff": {
        "polygons": ("release", "other", "--polygons", PIPE),
        "across": ("flows", "moves", "--across", PIPE),
    },
    "local plan": {
        "mask": (*ROUND, "--mask", PIPE, "--mask-source", "s"),
        "regions": (*ROUND, "--regions", PIPE, "--regions-source", "s"),
    },
    "households publish": {
        "inputs": (PIPE, *HOMES),
        "households_file": ("in.csv", *HOMES, "--households-file", PIPE),
        "others_file": ("in.csv", *HOMES, "--households", "n", "--others-file", PIPE),
        "recipe": ("in.csv", "--recipe", PIPE, *HOMES[-8:]),
        "mask": ("in.csv", *HOMES, "--households", "n", "--mask", PIPE, "--mask-source", "s"),
        "regions": (
            *("in.csv", *HOMES, "--households", "n", "--regions", PIPE),
            *("--regions-source", "s"),
        ),
        "metadata": ("in.csv", *HOMES, "--households", "n", "--metadata", PIPE),
    },
    "households plan": {
        "mask": (*MESH, "--protect", "person", "--mask", PIPE, "--mask-source", "s"),
        "regions": (*MESH, "--protect", "person", "--regions", PIPE, "--regions-source", "s"),
    },
    "amounts publish": {
        "inputs": (PIPE, *INCOMES),
        "mask": ("in.csv", *INCOMES, "--mask", PIPE, "--mask-source", "s"),
        "regions": ("in.csv", *INCOMES, "--regions", PIPE, "--regions-source", "s"),
        "metadata": ("in.csv", *INCOMES, "--metadata", PIPE),
        "prior": ("mesh.csv", *EARNED, "--prior", PIPE, "--prior-is-public", "--prior-source", "s"),
    },
    "amounts publish-series": {
        "inputs": (f"2015={PIPE}", "2020=in.csv", *INCOMES, "--person-in", "all"),
        "mask": (*YEARS, "--mask", PIPE, "--mask-source", "s"),
        "regions": (*YEARS, "--regions", PIPE, "--regions-source", "s"),
        "metadata": (*YEARS, "--metadata", PIPE),
    },
    "amounts choose-clip": {
        "inputs": (PIPE, *CLIP),
        "mask": ("in.csv", *CLIP, "--mask", PIPE, "--mask-source", "s"),
        "regions": ("in.csv", *CLIP, "--regions", PIPE, "--regions-source", "s"),
    },
    "amounts plan": {
        "mask": (*GUESSES, "--mask", PIPE, "--mask-source", "s"),
        "regions": (*GUESSES, "--regions", PIPE, "--regions-source", "s"),
    },
    "flows publish": {
        "inputs": (PIPE, *TRIPS),
        "metadata": ("in.csv", *TRIPS, "--metadata", PIPE),
        "prior": ("in.csv", *JOURNEYS, "--prior", PIPE, "--prior-is-public", "--prior-source", "s"),
        "mask": ("in.csv", *TRIPS, "--mask", PIPE, "--mask-source", "s"),
        "regions": ("in.csv", *TRIPS, "--regions", PIPE, "--regions-source", "s"),
    },
    "flows evaluate": {
        "inputs": (PIPE, *MEASURED),
        "prior": ("in.csv", *MEASURED, "--prior", PIPE, "--prior-is-public", "--prior-source", "s"),
        "mask": ("in.csv", *MEASURED, "--mask", PIPE, "--mask-source", "s"),
        "regions": ("in.csv", *MEASURED, "--regions", PIPE, "--regions-source", "s"),
    },
    "flows choose-trips": {
        "inputs": (PIPE, *MOST_TRIPS),
        "mask": ("in.csv", *MOST_TRIPS, "--mask", PIPE, "--mask-source", "s"),
        "regions": ("in.csv", *MOST_TRIPS, "--regions", PIPE, "--regions-source", "s"),
    },
    "flows plan": {
        "mask": (*MESH, "--trips", "1", "--mask", PIPE, "--mask-source", "s"),
        "regions": (*MESH, "--trips", "1", "--regions", PIPE, "--regions-source", "s"),
    },
    "local open": {"file": ("--plan", PIPE, "--output", "new.json")},
    "local randomize": {
        "file": (PIPE, "codes.csv", "-o", "new.parquet"),
        "cells": ("round.json", PIPE, "-o", "new.parquet"),
    },
    "local aggregate": {
        "file": (PIPE, "reports.parquet", "-o", "new.sums"),
        "reports": ("round.json", PIPE, "-o", "new.sums"),
    },
    "local publish": {"sums": (PIPE, "-o", "out")},
}
"""Calls in which an option that names a file to read names a pipe."""

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
    "release": "a folder, whose card is a regular file",
    "releases": "a folder, whose card is a regular file",
    "parts": "a folder, whose card is a regular file",
    "old": "a folder, whose card is a regular file",
    "new": "a folder, whose card is a regular file",
    "use": "a folder, whose card is a regular file",
    "supersedes": "a folder, whose card is a regular file",
    "prior of amounts": "a folder, whose card is a regular file",
    "prior of flows": "a folder, whose card is a regular file, or one of the files above",
    "prior of estimate": "a folder, whose card is a regular file",
    "prior of plan": "a folder, whose card is a regular file",
    "prior of statistics": "a folder, whose card is a regular file",
    "compare": "a folder, whose card is a regular file",
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
                *("--contribution", "1", "--epsilon", "1", "--output", name),
            )
            for name in ("flows", "moves")
        ),
        ("local", "plan", *grid, "--devices", "1e6", "--epsilon", "1", "--output", "plan.toml"),
        ("local", "open", "--plan", "plan.toml", "--output", "round.json"),
    ):
        done = geodp(*(override(*call) if call[0] == "publish" else call), cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def pipe(prepared, tmp_path, monkeypatch):
    """Make a pipe that holds a table; at the end it still holds all of it."""
    shutil.copytree(prepared, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    os.mkfifo("p")
    handle = os.open("p", os.O_RDWR | os.O_NONBLOCK)
    os.write(handle, TEXT)
    yield Path("p")
    assert os.read(handle, 1 << 16) == TEXT
    os.close(handle)


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
