"""Series of amounts: a release for every period, under one budget with one charge."""
