"""Protocols of local collection on trees, whose reports devices randomise themselves."""

from __future__ import annotations

from geodp.errors import UsageError
from geodp.local import counts, haar
from geodp.local.tree import Protocol

PROTOCOLS: dict[str, Protocol] = {
    one.name: one for module in (counts, haar) for one in module.PROTOCOLS
}
"""Every protocol by its name, with its default settings."""


def protocol(chosen: str) -> Protocol:
    """Look up a protocol by name, with settings after a colon: ``"haar:weights=2-1-1"``.

    Raises UsageError for an unknown name or setting.
    """
    name, _, settings = str(chosen).partition(":")
    if name not in PROTOCOLS:
        raise UsageError(
            f"protocol must be one of: {', '.join(PROTOCOLS)}.", code="protocol-unknown"
        )
    return PROTOCOLS[name].with_settings(settings)
