"""``verify`` and the script of the standard library find every change of a release."""

import contextlib
import json
import re

import pytest

from geodp.errors import VerificationError
from geodp.io.verify import verify_release
from geodp.io.verify.verify import verify
from geodp.release.simulated_cells import errors_of
from tests.contract.desk import contents
from tests.contract.using import INCONSISTENT
from tests.io.verify.forging import change, list_leaves, show, sign, write_json

UNTOLD = re.compile(
    # Only the ledger and the operator know these.
    r"budget\.(ledger|dataset|earlier_releases|sequence)|expected_error\.floor\.people"
    # How the input was read stands in no file.
    r"|guarantee\.not_protected\.\*|reading\.places\.[xy]"
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
"""How many values are changed, evenly spread: tests of cards change all of them."""


@pytest.fixture
def public(desk, released):
    """The public folder of a copy that may be changed."""
    return desk.copy(released.folder / "out" / "public", "public")


def test_a_changed_value_of_the_card_is_found(kind, public):
    card = public / kind.index
    whole = json.loads(card.read_text(encoding="utf-8"))
    leaves = [path for path in list_leaves(whole) if not UNTOLD.fullmatch(show(path))]
    before = contents(public)
    for path in leaves[:: len(leaves) // LEAVES + 1]:
        write_json(card, change(whole, path))
        # A value that is not of its form keeps the card from being read and signed.
        with contextlib.suppress(VerificationError):
            sign(public)
        assert not all(check.ok for check in verify(public, errors_of)), path
        for name, text in before.items():
            (public / name).write_bytes(text)


def test_the_script_finds_a_changed_guarantee(kind, public):
    card = public / kind.index
    whole = json.loads(card.read_text(encoding="utf-8"))
    for path in (("private",), ("guarantee", "in_words"), ("guarantee", "epsilon_decimal")):
        write_json(card, change(whole, path))
        sign(public)
        assert not all(ok for _, ok, _ in verify_release.verify(str(public))), path


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
