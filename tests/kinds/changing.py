"""Changes of releases in several tables, as somebody makes them who writes all checksums again."""

import json

from geodp.io.folder.manifest import sha256, sums_text
from geodp.io.verify.verify import verify
from geodp.release.opening import errors_of


def failed(public):
    """Return what verification found, by the names of its questions."""
    return {check.name: check.detail for check in verify(public, errors_of) if not check.ok}


def list_sums(public):
    """Write the checksums again."""
    files = [p for p in public.rglob("*") if p.is_file() and p != public / "SHA256SUMS"]
    sums = {path.relative_to(public).as_posix(): sha256(path) for path in files}
    (public / "SHA256SUMS").write_text(sums_text(sums), encoding="utf-8", newline="\n")


def change_index(public, change):
    """Change the index of all tables, and write the checksums again."""
    (path,) = public.glob("*.json")
    card = json.loads(path.read_text())
    change(card)
    path.write_text(json.dumps(card))
    list_sums(public)


def set_value(public, name, value):
    """Set the value of the index at a path of names."""

    def change(card):
        for part in name[:-1]:
            card = card[part]
        card[name[-1]] = value

    change_index(public, change)


def list_files(public):
    """Write the digests of the files of the index again, as they are now."""

    def change(card):
        for one in card["files"]:
            one["sha256"] = sha256(public / one["name"])

    change_index(public, change)
