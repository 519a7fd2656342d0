"""Kept keys for tests: files as `geodp key` makes them, with a key that is always the same."""

import hashlib

from geodp.privacy.key import write_key


def secret(name):
    """32 bytes that look random."""
    return hashlib.sha256(name.encode()).digest()


def keep(path, name="kept"):
    write_key(path, secret(name))
    return path
