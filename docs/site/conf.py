"""Settings of Sphinx for the documentation site: ``make site``, or see the Makefile.

The root of the project is the source folder, so that documents link to one another as on a forge.
"""

import re
from typing import Any

from geodp import __version__

project = "geodp"
author = copyright = "The geodp authors"  # noqa: A001
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
]
root_doc = "docs/site/index"
include_patterns = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "data/README.md",
    "docs/**.md",
    "docs/site/*.rst",
]
exclude_patterns = [".*", "bench", "build", "demo", "dist", "geodp", "notebooks", "out", "tests"]

myst_heading_anchors = 4  # as on a forge
napoleon_google_docstring = False
napoleon_use_ivar = True  # fields of data classes are described once
autodoc_typehints = "none"  # the sections of parameters say more
autodoc_member_order = "bysource"
suppress_warnings = ["ref.python"]  # many classes have a field called name
smartquotes = False  # options begin with two hyphens
html_theme = "furo"
html_title = f"geodp {version}"
html_show_sphinx = False
html_copy_source = False
html_extra_path = ["_extra"]  # the first page of the site leads to the index
python_maximum_signature_line_length = 80
if "print" in globals().get("tags", ()):  # of Sphinx: one document for paper
    html_theme = "basic"
    html_extra_path = []
    html_static_path = ["_print"]
    html_css_files = ["print.css"]
    html_sidebars: dict[str, list[str]] = {"**": []}


def escape_stars(app: object, context: object, lines: list[str]) -> None:
    """Keep ``*`` of helps, as in names of files and columns, from being read as markup."""
    lines[:] = [line.replace("_*", r"\_*").replace("*", r"\*") for line in lines]


def lead_to_pages(
    app: Any, page: str, template: str, context: dict[str, Any], tree: object
) -> None:
    """Lead links of the one document to where a page begins: several pages have the same heads."""
    if app.builder.name == "singlehtml":
        context["body"] = re.sub(r'("#document-[^"#]+)#[^"]*', r"\1", context["body"])


def setup(app: Any) -> None:
    """Have helps of commands looked at before they are read, and links of the one document led."""
    app.connect("html-page-context", lead_to_pages)
    app.connect("sphinx-click-process-description", escape_stars)
    app.connect("sphinx-click-process-epilog", escape_stars)
