"""Names are the field's terms: words that once stood for everything are no part of public names."""

import ast
import re

from tests.sources import FILES, PACKAGE, walk

WORN = {
    *("found", "told", "said", "asked", "beside", "own", "given", "settled", "agree", "nobody"),
    *("undrawable", "vouching", "desk", "walk", "lone", "spare", "turn", "turns", "kept", "tell"),
}
"""Parts of names that say nothing of what is named."""


KEYS = {"beside", "own", "own_simulation_error"}
"""Names that are keys of cards."""


OF_OPTIONS = {
    "given",
    "given_source",
    "open_given",
    "Given",
    "GivenNoise",
    "GivenPath",
    "StatedGiven",
}
"""Names of what the option --given takes, as the field says "given" of such releases."""


def names_of(path):
    """Yield every public class, function, argument and field of a file."""
    for node in walk(path):
        if isinstance(node, ast.ClassDef):
            yield node.name
            yield from (
                item.target.id
                for item in node.body
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
            )
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name
            yield from (one.arg for one in (*node.args.args, *node.args.kwonlyargs))


def test_public_names_have_no_worn_words():
    worn = {}
    for path in FILES:
        for name in names_of(path):
            words = {word.lower() for word in re.split(r"_|(?<=[a-z])(?=[A-Z])", name)}
            if not name.startswith("_") and words & WORN and name not in KEYS | OF_OPTIONS:
                worn.setdefault(str(path.relative_to(PACKAGE)), set()).add(name)
    assert worn == {}
