"""A folder of another kind is named as what it is, with the command that reads it."""

from geodp.io.folder.kinds import TABLE, find_kind
from tests.contract.kinds import KINDS

TOOLS = {kind.tools: kind for kind in reversed(KINDS.values()) if "estimate" in kind.uses}
"""A kind for each group of commands."""


def test_a_folder_of_another_kind_is_named_with_its_command(kind, released):
    for tools, other in TOOLS.items():
        if tools == kind.tools and "estimate" in kind.uses:
            continue
        for word, *words in (
            ("estimate", *other.region),
            ("compare", *other.region, *other.other),
        ):
            done = released.run(*tools, word, "out", *words)
            assert done.returncode != 0
            assert title_of(released) in done.stderr
            use = word if word in kind.uses else kind.uses[0]
            assert " ".join(("geodp", *kind.tools, use)) in done.stderr


def test_all_commands_refuse_another_kind_with_one_exit_code(kind, released):
    codes = {
        released.run(*tools, "estimate", "out", *TOOLS[tools].region).returncode
        for tools in TOOLS
        if tools != kind.tools
    }
    assert len(codes) == 1


def title_of(desk):
    """Return what the release of a desk is called in sentences."""
    kind = find_kind(desk.folder / "out" / "public")
    return TABLE if kind is None else kind.title
