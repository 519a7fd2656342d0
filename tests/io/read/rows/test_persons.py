"""Persons whose records do not fit in memory are bounded as if they did."""

import os
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.points import read_points
from geodp.io.read.rows import persons as module
from geodp.io.read.rows.columns import RowPositions
from geodp.io.read.rows.persons import Persons
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.key import NoiseKey, has_owners
from tests.io.read.dialects import make
from tests.refusals import refuses

SQUARE = Grid.regular((64, 64), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
OPTIONS = {"grid": SQUARE, "x": "x", "y": "y", "person": "id"}
MIB = 1 << 20


def trips(records, people, seed=0):
    """Records of persons with names of many lengths, a tenth of them of one person."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, people, records) * (rng.random(records) > 0.1)
    names = np.array([f" {'é' * (i % 5)}{i:x}{'z' * (i % 40)}" for i in range(people)])
    x, y = rng.integers(0, 64, (2, records)) + 0.5
    return pa.table({"x": x, "y": y, "id": names[who]})


def add(persons, names, keys):
    persons.add(
        RowPositions(None, 0), np.array(keys, np.uint64), pa.array(names, pa.string()), None
    )


@pytest.mark.parametrize("bounds", [{}, {"cells": 3, "per_cell": 2}])
def test_records_beyond_the_limit_give_the_same_table(bounds, tmp_path):
    rows = trips(30_000, 2_000)
    whole = read_points(rows, **OPTIONS, **bounds)
    found = read_points(rows, memory=MIB, scratch=tmp_path, **OPTIONS, **bounds)
    assert found.key.tolist() == whole.key.tolist()
    assert found.count.tolist() == whole.count.tolist()
    most = bounds.get("cells", 1) * bounds.get("per_cell", 1)
    assert found.bound == whole.bound == ContributionBound(most, "geodp")
    assert found.reading == whole.reading
    assert os.listdir(tmp_path) == []


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcdefghij"), st.integers(0, 2**64 - 1)), max_size=60))
def test_a_part_holds_all_records_of_its_persons_in_their_order(rows):
    persons = Persons("id")
    persons._records = module._Records(6 * module.HELD, None, 0)
    for name, key in rows:
        add(persons, [name], [key])
    wanted = {}
    for name, key in rows:
        wanted.setdefault(name, []).append(key)
    found = []
    try:
        for number, key in persons.parts():
            found += [key[number == one].tolist() for one in dict.fromkeys(number.tolist())]
    except InputError:
        assert Counter(name for name, _ in rows).most_common(1)[0][1] >= 5
        return
    assert sorted(found) == sorted(wanted.values())


def test_what_waits_is_on_disk_and_nobody_else_reads_it(tmp_path):
    persons = Persons("id", MIB, tmp_path)
    for start in range(0, 20_000, 5_000):
        add(persons, [str(i) for i in range(start, start + 5_000)], range(start, start + 5_000))
    assert persons.spilled > 15_000 * 8
    file = persons._records._file._file.fileno()
    if has_owners():
        assert (os.fstat(file).st_mode & 0o777, os.listdir(tmp_path)) == (0o600, [])
    parts = list(persons.parts())
    assert len(parts) > 16
    assert max(key.size for _, key in parts) * module.HELD < MIB
    assert sorted(np.concatenate([key for _, key in parts]).tolist()) == list(range(20_000))


def test_names_beyond_what_one_text_array_holds_go_to_disk_whatever_the_limit(monkeypatch):
    rows = trips(5_000, 400)
    whole = read_points(rows, **OPTIONS)
    assert module.MAX_NAME_BYTES < 1 << 31  # the offsets of Arrow's texts
    monkeypatch.setattr(module, "MAX_NAME_BYTES", 50_000)
    persons = Persons("id", 64 * MIB)
    for start in range(0, 5_000, 500):
        names = rows["id"].slice(start, 500).to_pylist()
        add(persons, names, range(500))
    held = persons._records
    assert persons.spilled > 0
    assert sum(one.nbytes for one in held._names) <= 50_000
    found = read_points(rows, memory=64 * MIB, **OPTIONS)
    assert (found.key.tolist(), found.count.tolist()) == (whole.key.tolist(), whole.count.tolist())


def test_one_person_who_alone_goes_beyond_the_limit_is_refused():
    rows = pa.table({"x": [0.5] * 20_000, "y": [0.5] * 20_000, "id": ["secret"] * 20_000})
    assert read_points(rows, **OPTIONS).count.tolist() == [1]
    with refuses(InputError, "persons-of-one-too-large") as caught:
        read_points(rows, memory=MIB, **OPTIONS)
    assert "secret" not in str(caught.value)


def test_a_sample_by_a_kept_key_must_fit_and_a_fresh_one_need_not():
    rows, sample = trips(20_000, 500), {"truncation": "sample", "cells": 2}
    kept = {**sample, "secret": NoiseKey(bytes(32))}
    one, two = (read_points(rows, **OPTIONS, **kept) for _ in range(2))
    assert one.count.tolist() == two.count.tolist()
    with refuses(InputError, "persons-to-sample-too-large"):
        read_points(rows, memory=MIB, **OPTIONS, **kept)
    fresh = read_points(rows, memory=MIB, **OPTIONS, **sample)
    assert fresh.count.sum() == one.count.sum()


def test_wrong_bounds_and_folders_are_refused_before_anything_is_read(tmp_path):
    with refuses(UsageError, r"contribution-form: \bcells\b"):
        read_points(tmp_path / "none.csv", **OPTIONS, cells=0)
    with refuses(UsageError, "scratch-folder-unfit"):
        read_points(tmp_path / "none.csv", **OPTIONS, scratch=tmp_path / "none")


WRITTEN = ["NA", "n/a", "NULL", " null ", "NaN", "None", "<NA>", "#N/A", "#DIV/0!", "-", "?"]
WRITTEN += ["\\N", "unknown", "不明"]


def points(folder, names):
    """Yield the same records in files, and as texts of all types in memory."""
    rows = {"id": names, "x": [0.5] * len(names), "y": [0.5] * len(names)}
    for form in ("csv", "jsonl", "parquet", "xlsx"):
        yield make(form, rows, folder)
    names = pa.array(names, pa.string())
    kinds = (names.cast(kind) for kind in (pa.large_string(), pa.binary(), pa.string_view()))
    for column in (*kinds, names.dictionary_encode()):
        yield pa.table({**rows, "id": column})


@pytest.mark.parametrize("name", [None, "", *WRITTEN])
def test_persons_who_are_not_known_are_not_one(name, tmp_path):
    for place in points(tmp_path, ["a", "Nora", name, name]):
        with refuses(InputError, r"person-missing: \bid\b") as caught:
            read_points(place, **OPTIONS)
        assert caught.value.row in (3, 4)  # a header, or none


@pytest.mark.parametrize("name", ["Nan 2", "nanny", "NA1", "0", "-1", "n", "Nullmeier"])
def test_persons_with_such_letters_are_some(name, tmp_path):
    for place in points(tmp_path, ["a", name, name]):
        assert read_points(place, **OPTIONS).count.tolist() == [2]


def test_persons_outside_of_the_domain_may_be_unknown():
    rows = pa.table({"x": [0.5, 99.0], "y": [0.5, 99.0], "id": ["a", "NA"]})
    assert read_points(rows, **OPTIONS, outside="drop").count.tolist() == [1]


FLOATS = pa.array([1.0, None])


@pytest.mark.parametrize(
    "names", [FLOATS, FLOATS.dictionary_encode(), pa.array([Decimal("1.50"), Decimal(1)])]
)
def test_persons_as_fractions_are_refused(names):
    rows = pa.table({"x": [0.5] * 2, "y": [0.5] * 2, "id": names})
    with refuses(InputError, "persons-not-told-apart"):
        read_points(rows, **OPTIONS)


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("kind", [(9, 2), (9, 0), (5, -2)])
def test_one_person_has_one_name_in_decimals_of_every_scale(coded, kind):
    """Otherwise a person of two files would be two, each with the whole bound."""
    names = pa.array([Decimal(300), Decimal(1200)], pa.decimal128(*kind))
    files = [
        pa.table({"x": [0.5] * 2, "y": [0.5] * 2, "id": one})
        for one in (names.dictionary_encode() if coded else names, pa.array([300, 1200]))
    ]
    assert [read_points(one, **OPTIONS).count.tolist() for one in files] == [[2], [2]]
    named = [
        module.name_persons(RowPositions(None, 0), "id", one["id"].chunk(0), None).to_pylist()
        for one in files
    ]
    assert named == [["300", "1200"]] * 2


def test_names_have_the_hash_that_they_have_among_long_ones():
    weights = module.draw_weights()
    names = [f"p{n}" for n in range(500)]
    short = module.hash_names(pa.array(names), weights)
    long = pa.array([*names, "x" * (module.SHORT + 1)])
    assert np.array_equal(short, module.hash_names(long, weights)[:-1])
    wanted = [
        sum((byte + 1) * int(w) for byte, w in zip(name.encode(), weights, strict=False)) % 2**64
        for name in names
    ]
    assert short.tolist() == wanted
    assert module.hash_names(long[:0], weights).size == 0
