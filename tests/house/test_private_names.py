"""What other libraries keep to themselves may change any day, and is not used."""

import ast

import pytest

from tests.sources import FILES, PACKAGE, nodes_of, walk

SOURCES = [*FILES, *sorted((PACKAGE.parent / "bench").rglob("*.py"))]

PUBLIC = {"os._exit", "_replace", "_asdict", "_fields"}
"""Documented all the same: of ``os``, and of named tuples."""


def is_private(name):
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def own(paths):
    """Private names that the sources define themselves: functions, classes, attributes, modules."""
    found = {path.stem for path in SOURCES}
    for path in paths:
        for node in walk(path):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found |= {node.attr} if isinstance(node.value, ast.Name) else set()
    return found


def private_names(nodes, defined):
    """Private names of others that a source imports or takes from an object."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [n.name for n in node.names if any(map(is_private, n.name.split(".")))]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{n.name}" for n in node.names]
            found += [name for name in names if any(map(is_private, name.split(".")))]
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            whole = ast.unparse(node)
            if not {whole, node.attr} & PUBLIC and node.attr not in defined:
                found.append(whole)
    return [name for name in found if not name.startswith("geodp.")]


def test_no_private_name_of_another_library_is_used():
    defined = own(SOURCES)
    found = {name for path in SOURCES for name in private_names(walk(path), defined)}
    assert found == set()


@pytest.mark.parametrize(
    "planted",
    [
        "from rasterio._err import CPLE_BaseError",
        "import rasterio._err",
        "from rasterio import _err",
        "import numpy as np\nnp._core.multiarray",
        "def f(module):\n    module.Artist._update_set_signature_and_docstring = None",
    ],
)
def test_a_planted_one_is_found(planted):
    assert private_names(nodes_of(planted), own([]))
