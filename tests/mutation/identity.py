"""Mutants of what identifies a release: labels of keys, streams, versions, and the order of fields.

A kept key that replays, a draw that is resumed and a series that goes on all need that these stay
what they are. They are looked for in all of ``geodp``, and not only in functions that somebody
thought of: whatever is changed here, some pinned folder must have other bytes.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from tests.mutation.mutants import Edit, Mutant, copied
from tests.mutation.targets import ROOT, Target

HASHES = ("digest", "encode")
"""Functions by whose arguments something is identified."""

LISTS = ("components", "grid_components", "loss_fields")
"""Functions that list such arguments for others."""

NUMBERED = "Stream"
"""The enumeration whose numbers separate the uses of one key."""

VERSION = re.compile(r"^(?:\w+_)?(?:version|format|schema)$", re.IGNORECASE)
"""Names of what says how something was made."""

CARDS = (
    *("kinds/**/card.py", "kinds/**/kind.py", "local/round.py"),
    *("privacy/assumption.py", "privacy/event.py", "privacy/selected.py"),
    *("table/card.py", "table/reading.py", "table/stated/*.py"),
)
"""Files of the dataclasses of cards and events, whose fields are written or hashed in order."""

LEFT_OUT = (
    *("kernels", "io/read", "io/verify", "io/write/export"),  # make no release
    # have tests of their own
    *("mechanisms/baselines", "privacy/hash_chain", "privacy/ledger"),
    *("privacy/locked_file", "privacy/witness"),
    *("cluster", "tools/audit"),  # workers make what one machine makes
    *("tools/evaluate", "tools/plan", "tools/statistics"),  # simulate, and keep nothing
)
"""Beginnings of paths of which nothing is looked for."""

READERS = ("opening.py", "page.py", "verify.py")
"""Files of a kind that read releases and make none."""

FOLDERS = "tests/golden/test_folders.py::test_files_and_frames_make_the_pinned_release"
METHODS = "tests/golden/test_methods.py"
OTHERS = ("tests/golden/test_kept.py", "tests/golden/test_oracles.py")
KINDS = {
    "kinds/flows": "flows",
    "kinds/households": "households",
    "kinds/amounts": "amounts",
    "kinds/series": "series",
    "kinds/selection": "select",
    "local": "local",
}
"""Folders of geodp with a kind of release, and what the names of its pinned folders contain."""


def plan() -> dict[str, tuple[Target, Mutant]]:
    """List all mutants of identity by name, with the tests that must notice."""
    planned = {}
    cards = {path for pattern in CARDS for path in (ROOT / "geodp").glob(pattern)}
    for path in sorted((ROOT / "geodp").rglob("*.py")):
        inner = path.relative_to(ROOT / "geodp").as_posix()
        if not inner.startswith(LEFT_OUT) and path.name not in READERS:
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            kind = next(
                (kind for home, kind in KINDS.items() if inner.startswith(f"{home}/")), None
            )
            tests = (FOLDERS, METHODS, *OTHERS)
            if kind is not None:
                tests = (FOLDERS, *OTHERS, "-k", f"{kind} or kept or oracle")
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for mutant in mutants(module, tree, ordered=path in cards):
                planned[mutant.name] = (Target(module, tests), mutant)
    return planned


def mutants(module: str, tree: ast.Module, *, ordered: bool) -> list[Mutant]:
    """List the mutants of identity of a module; ``ordered``: also of the order of its fields."""
    found, seen = [], Counter()
    number = {id(node): place for place, node in enumerate(ast.walk(tree))}
    labels = _labels(tree)
    for node, above in _walk(tree):
        for kind, edit in _changes(node, above, labels, ordered):
            function = ".".join(
                one.name
                for one in (*above, node)
                if isinstance(one, ast.ClassDef | ast.FunctionDef)
            )
            before, after = _say(node, edit)
            key = (function or "<module>", kind, before, after)
            if before != after:
                found.append(Mutant(module, *key, seen[key], number[id(node)], edit))
            seen[key] += 1
    return found


def _walk(node: ast.AST, above: tuple[ast.AST, ...] = ()) -> Iterator[tuple[ast.AST, tuple]]:
    """Yield what runs, and what it lies in: no words, errors, annotations or decorators."""
    yield node, above
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            words = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not words and not isinstance(child, ast.Raise):
                yield from _walk(child, (*above, node))


def _labels(tree: ast.Module) -> set[str]:
    """Return the names of labels of streams in a module: digests, its own or imported ones."""
    own = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and _called(node.value) in HASHES
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return own | {
        one.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(".streams")
        for one in node.names
        if one.name.isupper()
    }


def _changes(
    node: ast.AST, above: tuple[ast.AST, ...], labels: set[str], ordered: bool
) -> Iterator[tuple[str, Edit]]:
    match node:
        case ast.ClassDef() if ordered and "dataclass" in "".join(
            map(ast.unparse, node.decorator_list)
        ):
            yield from (("order of fields", _swap("body", *two)) for two in _fields(node))
        case ast.Constant(value=bytes() | str() | int()) if not isinstance(node.value, bool):
            if _says_version(above) or _identifies(node, above):
                yield "identity", _other
        case ast.Tuple(ctx=ast.Load()) | ast.List(ctx=ast.Load()) if _are_streams(node, labels) or (
            _in_hash(above) and not _unpacked(above)
        ):
            yield from (("order", _swap("elts", n, n + 1)) for n in range(len(node.elts) - 1))
        case ast.Dict() if _in_hash(above):
            yield from (("order", _swap_entries(n)) for n in range(len(node.keys) - 1))
        case ast.Call() if _called(node) in HASHES:
            yield from (("order", _swap("args", n, n + 1)) for n in range(len(node.args) - 1))


def _called(node: ast.AST) -> str:
    """Return the name of the function that is called, "" where nothing with a name is."""
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.func.id if named else ""


def _says_version(above: tuple[ast.AST, ...]) -> bool:
    """Tell whether a constant is a version, a format, or the number of a stream."""
    for outer in above:
        if isinstance(outer, ast.ClassDef) and outer.name == NUMBERED:
            return True
        if isinstance(outer, ast.Assign | ast.AnnAssign):
            target = outer.targets[0] if isinstance(outer, ast.Assign) else outer.target
            if isinstance(target, ast.Name) and VERSION.search(target.id):
                return not any(isinstance(one, ast.FunctionDef) for one in above)
    return False


def _in_hash(above: tuple[ast.AST, ...]) -> bool:
    """Tell whether something is in a function that lists what is hashed, or in what is hashed."""
    inside = [one for one in above if isinstance(one, ast.FunctionDef)]
    if inside and inside[-1].name in LISTS:
        return True
    return bool(inside) and any(_called(one) in HASHES for one in ast.walk(inside[-1]))


def _identifies(node: ast.Constant, above: tuple[ast.AST, ...]) -> bool:
    """Tell whether a text is hashed to identify something, or names a part of what is."""
    if isinstance(node.value, int):
        return False
    if isinstance(node.value, bytes) and node.value.startswith(b"geodp "):
        return True
    return any(_called(one) in HASHES for one in above) or _in_hash(above)


def _are_streams(node: ast.Tuple | ast.List, labels: set[str]) -> bool:
    """Tell whether a list is one of labels of streams, or of keys that are derived from them."""
    return all(
        (isinstance(one, ast.Name) and one.id in labels)
        or (isinstance(one, ast.Call) and getattr(one.func, "attr", "") == "derive")
        for one in node.elts
    )


def _unpacked(above: tuple[ast.AST, ...]) -> bool:
    """Tell whether a tuple is taken apart again at once: its order is that of the names beside."""
    parent = above[-1]
    return isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Tuple)


def _fields(node: ast.ClassDef) -> Iterator[tuple[int, int]]:
    """Yield places of two fields of a dataclass that may change places, one after the other."""
    fields = [
        place
        for place, one in enumerate(node.body)
        if isinstance(one, ast.AnnAssign) and "ClassVar" not in ast.unparse(one.annotation)
    ]
    for first, second in pairwise(fields):
        if (node.body[first].value is None) == (node.body[second].value is None):
            yield first, second


def _other(node: ast.AST) -> None:
    more = {int: 7, str: "x", bytes: b"x"}
    node.value += more[type(node.value)]


def _swap(field: str, first: int, second: int) -> Edit:
    def edit(node: ast.AST) -> None:
        parts = getattr(node, field)
        parts[first], parts[second] = parts[second], parts[first]

    return edit


def _swap_entries(first: int) -> Edit:
    def edit(node: ast.AST) -> None:
        for parts in (node.keys, node.values):
            parts[first], parts[first + 1] = parts[first + 1], parts[first]

    return edit


def _say(node: ast.AST, edit: Edit) -> tuple[str, str]:
    """Return a node before and after a change, in a line; of a class, the names of its fields."""
    changed = copied(node)
    edit(changed)
    return _line(node), _line(changed)


def _line(node: ast.AST) -> str:
    if isinstance(node, ast.ClassDef):
        return " ".join(one.target.id for one in node.body if isinstance(one, ast.AnnAssign))
    return " ".join(ast.unparse(node).split())
