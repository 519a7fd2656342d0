"""Speed and memory in one run, side by side with what else there is; docs/speed.md shows it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure import instructions, refinement
from bench.suites import speed_growth, speed_parts
from bench.suites.speed_parts import FULL, QUICK, Rows, Sizes
from bench.tables import fill, markdown, paragraph, table, text
from geodp.errors import UsageError

TITLE = """\
Ratios within one run: peers take turns, each figure is the least of some rounds, and all is
compiled before. One thread, unless it says 2."""

SAVED = Path(__file__).parents[1] / "results" / "speed.json"
ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "speed.md"
PLOT = ROOT / "docs" / "speed.png"

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
"""What is measured, each a table of the document."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options; their names are :func:`measure`'s."""
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, in seconds; ratios then mean little"
    )
    parser.add_argument(
        "--parts",
        type=lambda words: words.split(","),
        metavar="A,B",
        help=f"of {', '.join(PARTS)}; default: all. Others are kept as they were measured",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw the growth: a PNG")


def measure(
    quick: bool = False, parts: list[str] | None = None, plot: Path | None = None
) -> dict[str, Any]:
    """Rows of every part, and the aims; what is not asked for is as kept, if of the same sizes."""
    chosen = parts or list(PARTS)
    if unknown := [part for part in chosen if part not in PARTS]:
        raise UsageError(f"parts are of: {', '.join(PARTS)}; not {', '.join(unknown)}.")
    kept = json.loads(SAVED.read_text(encoding="utf-8")) if SAVED.exists() else {}
    if kept and kept["settings"]["quick"] != quick:
        kept = {}  # figures of small and of large tables are not mixed
    sizes = QUICK if quick else FULL
    refinement.warm()
    found = {part: PARTS[part](sizes) for part in chosen}
    result: dict[str, Any] = {
        "settings": {
            "quick": quick,
            "np_sort": speed_parts.np_sort(),
            "rounds": sizes.rounds,
            "patience": sizes.patience,
        },
        **{part: found.get(part, kept.get(part, [])) for part in PARTS},
    }
    result["exponents"] = speed_growth.exponents(result["growth"]) if result["growth"] else []
    result["aims"] = aims(result)
    if plot and result["growth"]:
        speed_growth.draw(result["growth"], plot)
    return result


def aims(result: dict[str, Any]) -> Rows:
    """Return what was aimed at and what was measured; parts that were not measured have no line."""
    rows: Rows = []

    def add(figure: str, at: str, value: float, least: float, most: float) -> None:
        bounds = {"least": least if least > 0 else None, "most": most if most < MANY else None}
        met = least <= value <= most
        rows.append({"figure": figure, "where": at, **bounds, "value": value, "met": met})

    for row in result["refinement"]:
        at = f"{row['method']}, n = 2^{row['bits']}, m = {row['occupied']:,}"
        if row["table"] == "clustered" and row["bits"] == speed_growth.MIDDLE:
            add("refinement / np.sort of the same keys", at, row["over_sort"], 0, 0.6)
            add("the same on 2 threads", at, row["over_sort_2"], 0, 0.6)
            add("ns a visited node, clustered data", at, row["ns_a_node"], 0, 12)
        if row["table"] == "isolated":
            add("ns a visited node, nearly all without data", at, row["ns_a_node"], 0, 6)
    for row in result["baselines"]:
        compared = {"T2, NumPy": (10, ("topdown",)), "Laplace, NumPy": (100, refinement.METHODS)}
        least, methods = compared.get(row["baseline"], (0, ()))
        for method in methods:
            at = f"{method}, n = 2^{row['bits']}, m = {row['occupied']:,}"
            add(f"{row['baseline']} / refinement", at, row[f"over_{method}"], least, MANY)
    for row in result["noise"]:
        ratio = row["full"] / row["numpy"]
        add("exact noise / Generator.laplace", f"scale {row['scale']}", ratio, 0, 2)
    for row in result["exponents"]:
        add("exponent of time against m+ log2 n", row["method"], row[EXPONENT], 0.93, 1.07)
    for row in result["sort"]:
        if row["sort"] in SORTS:
            at = f"{row['sort']}, {row['keys']:,} keys"
            add("NumPy's sort / radix sort", at, row["over_radix"], 4, MANY)
    for row in result["memory"]:
        at = f"{row['method']}, {row['table']}, m = {row['occupied']:,}, m+ = {row['output']:,}"
        add("peak memory / (16 bytes (m + m+) + 16 MiB)", at, row["over_aim"], 0, 1)
    for row in result["identical"]:
        at = f"{row['method']}, n = 2^{row['bits']}, {len(row['ways'])} ways"
        add("identical bit for bit (1: yes)", at, int(row["identical"]), 1, MANY)
    return rows


MANY = float("inf")
EXPONENT = "time / m+ log2 n"
SORTS = ("np.sort, keys alone", "np.argsort, both gathered")


def show(result: dict[str, Any]) -> str:
    """All tables that have rows; then one line for all that must be equal."""
    parts = [f"{part}\n{table(LINES[part](result[part]))}" for part in LINES if result[part]]
    if result["identical"]:
        same = "yes" if all(row["identical"] for row in result["identical"]) else "NO"
        parts.append(f"identical: {same}")
    return f"np.sort is {result['settings']['np_sort']}.\n\n" + "\n\n".join(parts)


def fill_document() -> dict[str, Any]:
    """Write the document's tables, its plot and its first lines from the kept figures."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    for part, words in sections(result).items():
        fill(DOCUMENT, marks(part), words)
    fill(DOCUMENT, marks("summary"), summary(result))
    if result["growth"]:
        speed_growth.draw(result["growth"], PLOT)
    return result


def marks(part: str) -> tuple[str, str]:
    """Return what a part of a document stands between."""
    return f"<!-- bench:speed:{part} -->", f"<!-- /bench:speed:{part} -->"


def sections(result: dict[str, Any]) -> dict[str, str]:
    """Return the document's parts, by name."""
    found = {
        part: markdown(lines(result[part])) if result[part] else "Not measured."
        for part, lines in LINES.items()
    }
    return {"machine": machine_words(result), **found}


def machine_words(result: dict[str, Any]) -> str:
    """Where, and how, the figures were taken."""
    here, settings = result["machine"], result["settings"]
    wide = any(flag.startswith("avx512") for flag in here["flags"])
    words = [
        f"{here['processors']} processors ({here['processor']}, "
        f"{'with' if wide else 'without'} AVX-512), load {here['load']} when all was done; "
        f"Python {here['python']}, Numba {here['numba']}; np.sort is {settings['np_sort']}. "
        f"Least of up to {settings['rounds']} rounds."
    ]
    if settings["quick"]:
        words.append("**These are figures of a quick run on small tables.**")
    return " ".join(words)


def summary(result: dict[str, Any]) -> str:
    """Return the document's first lines: the aims' table of both methods, and what was missed."""
    if not all(result[part] for part in ("refinement", "baselines", "exponents")):
        return "Not measured."
    by = {
        row["method"]: row
        for row in result["refinement"]
        if row["table"] == "clustered" and row["bits"] == speed_growth.MIDDLE
    }
    baselines = {row["baseline"]: row for row in result["baselines"]}
    exponent = {row["method"]: row for row in result["exponents"]}
    some = next(iter(by.values()))
    rows = [
        {
            "": f"`{method}`",
            "seconds": row["seconds_1"],
            "2 threads": row["seconds_2"],
            "cells out": row["output"],
            "nodes": row["visited"],
            "ns a node": row["ns_a_node"],
            "T2 in NumPy": f"{text(baselines['T2, NumPy'][f'over_{method}'])} times",
            "Laplace in NumPy": f"{text(baselines['Laplace, NumPy'][f'over_{method}'])} times",
            "exponent": exponent[method][EXPONENT],
        }
        for method, row in by.items()
    ]
    missed = sum(not row["met"] for row in result["aims"])
    asked = (
        f"A map of 2^{some['bits']} cells, {some['occupied']:,} of them occupied by "
        f"{some['people']:,} people, at epsilon 1: seconds of the refinement on one thread, "
        "and on two; how many times longer T2 takes in NumPy on a map of that size, and "
        f"Laplace noise on every cell of one of 2^{baselines['Laplace, NumPy']['bits']}; the "
        "fitted exponent of time against m+ log2 n."
    )
    found = (
        f"{machine_words(result)} Of {len(result['aims'])} figures that were aimed at, "
        f"{missed} miss; they are all below. Measure again: `python -m bench speed --update`."
    )
    return "\n\n".join([paragraph(asked), markdown(rows), paragraph(found)])


def _aims(rows: Rows) -> Rows:
    return [
        {
            "figure": row["figure"],
            "of": row["where"],
            "aim": _bounds(row["least"], row["most"]),
            "measured": row["value"],
            "met": "yes" if row["met"] else "**no**",
        }
        for row in rows
    ]


def _bounds(least: float | None, most: float | None) -> str:
    if least is None or most is None:
        return f"at least {least:g}" if least is not None else f"at most {most:g}"
    return f"{least:g} to {most:g}"


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
            "/ np.sort": row["over_sort"],
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
            "/ aim": row["over_aim"],
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
    "aims": _aims,
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
"""The lines of each table."""
