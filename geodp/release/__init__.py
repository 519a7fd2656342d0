"""Publish tables: publish(table) makes a release."""
