"""Speed and memory in one run, compared with alternatives; docs/measured/speed.md shows it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure import instructions, machine, refinement
from bench.parts import add_parts, choose_parts
from bench.suites import speed_growth, speed_parts
from bench.suites.speed_parts import FULL, QUICK, Rows, Sizes
from bench.tables import excerpt, fill, markdown, paragraph, table

TITLE = """\
Ratios within one run: libraries take turns, each figure is the least of some rounds, and all is
compiled before. One thread, unless it says 2."""

SAVED = Path(__file__).parents[1] / "results" / "speed.json"
ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "measured" / "speed.md"
PLOT = ROOT / "docs" / "measured" / "speed.png"
MEMORY = ROOT / "docs" / "measured" / "memory.png"

PARTS: dict[str, Callable[[Sizes], Rows]] = {
    "refinement": speed_parts.refinement,
    "baselines": speed_parts.baselines,
    "noise": speed_parts.draws,
    "sort": speed_parts.sorting,
    "memory": speed_parts.memory,
    "identical": speed_parts.identical,
    "growth": speed_growth.measure,
    "instructions": instructions.measure,
}
"""Measurements, each a table of the document."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, in seconds; ratios then mean little"
    )
    add_parts(parser, PARTS)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw the growth: a PNG")


def measure(
    quick: bool = False, parts: list[str] | None = None, plot: Path | None = None
) -> dict[str, Any]:
    """Measure rows of the chosen parts; others are taken from saved figures of the same sizes."""
    chosen, saved = choose_parts(parts, PARTS, SAVED)
    if saved and saved["settings"]["quick"] != quick:
        # Figures of small and of large tables must not be mixed.
        saved = {}
    sizes = QUICK if quick else FULL
    # Compiling must not count as time of the first part.
    refinement.warm()
    measured = {part: PARTS[part](sizes) for part in chosen}
    result: dict[str, Any] = {
        "settings": {
            "quick": quick,
            "np_sort": speed_parts.np_sort(),
            "registers": machine.registers(),
            "rounds": sizes.rounds,
            "patience": sizes.patience,
        },
        **{part: measured.get(part, saved.get(part, [])) for part in PARTS},
    }
    result["exponents"] = speed_growth.exponents(result["growth"]) if result["growth"] else []
    if plot and result["growth"]:
        speed_growth.draw(result["growth"], plot)
    return result


def yardsticks(result: dict[str, Any]) -> Rows:
    """Compute the yardsticks of a method, a row for each: ratios within one run, and counts.

    They are time over that of the noise alone, instructions and bytes.
    """
    # Instructions are missing where valgrind is not installed.
    counted = {row["method"]: row.get("a_node") for row in result["instructions"]}
    rows: Rows = []
    for method in refinement.METHODS:
        method_rows = [row for row in result["refinement"] if row["method"] == method]
        (largest,) = (row for row in method_rows if (row["table"], row["bits"]) == LARGEST)
        bytes_held = [
            row["bytes_an_output_cell"] for row in result["memory"] if row["method"] == method
        ]
        shares = [row["floor"] for row in method_rows]
        rows.append(
            {
                "method": method,
                "ns_a_node": largest["ns_a_node"],
                "floor": largest["floor"],
                "least_floor": min(shares),
                "most_floor": max(shares),
                "instructions": counted.get(method),
                "least_bytes": min(bytes_held),
                "most_bytes": max(bytes_held),
            }
        )
    return rows


LARGEST = ("clustered", speed_growth.MIDDLE)
EXPONENT = "time / m+ log2 n"


def show(result: dict[str, Any]) -> str:
    """Format all tables that have rows; then one line for all that must be equal."""
    parts = [f"{part}\n{table(LINES[part](result[part]))}" for part in LINES if result[part]]
    if result["identical"]:
        same = "yes" if all(row["identical"] for row in result["identical"]) else "NO"
        parts.append(f"identical: {same}")
    return f"np.sort is {result['settings']['np_sort']}.\n\n" + "\n\n".join(parts)


def fill_document() -> dict[str, Any]:
    """Fill the document's tables, its plot and its first lines with the saved figures."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    for part, content in sections(result).items():
        fill(DOCUMENT, marks(part), content)
    fill(DOCUMENT, marks("summary"), summary(result))
    if result["growth"]:
        speed_growth.draw(result["growth"], PLOT)
    if result["memory"]:
        speed_growth.draw_memory(result["memory"], MEMORY)
    return result


def marks(part: str) -> tuple[str, str]:
    """Return the markers around a part of a document."""
    return f"<!-- bench:speed:{part} -->", f"<!-- /bench:speed:{part} -->"


SHOWN = {
    "memory": {"m": [10_000, 30_000, 4_000_000]},
}
"""Rows that the document shows, by part, where these are not all."""

HIDDEN = {
    "refinement": ["m", "m+", "without data", "floor, ns"],
    "baselines": ["version", "seconds"],
    "noise": ["uniforms and log, ns", "without cipher, ns", "exact / Generator"],
    "memory": ["n", "peak, MB"],
    "instructions": ["nodes"],
}
"""Columns that the document leaves out, by part."""


def sections(result: dict[str, Any]) -> dict[str, str]:
    """Format the document's parts, by name: growth is in a plot."""
    return {
        part: markdown(excerpt(lines(result[part]), SHOWN.get(part), HIDDEN.get(part, [])))
        if result[part]
        else "Not measured."
        for part, lines in LINES.items()
        if part not in ("growth", "sort", "identical")
    }


def describe_machine(result: dict[str, Any]) -> str:
    """Describe where, and how, the figures were measured."""
    environment, settings = result["machine"], result["settings"]
    sentences = [
        f"{environment['processors']} processors ({environment['processor']}; the kernels ran with "
        f"{settings['registers']}), load {environment['load']} when all was done; "
        f"Python {environment['python']}, Numba {environment['numba']}; "
        f"np.sort is {settings['np_sort']}. Least of up to {settings['rounds']} rounds."
    ]
    if settings["quick"]:
        sentences.append("**These are figures of a quick run on small tables.**")
    return " ".join(sentences)


def summary(result: dict[str, Any]) -> str:
    """Format the document's first lines: the yardsticks of both methods."""
    # Yardsticks combine figures of all parts, so a partial run has none.
    if not all(result[part] for part in PARTS):
        return "Not measured."
    example = next(r for r in result["refinement"] if (r["table"], r["bits"]) == LARGEST)
    rows = [
        {
            "": f"`{row['method']}`",
            "ns a node": row["ns_a_node"],
            "share of floor": f"{100 * row['floor']:.0f} %",
            "on all tables": f"{100 * row['least_floor']:.0f} to {100 * row['most_floor']:.0f} %",
            "instructions a node": row["instructions"],
            "bytes an output cell": f"{row['least_bytes']:.0f} to {row['most_bytes']:.0f}",
        }
        for row in yardsticks(result)
    ]
    caption = (
        f"A map of 2^{example['bits']} cells, {example['occupied']:,} of them occupied by "
        f"{example['people']:,} people, at epsilon 1, on one thread: nanoseconds of a node, and "
        "how much of that its noise alone takes, here and on all tables below; and instructions of "
        "a node and bytes of memory an output cell."
    )
    source = f"{describe_machine(result)} Measure again: `python -m bench speed --update`."
    return "\n\n".join([paragraph(caption), markdown(rows), paragraph(source)])


def _refinement(rows: Rows) -> Rows:
    return [
        {
            "table": row["table"],
            "method": row["method"],
            "n": f"2^{row['bits']}",
            "m": row["occupied"],
            "m+": row["output"],
            "nodes": row["visited"],
            "without data": f"{100 * row['without_data']:.0f} %",
            "seconds": row["seconds_1"],
            "2 threads": row["seconds_2"],
            "ns a node": row["ns_a_node"],
            "floor, ns": row["floor_ns"],
            "share of floor": f"{100 * row['floor']:.0f} %",
        }
        for row in rows
    ]


def _baselines(rows: Rows) -> Rows:
    return [
        {
            "baseline": row["baseline"],
            "version": row["version"],
            "n": f"2^{row['bits']}",
            "m": row["occupied"],
            "seconds": row.get("seconds"),
            **{f"/ {method}": row.get(f"over_{method}") for method in refinement.METHODS},
        }
        for row in rows
    ]


def _noise(rows: Rows) -> Rows:
    return [
        {
            "scale": row["scale"],
            "Generator.laplace, ns": row["numpy"],
            "uniforms and log, ns": row["inverse"],
            "exact, ns": row["full"],
            "without cipher, ns": row["words"],
            "exact / Generator": row["full"] / row["numpy"],
            "exact / faster": row["ratio"],
        }
        for row in rows
    ]


def _sort(rows: Rows) -> Rows:
    return [
        {
            "sort": row["sort"],
            "keys": row["keys"],
            "ns a key": row["ns_a_key"],
            "/ radix": row["over_radix"],
            "moves a key": row["moves_a_key"],
        }
        for row in rows
    ]


def _memory(rows: Rows) -> Rows:
    return [
        {
            "table": row["table"],
            "method": row["method"],
            "n": f"2^{row['bits']}",
            "m": row["occupied"],
            "m+": row["output"],
            "peak, MB": row["peak_bytes"] / 1e6,
            "bytes an output cell": row["bytes_an_output_cell"],
        }
        for row in rows
    ]


def _identical(rows: Rows) -> Rows:
    return [
        {
            "method": row["method"],
            "n": f"2^{row['bits']}",
            "ways": ", ".join(row["ways"]),
            "identical": "yes" if row["identical"] else "NO",
            "SHA-256": row["sha256"][:16],
        }
        for row in rows
    ]


def _exponents(rows: Rows) -> Rows:
    return [{key: value for key, value in row.items() if key != "rows"} for row in rows]


def _instructions(rows: Rows) -> Rows:
    return [
        {
            "method": row["method"],
            "nodes": row.get("visited"),
            "instructions a node": row.get("a_node"),
            "": row.get("problem", ""),
        }
        for row in rows
    ]


def _growth(rows: Rows) -> Rows:
    return [
        {
            "varied": row["varied"],
            "method": row["method"],
            "n": f"2^{row['bits']}",
            "m": row["occupied"],
            "epsilon": row["epsilon"],
            "threads": row["threads"],
            "parts": row["parts"] or "-",
            "m+": row["output"],
            "nodes": row["visited"],
            "seconds": row["seconds"],
        }
        for row in rows
    ]


LINES: dict[str, Callable[[Rows], Rows]] = {
    "refinement": _refinement,
    "baselines": _baselines,
    "noise": _noise,
    "sort": _sort,
    "memory": _memory,
    "identical": _identical,
    "exponents": _exponents,
    "instructions": _instructions,
    "growth": _growth,
}
"""Functions that build the lines of each table."""
