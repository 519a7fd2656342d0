"""Run one benchmark, print its table, and save it with the versions and the processor's name."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.measure.machine import machine
from bench.tables import dump_figures
from geodp.errors import GeodpError

BENCHMARKS = {
    "noise": "cost of exact noise against floating-point noise",
    "methods": "time, memory, visited nodes and error of every method, by data and size",
    "peers": "geodp and other libraries on one input in one run",
    "questions": "common queries of a map: the default, its former version and others",
    "bound": "distance of the defaults from the best linear noise for common queries",
    "regions": "geodp's methods, HDMM, PrivTree and AG by families of regions",
    "pyramid": "the pyramid and the paper's method, on public statistics",
    "informed": "the pyramid with and without a prior, on pairs of censuses",
    "attributes": "people by sex and age: errors and biases of parts; time relative to the map",
    "statistics": "biases of statistics of released maps, as estimated and as measured",
    "sparsest": "random pyramids on the map that gains least, compared with publishing zeros",
    "held_out": "the default compared with the paper's method on held-out maps",
    "signal": "gains of a pyramid whose default depends on people a cell times epsilon",
    "shares": "plans for the pyramid's default on public statistics, and its table in the code",
    "publish": "entire commands by phase, compared with libraries that write the same rows",
    "speed": "speed and memory in one run, compared with NumPy and others, and their growth",
    "against": "speed of another commit compared with this one, in alternating rounds",
    "local": "reports of devices compared with other libraries, in time, memory and error",
    "large": "limits of one machine: 1e8 occupied cells, 2^62 cells, 1e9 raw records, 8 GB",
    "cluster_cut": "balance of a cluster's workers, and the driver's cost of ranges",
    "cutting": "errors of polygons that cut cells, by cells, by area and by a map of people",
    "intervals": "coverage and width of intervals of all kinds of regions on public maps",
    "pairs": "pairs of areal units on every level, compared with other ways to publish them",
    "parts": "coverage of intervals of parts, and how much places differ from their surroundings",
    "detail": "separately measured marginals, and tables of up to 4,074 parts",
    "settlements": "losses of isolated settlements by their people, on a synthetic map",
    "islands": "errors of the setting for islands elsewhere, compared with the default",
    "audit": "audits of conventional tables compared with a plain loop of fractions and pandas",
    "select": "hot spots by geodp and by OpenDP, and how their cost grows with the domain",
    "series": "a series under one budget compared with independent releases of its snapshots",
    "amounts": "sums, means and medians of amounts, compared with half budgets and with OpenDP",
    "amounts_priors": "the same with an earlier census or release as a prior, and useless ones",
    "flows": "flows between zones, compared with trees, gravity and noise on single pairs",
    "pings": "1e9 made-up pings to trips and flows, compared with the reader of points",
    "flow_units": "flows between areal units, compared with trees on pairs of units",
    "flow_unit_hours": "flows between areal units by hour, compared with every hour apart",
    "households": "persons and households together, compared with two releases and with truncation",
    "table": "the whole table of a census in one release, compared with each column apart",
    "together": "persons, sex and age, and households in one release, compared with each apart",
    "read": "CPU time of records to counts of cells, compared with DuckDB and Polars",
    "rectangles": "random rectangles by the protocol of DPBench (Hay et al. 2016)",
}
"""Modules of :mod:`bench.suites`. Each has ``TITLE``, ``measure(...)``, whose keywords are its
options and which returns plain values, and ``show(result)``; ``options(parser)`` adds the options.
Where a document shows the figures, ``SAVED`` is the kept file and ``fill_document()`` shows it."""


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Benchmarks of geodp.")
    commands = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name, description in BENCHMARKS.items():
        module = import_module(f"bench.suites.{name}")
        command = commands.add_parser(
            name, help=description, description=description.capitalize() + "."
        )
        command.add_argument("--json", type=Path, metavar="FILE", help="also write the figures")
        if hasattr(module, "SAVED"):
            command.add_argument(
                "--update",
                action="store_true",
                help=f"keep the figures in bench/results/{module.SAVED.name}, and fill "
                f"{module.DOCUMENT.name} with them",
            )
        module.options(command)
    chosen = vars(parser.parse_args())
    name, file, update = chosen.pop("name"), chosen.pop("json"), chosen.pop("update", False)
    module = import_module(f"bench.suites.{name}")
    try:
        # A refusal, such as a missing data set, is a sentence and not a traceback.
        result: dict[str, Any] = module.measure(**chosen)
    except GeodpError as error:
        parser.exit(2, f"bench: {error}\n")
    print(module.TITLE, module.show(result), sep="\n\n")
    figures = {"benchmark": name, "machine": machine(), **result}
    for path in [file] * bool(file) + ([module.SAVED] if update else []):
        path.write_text(dump_figures(figures), encoding="utf-8")
    # The document is filled from the saved file, so that both show the same figures.
    if update:
        module.fill_document()


if __name__ == "__main__":
    main()
