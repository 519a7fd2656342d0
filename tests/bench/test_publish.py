"""The benchmark of whole commands: its phases add up, its peers write, the document shows it."""

import json

import pytest

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
from bench.measure import peers_of_formats, phases
from bench.suites import publish

PARTS = ("commands", "phases", "peers")


@pytest.fixture(scope="module")
def found():
    """Figures of one round of the embedded example."""
    return publish.measure(quick=True)


@pytest.mark.law
def test_phases_add_up_to_the_command(found):
    assert [row["command"] for row in found["commands"]] == ["publish", "verify", "report"]
    assert [row.get("problem") for row in found["commands"]] == [None] * 3
    spent = {row["phase"]: row["cpu_seconds"] for row in found["phases"]}
    assert tuple(spent) == phases.PHASES
    assert all(took > 0 for took in spent.values())
    assert sum(spent.values()) == pytest.approx(found["commands"][0]["cpu_seconds"])


@pytest.mark.law
def test_peers_write_every_file_of_rows(found):
    asked = {(phase, peer) for phase, peers in peers_of_formats.PEERS.items() for peer in peers}
    assert {(row["phase"], row["peer"]) for row in found["peers"]} == asked - {("read", "duckdb")}
    assert [row for row in found["peers"] if not row.get("cpu_seconds")] == []
    lines = publish.by_phase({**found})
    assert [line["by"] for line in lines if line["phase"] == ""].count("duckdb") == 3
    assert [line["example"] for line in lines if line["phase"] == "read"] != [None]


def test_all_parts_and_inputs_were_measured():
    kept = json.loads(publish.SAVED.read_text(encoding="utf-8"))
    assert "](publish.png)" in publish.DOCUMENT.read_text(encoding="utf-8")
    assert {row["input"] for row in kept["phases"]} >= {"example", "Japan", "Europe"}
    assert all(kept[part] for part in PARTS)
