"""What a kept key draws again, and what it draws anew."""

from tests.contract.desk import contents


def test_a_kept_key_replays(replayed, released):
    """The same inputs and options under the same key give the same bytes, and one draw."""
    assert contents(replayed.folder / "out/public") == contents(released.folder / "out/public")


def test_a_kept_key_draws_other_inputs_anew(another, released):
    """No noise of one release is that of another, as each has a fingerprint of its own."""
    (first,), charges = released.charges(), another.charges()
    assert first.fingerprint != charges[1].fingerprint
    assert another.index() != released.index()


def test_an_output_is_replaced_on_request_alone(replayed, released):
    out = released.folder / "out"
    before = contents(out)
    done = released.publish()
    assert done.returncode == 2
    assert "--overwrite" in done.stderr
    assert contents(out) == before
    assert (replayed.folder / "out").stat().st_ino != replayed.before
    assert replayed.names() == released.names()


def test_frames_replay_what_files_published(framed, released):
    """The same data under the same key, charged alike, give the same public bytes in Python."""
    written = contents(framed.folder / "out/public")
    assert written == contents(released.folder / "out/public")


def test_a_release_in_python_does_not_replace_one(framed):
    before = contents(framed.folder / "out")
    refused = ""
    try:
        framed.release.write(framed.folder / "out")
    except Exception as error:
        refused = str(error)
    assert "overwrite=True" in refused
    assert contents(framed.folder / "out") == before
