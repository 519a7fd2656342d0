"""A ``geodp publish`` in a separate process with a limit on its memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from bench.measure import cost
from bench.measure.refinement import answer, child

LIMIT = 8_000_000_000
"""Memory of a small machine, in bytes."""


def alone(arguments: list[str], output: Path, limit: int = LIMIT) -> dict[str, Any]:
    """Publish into a new folder.

    Parameters
    ----------
    arguments : list of str
        Arguments of ``geodp publish``, without the folder.
    limit : int
        Bytes of data that the process may allocate, touched or not.

    Returns
    -------
    dict
        ``cpu_seconds`` of all processors; ``resident_bytes``, the peak of the whole process;
        ``output``, the cells of the release; ``files_bytes``. Or ``problem``, a sentence.
    """
    task = {"arguments": [*arguments, "--output", str(output)], "output": str(output)}
    return {"limit": limit, **child("bench.measure.publishing", task, limit)}


def _child(task: dict[str, Any]) -> dict[str, Any]:
    from geodp.cli import geodp

    geodp.main(["publish", *task["arguments"]], "geodp", standalone_mode=False)
    usage = {"cpu_seconds": time.process_time(), "resident_bytes": cost.peak()}
    import pyarrow.parquet as pq

    public = Path(task["output"], "public")
    (table,) = public.glob("*.parquet")
    return {
        **usage,
        "output": pq.read_metadata(table).num_rows,
        "files_bytes": sum(path.stat().st_size for path in public.iterdir()),
    }


if __name__ == "__main__":
    answer(_child)
