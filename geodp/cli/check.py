"""``--check`` of commands that publish: prepare a release, and write only a summary of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.cli.inputs import FACTS, sha256
from geodp.cli.translation import translate_message
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.privacy.assumption import Assumption
    from geodp.table.reading import Reading, StatedReading

ANY_BUDGET = "1"
"""The epsilon of a check without a budget, which refuses only what every budget would."""


def require_unpublished(output: Path) -> None:
    """Raise UsageError for a folder that holds a release: a check never replaces one."""
    from geodp.io.folder.staging import is_release

    if is_release(output):
        raise UsageError(
            f"{output} holds a release; name a folder of its own for the check.",
            code="check-output-is-release",
        )


def begin_check(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options by which a request is made; those of a call without --check unchanged.

    Raises UsageError where a check would replace a release.
    """
    if not options["check"]:
        return options
    require_unpublished(options["output"])
    # A check charges nothing, so a full or missing ledger is no reason to refuse it.
    has_budget = any(options.get(name) is not None for name in ("epsilon", "rho", "delta"))
    budget = {} if has_budget else {"epsilon": ANY_BUDGET}
    return {**options, "ledger": None, **budget}


NOTHING = "Nothing was drawn, charged or published."


def write_check_file(
    options: Mapping[str, Any],
    read: Mapping[str, Any],
    stated: StatedReading | None,
    assumptions: Sequence[Assumption],
    sentences: Iterable[str] = (),
) -> str:
    """Write ``OUTPUT/restricted/check.json``; return a message that is independent of the data.

    Parameters
    ----------
    options : mapping
        Of the command.
    read : mapping
        What was read and would be counted; see :func:`describe_inputs`.
    stated : StatedReading or None
        What the card would state of it.
    assumptions : sequence of Assumption
        Those that the card would state.
    sentences : iterable of str
        What else the message says, whatever the data are.
    """
    from geodp.io.folder.staged_release import write_check
    from geodp.table.plain import write_plain

    written = write_check(
        options["output"],
        {
            **read,
            "stated": write_plain(stated),
            "assumptions": write_plain(tuple(assumptions)),
        },
    )
    # The summary is confidential and goes to the file only; stdout gets nothing but its path.
    if options["as_json"]:
        return json.dumps({"checked": str(written)}, ensure_ascii=False, indent=1)
    lines = f"Checked, for the operator only: {written}", NOTHING, *sentences
    return "\n".join(map(translate_message, lines))


def describe_inputs(
    options: Mapping[str, Any],
    files: Iterable[Path],
    reading: Reading | None,
    counted: Mapping[str, Any],
) -> dict[str, Any]:
    """Describe what a command read and counted, for its operator alone.

    Parameters
    ----------
    options : mapping
        Of the command.
    files : iterable of path
        Confidential files besides the inputs.
    reading : Reading or None
        How the inputs were read.
    counted : mapping
        What the record says of what is counted.
    """
    # Inputs of a command are files, and every reader of files records what it read.
    assert reading is not None
    return {
        **({"warnings": list(reading.warnings)} if reading.warnings else {}),
        "inputs": {str(path): sha256(path) for path in (*options["inputs"], *files)},
        **counted,
        # Options from a layout or a header look like the operator's here; this corrects that.
        "read": reading.restate(options.get(FACTS, ())).describe(),
    }


def describe_domain(grid: Grid) -> dict[str, Any]:
    """Describe the public domain of a grid for the summary: its cells, and bounds of its maps."""
    from geodp.grid.crs import unit_of

    return {
        "domain_cells": grid.size,
        "bounds": [
            {"west_south_east_north": list(place.bounds), "crs": place.crs, "unit": unit}
            for place in grid.places
            if place.crs is not None
            for unit in (unit_of(place.crs),)
        ],
    }
