"""Compile the translations, ``.po`` to ``.mo``: ``make catalogues`` and every build."""

from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

LOCALE = Path(__file__).parents[1] / "geodp" / "cli" / "locale"


def main() -> None:
    """Write each compiled catalogue beside its source."""
    for source in sorted(LOCALE.glob("*/LC_MESSAGES/*.po")):
        with source.open("rb") as file:
            catalogue = read_po(file)
        # pybabel would refuse a sentence such as "95 % certain", whose "% c" it takes for a format.
        with source.with_suffix(".mo").open("wb") as file:
            write_mo(file, catalogue)


if __name__ == "__main__":
    main()
