"""Processor time of whole commands, by phase, beside libraries that write the same rows."""

from __future__ import annotations

import argparse
import importlib
import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs import synthetic
from bench.inputs.public import CENSUS, KANTO, TOTAL
from bench.measure import peers_of_formats, phases
from bench.suites.large import write_cells
from bench.suites.publish_figure import draw
from bench.suites.speed_parts import Rows
from bench.tables import fill, markdown, table

TITLE = """\
Seconds of processor time, user and system, of whole commands, each in a process of its own; the
least of some rounds. Phases of `geodp publish` add up to it; peers write the same rows or pixels,
which lie in their memory before.
  GB                      peak memory of the whole process, 10^9 bytes"""

ROOT = Path(__file__).resolve().parents[2]
SAVED = Path(__file__).parents[1] / "results" / "publish.json"
DOCUMENT = ROOT / "docs" / "measured" / "speed.md"
PICTURE = ROOT / "docs" / "measured" / "publish.png"
EXAMPLE = ROOT / "data" / "kanto"

BITS = 37
JAPAN, EUROPE = 400_000, 1_500_000
"""Occupied cells of the made maps: as many as are released of all Japan by 500 m, and fewer than of
Europe by 1 km, as noise lists more."""

JIS = (120.0, 28.0, 145.6, 28 + 4096 / 240)
"""4,096 x 4,096 cells of 500 m."""

WEST, SOUTH, METRES = 2_000_000, 1_000_000, 1000
EAST, NORTH = WEST + 4096 * METRES, SOUTH + 4096 * METRES


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options; their names are :func:`measure`'s."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help=f"public statistics: Japan is read from {CENSUS} there; otherwise it is made up",
    )
    parser.add_argument(
        "--cells",
        type=lambda words: [int(float(word)) for word in words.split(",")],
        default=[1_000_000],
        metavar="N,N",
        help=f"occupied cells of maps of 2^{BITS}; default: 1e6. 1e7 takes ten times as long",
    )
    parser.add_argument("--rounds", type=int, default=5, help="at most, of each; default: 5")
    parser.add_argument(
        "--patience", type=float, default=20, help="seconds after which no round is begun"
    )
    parser.add_argument("--quick", action="store_true", help="the example alone, once")


def measure(
    data: Path | None = None,
    cells: list[int] | None = None,
    rounds: int = 5,
    patience: float = 20,
    quick: bool = False,
) -> dict[str, Any]:
    """Return rows of commands, of phases and of peers, input by input."""
    makers: dict[str, Callable[[Path], tuple[list[str], str]]] = {"example": example}
    if not quick:
        makers |= {"Japan": lambda folder: japan(folder, data), "Europe": europe}
        for most in cells or [1_000_000]:
            makers[f"2^{BITS}, {most:.0e} cells".replace("e+0", "e")] = giant(most)
    limits = (1, 0.0) if quick else (rounds, patience)
    found: dict[str, Rows] = {"commands": [], "phases": [], "peers": []}
    for name, make in makers.items():
        with tempfile.TemporaryDirectory(prefix="geodp-bench-") as folder:
            words, source = make(Path(folder))
            for part, rows in measure_one(words, Path(folder), limits).items():
                about = {"input": name} | ({"source": source} if part == "commands" else {})
                found[part] += [{**about, **row} for row in rows]
    names = {peer for peers in peers_of_formats.PEERS.values() for peer in peers}
    settings = {"rounds": limits[0], "patience": limits[1], "quick": quick}
    return {"settings": settings, "versions": versions(names), **found}


def versions(names: set[str]) -> dict[str, str]:
    """Return the versions of the peers that are there, and of GDAL."""
    there = {}
    for name in sorted(names):
        if importlib.util.find_spec(name) is not None:
            there[name] = importlib.import_module(name).__version__
    return {**there, "GDAL": importlib.import_module("rasterio").__gdal_version__}


def example(_folder: Path) -> tuple[list[str], str]:
    """Return arguments that publish the embedded example, and what it is."""
    words = [*map(str, sorted(EXAMPLE.glob("*.zip"))), "--grid", "jis:half", "--value", TOTAL]
    return [*words, "--bounds", *map(str, KANTO), "--epsilon", "0.1"], "the embedded example"


def japan(folder: Path, data: Path | None) -> tuple[list[str], str]:
    """Return the same of a census on the grid of all Japan, or of a map of that size."""
    paths = [] if data is None else sorted(map(str, (data / CENSUS).glob("*.zip")))
    if paths:
        words = [*paths, "--grid", "jis:half", "--value", TOTAL, "--epsilon", "1"]
        return words, f"{len(paths)} primary meshes of the census of 2020, on all Japan"
    import pyarrow as pa
    import pyarrow.parquet as pq

    made, path = synthetic.clustered(24, JAPAN), folder / "japan.parquet"
    codes = geodp.Grid.mesh("jis:half", bounds=JIS).names.format(0, made.grid.decode(made.key))
    pq.write_table(pa.table({"code": pa.array(codes), "n": made.count}), path)
    words = [str(path), "--grid", "jis:half", "--code", "code", "--bounds", *map(str, JIS)]
    return [*words, *COUNTED], "made up, with codes"


COUNTED = ("--value", "n", "--contribution", "1", "--epsilon", "1")


def europe(folder: Path) -> tuple[list[str], str]:
    """Return the same of a made map of Europe's size, by coordinates of centres."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made, path = synthetic.clustered(24, EUROPE), folder / "europe.parquet"
    row, column = made.grid.decode(made.key)
    x = WEST + METRES * (column + np.float64(0.5))
    y = SOUTH + METRES * (row + np.float64(0.5))
    pq.write_table(pa.table({"x": x, "y": y, "n": made.count}), path)
    words = [str(path), "--grid", "inspire:1km", "--x", "x", "--y", "y"]
    bounds = ["--bounds", *map(str, (WEST, SOUTH, EAST, NORTH))]
    return [*words, *bounds, "--anchor", "centre", *COUNTED], "made up, with coordinates"


def giant(cells: int) -> Callable[[Path], tuple[list[str], str]]:
    """Return what makes the same of a map of so many occupied cells, with rows and columns."""

    def make(folder: Path) -> tuple[list[str], str]:
        made, path = synthetic.clustered(BITS, cells), folder / "cells.parquet"
        write_cells(path, made)
        grid = "regular:{}x{}".format(*made.grid.shape)
        words = [str(path), "--grid", grid, "--x", "x", "--y", "y", "--anchor", "index"]
        return [*words, *COUNTED], "made up, with rows and columns"

    return make


def measure_one(words: list[str], folder: Path, limits: tuple[int, float]) -> dict[str, Rows]:
    """Publish, verify and report one input; then let the peers write the rows of the release."""
    output, page = folder / "release", folder / "page.html"
    done = least(lambda: phases.publish(words, output, folder), limits)
    others = {
        "verify": ["-m", "geodp", "verify", str(output)],
        "report": ["-m", "geodp", "report", str(output), "--format", "html", "--output", str(page)],
    }
    spent = done.pop("phases", {})
    commands = [{"command": "publish", **sizes_of(output), **done}]
    for name, command in others.items():
        commands.append({"command": name, **least(partial(phases.spawn, command), limits)})
    return {
        "commands": commands,
        "phases": [{"phase": name, "cpu_seconds": took} for name, took in spent.items()],
        "peers": peers_of_formats.measure(words[0], output / "public"),
    }


def least(call: Callable[[], dict[str, Any]], limits: tuple[int, float]) -> dict[str, Any]:
    """Return the round that took the least processor time, of some until patience ends."""
    rounds, patience = limits
    best, spent = call(), 0.0
    for _ in range(rounds - 1):
        if "problem" in best:
            break
        spent += best["cpu_seconds"]
        if spent > patience:
            break
        best = min(best, call(), key=lambda one: one.get("cpu_seconds", float("inf")))
    return best


def sizes_of(output: Path) -> dict[str, int]:
    """Return occupied cells, listed cells and the bytes of a release of what is public anyway."""
    import pyarrow.parquet as pq

    public, run = output / "public", output / "restricted" / "run.json"
    if not run.exists():
        return {}
    return {
        "occupied": json.loads(run.read_text(encoding="utf-8"))["occupied_cells"],
        "listed": pq.read_metadata(public / "population.parquet").num_rows,
        "files_bytes": sum(path.stat().st_size for path in public.iterdir()),
    }


def show(result: dict[str, Any]) -> str:
    """Return both tables."""
    return "\n\n".join(table(lines) for lines in (commands(result), by_phase(result)))


def commands(result: dict[str, Any]) -> Rows:
    """Return a line for each input: what its commands take."""
    lines: dict[str, dict[str, Any]] = {}
    for row in result["commands"]:
        line = lines.setdefault(row["input"], {"input": row["input"], "what": row["source"]})
        if row["command"] == "publish":
            line |= {"occupied": row.get("occupied"), "listed": row.get("listed")}
            line["files, MB"] = row["files_bytes"] / 1e6 if "files_bytes" in row else None
        line[row["command"]] = row.get("cpu_seconds")
        line[f"{row['command']}, GB"] = (
            row["resident_bytes"] / 1e9 if "resident_bytes" in row else None
        )
        line[""] = " ".join(filter(None, (line.pop("", ""), row.get("problem"))))
    return [*lines.values()]


def by_phase(result: dict[str, Any]) -> Rows:
    """Return a line for each phase, and below it one for each peer; a column for each input."""
    inputs = list(dict.fromkeys(row["input"] for row in result["commands"]))
    lines = []
    for phase in phases.PHASES:
        lines.append({"phase": phase, "by": "geodp", **_across(result["phases"], inputs, phase)})
        for peer in peers_of_formats.PEERS.get(phase, ()):
            mine = [row for row in result["peers"] if row["peer"] == peer]
            lines.append({"phase": "", "by": peer, **_across(mine, inputs, phase)})
    return lines


def _across(rows: Rows, inputs: list[str], phase: str) -> dict[str, float | None]:
    took = {row["input"]: row.get("cpu_seconds") for row in rows if row["phase"] == phase}
    return {name: took.get(name) or None for name in inputs}  # a format that is not written: 0


def fill_document() -> dict[str, Any]:
    """Write the document's tables and its picture from the kept figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    for part, words in sections(result).items():
        fill(DOCUMENT, marks(part), words)
    draw(result, PICTURE)
    return result


def marks(part: str) -> tuple[str, str]:
    """Return what a part of the document stands between."""
    return f"<!-- bench:publish:{part} -->", f"<!-- /bench:publish:{part} -->"


def sections(result: dict[str, Any]) -> dict[str, str]:
    """Return the document's parts, by name."""
    machine, kept = result["machine"], result["settings"]
    beside = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    how = (
        f"{machine['processors']} processors ({machine['processor']}), load {machine['load']} when "
        f"all was done; Python {machine['python']}, {beside}. Least of up to {kept['rounds']} "
        "rounds."
    )
    if machine["load"] and machine["load"] > machine["processors"] / 2:
        how += " **The machine was busy with other work: figures of a quiet one are lower.**"
    return {
        "commands": markdown(commands(result)),
        "phases": f"{markdown(by_phase(result))}\n\n{how}",
    }
