"""Neighbouring relations: tables that differ by one person more or less, or one replaced."""

ADD_REMOVE = "add-remove-one"
REPLACE = "replace-one"
NEIGHBOURS = (ADD_REMOVE, REPLACE)
