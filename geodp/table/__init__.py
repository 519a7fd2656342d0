"""Tables of counts, before and after the noise."""
