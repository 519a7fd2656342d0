"""``geodp publish --check``: prepare a release, and write only a summary for the operator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.cli.inputs import FACTS, sha256
from geodp.cli.translation import translate_message
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.release.publish import Prepared


def require_unpublished(output: Path) -> None:
    """Raise UsageError for a folder that holds a release: a check never replaces one."""
    from geodp.io.folder.staging import is_release

    if is_release(output):
        raise UsageError(
            f"{output} holds a release; name a folder of its own for the check.",
            code="check-output-is-release",
        )


NOTHING = "Nothing was drawn, charged or published."


def write_check_file(options: Mapping[str, Any], prepared: Prepared) -> str:
    """Write ``OUTPUT/restricted/check.json``; return a message that is independent of the data."""
    from geodp.grid.crs import unit_of
    from geodp.io.folder.check import write_check
    from geodp.table.plain import write_plain

    table = prepared.table
    reading = table.reading
    # Inputs of a command are files, and every reader of files records what it read.
    assert reading is not None  # every reader of files provides one
    card = prepared.preview.card()
    written = write_check(
        options["output"],
        {
            "inputs": {str(path): sha256(path) for path in options["inputs"]},
            "domain_cells": table.grid.size,
            "bounds": [
                {"west_south_east_north": list(place.bounds), "crs": place.crs, "unit": unit}
                for place in table.grid.places
                if place.crs is not None
                for unit in (unit_of(place.crs),)
            ],
            "occupied_cells": int(table.key.size),
            "counted_people": int(table.count.sum()),
            # Options from a layout or a header look like the operator's here; this corrects that.
            "read": reading.restate(options.get(FACTS, ())).describe(),
            "stated": write_plain(card.reading),
            "assumptions": write_plain(card.guarantee.assumptions),
        },
    )
    # The summary is confidential and goes to the file only; stdout gets nothing but its path.
    if options["as_json"]:
        return json.dumps({"checked": str(written)}, ensure_ascii=False, indent=1)
    lines = f"Checked, for the operator only: {written}", NOTHING
    return "\n".join(map(translate_message, lines))
