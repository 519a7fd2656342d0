"""The recipe of a call: options of layout and domain, and what the card will say, to be edited."""

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
"""Lines that the layout does not know, each with an example."""


def write_lines(call: Call, commands: Sequence[str]) -> str:
    """Return the text of a call's recipe, with the commands that go with it as comments.

    What the layout knows of its table is proposed; that its publisher publishes the release, too,
    is only said by who takes away the mark of the comment.
    """
    head = [HEAD, *(f"# {one}" for one in commands), ""]
    lines = [*head, *list_recipe(call.context, call.options), *METADATA_HEAD]
    fields = {"reference_date": "date"}
    known = {name: getattr(call.preset, fields.get(name, name), "") for name in OPEN}
    for name, example in OPEN.items():
        line = f"{name} = {json.dumps(known[name] or example, ensure_ascii=False)}"
        settled = known[name] and name != "publisher"
        lines.append(line if settled else f"# {line}")
    return "\n".join(lines) + "\n"
