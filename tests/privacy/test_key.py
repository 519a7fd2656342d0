import copy
import gc
import hashlib
import pickle
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import UndeclaredDrawError, UsageError
from geodp.privacy.key import NOISE_FORMAT, NoiseKey, Stream, blocks, digest, draw_digits, lines
from geodp.privacy.noise.draws import Draws
from tests.reference import chacha as reference
from tests.refusals import refuses
from tests.strategies import secrets

DIGEST = digest(b"table")


def hkdf(secret: bytes, info: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), 32, b"geodp release key", info).derive(secret)


@given(secrets, st.binary(min_size=32, max_size=32))
def test_derived_keys_and_fingerprints_are_hkdf_of_rfc_5869(secret, info):
    key = NoiseKey(secret)
    assert key.derive(info).words().astype("<u4").tobytes() == hkdf(secret, info)
    assert key.fingerprint(info) == hkdf(secret, b"geodp fingerprint" + info).hex()


def test_a_derived_key_keeps_its_origin():
    key = NoiseKey(bytes(32), _origin="file")
    assert key.derive(DIGEST).origin == "file"


def test_a_fingerprint_recognises_the_same_input_and_no_other():
    key, other = NoiseKey(bytes(32)), NoiseKey(b"1" * 32)
    fingerprint = key.fingerprint(DIGEST)
    assert fingerprint == NoiseKey(bytes(32)).fingerprint(DIGEST)
    assert len(bytes.fromhex(fingerprint)) == 32
    shown = {
        fingerprint,
        key.fingerprint(digest(b"tables")),
        other.fingerprint(DIGEST),
        key.derive(DIGEST).words().astype("<u4").tobytes().hex(),
        DIGEST.hex(),
    }
    assert len(shown) == 5


@pytest.mark.parametrize("wrong", [b"", bytes(31), bytes(33)])
def test_a_digest_has_32_bytes(wrong):
    for use in (NoiseKey.derive, NoiseKey.fingerprint):
        with refuses(UsageError, "digest-not-32-bytes"):
            use(NoiseKey(bytes(32)), wrong)


def test_a_key_shows_nothing_and_does_not_leave_the_process():
    secret = bytes(range(100, 132))
    key = NoiseKey(secret)
    assert repr(key) == str(key) == f"{key}" == "NoiseKey(fixed, redacted)"
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never pickled"):
            leave(key)
    assert not hasattr(key, "__dict__")
    with pytest.raises(AttributeError):
        key.origin = "entropy"


def test_streams_have_the_numbers_that_releases_were_made_with_and_room_between():
    assert {stream.name: stream.value for stream in Stream} == {
        "TOPDOWN_TOTAL": 1,
        "TOPDOWN_DETAIL": 2,
        "CONTINUOUS": 3,
        "SAMPLE": 4,
        "ROUNDING": 5,
        "LOCAL_ROUNDING": 256,
        "PYRAMID": 4096,
        "PARTS": 8192,
        "PARTS_ROUNDING": 16384,
        "STAGE": 65536,
        "SELECT": 1 << 24,
    }
    assert NOISE_FORMAT == "chacha20-inverse-3"


def test_a_generated_key_has_32_fresh_bytes_and_says_so(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "geodp.privacy.key.secrets.token_bytes", lambda *n: asked.append(n) or bytes(range(32))
    )
    key = NoiseKey.generate()
    assert asked == [(32,)]
    assert key.origin == "entropy"
    assert key.words().astype("<u4").tobytes() == bytes(range(32))


def test_keys_are_equal_by_identity_only():
    one, same = NoiseKey(bytes(32)), NoiseKey(bytes(32))
    assert one != same
    assert one == one
    assert len({one, same}) == 2


def test_a_forgotten_key_is_overwritten_and_refuses_its_use():
    key = NoiseKey(bytes(range(1, 33)))
    held = key._secret
    key.forget()
    key.forget()
    assert held == bytes(32)
    for use in (key.words, lambda: key.derive(DIGEST), lambda: key.fingerprint(DIGEST)):
        with refuses(UsageError, "key-forgotten"):
            use()
    with refuses(UsageError, "key-forgotten"):
        blocks(key, 1, np.array([1], np.uint64))


def test_a_key_is_overwritten_at_the_end_of_a_with_statement():
    with NoiseKey(bytes(range(1, 33))) as key:
        held = key._secret
        assert held != bytes(32)
    assert held == bytes(32)


def test_a_key_that_dies_is_overwritten():
    key = NoiseKey.generate()
    held = key._secret
    assert held != bytes(32)
    del key
    gc.collect()
    assert held == bytes(32)


def test_the_cipher_s_copy_of_the_key_is_overwritten(monkeypatch):
    copies = []
    words = NoiseKey.words
    monkeypatch.setattr(NoiseKey, "words", lambda key: copies.append(words(key)) or copies[-1])
    blocks(NoiseKey(bytes(range(32))), 1, np.array([1], np.uint64))
    assert len(copies) == 1
    assert not copies[0].any()


def test_the_caller_s_secret_stays_its_own():
    secret = bytearray(range(32))
    key = NoiseKey(secret)
    secret[0] = 99
    assert key.words()[0] == 0x03020100
    key.forget()
    assert secret[1] == 1


@pytest.mark.parametrize("secret", [b"short", "x" * 32, bytes(33), None, 7])
def test_a_wrong_key_is_refused(secret):
    with refuses(UsageError, "key-not-32-bytes"):
        NoiseKey(secret)


@given(
    secrets,
    st.sampled_from(Stream),
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 2**64 - 1), max_size=300),
)
def test_blocks_are_those_of_the_cipher(secret, stream, counter, addresses):
    found = blocks(NoiseKey(secret), stream, np.array(addresses, np.uint64), counter)
    checked = {0, len(addresses) // 2, len(addresses) - 1} & set(range(len(addresses)))
    for i in checked:
        expected = reference.words(secret, stream, counter, addresses[i])
        assert found[:, i].tolist() == expected


def test_blocks_begin_with_the_first():
    key, address = NoiseKey(bytes(range(32))), np.arange(5, dtype=np.uint64)
    line = np.empty(40, np.uint64)
    lines(key, 7, address, line)
    first = blocks(key, 7, address, 0)
    assert (blocks(key, 7, address) == first).all()
    assert (first == line.reshape(5, 8).T).all()
    assert (first != blocks(key, 7, address, 1)).all()


def test_a_digest_is_that_of_lengths_and_parts():
    numbers = np.arange(6, dtype=np.uint32)
    strided = np.arange(12, dtype=np.uint32)[::2]
    words = [(3).to_bytes(8, "little"), b"abc", (24).to_bytes(8, "little")]
    for part, data in (
        (numbers, numbers.tobytes()),
        (strided, strided.tobytes()),
        ((24, [numbers[:4], numbers[4:]]), numbers.tobytes()),
    ):
        expected = hashlib.sha256(b"".join(words) + data)
        assert digest(b"abc", part) == expected.digest()


def test_digests_separate_their_parts():
    parts = [(b"ab", b"c"), (b"a", b"bc"), (b"abc",), (b"abc", b""), (np.frombuffer(b"abc", "u1"),)]
    assert len({digest(*part) for part in parts}) == 4
    assert digest(b"abc") == digest(np.frombuffer(b"abc", np.uint8))


def test_further_digits_are_those_of_the_item_under_the_marked_stream():
    key = NoiseKey(bytes(range(32)))
    found = list(islice(draw_digits(key, 7, 9), 24))
    address = np.array([9], np.uint64)
    expected = [blocks(key, 7 + 2**31, address, counter)[:, 0] for counter in range(3)]
    assert found == np.concatenate(expected).tolist()
    taken = blocks(key, 7, address, 0)[:, 0].tolist()
    assert not {*found} & {*taken}  # none was taken before


def test_further_digits_are_draws_of_the_law_that_they_decide():
    law = "discrete Laplace", Fraction(5)
    key = NoiseKey(bytes(32)).derive(DIGEST, Draws.of([(7, law)]))
    assert (
        next(draw_digits(key, 7, 9, law))
        == blocks(NoiseKey(bytes(32)).derive(DIGEST), 7 + 2**31, np.array([9], np.uint64))[0, 0]
    )
    with refuses(UndeclaredDrawError, "draw-undeclared"):
        next(draw_digits(key, 7, 9))
