"""``--plot`` of every command: the same bytes again, nothing replaced unasked, and its extra."""

import sys

import pytest

from tests.command import geodp

CALLS = {
    "plan": ("plan", "--grid", "regular:64x64", "--epsilon", "0.1", "--compare", "mwem"),
    "compare": ("compare", "--plan", "--maximum", 1, "--difference", 0.1, "--epsilon", 1),
    "audit": ("audit", "--rate", "0.2", "--threshold", "10", "--delta", "1e-6"),
    "evaluate": ("evaluate", "a.csv", "--grid", "regular:2x2", "--epsilon", "1"),
    "blend": ("local", "blend", "--menu", "0.8:0.5,0.6:0.5", "--devices", "2"),
    "blend honest devices": ("local", "blend", "--menu", "1:0.2,0.5:0.8", "--devices", "20"),
}
READING = ("evaluate",)
"""Commands that read records before they draw."""

STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *(("plan", form) for form in STARTS),
        *(
            (name, "svg")
            for name in CALLS
            if name not in ("plan", "blend honest devices", *READING)
        ),
    ],
)
def test_a_picture_is_drawn_alike_and_replaced_on_request_alone(name, form, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    file = tmp_path / f"a.{form}"
    call = (*CALLS[name], "--plot", file)
    assert geodp(*call).returncode == 0
    first = file.read_bytes()
    assert first.startswith(STARTS[form])
    refused = geodp(*call)
    assert refused.returncode == 2
    assert "--overwrite" in refused.stderr
    assert file.read_bytes() == first
    assert geodp(*call, "--overwrite").returncode == 0
    assert file.read_bytes() == first
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize("name", CALLS)
def test_no_picture_is_drawn_in_another_form_or_without_the_extra(name, tmp_path, monkeypatch):
    refused = geodp(*CALLS[name], "--plot", tmp_path / "a.gif")
    assert refused.returncode == 2
    assert ".png" in refused.stderr
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused = geodp(*CALLS[name], "--plot", tmp_path / "a.png")
    assert refused.returncode == 2
    assert "pip install 'geodp[plots]'" in refused.stderr
    assert [*tmp_path.iterdir()] == []
