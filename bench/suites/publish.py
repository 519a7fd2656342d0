"""Processor time of commands, by phase, compared with libraries that write the same rows."""

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
from bench.tables import excerpt, fill, markdown, table

TITLE = """\
Seconds of processor time, user and system, of entire commands, each in its own process: the
minimum of some rounds. Phases of `geodp publish` add up to it; libraries write the same rows or
pixels from memory.
  GB                      peak memory of the whole process, 10^9 bytes"""

ROOT = Path(__file__).resolve().parents[2]
SAVED = Path(__file__).parents[1] / "results" / "publish.json"
DOCUMENT = ROOT / "docs" / "measured" / "speed.md"
PICTURE = ROOT / "docs" / "measured" / "publish.png"
EXAMPLE = ROOT / "data" / "kanto"

BITS = 37
JAPAN, EUROPE = 400_000, 1_500_000
"""Occupied cells of the synthetic maps: as many as a release of all Japan has at 500 m, and fewer
than one of Europe at 1 km, as noise lists more."""

JIS = (120.0, 28.0, 145.6, 28 + 4096 / 240)
"""4,096 x 4,096 cells of 500 m."""

WEST, SOUTH, METRES = 2_000_000, 1_000_000, 1000
EAST, NORTH = WEST + 4096 * METRES, SOUTH + 4096 * METRES


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help=f"public statistics: Japan is read from {CENSUS} there; otherwise it is made up",
    )
    parser.add_argument(
        "--cells",
        type=lambda text: [int(float(number)) for number in text.split(",")],
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
    """Measure rows of commands, of phases and of other libraries, input by input."""
    makers: dict[str, Callable[[Path], tuple[list[str], str]]] = {"example": example}
    if not quick:
        # Large inputs are left out of a quick run.
        makers |= {"Japan": lambda folder: japan(folder, data), "Europe": europe}
        for occupied in cells or [1_000_000]:
            makers[f"2^{BITS}, {occupied:.0e} cells".replace("e+0", "e")] = giant(occupied)
    limits = (1, 0.0) if quick else (rounds, patience)
    measured: dict[str, Rows] = {"commands": [], "phases": [], "peers": []}
    for name, make in makers.items():
        with tempfile.TemporaryDirectory(prefix="geodp-bench-") as folder:
            arguments, source = make(Path(folder))
            for part, rows in measure_one(arguments, Path(folder), limits).items():
                about = {"input": name} | ({"source": source} if part == "commands" else {})
                measured[part] += [{**about, **row} for row in rows]
    names = {peer for peers in peers_of_formats.PEERS.values() for peer in peers}
    settings = {"rounds": limits[0], "patience": limits[1], "quick": quick}
    return {"settings": settings, "versions": versions(names), **measured}


def versions(names: set[str]) -> dict[str, str]:
    """Look up the versions of the installed libraries, and of GDAL."""
    installed = {}
    for name in sorted(names):
        if importlib.util.find_spec(name) is not None:
            installed[name] = importlib.import_module(name).__version__
    return {**installed, "GDAL": importlib.import_module("rasterio").__gdal_version__}


def example(_folder: Path) -> tuple[list[str], str]:
    """Return arguments that publish the embedded example, and its description."""
    arguments = [*map(str, sorted(EXAMPLE.glob("*.zip"))), "--grid", "jis:half", "--value", TOTAL]
    return [*arguments, "--bounds", *map(str, KANTO), "--epsilon", "0.1"], "the embedded example"


def japan(folder: Path, data: Path | None) -> tuple[list[str], str]:
    """Return arguments for a census on the grid of all Japan, or for a map of that size."""
    paths = [] if data is None else sorted(map(str, (data / CENSUS).glob("*.zip")))
    if paths:
        arguments = [*paths, "--grid", "jis:half", "--value", TOTAL, "--epsilon", "1"]
        return arguments, f"{len(paths)} primary meshes of the census of 2020, on all Japan"
    import pyarrow as pa
    import pyarrow.parquet as pq

    made, path = synthetic.clustered(24, JAPAN), folder / "japan.parquet"
    codes = geodp.Grid.mesh("jis:half", bounds=JIS).names.format(0, made.grid.decode(made.key))
    pq.write_table(pa.table({"code": pa.array(codes), "n": made.count}), path)
    arguments = [str(path), "--grid", "jis:half", "--code", "code", "--bounds", *map(str, JIS)]
    return [*arguments, *COUNT_OPTIONS], "made up, with codes"


COUNT_OPTIONS = ("--value", "n", "--contribution", "1", "--epsilon", "1")


def europe(folder: Path) -> tuple[list[str], str]:
    """Return arguments for a synthetic map of Europe's size, by coordinates of centres."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made, path = synthetic.clustered(24, EUROPE), folder / "europe.parquet"
    row, column = made.grid.decode(made.key)
    x = WEST + METRES * (column + np.float64(0.5))
    y = SOUTH + METRES * (row + np.float64(0.5))
    pq.write_table(pa.table({"x": x, "y": y, "n": made.count}), path)
    arguments = [str(path), "--grid", "inspire:1km", "--x", "x", "--y", "y"]
    bounds = ["--bounds", *map(str, (WEST, SOUTH, EAST, NORTH))]
    return [*arguments, *bounds, "--anchor", "centre", *COUNT_OPTIONS], "made up, with coordinates"


def giant(cells: int) -> Callable[[Path], tuple[list[str], str]]:
    """Make a function that prepares a map of this many occupied cells, with rows and columns."""

    def make(folder: Path) -> tuple[list[str], str]:
        made, path = synthetic.clustered(BITS, cells), folder / "cells.parquet"
        write_cells(path, made)
        grid = "regular:{}x{}".format(*made.grid.shape)
        arguments = [str(path), "--grid", grid, "--x", "x", "--y", "y", "--anchor", "index"]
        return [*arguments, *COUNT_OPTIONS], "made up, with rows and columns"

    return make


def measure_one(arguments: list[str], folder: Path, limits: tuple[int, float]) -> dict[str, Rows]:
    """Publish, verify and report one input; then let libraries write the rows of the release."""
    output, page = folder / "release", folder / "page.html"
    done = fastest(lambda: phases.publish(arguments, output, folder), limits)
    # Verification and reports read what publishing wrote.
    others = {
        "verify": ["-m", "geodp", "verify", str(output)],
        "report": ["-m", "geodp", "report", str(output), "--output", str(page)],
    }
    phase_times = done.pop("phases", {})
    commands = [{"command": "publish", **sizes_of(output), **done}]
    for name, command in others.items():
        commands.append({"command": name, **fastest(partial(phases.spawn, command), limits)})
    return {
        "commands": commands,
        "phases": [
            {"phase": name, "cpu_seconds": seconds} for name, seconds in phase_times.items()
        ],
        "peers": peers_of_formats.measure(arguments[0], output / "public"),
    }


def fastest(call: Callable[[], dict[str, Any]], limits: tuple[int, float]) -> dict[str, Any]:
    """Find the run with the least processor time, of several until patience ends."""
    rounds, patience = limits
    best, total = call(), 0.0
    for _ in range(rounds - 1):
        # A failing command would fail again.
        if "problem" in best:
            break
        total += best["cpu_seconds"]
        if total > patience:
            break
        best = min(best, call(), key=lambda run: run.get("cpu_seconds", float("inf")))
    return best


def sizes_of(output: Path) -> dict[str, int]:
    """Read occupied cells, listed cells and the bytes of a release; its data are public."""
    import pyarrow.parquet as pq

    public, run = output / "public", output / "restricted" / "run.json"
    # The command failed, and its problem is in the row.
    if not run.exists():
        return {}
    return {
        "occupied": json.loads(run.read_text(encoding="utf-8"))["occupied_cells"],
        "listed": pq.read_metadata(public / "population.parquet").num_rows,
        "files_bytes": sum(path.stat().st_size for path in public.iterdir()),
    }


def show(result: dict[str, Any]) -> str:
    """Format both tables."""
    return "\n\n".join(table(lines) for lines in (commands(result), by_phase(result)))


def commands(result: dict[str, Any]) -> Rows:
    """Build a line for each input: the times of its commands."""
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
    """Build a line for each phase, and below it one for each peer; a column for each input."""
    inputs = list(dict.fromkeys(row["input"] for row in result["commands"]))
    lines = []
    for phase in phases.PHASES:
        lines.append({"phase": phase, "by": "geodp", **_across(result["phases"], inputs, phase)})
        for peer in peers_of_formats.PEERS.get(phase, ()):
            mine = [row for row in result["peers"] if row["peer"] == peer]
            lines.append({"phase": "", "by": peer, **_across(mine, inputs, phase)})
    return lines


ALONE = [phase for phase in phases.PHASES if phase not in peers_of_formats.PEERS]
"""Phases that no other library has."""


def _across(rows: Rows, inputs: list[str], phase: str) -> dict[str, float | None]:
    took = {row["input"]: row.get("cpu_seconds") for row in rows if row["phase"] == phase}
    # A format that was not written has time 0, which is shown as missing.
    return {name: took.get(name) or None for name in inputs}


def fill_document() -> dict[str, Any]:
    """Fill the document's tables and its figure with the saved figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    for part, text in sections(result).items():
        fill(DOCUMENT, marks(part), text)
    draw(result, PICTURE)
    return result


def marks(part: str) -> tuple[str, str]:
    """Return the markers around a part of the document."""
    return f"<!-- bench:publish:{part} -->", f"<!-- /bench:publish:{part} -->"


def sections(result: dict[str, Any]) -> dict[str, str]:
    """Format the document's parts, by name."""
    machine, settings = result["machine"], result["settings"]
    peer_versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    caption = (
        f"{machine['processors']} processors ({machine['processor']}), load {machine['load']} when "
        f"all was done; Python {machine['python']}, {peer_versions}. Least of up to "
        f"{settings['rounds']} rounds."
    )
    if machine["load"] and machine["load"] > machine["processors"] / 2:
        caption += " **The machine was busy with other work: figures of a quiet one are lower.**"
    # The picture has all phases; the table those that other libraries have too.
    rows = [line for line in by_phase(result) if line["phase"] not in ALONE]
    return {
        "commands": markdown(
            excerpt(commands(result), without=["occupied", "verify, GB", "report, GB", ""])
        ),
        "phases": f"{markdown(rows)}\n\n{caption}",
    }
