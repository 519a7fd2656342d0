"""Check a built site: links to pages and to anchors of its own lead somewhere, and none is loaded.

``python docs/site/check.py FOLDER`` ends with 1 and a list of what is wrong.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep links, sources and ids."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(found.get("href", ""))
        if "src" in found:
            self.loads.append(found["src"])


def find_faults(folder: Path) -> list[str]:
    """Return a sentence for each link that leads nowhere, and for each file of the network."""
    paths = sorted(folder.resolve().rglob("*.html"))
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    faults = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        for target in [*page.links, *page.loads]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    faults.append(f"{name}: loads {target}")
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.exists():
                faults.append(f"{name}: no file {target}")
            elif there in pages and unquote(parts.fragment) not in pages[there].anchors:
                faults.append(f"{name}: no anchor {target}")
    return faults


if __name__ == "__main__":
    found = find_faults(Path(sys.argv[1]))
    print("\n".join(found) or "every link of the site leads somewhere")
    sys.exit(bool(found))
