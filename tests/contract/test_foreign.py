"""What is for another kind of release is refused: the sentence says for which, and what this is."""

from tests.contract.using import DONE, WRONG_CALL, require_refused

OWN = {
    "amounts": ("--quantile", "0.5"),
}
"""An option of ``estimate`` that only one kind has, by the name of the kind."""


def test_what_is_for_another_kind_is_refused(kind, released):
    """Of a selection everything is: it has no numbers, and the sentence names what reads it."""
    taken = 0
    for name, option in OWN.items():
        done = released.run("estimate", released.asked(), *kind.region, *option)
        taken += done.returncode == DONE or "classes" in done.stderr
        if done.returncode != DONE and "classes" not in done.stderr:
            text = require_refused(done, WRONG_CALL)
            assert f"of {name}, and this is one of" in text or "geodp explain" in text
    assert taken <= 1


def test_a_command_of_all_kinds_is_named_in_place_of_one_of_its_own(kind, released):
    """Groups of commands of kinds have none that uses releases."""
    for word in ("estimate", "compare", "diff", "report"):
        done = released.run(kind.command[0], word, "out")
        if len(kind.command) > 1:
            assert done.returncode == WRONG_CALL
            assert f"geodp {word}" in done.stderr
