"""Run one benchmark, print its table, and keep it with the versions and the processor's name."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import llvmlite.binding as llvm  # type: ignore[import-untyped]
import numba
import numpy as np

from geodp import __version__

BENCHMARKS = {
    "noise": "cost of exact noise against floating-point noise",
}
"""Modules of this package; each has ``TITLE``, and ``measure()`` that returns equal dicts."""


def machine() -> dict[str, Any]:
    """What the figures depend on: versions and processor, and nothing that names a place."""
    features = llvm.get_host_cpu_features()
    return {
        "geodp": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": llvm.get_host_cpu_name(),
        "flags": sorted(name for name in features if features[name]),
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows of equal keys as aligned columns."""
    cells = [list(rows[0])]
    for row in rows:
        cells.append([f"{v:.2f}" if isinstance(v, float) else str(v) for v in row.values()])
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True))
        for line in cells
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Benchmarks of geodp.",
        epilog="\n".join(f"{name}: {what}" for name, what in BENCHMARKS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=BENCHMARKS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    chosen = parser.parse_args()
    module = importlib.import_module(f"bench.{chosen.name}")
    rows = module.measure()
    print(module.TITLE, table(rows), sep="\n\n")
    if chosen.json:
        result = {"benchmark": chosen.name, "machine": machine(), "rows": rows}
        chosen.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
