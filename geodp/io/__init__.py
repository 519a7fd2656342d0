"""Readers of confidential counts and writers of released tables."""
