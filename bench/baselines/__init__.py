"""What geodp is measured against."""
