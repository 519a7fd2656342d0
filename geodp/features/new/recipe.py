"""The recipe of a call: options of layout and domain, and metadata for the card, to be edited."""

from __future__ import annotations

import json
from collections.abc import Sequence

from geodp.cli.layout import list_recipe
from geodp.features.new.call import Call

HEAD = "# A recipe of geodp. What you vouch for and the budget stand in the command that publishes:"

METADATA_HEAD = (
    "",
    "[metadata]",
    "# What card and pages say of the release: edit these lines. Take the # from those that you",
    "# fill in; a licence, a contact, a description and more: docs/outputs.md.",
)

OPEN = {
    "title": "People by cell",
    "source": "The table that was counted, with its place",
    "reference_date": "YYYY-MM-DD",
    "publisher": "Your office",
}
"""Lines that the layout leaves open, each with an example."""


def write_lines(call: Call, commands: Sequence[str]) -> str:
    """Write the text of a call's recipe, with the commands that go with it as comments.

    The layout's metadata of its table are proposed; the publisher stays a comment, so that only
    the operator can declare that the table's publisher publishes the release, too.
    """
    header = [HEAD, *(f"# {command}" for command in commands), ""]
    lines = [*header, *list_recipe(call.context, call.options), *METADATA_HEAD]
    fields = {"reference_date": "date"}
    metadata = {name: getattr(call.preset, fields.get(name, name), "") for name in OPEN}
    for name, example in OPEN.items():
        line = f"{name} = {json.dumps(metadata[name] or example, ensure_ascii=False)}"
        # Whether the table's publisher publishes the release, too, must be declared.
        is_final = metadata[name] and name != "publisher"
        lines.append(line if is_final else f"# {line}")
    return "\n".join(lines) + "\n"
