"""What lies in the folders of a release, and who may read it."""

import hashlib
import json
import stat

from tests.contract.desk import KEPT, contents, require
from tests.keys import secret


def modes(folder):
    """Return the permissions of a folder and of all files below it."""
    return stat.S_IMODE(folder.stat().st_mode), {
        stat.S_IMODE(one.stat().st_mode) for one in folder.rglob("*") if one.is_file()
    }


def test_the_restricted_folder_is_its_owner_s_alone(released):
    assert modes(released.folder / "out/restricted") == (0o700, {0o600})


def test_the_restricted_folder_is_its_owner_s_alone_in_python(framed):
    assert modes(framed.folder / "out/restricted") == (0o700, {0o600})


def test_public_files_and_the_screen_name_nothing_of_the_operator_s(released):
    """Neither the key, nor where the inputs, the key and the ledger lie."""
    names = ("a.csv", "b.csv", "kept.key", str(released.folder))
    hidden = [*(name.encode() for name in names), secret("kept"), secret("kept").hex().encode()]
    files = contents(released.folder / "out/public")
    for text in (*files.values(), released.done.stdout.encode()):
        assert not [one for one in hidden if one in text]


def test_the_operator_s_record_says_what_was_read(released):
    """Digests of the inputs and what they hold, and a sentence on who may read it."""
    restricted = released.folder / "out/restricted"
    run = json.loads((restricted / "run.json").read_text(encoding="utf-8"))
    files = released.folder
    digests = {name: hashlib.sha256((files / name).read_bytes()).hexdigest()
               for name in released.kind.files}  # fmt: skip
    assert run.get("inputs") == digests
    assert (restricted / "README.txt").read_text(encoding="utf-8").strip()


def test_the_operator_s_record_says_how_many_were_counted(released):
    """They are under one name, which is that of a check, whatever the kind is."""
    path = released.folder / "out/restricted/run.json"
    read = json.loads(path.read_text(encoding="utf-8")).get("read", {})
    assert read.get("people") == released.kind.people


def test_every_public_file_is_listed_with_its_digest(released):
    """Of every folder: each file once, and no other."""
    public = released.folder / "out/public"
    listed = {}
    for sums in sorted(public.rglob("SHA256SUMS")):
        for line in sums.read_text(encoding="utf-8").splitlines():
            digest, name = line.split("  ", 1)
            listed[(sums.parent / name).relative_to(public).as_posix()] = digest
    files = contents(public)
    assert {name for name in files if not name.endswith("SHA256SUMS")} <= {*listed}
    assert {*listed} <= {*files}
    for name, digest in listed.items():
        assert hashlib.sha256(files[name]).hexdigest() == digest


def recipe_of(words, left_out):
    """Return options of a command as a recipe, but for those that are left out."""
    options = {}
    for word in words:
        if word.startswith("--"):
            options.setdefault(word, [])
        else:
            options[[*options][-1]].append(word)
    numbers = ("--bounds",)
    lines = (
        f"{name[2:]} = {json.dumps([*map(float, values)] if name in numbers else values)}"
        if len(values) > 1
        else f"{name[2:]} = {json.dumps(values[0])}"
        for name, values in options.items()
        if name not in left_out
    )
    return "\n".join(("[options]", *lines)) + "\n"


def list_numbers(public):
    """Return what was drawn: tables of numbers, or a card without its run and its budget."""
    tables = [one.read_bytes() for one in sorted(public.rglob("*.csv"))]
    cards = [json.loads(one.read_text("utf-8")) for one in public.glob("release.json")]
    return tables or [{**one, "release_id": "", "budget": None} for one in cards]


def test_a_recipe_makes_the_release_again(desk, released):
    """It has all options but those that assert or spend."""
    kind = desk.kind
    assert desk.known("--recipe") == ("--recipe",)
    (desk.folder / "recipe.toml").write_text(recipe_of(kind.options, kind.asserted))
    words = (*kind.command, *kind.inputs, "--recipe", "recipe.toml", *kind.asserted, *kind.terms)
    require(desk.run(*words, *KEPT, "--output", "out"))
    first, again = (list_numbers(one.folder / "out/public") for one in (released, desk))
    assert first == again != []
    assert (desk.folder / "out/restricted/recipe.toml").exists()
