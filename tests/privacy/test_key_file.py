"""A key file is its owner's alone, or it is refused, also by a worker of a cluster."""

import os
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.cluster.secret import KeyFile
from geodp.errors import InputError, UsageError
from geodp.privacy import key
from geodp.privacy.key import NoiseKey, has_owners, read_key, write_key
from geodp.privacy.noise.draws import Draws
from tests.bits import has_bits
from tests.keys import keep, secret
from tests.refusals import refuses

posix = pytest.mark.skipif(not has_owners(), reason="owners and permission bits of POSIX")


@pytest.fixture
def kept(tmp_path):
    return keep(tmp_path / "key")


def refused(path, rule):
    """By both readers, and the message shows nothing of the key."""
    with refuses(InputError, rule) as caught:
        NoiseKey.from_file(path)
    told = str(caught.value)
    with refuses(UsageError, rule) as caught, KeyFile(str(path)).open(Draws()):
        pass
    assert "key_folder" in str(caught.value)
    content = path.read_text() if path.is_file() and os.access(path, os.R_OK) else ""
    assert len(content.strip()) < 8 or content.strip()[:8] not in told + str(caught.value)


def test_what_is_written_is_read_back_and_overwritten(kept, monkeypatch):
    assert read_key(kept) == secret("kept")
    assert has_bits(kept, 0o600)
    held = []
    monkeypatch.setattr(
        "geodp.privacy.key.read_key", lambda path: held.append(read_key(path)) or held[0]
    )
    key = NoiseKey.from_file(kept)
    assert key.origin == "file"
    assert key.words().astype("<u4").tobytes() == secret("kept")
    assert held == [bytes(32)]


def test_the_text_of_a_key_is_overwritten_and_has_been_copied_nowhere(tmp_path, monkeypatch):
    held, whole = [], os.fdopen

    class Keeps:
        """Knows the array that a file's text comes from or goes to."""

        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.file.close()

        def fileno(self):
            return self.file.fileno()

        def write(self, text):
            held.append((text, bytes(text)))
            self.file.write(text)

        def readinto(self, text):
            size = self.file.readinto(text)
            held.append((text, bytes(text)))
            return size

    def fdopen(handle, mode, buffering, closefd=True):
        assert buffering == 0
        return Keeps(whole(handle, mode, buffering, closefd=closefd))

    monkeypatch.setattr(key.os, "fdopen", fdopen)
    read_key(keep(tmp_path / "key"))
    assert len(held) == 2
    for text, was in held:
        assert was[:64] == secret("kept").hex().encode()
        assert text == bytes(len(was))


def test_a_poor_key_is_overwritten_before_it_is_refused(kept, monkeypatch):
    held = []

    class Kept(bytearray):
        def __init__(self, content=b""):
            super().__init__(content)
            held.append(self)

    monkeypatch.setattr(key, "bytearray", Kept, raising=False)
    kept.write_text("07" * 32)
    with refuses(InputError, "key-file-guessable"):
        read_key(kept)
    assert [len(found) for found in held] == [67, 32]
    assert not any(any(found) for found in held)


def test_a_file_is_never_written_over(kept):
    with pytest.raises(FileExistsError):
        write_key(kept, secret("other"))
    assert read_key(kept) == secret("kept")


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("case", [str.upper, str.lower])
def test_digits_of_both_cases_and_line_ends_of_all_systems(kept, end, case):
    kept.write_bytes(case(secret("x").hex()).encode() + end.encode())
    assert read_key(kept) == secret("x")


@pytest.mark.parametrize(
    "content",
    [
        "",
        secret("x").hex()[:-1],
        secret("x").hex() + "0",
        secret("x").hex()[:-1] + "g",
        secret("x").hex() + "\n\n",
        secret("x").hex() + "\n\r",
        secret("x").hex() + "\r\n\n",
        " " + secret("x").hex(),
        secret("x").hex() * 2,
        "０" * 64,
    ],
)
def test_anything_else_is_refused(kept, content):
    kept.write_bytes(content.encode())
    refused(kept, "key-file-form")


@pytest.mark.parametrize(
    "guessed",
    [
        bytes(32),
        b"\xff" * 32,
        b"\xab\xcd" * 16,
        bytes(range(32)),
        bytes(range(0, 224, 7)),
        b"secret--" * 4,
        bytes([7, 9] * 8) + bytes(range(16)),
    ],
)
def test_a_key_that_nobody_drew_is_refused(kept, guessed):
    kept.write_text(guessed.hex())
    refused(kept, "key-file-guessable")


def test_the_least_variety_is_just_taken(kept):
    cycle = [n * n for n in range(16)]  # 16 bytes, and 16 steps with the one back to the first
    kept.write_text(bytes(cycle * 2).hex())
    assert read_key(kept) == bytes(cycle * 2)
    for poor in (cycle[:15] * 2 + cycle[:2], [*range(16, 32), *cycle[:4] * 4]):
        kept.write_text(bytes(poor).hex())
        refused(kept, "key-file-guessable")


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
def test_steps_are_those_to_the_next_byte_around_the_clock(kept, seed):
    chance = random.Random(seed)
    key, steps = [chance.randrange(256)], chance.sample(range(1, 256), 15)
    while len(key) < 32:
        key.append((key[-1] + chance.choice(steps)) % 256)
    assert len(set(key)) >= 16
    assert len({b - a for a, b in pairwise(key)}) >= 16  # more, were it not for the clock
    assert len({(b - a) % 256 for a, b in zip(key, key[2:], strict=False)}) >= 16
    kept.write_text(bytes(key).hex())
    refused(kept, "key-file-guessable")


@given(st.binary(min_size=32, max_size=32))
def test_only_poor_keys_are_refused(tmp_path_factory, drawn):
    path = tmp_path_factory.mktemp("keys") / "key"
    write_key(path, drawn)
    steps = {(a - b) % 256 for a, b in zip(drawn[1:], drawn[:-1], strict=True)}
    if len(set(drawn)) >= 16 and len(steps) >= 16:
        assert read_key(path) == drawn
    else:
        refused(path, "key-file-guessable")


@posix
@pytest.mark.parametrize("bit", [1 << n for n in range(6)])
def test_no_bit_for_others_is_accepted(kept, bit):
    kept.chmod(0o600 | bit)
    refused(kept, "key-file-shared: chmod 600 key")
    kept.chmod(0o400)
    assert read_key(kept) == secret("kept")


@posix
@pytest.mark.parametrize(
    ("owner", "good"), [(0, True), (1000, True), (4242, False), (1, False), (-1, False)]
)
def test_the_owner_is_who_reads_it_or_root(kept, monkeypatch, owner, good):
    found = os.fstat

    def fstat(handle):
        true = found(handle)
        return os.stat_result([*true[:4], owner, *true[5:10]])

    monkeypatch.setattr(key.os, "fstat", fstat)
    monkeypatch.setattr(key.os, "geteuid", lambda: 1000)
    if good:
        assert read_key(kept) == secret("kept")
    else:
        refused(kept, "key-file-of-other-user")


@posix
def test_links_pipes_and_folders_are_refused(kept, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(kept)
    refused(link, "key-file-is-link")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    refused(pipe, "key-file-not-regular")  # and nobody waits for a writer
    refused(tmp_path, "key-file-not-regular")
    refused(tmp_path / "absent", "key-file-unreadable")


@posix
def test_a_link_that_is_put_in_its_place_is_not_followed(kept, tmp_path, monkeypatch):
    link = tmp_path / "link"
    link.symlink_to(kept)
    monkeypatch.setattr(key.os.path, "islink", lambda path: False)
    refused(link, "key-file-unreadable")
