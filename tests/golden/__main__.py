"""``python -m tests.golden``: tell in words what of all that is pinned has changed.

``--write`` pins what was made. Methods whose bytes changed under an unchanged version are refused,
and nothing is written then.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import geodp
from tests.golden import case
from tests.golden.differences import tell_changes
from tests.golden.fixed import fixed
from tests.golden.folders import CASES
from tests.golden.methods import FILE, faults, kept, made, same
from tests.golden.pinned import read_golden, write_golden

METHODS = "methods"


def main(*words: str) -> int:
    """0: nothing has changed, or it was written; 1: something has, and nothing was written."""
    parser = argparse.ArgumentParser("python -m tests.golden", description=__doc__)
    parser.add_argument(
        "names", nargs="*", help=f"golden folders by name, or {METHODS}; all of them by default"
    )
    parser.add_argument("--write", action="store_true", help="pin what was made")
    asked = parser.parse_args(words)
    if unknown := {*asked.names} - {METHODS, *CASES}:
        parser.error(f"there is no golden folder named {', '.join(sorted(unknown))}")
    names, write = asked.names or [METHODS, *CASES], asked.write
    changed = []
    if METHODS in names:
        new, old = made(sorted(geodp.METHODS)), kept()
        if wrong := faults(old, new):
            print(*wrong, sep="\n", file=sys.stderr)
            return 1
        changed += [*tell_methods(old, new)]
        if write:
            FILE.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
    for name in names:
        if name != METHODS:
            changed += check_folder(name, write)
    if not asked.names:
        changed += drop_folders(write)
    print(*changed or ["Nothing has changed."], sep="\n")
    return 0 if write or not changed else 1


def tell_methods(old: dict, new: dict) -> Iterator[str]:
    """Tell which methods are new, are gone, or have another version or other releases."""
    before, now = old["methods"], new["methods"]
    yield from (f"{name}: this method is gone" for name in sorted(before.keys() - now.keys()))
    for name, method in now.items():
        if name not in before:
            yield f"{name} {method['version']}: this method is new"
            continue
        was, releases = before[name], method["releases"]
        others = [
            one
            for one, release in releases.items()
            if one not in was["releases"] or not same(one, was["releases"][one], release)
        ]
        gone = was["releases"].keys() - releases.keys()
        if others or gone or method["version"] != was["version"]:
            yield (
                f"{name} {was['version']} -> {method['version']}: {len(others)} of "
                f"{len(releases)} releases are others, {len(gone)} are left out"
            )


def check_folder(name: str, write: bool) -> list[str]:
    """Publish a case anew, and tell what has changed of its golden folder."""
    golden = CASES[name]
    with tempfile.TemporaryDirectory() as place, fixed():
        folder = Path(place)
        golden.prepare(folder)
        golden.publish(folder)
        new = {**golden.pin(folder), **golden.pin_run(folder)}
    old = read_golden(golden.folder)
    if write:
        write_golden(golden.folder, new)
    if not old:
        return [f"{name}: this case is new, with {len(new)} files"]
    return tell_changes(name, old, new)


def drop_folders(write: bool) -> list[str]:
    """Tell which golden folders have no case, and remove them."""
    gone = sorted(one.name for one in case.RELEASES.iterdir() if one.name not in CASES)
    for name in gone if write else ():
        shutil.rmtree(case.RELEASES / name)
    return [f"{name}: this case is gone" for name in gone]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
