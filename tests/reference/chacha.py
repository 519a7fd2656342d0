"""ChaCha20 block function, RFC 8439 section 2.3, one block in plain Python."""

import struct


def _quarter(x, a, b, c, d):
    for one, two, three, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[one] = (x[one] + x[two]) & 0xFFFFFFFF
        mixed = x[three] ^ x[one]
        x[three] = ((mixed << turn) | (mixed >> (32 - turn))) & 0xFFFFFFFF


def block(key: bytes, counter: int, nonce: bytes) -> bytes:
    first = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]
    first += [*struct.unpack("<8I", key), counter, *struct.unpack("<3I", nonce)]
    x = list(first)
    for _ in range(10):
        for a, b, c, d in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)):
            _quarter(x, a, b, c, d)
        for a, b, c, d in ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            _quarter(x, a, b, c, d)
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(x, first, strict=True)))


def words(key: bytes, stream: int, counter: int, address: int) -> list[int]:
    return list(struct.unpack("<8Q", block(key, counter, struct.pack("<IQ", stream, address))))


def small_words(key: bytes, stream: int, counter: int, address: int) -> list[int]:
    """The same block as 16 words of 32 bits."""
    return list(struct.unpack("<16I", block(key, counter, struct.pack("<IQ", stream, address))))
