"""Permission bits, on systems that have them."""

import stat

from geodp.privacy.key import has_owners


def has_bits(path, bits):
    """Whether a path has exactly these permission bits; True where a system has none."""
    return not has_owners() or stat.S_IMODE(path.stat().st_mode) == bits
