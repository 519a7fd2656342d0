"""The libraries of H3 and S2, without which tests are skipped."""

import pytest


def need_h3():
    return pytest.importorskip("h3", reason="h3 comes with the extra hexagons")


def need_s2():
    return pytest.importorskip("s2geometry", reason="s2geometry comes with the extra s2")


NEEDS = {"h3": need_h3, "s2": need_s2}
