import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from geodp.kernels import chacha
from tests.reference import chacha as reference
from tests.strategies import secrets

# RFC 8439, section 2.3.2, and appendix A.1, test vectors 1 and 2.
VECTORS = [
    (
        bytes(range(32)),
        1,
        bytes.fromhex("000000090000004a00000000"),
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
    (
        bytes(32),
        0,
        bytes(12),
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    (
        bytes(32),
        1,
        bytes(12),
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
]


def run(key: bytes, stream: int, counter: int, addresses) -> np.ndarray:
    out = np.empty(8 * len(addresses), np.uint64)
    words = np.frombuffer(key, "<u4").astype(np.uint32)
    address = np.array(addresses, np.uint64)
    chacha.blocks(words, np.uint32(stream), np.uint32(counter), address, out)
    return out.reshape(-1, 8)


def test_rfc_8439_vectors():
    for key, counter, nonce, expected in VECTORS:
        stream = int.from_bytes(nonce[:4], "little")
        address = int.from_bytes(nonce[4:], "little")
        assert run(key, stream, counter, [address]).astype("<u8").tobytes().hex() == expected
        assert reference.block(key, counter, nonce).hex() == expected


@given(
    secrets,
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 2**64 - 1), max_size=20),
)
def test_equals_the_naive_twin(key, stream, counter, addresses):
    expected = [reference.words(key, stream, counter, address) for address in addresses]
    assert run(key, stream, counter, addresses).tolist() == expected
