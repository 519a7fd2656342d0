"""What the operator states stands on every card."""

import json

import geodp
from tests.contract.desk import Desk, contents, count_draws, require
from tests.contract.kinds import KINDS


def cards(desk):
    """Yield all cards of tables below the public folder."""
    for path in sorted((desk.folder / "out/public").rglob("release.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def test_metadata_stand_on_every_card(stated):
    found = [one.get("metadata") or {} for one in cards(stated)]
    assert found
    for one in found:
        assert stated.office.items() <= one.items()
        assert one.get("display_below") == (3 if stated.known("--display-below") else None)


def test_metadata_stand_on_the_page(stated):
    """Their characters are text there."""
    done = stated.run("report", "out", "--output", "page.html")
    assert done.returncode == 0, done.stderr
    page = (stated.folder / "page.html").read_text(encoding="utf-8")
    for text in ("Residents &amp; &lt;others&gt;", "The office", "maps@example.org", "CC-BY-4.0"):
        assert text in page


def test_a_mask_of_land_is_stated(desk):
    """Whoever is outside is refused, so that a release reveals that nobody is."""
    mask = desk.known("--mask", "land:japan")
    assert mask
    require(desk.publish(*mask))
    files = contents(desk.folder / "out/public")
    texts = [data.decode("utf-8") for name, data in files.items() if name.endswith(".json")]
    assert any("nobody who is counted is outside of land:japan" in one for one in texts)


def test_a_correction_names_what_it_supersedes(stated, released):
    """Every table of it names the table, or the release, in whose place it stands."""
    assert stated.known("--supersedes") == ("--supersedes",)
    replaced = {(one.get("metadata") or {}).get("supersedes") for one in cards(stated)}
    assert None not in replaced
    assert len(replaced) == 1


def test_a_correction_never_takes_the_place_of_what_it_corrects(desk, released):
    """It goes to another folder, whatever of the first release is named."""
    assert desk.known("--supersedes") == ("--supersedes",)
    out = desk.copy(released.folder / "out", "out")
    before = contents(out)
    done = desk.publish()
    assert done.returncode == 2, done.stderr
    assert "--supersedes" in done.stderr
    for path in ("out", "out/public", f"out/public/{desk.kind.index}"):
        done = desk.publish("--supersedes", path, "--overwrite")
        assert done.returncode == 2, done.stderr
        assert "write the new one to another folder" in done.stderr
    assert contents(out) == before


def test_a_release_of_another_kind_is_not_superseded(desk, charged, tmp_path_factory):
    """The sentence names both kinds, and nothing is charged."""
    kind = next(KINDS[name] for name in ("selection", "counts") if KINDS[name] is not desk.kind)
    other = Desk(tmp_path_factory.mktemp("other"), kind).published()
    before = desk.names()
    done = desk.publish("--supersedes", other, *charged)
    assert done.returncode == 2, done.stderr
    assert "by one of its kind" in done.stderr
    assert "and this command publishes" in done.stderr
    assert (desk.names(), desk.charges()) == (before, [])


def test_the_card_states_the_variant_of_privacy(stated, released):
    """With --rho and --delta both are on every card, exactly; with --epsilon alone it is pure."""
    pure = released.index()["guarantee"]
    assert (pure["epsilon"], pure["rho"], pure["delta"]) == ("2", None, None)
    found = stated.index()["guarantee"]
    assert (found["rho"], found["delta"]) == ("1", "1/1000000000")
    for one in cards(stated):
        assert "zero-concentrated differential privacy" in one["guarantee"]["variant"]


def test_metadata_are_read_in_python(desk):
    """A field that no card has is refused by name, before anything is drawn."""
    kind, refused = desk.kind, None
    assert kind.in_python is not None
    with count_draws() as drawn:
        try:
            kind.in_python(kind.frames(), metadata={"title": "a", "colour": "blue"})
        except (geodp.GeodpError, TypeError) as error:
            refused = error
    assert isinstance(refused, geodp.UsageError)
    assert "colour" in str(refused)
    assert drawn == []
