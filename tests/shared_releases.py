"""Releases that many tests read: made and written once a run, copied for who changes a folder."""

import shutil

from tests.chance import named


class SharedReleases:
    """Releases by name, and the folders that they are written into."""

    def __init__(self, make_folder):
        """Keep nothing yet; the argument returns a new folder at every call."""
        self._make_folder = make_folder
        self._made = {}
        self._written = {}

    def make(self, name, publish, *given, **options):
        """Return what is made under a name; the first to ask has it made by this call.

        The noise of CI follows from the name, so it is the same whoever asks first.
        """
        if name not in self._made:
            with named(name):
                self._made[name] = publish(*given, **options)
        return self._made[name]

    def write(self, release, **options):
        """Return a folder, to be read only, that holds a release written with these options."""
        asked = id(release), repr(options)
        if asked not in self._written:
            folder = self._make_folder() / "out"
            release.write(folder, **options)
            # The release is kept too, so that no other object has its identity.
            self._written[asked] = folder, release
        return self._written[asked][0]

    def copy(self, release, folder, **options):
        """Put into a folder what this release writes there with these options."""
        shutil.copytree(self.write(release, **options), folder)
