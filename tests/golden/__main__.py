"""``python -m tests.golden``: write anew what is pinned; refused where a version is missing."""

import json
import sys

import geodp
from tests.golden.releases import FILE, faults, kept, made


def main() -> int:
    """0: written; 1: bytes have changed under an unchanged version, and nothing was written."""
    new = made(sorted(geodp.METHODS))
    old = kept() if FILE.exists() else {"noise_format": "", "methods": {}}
    if wrong := faults(old, new):
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    FILE.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
    for name, now in new["methods"].items():
        before = old["methods"].get(name, {"version": 0, "releases": {}})
        gone = before["releases"].keys() - now["releases"].keys()
        print(f"{name} {now['version']}: {len(now['releases'])} releases, {len(gone)} left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
