"""Compile the catalogues of translations, ``.po`` to ``.mo``: ``make catalogues``."""

from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from geodp.cli.translation import DOMAIN, FOLDER

SOURCES = sorted(FOLDER.glob(f"*/LC_MESSAGES/{DOMAIN}.po"))


def sentences(source: Path) -> dict[str, str]:
    """Return the translated sentences of a catalogue's source."""
    with source.open("rb") as file:
        return {one.id: one.string for one in read_po(file) if one.id and one.string}


def main() -> None:
    for source in SOURCES:
        catalogue = Catalog(locale=source.parts[-3], fuzzy=False, project=DOMAIN)
        catalogue.last_translator = catalogue.msgid_bugs_address = "The geodp authors"
        for sentence, translated in sentences(source).items():
            catalogue.add(sentence, translated)
        with source.with_suffix(".mo").open("wb") as file:
            write_mo(file, catalogue)


if __name__ == "__main__":
    main()
