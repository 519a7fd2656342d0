"""What an office says of a release: read once, checked, and put into the card."""

import pytest

from geodp.errors import InputError, UsageError
from geodp.release.metadata import read_metadata, state_metadata
from geodp.table.card import StatedMetadata
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"titel": "x"}, "plain-key-unknown: titel"),
        ({"title": " "}, "metadata-not-text"),
        ({"title": "a\x1b[0m"}, "metadata-not-text"),
        ({"title": 3}, "plain-type-unknown: metadata.title"),
        ({"reference_date": "2020"}, "plain-type-wrong: reference_date.*form"),
        ({"reference_date": "2020-13-01"}, "metadata-date"),
        ({"reference_date": "2020-12-01/2020-01-01"}, "metadata-dates-reversed"),
        ({"language": "Japanese"}, "plain-type-wrong: language.*form"),
        *(
            ({"display_below": limit}, r"metadata-display-below: display_below.*\b2,147,")
            for limit in (1, 0, -5, 2**31 + 1, 10.0, 2.5, "10", True, None)
        ),
    ],
)
def test_metadata_that_are_wrong_are_refused(values, sentence):
    with refuses(UsageError, sentence):
        state_metadata(values)


@pytest.mark.parametrize("limit", [2, 10, 2**31])
def test_a_limit_of_display_is_kept_on_the_card(limit):
    assert state_metadata({"display_below": limit}) == StatedMetadata(display_below=limit)


def test_metadata_are_read_from_a_file(tmp_path):
    path = tmp_path / "office.toml"
    path.write_text('title = "人口"\nreference_date = 2020-10-01\n', encoding="utf-8")
    assert read_metadata(path) == StatedMetadata(title="人口", reference_date="2020-10-01")
    for text, sentence in (
        ("title", "metadata-not-toml"),
        ("titel = 'x'", "plain-key-unknown: titel"),
    ):
        path.write_text(text)
        with refuses((UsageError, InputError), sentence):
            read_metadata(path)
    with refuses(InputError, "metadata-unreadable: cannot be read"):
        read_metadata(tmp_path / "none.toml")
