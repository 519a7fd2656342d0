"""Layouts of files without a description: presets of publishers, roles of columns, proposals."""
