"""What is read of a frame in Python is what is read of a file in the shell."""

from geodp.privacy.key import NoiseKey
from tests.contract.desk import KEPT, contents


def test_a_frame_gives_the_bytes_of_its_file(desk):
    """Every public file is the same, the card with the id and all that was stated among them."""
    kind = desk.kind
    assert kind.in_python is not None
    out = desk.published(*KEPT)
    release = kind.in_python(kind.frames(), key=NoiseKey.from_file(desk.folder / KEPT[1]))
    release.write(desk.folder / "framed")
    assert contents(desk.folder / "framed" / "public") == contents(out / "public")
