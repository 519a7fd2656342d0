"""``geodp publish --check``: prepare a release, write for the operator what was read, no more."""

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
    """Write ``OUTPUT/restricted/check.json``; return a message, which has nothing of the data."""
    from geodp.grid.crs import unit_of
    from geodp.io.folder.check import write_check
    from geodp.table.plain import write_plain

    table = prepared.table
    reading = table.reading
    assert reading is not None  # every reader of files tells
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
            # Readers take options for the operator's that the layout or a header settled.
            "read": reading.restate(options.get(FACTS, ())).describe(),
            "stated": write_plain(card.reading),
            "assumptions": write_plain(card.guarantee.assumptions),
        },
    )
    if options["as_json"]:
        return json.dumps({"checked": str(written)}, ensure_ascii=False, indent=1)
    said = f"Checked, for the operator only: {written}", NOTHING
    return "\n".join(map(translate_message, said))
