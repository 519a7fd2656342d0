"""How a command that publishes is carried out, and what it says meanwhile and at the end."""

import json
import time

import pytest

from tests.contract.desk import Desk, require


def test_progress_is_reported_without_a_terminal(another):
    """One stream gets lines, which name each step: reading, releasing and writing."""
    assert len(another.shown) == 1
    words = {step.split()[0] for step in another.steps}
    assert words >= {"Reading", "Releasing", "Writing"}


def test_quiet_reports_no_progress(replayed):
    assert replayed.shown == []


def test_a_padded_run_shows_neither_its_steps_nor_its_time(stated):
    assert stated.known("--pad-time") == ("--pad-time",)
    assert [seconds for seconds in stated.slept if 900 < seconds <= 999]
    assert stated.shown == []


def test_a_refused_run_is_padded(desk):
    """That a file was refused, and when, depends on the data."""
    for name, text in desk.kind.files.items():
        (desk.folder / name).write_text(text.splitlines()[0] + "\n", encoding="utf-8")
    slept = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "sleep", slept.append)
        done = desk.publish("--pad-time", 999)
    assert done.returncode == 2, done.stderr
    assert [seconds for seconds in slept if 900 < seconds <= 999]


def test_seconds_are_shown_on_request_alone(replayed, released):
    assert replayed.known("--profile") == ("--profile",)
    shown = [line for line in replayed.done.stderr.splitlines() if line.endswith(" s")]
    assert {line.split()[0] for line in shown} >= {"reading", "mechanism", "writing"}
    assert not [line for line in released.done.stderr.splitlines() if line.endswith(" s")]


def test_memory_is_limited_on_request(replayed):
    """The release is the same, as ``a_kept_key_replays`` shows of this one."""
    assert replayed.known("--memory") == ("--memory",)
    done = replayed.publish("--memory", "much", to="other")
    assert done.returncode == 2
    assert "512MiB" in done.stderr
    assert not (replayed.folder / "other").exists()


def test_the_screen_names_the_folders_and_the_guarantee(released):
    said = released.done.stdout
    assert "Published in out/public" in said
    assert released.index()["guarantee"]["in_words"] in said
    assert "out/restricted" in said


def test_the_screen_does_not_depend_on_the_data(another, released):
    """Other inputs of the same form give the same screen."""
    assert another.done.stdout == released.done.stdout
    assert another.done.stderr == released.done.stderr


def test_json_is_one_document_of_what_was_written(stated):
    document = json.loads(stated.done.stdout)
    assert document["output"] == "out"
    for part in ("public", "restricted"):
        listed = {stated.folder / path for path in document[part]}
        files = [one for one in (stated.folder / "out" / part).rglob("*") if one.is_file()]
        assert files
        assert all(one in listed or listed & {*one.parents} for one in files)
        assert all(one.exists() for one in listed)


def test_json_says_nothing_of_the_data(stated, tmp_path):
    """Another input of the same form gives the same, but for the id, a digest of public files."""
    desk = Desk(tmp_path, stated.kind.thin())
    done = require(desk.publish(*stated.more, "--json"))
    found, expected = (json.loads(one.stdout) for one in (done, stated.done))
    assert found | {"release_id": expected.get("release_id")} == expected | {
        "release_id": expected.get("release_id")
    }


def test_json_has_the_same_fields_for_every_kind(stated):
    """Who reads it need not know the kind: what is spent, by what, on whom, and the files."""
    document = json.loads(stated.done.stdout)
    assert {*document} >= {"output", "public", "restricted", "spends", "method", "private"}


def test_json_names_the_id_of_the_release(stated):
    assert "release_id" in json.loads(stated.done.stdout)
