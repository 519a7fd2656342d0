"""What a page's elements say to those who do not see it: checks that need no browser."""

from html.parser import HTMLParser
from itertools import pairwise

from geodp.release.report.html import markup

NAMED = {"button", "input", "select", "textarea", "canvas", "nav", "section", "svg"}
"""Elements that need a name: their own, that of a label, or of another element."""


class Elements(HTMLParser):
    """Elements with their attributes, their texts, and whether all are closed in order."""

    def __init__(self, page):
        super().__init__()
        self.found, self.open, self.text, self.said = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.said.append("")
        if tag not in markup.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)
            if self.said:
                self.said[-1] += data.strip()

    def ids(self):
        return [attributes["id"] for _, attributes in self.found if "id" in attributes]


def find_faults(page):
    """What somebody who does not see a page would miss, in sentences; empty where all is there."""
    found = Elements(page)
    tags, ids = [tag for tag, _ in found.found], found.ids()
    faults = [f"{tag} is left open" for tag in found.open]
    faults += [f"{tags.count(tag)} times {tag}" for tag in ("main", "h1") if tags.count(tag) != 1]
    levels = [0, *(int(tag[1]) for tag in tags if tag in ("h1", "h2", "h3", "h4"))]
    faults += [f"h{level} after h{before}" for before, level in pairwise(levels)
               if level > before + 1]  # fmt: skip
    if not dict(found.found)["html"].get("lang"):
        faults.append("no language")
    faults += [f"two elements are {one}" for one in {*ids} if ids.count(one) > 1]
    labels = {attributes.get("for") for tag, attributes in found.found if tag == "label"}
    for (tag, attributes), said in zip(found.found, found.said, strict=True):
        pointed = attributes.get("aria-labelledby", "").split()
        faults += [f"{tag} is named by {one}, which is missing" for one in {*pointed} - {*ids}]
        named = attributes.get("aria-label") or pointed or attributes.get("id") in labels
        hidden = attributes.get("aria-hidden") == "true"
        if tag in NAMED and not named and not hidden and not (tag == "button" and said):
            faults.append(f"{tag} {attributes} has no name")
        if attributes.get("tabindex", "0") not in ("0", "-1"):
            faults.append(f"{tag} {attributes} is out of the order of the page")
    return faults
