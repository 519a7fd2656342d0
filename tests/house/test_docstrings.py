"""Docstrings name what is there: parameters of the function, fields of the class."""

import ast
import re

from tests.sources import FILES, PACKAGE, walk

SECTION = r"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}|\Z)"
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : ", re.MULTILINE)


def entries_of(node, title):
    """Yield the names that a section of a docstring describes with their types."""
    for section in re.findall(
        SECTION.format(title=title), ast.get_docstring(node) or "", re.S | re.M
    ):
        for names in ENTRY.findall(section):
            yield from (name.strip(" *") for name in names.split(","))


def arguments_of(node):
    more = (one for one in (node.args.vararg, node.args.kwarg) if one is not None)
    every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, *more)
    return {one.arg for one in every}


def names_in(node, classes):
    """Return the fields, properties and attributes of a class, and of its bases in geodp."""
    bases = [one for base in node.bases for one in classes.get(ast.unparse(base), [])]
    names = {name for base in bases for name in names_in(base, classes)}
    names |= {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)}
    for item in node.body:
        if isinstance(item, ast.AnnAssign):
            names.add(item.target.id)
        elif isinstance(item, ast.Assign):
            names |= {one.id for one in item.targets if isinstance(one, ast.Name)}
        elif isinstance(item, ast.FunctionDef):
            names |= {item.name, *arguments_of(item)}
    return names


def test_docstrings_describe_what_is_there():
    stale, classes = set(), {}
    for path in FILES:
        for node in walk(path):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(node)
    for path in FILES:
        for node in walk(path):
            there = None
            if isinstance(node, ast.FunctionDef):
                there, title = arguments_of(node), "Parameters"
            elif isinstance(node, ast.ClassDef):
                there, title = names_in(node, classes), "Attributes"
            if there is not None:
                where = f"{path.relative_to(PACKAGE)}: {node.name}"
                stale |= {
                    f"{where}: {name}" for name in entries_of(node, title) if name not in there
                }
    assert stale == set()
