"""Sources of geodp as syntax trees, which tests of the whole project walk: parsed once a run."""

import ast
import functools
from pathlib import Path

import geodp

PACKAGE = Path(geodp.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

parse = functools.cache(ast.parse)


@functools.cache
def read(path):
    """Return the text of a file."""
    return path.read_text(encoding="utf-8")


@functools.cache
def nodes_of(source):
    """Return all nodes of the tree of a source."""
    return tuple(ast.walk(parse(source)))


def walk(path):
    """Return all nodes of the tree of a file."""
    return nodes_of(read(path))
