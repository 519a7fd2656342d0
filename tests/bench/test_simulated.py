"""Simulated intervals of releases with a prior, with totals and of islands, as they are kept."""

import json

import pytest

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
from bench.suites import simulated

KEPT = json.loads(simulated.SAVED.read_text(encoding="utf-8"))


def test_every_kind_of_region_is_held_as_often_as_the_document_says():
    for case, kind, epsilon in {(r["case"], r["kind"], r["epsilon"]) for r in KEPT["rows"]}:
        rows = [
            r for r in KEPT["rows"] if (r["case"], r["kind"], r["epsilon"]) == (case, kind, epsilon)
        ]
        intervals = sum(row["intervals"] for row in rows)
        held = sum(row["simulated"] * row["intervals"] for row in rows) / intervals
        assert held > 0.93, (case, kind, epsilon)
