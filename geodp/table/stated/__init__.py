"""What a release's card states: of its release, its domain, its errors and its prior."""
