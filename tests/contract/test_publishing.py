"""What holds of every command that publishes."""

from tests.contract.desk import CHARGED, KEPT, contents


def test_a_kept_key_replays(desk):
    """The same inputs and options under the same key give the same bytes, and one draw."""
    first, second = (desk.published(*KEPT, to=name) for name in ("first", "second"))
    assert contents(first / "public") == contents(second / "public")


def test_a_release_is_charged_once(released):
    assert len(released.charges()) == 1


def test_an_output_is_replaced_on_request_alone(desk):
    out = desk.published()
    before, folder = contents(out), out.stat().st_ino
    done = desk.publish(*CHARGED)
    assert done.returncode == 2
    assert contents(out) == before
    assert desk.charges() == []
    desk.published("--overwrite")
    assert out.stat().st_ino != folder
