"""Accessibility checks of a page's elements that need no browser."""

from html.parser import HTMLParser
from itertools import pairwise

from geodp.release.report.html import markup

NAMED = {"button", "input", "select", "textarea", "canvas", "nav", "section", "svg"}
"""Elements that need a name: their own, that of a label, or of another element."""


class Elements(HTMLParser):
    """Elements with their attributes, their texts, and whether all are closed in order."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open, self.text, self.contents = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.contents.append("")
        if tag not in markup.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)
            if self.contents:
                self.contents[-1] += data.strip()

    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]


def find_faults(page):
    """List accessibility faults of a page, in sentences."""
    document = Elements(page)
    tags, ids = [tag for tag, _ in document.elements], document.ids()
    faults = [f"{tag} is left open" for tag in document.open]
    faults += [f"{tags.count(tag)} times {tag}" for tag in ("main", "h1") if tags.count(tag) != 1]
    levels = [0, *(int(tag[1]) for tag in tags if tag in ("h1", "h2", "h3", "h4"))]
    faults += [f"h{level} after h{before}" for before, level in pairwise(levels)
               if level > before + 1]  # fmt: skip
    if not dict(document.elements)["html"].get("lang"):
        faults.append("no language")
    faults += [f"two elements are {one}" for one in {*ids} if ids.count(one) > 1]
    labels = {attributes.get("for") for tag, attributes in document.elements if tag == "label"}
    for (tag, attributes), content in zip(document.elements, document.contents, strict=True):
        pointed = attributes.get("aria-labelledby", "").split()
        faults += [f"{tag} is named by {one}, which is missing" for one in {*pointed} - {*ids}]
        named = attributes.get("aria-label") or pointed or attributes.get("id") in labels
        hidden = attributes.get("aria-hidden") == "true"
        if tag in NAMED and not named and not hidden and not (tag == "button" and content):
            faults.append(f"{tag} {attributes} has no name")
        if attributes.get("tabindex", "0") not in ("0", "-1"):
            faults.append(f"{tag} {attributes} is out of the order of the page")
    return faults
