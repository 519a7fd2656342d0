"""Sums of reports of devices on a Dask cluster: integers, the same as on one machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import uuid4

from geodp.errors import UsageError
from geodp.features.local import collect
from geodp.features.local.collect import Sums
from geodp.features.local.round import Round

TOGETHER = 8
"""Number of sums that a task adds up."""


def aggregate(client: Any, round_: Round, files: Iterable[str | Path]) -> Sums:
    """Add up files of reports on the workers, and bring the sums to this process.

    Reports are protected before they leave a device, so nothing here is secret: no key is used, and
    workers need not be trusted. They must see the files under the same paths.

    Parameters
    ----------
    client : distributed.Client
    round_ : Round
    files : list of path
        Files, each of which is read by one worker.

    Returns
    -------
    Sums
        Equal to those of :func:`geodp.local.aggregate`, for any workers and any split into files.

    Raises
    ------
    InputError
        See :func:`geodp.local.aggregate`; with the file's name.
    UsageError
        There are no files.
    """
    paths = [str(path) for path in files]
    if not paths:
        raise UsageError("Give at least one file of reports.", code="reports-missing")
    run = uuid4().hex
    parts = [
        client.submit(collect.aggregate, round_, path, key=f"geodp-reports-{run}-{i}", pure=False)
        for i, path in enumerate(paths)
    ]
    level = 0
    # A tree of additions: no task holds more than a few sums, and integers add up to the same in
    # any grouping.
    while len(parts) > 1:
        level += 1
        groups = [parts[i : i + TOGETHER] for i in range(0, len(parts), TOGETHER)]
        parts = [
            client.submit(_add, group, key=f"geodp-sums-{run}-{level}-{i}", pure=False)
            for i, group in enumerate(groups)
        ]
    total: Sums = parts[0].result()
    return total


def _add(parts: list[Sums]) -> Sums:
    """Return the sums of some parts, which have no file in common."""
    return sum(parts[1:], parts[0])
