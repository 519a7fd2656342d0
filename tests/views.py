"""What formats are shown of a table that a test made, whatever its method can release."""

from dataclasses import replace

from geodp.io.write.view import View
from geodp.release.release import Release
from geodp.table.card import StatedMetadata


def view_of(table, name="population", errors=None, *, below=None, **kinds):
    """A view with a card; ``kinds``: whole and nonnegative; ``below``: the limit of display."""
    card = Release(table).card()
    metadata = None if below is None else StatedMetadata(display_below=below)
    card = replace(card, name=name, metadata=metadata, mechanism=replace(card.mechanism, **kinds))
    return View(table, card, errors)
