"""``geodp publish`` on a cluster, and ``geodp join``."""

import hashlib
import sys

import pytest

from geodp import open as geodp_open
from tests.command import geodp

CALL = "--epsilon 1 --contribution 1"


def digests(folder):
    public = folder / "public"
    files = sorted(path for path in public.rglob("*") if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def cells(tmp_path):
    """Tables of cells in a folder, and the words that publish them."""
    folder = tmp_path / "cells"
    folder.mkdir()
    codes = ["533946113", "533946114", "533946122", "533946121"]
    for number in range(2):
        table = {"code": codes[number::2], "people": [500, 70]}
        (folder / f"{number}.csv").write_text(
            "code,people\n" + "".join(f"{c},{n}\n" for c, n in zip(*table.values(), strict=True))
        )
    words = "--grid jis:half --bounds 139 35 140 36 --code code --value people"
    return [folder, *words.split(), *CALL.split()]


def publish_both(tmp_path, *call):
    """Publish by a worker and by one machine under one key; require the same bytes."""
    key = ("--key-file", tmp_path / "key")
    for words in (
        ("key", key[1]),
        ("publish", *call, *key, "--workers", 1, "--output", tmp_path / "parts"),
        ("verify", tmp_path / "parts"),
        ("join", tmp_path / "parts", "--output", tmp_path / "one"),
        ("publish", *call, *key, "--output", tmp_path / "whole"),
    ):
        done = geodp(*words)
        assert done.returncode == 0, done.stderr
        assert ("geodp join" in done.stdout) == ("--workers" in words)
    assert digests(tmp_path / "one") == digests(tmp_path / "whole")
    return [geodp_open(tmp_path / name) for name in ("parts", "one")]


@pytest.mark.law
@pytest.mark.timeout(300)
def test_workers_publish_what_one_machine_does(cells, tmp_path):
    for name, one in zip(
        ("parts", "one"), publish_both(tmp_path, *cells, "--display-below", 100), strict=True
    ):
        assert one.card().display_below == 100
        assert "&lt;100" in (tmp_path / name / "public" / "population.qml").read_text()


@pytest.mark.law
@pytest.mark.timeout(300)
def test_workers_publish_with_a_prior_what_one_machine_does(cells, tmp_path):
    before = tmp_path / "before.csv"
    before.write_text("code,people\n533946113,400\n533946114,90\n533946121,70\n")
    given = ("--prior", before, "--prior-is-public", "--prior-source", "the census before")
    assert publish_both(tmp_path, *cells, *given)[0].prior.source == "the census before"


@pytest.mark.parametrize("workers", [(), ("--workers", 1)])
def test_a_prior_in_the_folder_of_the_inputs_is_refused(cells, tmp_path, workers):
    told = ("--prior", cells[0] / "1.csv", "--prior-is-public", "--prior-source", "a census")
    done = geodp("publish", *cells, *told, *workers, "--output", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--prior is one of the inputs" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("--cluster", "tcp://127.0.0.1:9", "--workers", 2), "not both"),
        (("--workers", 2, "--check"), "--workers or --check, not both"),
        (("--workers", 2, "--simulate", 3), "--workers or --simulate, not both"),
        (("--trust-cluster",), "goes with --cluster only"),
        (("--workers", 2, "--key-folder", "x"), "goes with --cluster only"),
        (("--workers", 2, "--round", "nearest"), "reads tables of cells and integer counts"),
    ],
)
def test_what_a_cluster_does_not_do_is_refused_in_a_sentence(options, rule, cells, tmp_path):
    done = geodp("publish", *cells, *options, "--output", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert rule in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.fixture
def trips(tmp_path):
    """Files of records of the same persons, and the words that publish them."""
    paths = [tmp_path / f"{number}.csv" for number in range(2)]
    for number, path in enumerate(paths):
        rows = (f"139.5{(i + number) % 10},35.5,{i % 300}\n" for i in range(900))
        path.write_text("lon,lat,id\n" + "".join(rows))
    words = "--grid jis:half --bounds 139 35 140 36 --points --x lon --y lat --epsilon 1"
    return [*paths, *words.split()]


@pytest.mark.law
@pytest.mark.timeout(300)
def test_workers_bound_persons_as_one_machine_does(trips, tmp_path):
    publish_both(tmp_path, *trips, "--person", "id", "--cells", 2)


def test_a_sample_of_persons_is_refused_with_the_remedy(trips, tmp_path):
    words = ["--person", "id", "--truncation", "sample", "--workers", 1]
    done = geodp("publish", *trips, *words, "--output", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--truncation first" in done.stderr
    assert not (tmp_path / "out").exists()


def test_without_dask_the_command_says_what_to_install(cells, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = geodp("publish", *cells, "--workers", 1, "--output", tmp_path / "out")
    assert done.returncode == 2
    assert "pip install 'geodp[dask]'" in done.stderr


def test_join_refuses_what_are_no_parts(tmp_path):
    done = geodp("join", tmp_path, "--output", tmp_path / "one")
    assert done.returncode == 3
    assert done.stderr.startswith("Error: ")
