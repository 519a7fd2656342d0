"""Changes to releases as a forger makes them: one at a time, with all digests written anew."""

import copy
import json
import re

from geodp.io.folder.manifest import release_id, sha256, sums_text
from geodp.io.folder.release_in_parts import parts_id
from geodp.io.verify.verify import verify
from geodp.kinds.selection.card import SelectionCard
from geodp.release.opening import errors_of

CARD, SUMS = "release.json", "SHA256SUMS"


def list_leaves(plain, at=()):
    """Yield the path of every text, number, flag and blank of a document."""
    inner = plain.items() if isinstance(plain, dict) else enumerate(plain)
    for name, value in inner:
        if isinstance(value, dict | list) and value:
            yield from list_leaves(value, (*at, name))
        else:
            yield (*at, name)


def find(plain, path):
    for name in path:
        plain = plain[name]
    return plain


def change(plain, path):
    """Return a copy with another value at one path, of the same type."""
    plain = copy.deepcopy(plain)
    *above, last = path
    place = find(plain, above)
    place[last] = other(place[last])
    return plain


def other(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.05 + 0.01
    if isinstance(value, str):
        # Numbers stay numbers, so that more than the form has to be wrong.
        return f"1{value}" if value[:1].isdigit() else f"{value}x" if value else "x"
    return ["x"] if isinstance(value, list) else {"x": 1} if isinstance(value, dict) else "x"


def show(path):
    """Return a path as a text in which numbers of a list are stars."""
    return ".".join("*" if isinstance(one, int) else one for one in path)


def write_json(file, plain):
    file.write_text(json.dumps(plain, ensure_ascii=False), encoding="utf-8")


def sign(public):
    """Write ids, digests and checksums of a release anew, from the inside out."""
    if (public / CARD).is_file():
        _sign_card(public)
        return
    (index,) = (one for one in public.glob("*.json"))
    plain = json.loads(index.read_text(encoding="utf-8"))
    for one in plain.get("tables", []) + plain.get("snapshots", []):
        folder = public / one.get("name", one.get("time", ""))
        if folder.is_dir():
            sign(folder)
            card = json.loads((folder / CARD).read_text(encoding="utf-8"))
            one |= {"release_id": card["release_id"], "card_sha256": sha256(folder / CARD)}
    # A period of a series of amounts has an index itself.
    for one in plain.get("periods", []):
        folder = public / one["time"]
        if folder.is_dir():
            sign(folder)
            (inner,) = folder.glob("*.json")
            one["index_sha256"] = sha256(inner)
    for one in plain.get("files", []):
        if (public / one["name"]).is_file():
            one["sha256"] = sha256(public / one["name"])
    write_json(index, plain)
    files = [p for p in public.rglob("*") if p.is_file() and p != public / SUMS]
    sums = {path.relative_to(public).as_posix(): sha256(path) for path in files}
    (public / SUMS).write_text(sums_text(sums), encoding="utf-8", newline="\n")


def _sign_card(public):
    card = json.loads((public / CARD).read_text(encoding="utf-8"))
    for one in card.get("files", []):
        if (public / one["name"]).is_file():
            one["sha256"] = sha256(public / one["name"])
    if "geodp-release-parts" in card["schema"]:
        card["release_id"] = parts_id([one["sha256"] for one in card["files"]], card)
    elif "geodp-release" in card["schema"]:
        card["release_id"] = release_id(public / f"{card['name']}.csv", card)
    else:
        card["release_id"] = SelectionCard.from_json(card).digest
    write_json(public / CARD, card)
    names = [one["name"] for one in card.get("files", [])]
    sums = {name: sha256(public / name) for name in (*names, CARD) if (public / name).is_file()}
    (public / SUMS).write_text(sums_text(sums), encoding="utf-8", newline="\n")


OTHER_FILES = re.compile("other (joint )?files than")

WITH_IDS = {"written again", "measurements", "shared files", "joint files"}
"""Checks of files that have the id of the release in them, which a forger would write anew."""


def list_failures(public):
    """Return the checks that fail for another reason than ids in files, with what they say."""
    checks = [check for check in verify(public, errors_of) if not check.ok]
    return [
        (check.name, check.detail)
        for check in checks
        if OTHER_FILES.search(check.detail) or not _is_of_ids(check.name, check.detail)
    ]


def _is_of_ids(name, text):
    """Whether a check, or those of a table of an index, failed only as ids are of another card."""
    return {name} <= WITH_IDS or {part.partition(": ")[0] for part in text.split("; ")} <= WITH_IDS
