"""Evaluation: errors of releases of a confidential table."""
