"""Methods of tables of persons, by their names in cards; the core finds them here."""

from __future__ import annotations

from geodp.features.households.methods import PersonsBySize, PersonsOfStreams

PROTOCOLS: dict[str, PersonsOfStreams | PersonsBySize] = {
    one.name: one for one in (PersonsOfStreams(), PersonsBySize())
}
"""Every method by its name, with its default settings."""


def protocol(chosen: str) -> PersonsOfStreams | PersonsBySize:
    """Look up a method by name, with settings after a colon.

    Raises UsageError for an unknown setting, and KeyError for an unknown name.
    """
    name, _, settings = chosen.partition(":")
    return PROTOCOLS[name].with_settings(settings)
