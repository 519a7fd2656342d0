"""Made-up pings as a stream, up to 1e9 of them: to trips, and to a release of flows."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import geodp
from bench.measure import cost
from bench.measure import refinement as refining
from bench.measure.spilling import count_spilled
from bench.tables import excerpt, fill, markdown, table

TITLE = """\
Pings in the order of time, from a stream to counts, each in a process of its own.
  making, s               seconds that making them takes alone, which the others contain
  s, GB                   seconds of the whole work, and its peak above the process's own memory
  spilled, GB             bytes on disk"""

SAVED = Path(__file__).parents[1] / "results" / "pings.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "flows.md"
MARKS = ("<!-- bench:pings -->", "<!-- /bench:pings -->")

SIZES = (10_000_000, 1_000_000_000)

BLOCK, PERSONS = 1_000_000, 20_000
"""Pings that are made together, and their persons, each of whom has as many of them."""

VISITS = 10
"""Blocks that each person is in, one a day."""

TEMPLATES = 8
"""Different sequences of times and places, of which a block is one: drawing takes long."""

BOUNDS = (139, 35, 140.5, 36.5)
ALL, MOST = "jis:basic", 10
"""Grid of zones of 1 km, and the most trips of a person."""

NEAR = 30 / 111_000
"""Standard deviation of a ping from its place, in degrees."""

READERS = ("read_pings", "read_points")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    sizes = ",".join(map(str, SIZES))
    parser.add_argument(
        "--pings",
        type=lambda text: [int(float(one)) for one in text.split(",")],
        metavar="N,N",
        default=[*SIZES],
        help=f"numbers of pings, in millions of them; default: {sizes}",
    )
    parser.add_argument("--memory", default="6GiB", help="the readers' limit; default: 6GiB")
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="for 42 bytes a ping")


def measure(pings: list[int], memory: str = "6GiB", scratch: Path | None = None) -> dict[str, Any]:
    """Measure both readers, and publishing the trips, for each number of pings."""
    rows = []
    for number in pings:
        for reader in READERS:
            task = {"pings": number, "reader": reader, "memory": memory}
            task["scratch"] = None if scratch is None else str(scratch)
            rows.append({"pings": number, "reader": reader, **refining.child(__name__, task)})
    return {"settings": {"memory": memory}, "rows": rows}


def show(result: dict[str, Any]) -> str:
    """Format the table."""
    return table(lines(result))


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of the table."""
    return [
        {
            "pings": row["pings"],
            "reader": row["reader"],
            "making, s": row.get("made_seconds"),
            "reading, s": row.get("read_seconds"),
            "CPU, s": row.get("read_cpu_seconds"),
            "GB": row["read_peak_bytes"] / 1e9 if "read_peak_bytes" in row else None,
            "spilled, GB": row["spilled_bytes"] / 1e9 if "spilled_bytes" in row else None,
            "trips": row.get("trips"),
            "publishing, s": row.get("published_seconds"),
            "": row.get("problem", ""),
        }
        for row in result["rows"]
    ]


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    fill(DOCUMENT, MARKS, markdown(excerpt(lines(result), without=["making, s", ""])))
    return result


def make(pings: int) -> pa.RecordBatchReader:
    """Make pings of persons who stay at places for a while, a block of them at a time.

    Parameters
    ----------
    pings : int
        A multiple of ``BLOCK``.

    Returns
    -------
    pyarrow.RecordBatchReader
        Columns ``id``, ``t`` (UTC), ``lat`` and ``lon``, in the order of time within a block.
    """
    blocks = max(1, pings // BLOCK)
    groups = max(1, blocks // VISITS)
    templates = [_draw_template(seed) for seed in range(TEMPLATES)]

    def draw() -> Iterator[pa.RecordBatch]:
        for number in range(blocks):
            visit, group = divmod(number, groups)
            yield _make_block(templates[number % TEMPLATES], group, visit)

    return pa.RecordBatchReader.from_batches(SCHEMA, draw())


SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("t", pa.timestamp("s", "UTC")),
        ("lat", pa.float64()),
        ("lon", pa.float64()),
    ]
)

Template = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def _draw_template(seed: int) -> Template:
    """Draw persons, seconds since midnight, places and distances of a block, sorted by time."""
    draw, each = np.random.default_rng(seed), BLOCK // PERSONS
    second = 6 * 3600 + np.cumsum(draw.integers(60, 2000, (PERSONS, each)), axis=1)
    # One ping in twelve is the first at another place.
    place = np.cumsum(draw.random((PERSONS, each)) < 1 / 12, axis=1) % 4
    order = np.argsort(second.ravel(), kind="stable")
    person = np.repeat(np.arange(PERSONS), each)[order]
    return person, second.ravel()[order], place.ravel()[order], draw.normal(0, NEAR, (2, BLOCK))


def _make_block(template: Template, group: int, visit: int) -> pa.RecordBatch:
    """Make the pings of a group of persons on a day, at the same four places of each every day."""
    person, second, place, off = template
    west, south, east, north = BOUNDS
    margin, draw = 0.1, np.random.default_rng(group)
    lat = draw.uniform(south + margin, north - margin, (PERSONS, 4))[person, place] + off[0]
    lon = draw.uniform(west + margin, east - margin, (PERSONS, 4))[person, place] + off[1]
    moment = pa.array(1_714_521_600 + 86_400 * visit + second).cast(SCHEMA.field("t").type)
    arrays = [_write_ids(group * PERSONS + person), moment, pa.array(lat), pa.array(lon)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _write_ids(number: NDArray[np.int64], digits: int = 10) -> pa.Array:
    """Write numbers as texts of ten digits."""
    first, powers = int(number.min()), 10 ** np.arange(digits - 1, -1, -1)
    listed = np.arange(first, int(number.max()) + 1)
    texts = (listed[:, None] // powers % 10 + ord("0")).astype(np.uint8)
    at = np.arange(0, digits * number.size + 1, digits, dtype=np.int32)
    buffers = [None, pa.py_buffer(at), pa.py_buffer(texts[number - first])]
    return pa.Array.from_buffers(pa.string(), number.size, buffers)


def _child(task: dict[str, Any]) -> dict[str, Any]:
    """Make pings alone, then read them, and publish their trips."""
    grid = geodp.Grid.mesh(ALL, bounds=BOUNDS)
    start = time.perf_counter()
    for _ in make(task["pings"]):
        pass
    usage: dict[str, Any] = {"made_seconds": time.perf_counter() - start}
    reader = task["reader"]
    keywords = {name: task[name] for name in ("memory", "scratch")}
    before = cost.forget_peak()
    with count_spilled() as spilled:
        start, cpu = time.perf_counter(), time.process_time()
        pings = make(task["pings"])
        if reader == "read_points":
            read = geodp.read_points(
                pings, grid=grid, y="lat", x="lon", person="id", cells=MOST, **keywords
            )
        else:
            read = geodp.flows.read_pings(
                pings,
                grid=grid,
                place=("lon", "lat"),
                time="t",
                person="id",
                trips=MOST,
                **keywords,
            )
        usage["read_seconds"] = time.perf_counter() - start
        usage["read_cpu_seconds"] = time.process_time() - cpu
        usage["spilled_bytes"] = spilled.bytes
    usage["read_peak_bytes"] = cost.peak() - before
    if reader == "read_pings":
        usage["trips"] = int(read.count.sum())  # not confidential: they are made up
        start = time.perf_counter()
        geodp.flows.publish(read, epsilon=Fraction(1))
        usage["published_seconds"] = time.perf_counter() - start
        usage["all_peak_bytes"] = cost.peak() - before
    return usage


if __name__ == "__main__":
    refining.answer(_child)
