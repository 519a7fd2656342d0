"""What has changed of a golden folder, in words."""

import csv
import difflib
import json

from tests.golden.pinned import Pinned

LINES = 12
"""Changes of one file that are told; of more, their number."""


def tell_changes(case: str, old: Pinned, new: Pinned) -> list[str]:
    """Return a sentence for every change of a golden folder; none if nothing has changed.

    Digests in cards and lists of checksums follow from the files that they are of, and are not
    told where such a file is.
    """
    told = [f"{case}: {name} is no longer there" for name in sorted(old.keys() - new.keys())]
    told += [f"{case}: {name} is new" for name in sorted(new.keys() - old.keys())]
    changed = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
    files = [name for name in changed if not name.endswith("SHA256SUMS")]
    for name in files or changed:
        found = [*_compare(name, old[name], new[name])]
        others = [one for one in found if not one.partition(" ")[0].endswith("sha256")]
        shown = others if others or len(files) > 1 else found
        told += [f"{case}: {name}: {one}" for one in shown[:LINES]]
        if len(shown) > LINES:
            told.append(f"{case}: {name}: and {len(shown) - LINES} more")
    return told


def _compare(name, old, new):
    """Yield the changes of one file."""
    if name.endswith(".json"):
        yield from _compare_values("", json.loads(old), json.loads(new))
    elif name.endswith(".csv"):
        yield from _compare_rows(*(list(csv.reader(one.splitlines())) for one in (old, new)))
    else:
        lines = difflib.ndiff(old.splitlines(), new.splitlines())
        said = {"-": "no longer", "+": "now"}
        yield from (f"{said[one[0]]}: {one[2:]}" for one in lines if one[0] in said)


def _compare_values(at, old, new):
    """Yield the changes of plain values, by the path of their fields."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            path = f"{at}.{name}" if at else name
            if name not in new:
                yield f"{path} is gone, was {_show(old[name])}"
            elif name not in old:
                yield f"{path} is new: {_show(new[name])}"
            else:
                yield from _compare_values(path, old[name], new[name])
        if old == new and [*old] != [*new]:
            yield f"{at or 'the document'} has its fields in another order: {', '.join(new)}"
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{at} has {len(new)} items, not {len(old)}"
        for number, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from _compare_values(f"{at}[{number}]", one, other)
    elif (type(old), old) != (type(new), new):
        yield f"{at} {_show(old)} -> {_show(new)}"


def _show(value):
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _compare_rows(old, new):
    """Yield the changes of a table whose first columns tell a row from all others."""
    head, keys = new[0], _count_keys(old) if old[0] == new[0] else 0
    if not keys:
        yield f"columns {', '.join(old[0])} -> {', '.join(head)}"
        return
    before, after = ({tuple(row[:keys]): row for row in one[1:]} for one in (old, new))
    for key in [*before, *(key for key in after if key not in before)]:
        row = f"row {', '.join(key)}"
        if key not in after:
            yield f"{row} is gone"
        elif key not in before:
            yield f"{row} is new: {', '.join(after[key][keys:])}"
        else:
            pairs = zip(head, before[key], after[key], strict=True)
            cells = [f"{name} {one} -> {other}" for name, one, other in pairs if one != other]
            if cells:
                yield f"{row}: {', '.join(cells)}"
    if before == after:
        yield "the rows are in another order"


def _count_keys(rows):
    """Return how many first columns tell all rows apart."""
    for number in range(1, len(rows[0]) + 1):
        if len({tuple(row[:number]) for row in rows}) == len(rows):
            return number
    return 0
