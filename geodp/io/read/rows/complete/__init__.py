"""Completeness checks: what files declare of their own length, compared with their content."""
