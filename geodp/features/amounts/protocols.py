"""Methods of tables of amounts, by their names in cards; the core finds them here."""

from __future__ import annotations

from geodp.features.amounts.methods import CountOfAmounts, SumOfAmounts

PROTOCOLS: dict[str, CountOfAmounts | SumOfAmounts] = {
    one.name: one for one in (CountOfAmounts(), SumOfAmounts())
}
"""Every method by its name, with its default settings."""


def protocol(chosen: str) -> CountOfAmounts | SumOfAmounts:
    """Look up a method by name, with settings after a colon.

    Raises UsageError for an unknown setting, and KeyError for an unknown name.
    """
    name, _, settings = chosen.partition(":")
    return PROTOCOLS[name].with_settings(settings)
