"""Parts of a release's card: the release itself, its domain, its errors and its prior."""
