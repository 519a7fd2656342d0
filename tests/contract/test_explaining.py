"""``explain`` says what a release of every kind reveals, from its card alone."""

import json
import shutil

from tests.contract.desk import require
from tests.contract.using import LANGUAGES, list_inside, require_words


def test_explain_says_what_a_release_reveals(released):
    for language in LANGUAGES:
        done = released.run("explain", "out", "--language", language)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("# ")
        require_words(done.stdout, language)
    document = json.loads(require(released.run("explain", "out", "--json")).stdout)
    assert {"language", "title", "sections"} <= {*document}


def test_explain_reads_the_card_alone(kind, released, tmp_path):
    card = tmp_path / kind.index
    shutil.copy(released.folder / "out" / "public" / kind.index, card)
    whole, alone = (released.run("explain", path) for path in ("out", card))
    assert alone.returncode == 0, alone.stderr
    assert alone.stdout == whole.stdout


def test_explain_knows_every_folder_inside(released):
    for folder in list_inside(released.folder / "out")[1:]:
        require_words(require(released.run("explain", folder)).stdout, "en")
