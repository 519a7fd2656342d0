"""Verification that the files of a release are consistent with its card."""
