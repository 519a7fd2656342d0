"""Sheets of words, lines and maps, and how they become files; nothing of it knows a release."""
