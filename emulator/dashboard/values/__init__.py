"""Stored values: as trees on pages, in full, and as text to copy."""
