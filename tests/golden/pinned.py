"""What is pinned of a release: its public folder, what the ledger has, and the operator's record.

Every file of the public folder is pinned byte by byte, or, where the bytes belong to a library, by
its contents (:mod:`tests.golden.contents`). Where a card or a list of checksums states the digest
of a file that is pinned by contents, that of the pinned text stands in its place, and so on for
files that state digests of these: everything else is as it was written.
"""

import hashlib
import json
from pathlib import Path

from geodp.io.folder.manifest import sha256
from tests.golden.contents import describe

Pinned = dict[str, str]
"""Texts by their name in the golden folder."""


def pin_public(public: Path) -> Pinned:
    """Return what is pinned of a public folder."""
    paths = (one for one in sorted(public.rglob("*")) if one.is_file())
    files = {one.relative_to(public).as_posix(): one for one in paths}
    described = {name: describe(path) for name, path in files.items()}
    digests = {sha256(path): name for name, path in files.items()}
    texts = {}

    def text_of(name):
        """Return the text of a file, after those whose digests it states."""
        if name not in texts:
            text = described[name] or files[name].read_bytes().decode()
            for digest, other in digests.items():
                if digest in text:
                    text = text.replace(digest, hashlib.sha256(text_of(other).encode()).hexdigest())
            texts[name] = text
        return texts[name]

    return {f"public/{name}{'.txt' * bool(described[name])}": text_of(name) for name in files}


def read_golden(folder: Path) -> Pinned:
    """Return what a golden folder holds."""
    files = (one for one in folder.rglob("*") if one.is_file())
    return {one.relative_to(folder).as_posix(): one.read_bytes().decode() for one in files}


def write_golden(folder: Path, pinned: Pinned) -> None:
    """Make a golden folder hold this and nothing else."""
    for name in read_golden(folder).keys() - pinned.keys():
        (folder / name).unlink()
    for name, text in pinned.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())


def format_json(value) -> str:
    """Format plain values for people."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
