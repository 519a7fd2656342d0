"""``verify`` and the script of the standard library find every change of a release."""

import json
import re

import pytest

from geodp.errors import VerificationError
from geodp.io.verify import verify_release
from tests.contract.desk import contents
from tests.contract.using import INCONSISTENT
from tests.io.verify.forging import (
    change,
    list_failures,
    list_leaves,
    show,
    sign,
    write_json,
)

UNTOLD = re.compile(
    # Only the ledger and the operator know these.
    r"budget\.(ledger|dataset|earlier_releases|sequence)|expected_error\.floor\.people"
    # How the input was read stands in no file.
    r"|guarantee\.not_protected\.\*|reading\.(places|labels|counts|person).*"
    # The place where codes begin is not used by grids without codes.
    r"|domain\.places\.\*\.first\.\*"
    # A card of another version has words that are not known.
    r"|software\.version"
    # Digests and ids are written anew by who signs; a schema of its own is another kind.
    r"|.*(sha256|release_id)|schema"
)
"""Values of a card or an index that nothing else contradicts."""

SUMS = "SHA256SUMS"

LEAVES = 3
"""How many values of the card or index of every kind are changed, evenly spread; of laws all."""

BY_THE_SCRIPT = [
    *(("guarantee", name) for name in ("in_words", "spends", "neighbours", "contribution_bound")),
    *(("guarantee", name) for name in ("noise_scale", "noise_key", "contribution", "unit")),
    ("guarantee", "not_protected", 1),
    *(("guarantee", "assumptions", at, "statement") for at in (0, 1)),
    *(("private",), ("mechanism", "spec"), ("mechanism", "values")),
    *(("expected_error", name) for name in ("meaning", "holds")),
    *(("expected_error", "blocks", 0, "margin_95"), ("expected_error", "isolated_cell", "meaning")),
]
"""Values of a card of a table that the script of the standard library alone compares, too."""


@pytest.fixture
def public(desk, released):
    """The public folder of a copy that may be changed."""
    return desk.copy(released.folder / "out" / "public", "public")


def read(card):
    """Return a card or an index."""
    return json.loads(card.read_text(encoding="utf-8"))


def find_unseen(public, card, paths, failing):
    """Return the values whose change makes no check fail; digests and ids are written anew."""
    before, unseen = contents(public), set()
    whole = read(card)
    for path in paths:
        write_json(card, change(whole, path))
        try:
            sign(public)
            if not failing(card.parent):
                unseen.add(show(path))
        except (ValueError, LookupError, OSError, VerificationError):
            pass  # not even signed, as the files of such a release are missing
        for name, text in before.items():
            (public / name).write_bytes(text)
    return unseen


def list_told(card):
    """Return the paths of values that something else contradicts."""
    return [path for path in list_leaves(read(card)) if not UNTOLD.fullmatch(show(path))]


def test_a_changed_value_of_the_card_is_found(kind, public):
    card = public / kind.index
    assert list_failures(public) == []
    paths = list_told(card)
    assert find_unseen(public, card, paths[:: len(paths) // LEAVES + 1], list_failures) == set()


@pytest.mark.law
def test_every_changed_value_of_every_card_is_found(public):
    """Of a list its first value and its last stand for all, of cards of one method the first."""
    found = {one: read(one) for one in sorted(public.rglob("*.json"), reverse=True)}
    cards = {
        (one["schema"], one.get("mechanism", {}).get("name")): path
        for path, one in found.items()
        if "guarantee" in one
    }
    for card in cards.values():
        named = {}
        for path in list_told(card):
            named.setdefault(show(path), []).append(path)
        paths = [path for some in named.values() for path in dict.fromkeys((some[0], some[-1]))]
        failing = lambda folder: list_failures(folder) or list_failures(public)  # noqa: E731
        assert find_unseen(public, card, paths, failing) == set(), card


def list_failed(folder):
    """Return the questions of the script that fail."""
    return [name for name, ok, _ in verify_release.verify(str(folder)) if not ok]


def test_the_script_finds_a_changed_guarantee(kind, public):
    card = public / kind.index
    paths = [("private",), *(("guarantee", name) for name in ("in_words", "epsilon_decimal"))]
    assert find_unseen(public, card, paths, list_failed) == set()


def test_the_script_finds_what_follows_by_arithmetic_and_fixed_sentences(public):
    """On the first table of a release."""
    card, *_ = (one for one in sorted(public.rglob("*.json")) if "expected_error" in read(one))
    errors = read(card)["expected_error"]
    # Without closed forms errors are worded otherwise; without a clamp no cell is isolated.
    blank = set() if errors["blocks"] else {"expected_error"}
    blank |= set() if errors["isolated_cell"] else {"isolated_cell"}
    paths = [path for path in BY_THE_SCRIPT if not blank & {*path}]
    assert find_unseen(public, card, paths, list_failed) == set()


def test_a_changed_file_is_found_and_named(desk, public):
    """By the script every file, by geodp some of them."""
    names = [*contents(public)]
    for at, name in enumerate(names):
        path = public / name
        text = path.read_bytes()
        middle = len(text) // 2
        path.write_bytes(text[:middle] + bytes([text[middle] ^ 1]) + text[middle + 1 :])
        assert not all(ok for _, ok, _ in verify_release.verify(str(public))), name
        if at % 12 == 0:
            done = desk.run("verify", "public")
            assert done.returncode == INCONSISTENT, name
            # A digest that was changed is that of a file which seems to be changed.
            assert name in done.stdout + done.stderr or name == SUMS
        path.write_bytes(text)


def test_a_file_more_or_less_is_found_and_named(desk, public):
    first = min(public.rglob("*.csv"), default=public / SUMS)
    added, moved = public / "more.txt", first.with_name("moved.txt")
    for step, back, name in (
        (lambda: added.write_text("more"), added.unlink, "more.txt"),
        (lambda: first.rename(moved), lambda: moved.rename(first), "moved.txt"),
        (first.unlink, lambda: None, first.name),
    ):
        step()
        assert not all(ok for _, ok, _ in verify_release.verify(str(public))), name
        done = desk.run("verify", "public")
        assert done.returncode == INCONSISTENT, name
        assert name in done.stdout + done.stderr, name
        back()


def test_a_changed_record_of_the_operator_s_is_found(desk, released):
    record = desk.copy(released.folder / "out") / "restricted" / "run.json"
    record.write_bytes(record.read_bytes() + b" ")
    done = desk.run("verify", "copy")
    assert done.returncode == INCONSISTENT, done.stdout
    assert "restricted/run.json was changed: its SHA-256 differs." in done.stdout + done.stderr
