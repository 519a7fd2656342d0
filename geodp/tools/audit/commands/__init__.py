"""Commands of the audit, one in each file."""
