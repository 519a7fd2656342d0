"""Listens to every draw of a call, and holds it against what was declared, charged and kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

from geodp.privacy.key import READING, NoiseKey
from geodp.privacy.noise.draws import UNIFORM, Draw, Draws
from geodp.release import noise_identity
from geodp.release.noise_identity import encode


@dataclass(frozen=True)
class Heard:
    """Draws with one key: whose secret it is, what was declared for it, and what is drawn."""

    secret: bytes
    origin: str
    declared: Draws | None
    draws: tuple[Draw, ...]


@dataclass
class Wire:
    """What was heard during some calls.

    Attributes
    ----------
    heard : list of Heard
        Every time that key words are lent to a kernel.
    bare : int
        Times that words of a key were taken without naming a draw.
    encoded : list of bytes
        All that was encoded for the digests of releases.
    derived, fingerprints : list of bytes
        Digests that keys were derived with, and those of fingerprints.
    """

    heard: list[Heard] = field(default_factory=list)
    bare: int = 0
    encoded: list[bytes] = field(default_factory=list)
    derived: list[bytes] = field(default_factory=list)
    fingerprints: list[bytes] = field(default_factory=list)

    @property
    def private(self) -> list[Heard]:
        """Draws with keys that nobody can know; public simulations have others."""
        return [one for one in self.heard if one.origin != "fixed"]

    @property
    def drawn(self) -> set[Draw]:
        """All that was drawn in private."""
        return {draw for one in self.private for draw in one.draws}

    def faults(self) -> list[str]:
        """Say what is wrong with what was heard, one sentence each."""
        found = ["words of a key were taken for no draw"] * self.bare
        for one in self.private:
            allowed = READING if one.declared is None else one.declared.direct
            found += [f"{draw} was not declared" for draw in one.draws if draw not in allowed]
            if not one.draws:
                found.append("a draw has no name")
        text = b"".join(self.encoded)
        for stream, law in self.drawn:
            # Coins of rounding are no noise: what they decide is told by the noisy counts alone.
            if law != UNIFORM and encode(stream) + encode(law) not in text:
                found.append(f"{(stream, law)} is in no digest")
        return found


@contextmanager
def listening(*, guarded: bool = True) -> Iterator[Wire]:
    """Listen to all draws of this process; ``guarded``: whether undeclared draws are refused."""
    wire, named, depth = Wire(), [], [0]
    require, words = NoiseKey.require, NoiseKey.words
    derive, fingerprint, written = NoiseKey.derive, NoiseKey.fingerprint, noise_identity.encode

    def hear(key, *draws):
        wire.heard.append(Heard(bytes(key._hold()), key.origin, key._draws, draws))
        if guarded:
            require(key, *draws)
        named.append(key)

    def take(key):
        if key.origin != "fixed" and not any(one is key for one in named):
            wire.bare += 1
        named.clear()
        return words(key)

    def note(key, digest, *rest):
        wire.derived.append(digest)
        return derive(key, digest, *rest)

    def tell(key, digest):
        wire.fingerprints.append(digest)
        return fingerprint(key, digest)

    def write(value):
        depth[0] += 1
        found = written(value)
        depth[0] -= 1
        if not depth[0]:  # what is inside is in the whole
            wire.encoded.append(found)
        return found

    with (
        mock.patch.object(NoiseKey, "require", hear),
        mock.patch.object(NoiseKey, "words", take),
        mock.patch.object(NoiseKey, "derive", note),
        mock.patch.object(NoiseKey, "fingerprint", tell),
        mock.patch("geodp.release.noise_identity.encode", write),
        mock.patch("geodp.kinds.selection.selected.encode", write),
    ):
        yield wire
