"""The benchmark of reading asks every engine the same, and the document shows what was kept."""

import importlib.util
import json

import pytest

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
from bench.suites import read

pytestmark = pytest.mark.law


def test_all_inputs_were_measured():
    kept = json.loads(read.SAVED.read_text(encoding="utf-8"))
    assert [row["input"] for row in kept["rows"]] == [read.START, *read.INPUTS]


@pytest.mark.parametrize("name", read.INPUTS)
def test_every_engine_counts_the_same(name, tmp_path):
    path = str(read._write(name, 5_000, tmp_path))
    found = {"geodp": read._child("geodp", name, path, "1")}
    for engine in read.ENGINES:
        known = importlib.util.find_spec(engine) is not None
        if known and (engine, name) != ("polars", "persons CSV"):
            found[engine] = read._child(engine, name, path, "1")
    assert len({*found.values()}) == 1
    assert len(found) > 1
