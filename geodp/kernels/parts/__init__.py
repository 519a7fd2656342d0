"""Tables of children times parts: fitted to both margins, and rounded along cycles."""
